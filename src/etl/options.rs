//! What a run is asked to do, and what it says when it is over.

use std::path::PathBuf;
use std::time::Duration;

use chrono_tz::Tz;

use crate::extract::Content;
use crate::redact;

/// What one run of `llrem etl` is asked to do.
#[derive(Debug, Clone)]
pub struct Options {
    /// The lake's folder; made when it is not there.
    pub lake: PathBuf,
    /// Read this folder as if it were the home; the user's own home, with the agents' environment variables, when absent.
    pub home: Option<PathBuf>,
    /// Read only these files or folders: the agent's id where given, and the path.
    pub sources: Vec<(Option<String>, PathBuf)>,
    /// Read only these agents, by id; all when empty.
    pub agents: Vec<String>,
    /// Read only sources modified at or after this moment. Microseconds since 1970.
    pub since: Option<i64>,
    /// Extract every source again, changed or not.
    pub full: bool,
    /// Say what would be read, write nothing.
    pub dry_run: bool,
    /// Which secrets to replace.
    pub redact: redact::Mode,
    /// Whether texts, inputs and outputs are kept.
    pub content: Content,
    /// Threads; all cores when absent.
    pub jobs: Option<usize>,
    /// How long to wait for another run to end.
    pub wait: Duration,
    /// Name of the machine in the partitions, from the configuration; the host's name when absent.
    pub machine: Option<String>,
    /// The user's own prices, as text of the price file.
    pub prices: Option<String>,
    /// Folders below which project-local files are looked for.
    pub project_roots: Vec<PathBuf>,
    /// Zone of moments that agents write without one.
    pub zone: Tz,
    /// Whether bad input ends the run with exit code 3.
    pub strict: bool,
}

impl Options {
    /// Whether nothing narrows the run to a part of the sources.
    pub(super) fn looks_at_everything(&self) -> bool {
        self.agents.is_empty() && self.sources.is_empty() && self.since.is_none()
    }

    /// Whether the projects that sessions name are looked into: they lie anywhere.
    pub(super) fn looks_into_projects(&self) -> bool {
        self.home.is_none() && self.sources.is_empty()
    }

    /// All sources of the user's own home, as `llrem etl` reads them when nothing else is said; without waiting.
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

/// Hears how far a run is. Called from several threads.
pub trait Progress: Sync {
    /// What is to be read in all; called again when more turns out to be.
    fn start(&self, files: u64, bytes: u64);
    /// What was read since the last call.
    fn advance(&self, files: u64, bytes: u64);
    /// A new stage begins: `extracting`, `committing`, …
    fn stage(&self, name: &str);
    /// Everything is done.
    fn finish(&self);
}

/// Hears nothing.
pub struct Silent;

impl Progress for Silent {
    fn start(&self, _files: u64, _bytes: u64) {}
    fn advance(&self, _files: u64, _bytes: u64) {}
    fn stage(&self, _name: &str) {}
    fn finish(&self) {}
}

/// What a run did.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// One entry for each agent of which anything was found or read, in the registry's order.
    pub agents: Vec<AgentSummary>,
    /// Name of the lake's machine, when another one was asked for: a lake keeps the name that it was made with.
    pub kept_machine: Option<String>,
    /// Models without a price, with their responses, most responses first.
    pub unpriced_models: Vec<(String, u64)>,
    /// Secrets replaced, by kind.
    pub redactions: Vec<(String, u64)>,
    /// Sources that killed llrem twice, and are skipped from now on until they change.
    pub skipped: Vec<PathBuf>,
    /// Data files of the lake that were lost or damaged, and were given up.
    pub damaged_files: u64,
    /// Months and tables of the lake that have other rows than they should have, in words.
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
    /// With `dry_run`: agents whose files would also be looked for in the projects that those sources' sessions name.
    pub would_look_for: Vec<&'static str>,
}

impl Summary {
    /// Adds what a later pass of the run wrote. Which sources there are was counted by the first.
    pub(super) fn add(&mut self, pass: Self) {
        for more in pass.agents {
            let Some(agent) = self.agents.iter_mut().find(|agent| agent.agent == more.agent) else { continue };
            agent.bad = more.bad;
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

/// What a run did with one agent's sources.
#[derive(Debug, Clone, Default)]
pub struct AgentSummary {
    /// The agent's id.
    pub agent: &'static str,
    /// Sources not seen before.
    pub new: u64,
    /// Sources that had changed.
    pub changed: u64,
    /// Sources that were as before.
    pub unchanged: u64,
    /// Sources that were unreadable or had bad lines, among those read in this run.
    pub bad: u64,
    /// Sources that have vanished since an earlier run; their rows stay.
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
    /// Cost of the usage rows written in this run, as far as it is known; none when it is of none of them. USD.
    pub cost_usd: Option<f64>,
}
