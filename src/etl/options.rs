//! Options and results of a run.

use std::path::PathBuf;
use std::time::Duration;

use chrono_tz::Tz;

use crate::extract::Content;
use crate::redact;

/// Options of one run of `llrem etl`.
#[derive(Debug, Clone)]
pub struct Options {
    /// The lake's folder. It is created if it does not exist.
    pub lake: PathBuf,
    /// Folder to read as if it were the home. If absent, the user's own home and the agents' environment variables.
    pub home: Option<PathBuf>,
    /// Read only these files or folders: the agent's id, if given, and the path.
    pub sources: Vec<(Option<String>, PathBuf)>,
    /// Read only these agents, by id; if empty, all.
    pub agents: Vec<String>,
    /// Read only sources modified at or after this moment. Microseconds since 1970.
    pub since: Option<i64>,
    /// Extract every source again, changed or not.
    pub full: bool,
    /// List what would be read, and write nothing.
    pub dry_run: bool,
    /// Secrets to replace.
    pub redact: redact::Mode,
    /// Texts, inputs and outputs to keep.
    pub content: Content,
    /// Number of threads; if absent, one for each core.
    pub jobs: Option<usize>,
    /// Longest time to wait for another run to end.
    pub wait: Duration,
    /// Name of the machine in the partitions, from the configuration; if absent, the host name.
    pub machine: Option<String>,
    /// The user's own prices, as the text of a price file.
    pub prices: Option<String>,
    /// Folders to search for project-local files.
    pub project_roots: Vec<PathBuf>,
    /// Time zone of timestamps that agents write without one.
    pub zone: Tz,
    /// True if bad input ends the run with exit code 3.
    pub strict: bool,
}

impl Options {
    /// True if the run reads all sources.
    pub(super) fn looks_at_everything(&self) -> bool {
        self.agents.is_empty() && self.sources.is_empty() && self.since.is_none()
    }

    /// True if the run searches the projects that sessions name, which can be anywhere.
    pub(super) fn looks_into_projects(&self) -> bool {
        self.home.is_none() && self.sources.is_empty()
    }

    /// All sources of the user's own home, the defaults of `llrem etl`, without waiting.
    pub fn new(lake: PathBuf) -> Self {
        Self {
            lake,
            home: None,
            sources: Vec::new(),
            agents: Vec::new(),
            since: None,
            full: false,
            dry_run: false,
            redact: redact::Mode::Secrets,
            content: Content::Full,
            jobs: None,
            wait: Duration::ZERO,
            machine: None,
            prices: None,
            project_roots: Vec::new(),
            zone: Tz::UTC,
            strict: false,
        }
    }
}

/// Results of a run.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// One entry for each agent with sources, in the registry's order.
    pub agents: Vec<AgentSummary>,
    /// Name of the lake's machine if another one was requested: a lake keeps its first name.
    pub kept_machine: Option<String>,
    /// Models without a price and the number of their responses, most responses first.
    pub unpriced_models: Vec<(String, u64)>,
    /// Secrets replaced, by kind.
    pub redactions: Vec<(String, u64)>,
    /// Sources that killed llrem twice. They are skipped until they change.
    pub skipped: Vec<PathBuf>,
    /// Lost or damaged data files of the lake that the run replaced.
    pub damaged_files: u64,
    /// Messages about months and tables whose number of rows is wrong.
    pub missing: Vec<String>,
    /// Bytes of sources read.
    pub bytes_read: u64,
    /// Bytes written into the lake.
    pub bytes_written: u64,
    /// Files written into the lake.
    pub files_written: u64,
    /// Wall time. Seconds.
    pub seconds: f64,
    /// With `dry_run`: the sources that would be read, and why (`new`, `changed`).
    pub would_read: Vec<(PathBuf, &'static str)>,
    /// With `dry_run`: agents whose files would also be searched in the projects that those sources' sessions name.
    pub would_look_for: Vec<&'static str>,
}

impl Summary {
    /// Adds the results of a later pass of the run. The first pass has counted the sources.
    pub(super) fn add(&mut self, pass: Self) {
        for more in pass.agents {
            let Some(agent) = self.agents.iter_mut().find(|agent| agent.agent == more.agent) else { continue };
            agent.bad = more.bad;
            agent.newly_bad += more.newly_bad;
            agent.sessions += more.sessions;
            agent.messages += more.messages;
            agent.tool_calls += more.tool_calls;
            agent.usage += more.usage;
            agent.tokens = agent.tokens.saturating_add(more.tokens);
            agent.cost_usd = agent.cost_usd.into_iter().chain(more.cost_usd).reduce(|sum, usd| sum + usd);
        }
        add_counts(&mut self.unpriced_models, pass.unpriced_models);
        add_counts(&mut self.redactions, pass.redactions);
        self.damaged_files += pass.damaged_files;
        self.bytes_read += pass.bytes_read;
        self.bytes_written += pass.bytes_written;
        self.files_written += pass.files_written;
        self.seconds += pass.seconds;
    }
}

fn add_counts(counts: &mut Vec<(String, u64)>, more: Vec<(String, u64)>) {
    for (name, count) in more {
        match counts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += count,
            None => counts.push((name, count)),
        }
    }
}

/// Results for one agent's sources.
#[derive(Debug, Clone, Default)]
pub struct AgentSummary {
    /// The agent's id.
    pub agent: &'static str,
    /// Sources not seen before.
    pub new: u64,
    /// Sources that had changed.
    pub changed: u64,
    /// Unchanged sources.
    pub unchanged: u64,
    /// Sources that are unreadable or have bad lines, including those that this run did not read.
    pub bad: u64,
    /// Of these, sources that were not bad at the end of the run before.
    pub newly_bad: u64,
    /// Sources that have vanished since an earlier run. Their rows stay.
    pub gone: u64,
    /// Rows of the sessions written in this run.
    pub sessions: u64,
    /// Rows written in this run.
    pub messages: u64,
    /// Rows written in this run.
    pub tool_calls: u64,
    /// Rows written in this run.
    pub usage: u64,
    /// Tokens of all kinds in the usage rows written in this run.
    pub tokens: i64,
    /// Known cost of the usage rows written in this run; `None` if none has a known cost. USD.
    pub cost_usd: Option<f64>,
}
