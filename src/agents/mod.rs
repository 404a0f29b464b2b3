//! The agents: what one coding agent leaves on disk, and how it is read. Adding one is a folder and a line in
//! [`AGENTS`].

pub mod aider;
pub mod amazon_q;
pub mod amp;
pub mod antigravity;
pub mod auggie;
mod base64;
pub mod claude_code;
pub mod claude_cowork;
pub mod cline;
pub mod codex;
pub mod copilot;
pub mod copilot_chat;
pub mod crush;
pub mod cursor;
mod document;
pub mod droid;
mod editor_settings;
mod editors;
mod folders;
pub mod gemini;
pub mod goose;
pub mod grok;
mod held;
pub mod hermes;
mod ids;
pub mod junie;
pub mod kilo_code;
pub mod kimi_cli;
pub mod kimi_code;
pub mod kiro_cli;
pub mod kiro_ide;
mod kit;
mod mcp;
pub mod mimocode;
pub mod oh_my_pi;
pub mod openclaude;
pub mod openclaw;
pub mod opencode;
pub mod openhands;
mod patch;
pub mod pi;
mod prompts;
mod protobuf;
pub mod qclaw;
pub mod qwen_code;
pub mod roo_code;
pub mod traex;
mod tree;
mod uri;
pub mod vibe;
mod waiting;
pub mod windsurf;
pub mod zed;

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use crate::extract::{Reject, Sink};
use crate::source::{Section, Source, head, name_of};

/// Reads what one coding agent leaves on disk.
pub trait Agent: Sync {
    /// The facts about the agent and its records.
    fn about(&self) -> &'static About;

    /// Adds every source in the agent's usual places. Looks at names only; opens nothing but settings that
    /// name other places.
    fn discover(&self, places: &Places, found: &mut Found);

    /// Adds the sources in these folders and above them, for an agent that keeps files in its projects.
    fn discover_in_projects(&self, _projects: &[PathBuf], _found: &mut Found) {}

    /// Returns the days after which the agent deletes sessions, by its settings or else its default; `None` if it keeps
    /// them.
    fn retention_days(&self, _places: &Places) -> Option<u32> {
        self.about().retention_days
    }

    /// Returns the kind of a file that was named with `--source`, by its name alone; `None` if it is not this agent's.
    fn claims(&self, path: &Path) -> Option<&'static str>;

    /// Returns the kind of a file that the user says is this agent's, wherever it is.
    fn takes(&self, path: &Path) -> Option<&'static str> {
        self.claims(path)
    }

    /// Files that are read together with a source, whether they are there or not: it has changed when one of them has.
    /// A database's write-ahead log is one without being named.
    fn companions(&self, _path: &Path) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Returns true if the agent only appends to its files, and its records are named by their lines: it never removes
    /// a record.
    fn only_appends(&self) -> bool {
        false
    }

    /// Returns true if a source holds many sessions and is read section by section, each when it has changed.
    fn has_sections(&self, _path: &Path, kind: &str) -> bool {
        self.about().sectioned.contains(&kind)
    }

    /// The sections of a source that has them, found without reading them.
    fn sections(&self, _source: &mut Source<'_>) -> Result<Vec<Section>, Reject> {
        Ok(Vec::new())
    }

    /// Returns when the source's first session probably began, from its first bytes: a hint for grouping, nothing else.
    /// Microseconds since 1970.
    fn started_hint(&self, _kind: &str, head: &[u8]) -> Option<i64> {
        let is_text = !head.starts_with(b"SQLite format 3");
        self.about().began.iter().filter(|_| is_text).find_map(|key| folders::first_moment(head, key))
    }

    /// Reads one source into rows. A bad line is a counted problem; only a source that cannot be read at all is
    /// rejected.
    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject>;
}

/// Every agent that llrem reads, in the order of all lists.
pub static AGENTS: &[&dyn Agent] = &[
    &claude_code::ClaudeCode,
    &codex::Codex,
    &gemini::Gemini,
    &copilot::CopilotCli,
    &copilot_chat::CopilotChat,
    &droid::Droid,
    &pi::Pi,
    &oh_my_pi::OhMyPi,
    &openclaw::OpenClaw,
    &qwen_code::QwenCode,
    &opencode::OpenCode,
    &cursor::Cursor,
    &cline::Cline,
    &roo_code::RooCode,
    &kilo_code::KiloCode,
    &aider::Aider,
    &amazon_q::AmazonQ,
    &kiro_cli::KiroCli,
    &kiro_ide::KiroIde,
    &kimi_code::KimiCode,
    &kimi_cli::KimiCli,
    &openhands::OpenHands,
    &junie::Junie,
    &auggie::Auggie,
    &windsurf::Windsurf,
    &vibe::Vibe,
    &hermes::Hermes,
    &zed::Zed,
    &claude_cowork::ClaudeCowork,
    &openclaude::OpenClaude,
    &traex::TraeX,
    &mimocode::MimoCode,
    &qclaw::QClaw,
    &goose::Goose,
    &antigravity::Antigravity,
    &grok::Grok,
    &crush::Crush,
    &amp::Amp,
];

/// The agent of that id.
pub fn by_id(id: &str) -> Option<&'static dyn Agent> {
    AGENTS.iter().copied().find(|agent| agent.about().id == id)
}

/// Returns the agent that takes a file by its folder and name, and the kind of the file. Of several agents, the last one
/// in the list gets it, because Claude Code, the first, takes transcripts of any name. A file in an agent's own folder
/// belongs to that agent, unless `among` has only another one. If no folder shows the agent, the first lines override the
/// file's name.
pub fn claimed(path: &Path, among: &[&'static dyn Agent]) -> Option<(&'static dyn Agent, &'static str)> {
    let name = name_of(path);
    let name = Path::new(&*name);
    let is_own = |agent: &&&'static dyn Agent| among.len() == 1 || agent.about().may_have(path);
    let (agent, kind) = among.iter().rev().filter(is_own).find_map(|agent| Some((*agent, agent.claims(name)?)))?;
    let is_claimed_by_name = || name.file_name().is_some_and(|name| agent.claims(Path::new(name)).is_some());
    let is_lines = name.extension().is_some_and(|extension| extension == "jsonl");
    let is_doubtful = is_lines && innermost_folder(path).is_none() && is_claimed_by_name();
    (is_doubtful && among.len() > 1).then(|| claimed_by_lines(path, name, among)).flatten().or(Some((agent, kind)))
}

/// Returns the agent and the kind of a file that the user says is this agent's. A file in an agent's own folder is the
/// kind that its name means there.
pub fn taken(path: &Path, agent: &'static dyn Agent) -> Option<(&'static dyn Agent, &'static str)> {
    let is_elsewhere = innermost_folder(path).is_none();
    is_elsewhere.then(|| Some((agent, agent.takes(Path::new(&*name_of(path)))?))).flatten()
}

fn claimed_by_lines(
    path: &Path,
    name: &Path,
    among: &[&'static dyn Agent],
) -> Option<(&'static dyn Agent, &'static str)> {
    let head = head(path, FIRST_BYTES).ok()?;
    let lines = head.split(|byte| *byte == b'\n').take(FIRST_LINES);
    let lines: Vec<serde_json::Value> = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let has = |(place, text): &Mark| {
        let mut values = lines.iter().filter_map(|line| line.pointer(place));
        values.any(|value| text.is_none_or(|text| value == text))
    };
    let agent = among.iter().rev().find(|agent| agent.about().marks.iter().any(has))?;
    Some((*agent, agent.takes(name)?))
}

/// The innermost folder of any agent's that a file is in; one that holds folders of other agents' names comes first.
fn innermost_folder(path: &Path) -> Option<Component<'_>> {
    let is_whole = |folder: &Component<'_>| AGENTS.iter().any(|agent| agent.about().owns_all_of(folder));
    let is_owned = |folder: &Component<'_>| AGENTS.iter().any(|agent| agent.about().owns(folder));
    path.components().find(is_whole).or_else(|| path.components().rev().find(is_owned))
}

/// The id of the row that counts a whole session; see [`About::has_totals`].
pub(crate) fn total_id(session: &str) -> String {
    format!("{session}:total")
}

/// A place in a line, as a JSON pointer, and the text that stands there; any value where none is given.
pub type Mark = (&'static str, Option<&'static str>);

/// Lines that are looked at to know whose a file is, within so many bytes.
const FIRST_LINES: usize = 8;
const FIRST_BYTES: u64 = 256 << 10;

/// Facts about an agent.
pub struct About {
    /// Value of the `agent` column.
    pub id: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// The folders where it keeps sessions, for people; `~` is the home.
    pub paths: &'static [&'static str],
    /// Folders that are its own with all that is in them, also in folders of other agents' names.
    pub folders: &'static [&'static str],
    /// Environment variables that move its folder, honoured when no home is given.
    pub environment: &'static [&'static str],
    /// Versions whose files were read.
    pub versions: &'static str,
    /// The sources that its reader was written from.
    pub rests_on: RestsOn,
    /// Its records, and how exact they are.
    pub records: Records,
    /// Days for which it keeps sessions by default; null if it keeps them for ever.
    pub retention_days: Option<u32>,
    /// Rises whenever the same file gives other rows, so that what is still on disk is extracted again.
    pub parser_version: u32,
    /// Marks that distinguish its first lines from other agents', for files whose place does not show the agent.
    pub marks: &'static [Mark],
    /// Kinds of sources that hold one session each and are read from beginning to end. A large one is read twice
    /// instead of being held in memory.
    pub streams: &'static [&'static str],
    /// Kinds of sources that hold many sessions, which are read section by section.
    pub sectioned: &'static [&'static str],
    /// True if it may have a row that counts the whole session, with the responses that have rows of their own. Its id is
    /// [`total_id`]. The lake has what the other rows do not count, except those of side conversations.
    pub has_totals: bool,
    /// Keys under which a record may hold its time, the best first.
    pub began: &'static [&'static str],
    /// True if replies and responses have the time at which they began. Most agents write the time at which a reply was complete.
    pub dates_replies_by_beginning: bool,
}

impl About {
    /// The values that most agents share.
    const NEW: Self = Self {
        id: "",
        title: "",
        paths: &[],
        folders: &[],
        environment: &[],
        versions: "",
        rests_on: RestsOn::OtherTools,
        records: Records::EXACT,
        retention_days: None,
        parser_version: 1,
        marks: &[],
        streams: &[],
        sectioned: &[],
        has_totals: false,
        began: &[],
        dates_replies_by_beginning: false,
    };

    /// Returns true if it keeps files in the projects that it works on.
    pub fn keeps_files_in_projects(&self) -> bool {
        self.paths.iter().any(|path| path.starts_with("<project>"))
    }

    /// Hidden folders in the home that it keeps its files in.
    fn own_folders(&self) -> impl Iterator<Item = &'static str> {
        let first = self.paths.iter().filter_map(|path| path.strip_prefix("~/")?.split('/').next());
        first.filter(|folder| folder.starts_with('.') && !SHARED_FOLDERS.contains(folder))
    }

    /// Returns true if a file may be this agent's: the innermost folder of some agent's that it is in is this one's.
    fn may_have(&self, path: &Path) -> bool {
        innermost_folder(path).is_none_or(|folder| self.owns(&folder)) || self.keeps_files_in_projects()
    }

    fn owns(&self, folder: &Component<'_>) -> bool {
        self.owns_all_of(folder) || self.own_folders().any(|own| folder.as_os_str() == own)
    }

    fn owns_all_of(&self, folder: &Component<'_>) -> bool {
        self.folders.iter().any(|own| folder.as_os_str() == *own)
    }
}

/// Folders in the home that many programs keep theirs in.
const SHARED_FOLDERS: [&str; 2] = [".config", ".local"];

/// The sources that a reader was written from, the surest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestsOn {
    /// Sessions that the agent wrote.
    Sessions,
    /// The agent's own source code, or its published types.
    Source,
    /// Readers that others wrote, and records that users quoted.
    OtherTools,
}

impl RestsOn {
    /// The word for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sessions => "sessions",
            Self::Source => "source",
            Self::OtherTools => "other tools",
        }
    }
}

/// The exactness of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grain {
    /// Each one.
    Exact,
    /// Only a total for each session.
    Session,
    /// Not at all.
    Absent,
}

impl Grain {
    /// The word for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Session => "by session",
            Self::Absent => "absent",
        }
    }
}

/// The records of an agent, and how exact each is.
pub struct Records {
    /// Texts of prompts and replies.
    pub messages: Grain,
    /// Tool calls with results.
    pub tool_calls: Grain,
    /// Tokens of each kind.
    pub tokens: Grain,
    /// Cost in money.
    pub cost: Grain,
    /// Time that a response took.
    pub durations: Grain,
}

impl Records {
    const EXACT: Self = Self {
        messages: Grain::Exact,
        tool_calls: Grain::Exact,
        tokens: Grain::Exact,
        cost: Grain::Exact,
        durations: Grain::Exact,
    };
}

/// The places where agents' folders may be.
pub struct Places {
    /// The home folder, or the folder to be read as if it were one.
    pub home: PathBuf,
    /// Value of an environment variable; always none when a home was given.
    environment: Option<fn(&str) -> Option<String>>,
    /// Folders below which project-local files are looked for.
    pub project_roots: Vec<PathBuf>,
    /// True if nothing names these folders: they are searched less deeply.
    pub has_usual_roots: bool,
}

/// Folders of a home in which people keep their projects.
pub const USUAL_ROOTS: [&str; 5] = ["code", "dev", "projects", "src", "work"];
/// Depth to which they are searched.
pub const USUAL_DEPTH: usize = 4;

impl Places {
    /// Looks below the given folder only, whatever the environment says.
    pub fn below(home: PathBuf) -> Self {
        Self { project_roots: vec![home.clone()], has_usual_roots: false, home, environment: None }
    }

    /// Looks where the user's own environment points. If no project roots are named, they are the usual ones.
    pub fn of_user(home: PathBuf, project_roots: Vec<PathBuf>) -> Self {
        let has_usual_roots = project_roots.is_empty();
        let project_roots = if has_usual_roots { usual_roots(&home) } else { project_roots };
        Self {
            home,
            has_usual_roots,
            environment: Some(|name| std::env::var(name).ok().filter(|value| !value.is_empty())),
            project_roots,
        }
    }

    /// Returns true if a folder that some setting names is looked into: below a given home only what is there.
    pub fn includes(&self, folder: &Path) -> bool {
        let is_plain = folder.is_absolute() && !folder.components().any(|part| part == Component::ParentDir);
        is_plain && (self.environment.is_some() || folder.starts_with(&self.home))
    }

    /// Returns the folder that an environment variable names, or else one in the home.
    fn folder(&self, variable: &str, usual: &str) -> PathBuf {
        self.environment(variable).map_or_else(|| self.home.join(usual), PathBuf::from)
    }

    /// Value of an agent's environment variable, when it counts.
    pub fn environment(&self, name: &str) -> Option<String> {
        self.environment.and_then(|read| read(name))
    }
}

/// Returns the usual folders that exist. A link out of the home is not followed.
fn usual_roots(home: &Path) -> Vec<PathBuf> {
    let Ok(real_home) = home.canonicalize() else { return Vec::new() };
    let roots = USUAL_ROOTS.into_iter().map(|name| home.join(name));
    let is_in_home = |root: &PathBuf| root.canonicalize().is_ok_and(|real| real.starts_with(&real_home));
    roots.filter(|root| root.is_dir() && is_in_home(root)).collect()
}

/// Collects the sources that agents find.
#[derive(Default)]
pub struct Found {
    /// The sources found, in no order.
    pub sources: Vec<FoundSource>,
    /// Folders that could not be listed, and why.
    pub problems: Vec<(PathBuf, String)>,
    /// Folders that links led to, each with the link that is followed.
    followed: BTreeMap<PathBuf, PathBuf>,
}

/// A source as found: its path and what it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FoundSource {
    /// The file that names the source.
    pub path: PathBuf,
    /// Its kind, in the agent's own words: transcript, subagent, database, prompts.
    pub kind: &'static str,
}

impl Found {
    /// Adds a source.
    pub fn add(&mut self, path: PathBuf, kind: &'static str) {
        self.sources.push(FoundSource { path, kind });
    }

    /// Adds a file as a source if it exists.
    fn add_file(&mut self, path: PathBuf, kind: &'static str) {
        if path.is_file() {
            self.add(path, kind);
        }
    }

    /// True if a link to a folder is followed. A folder is entered through one link only, and never through a link
    /// inside it, so loops end.
    fn follows(&mut self, link: &Path) -> bool {
        let Ok(folder) = link.canonicalize() else { return false };
        let is_loop =
            link.parent().and_then(|parent| parent.canonicalize().ok()).is_none_or(|it| it.starts_with(&folder));
        !is_loop && self.followed.entry(folder).or_insert_with(|| link.to_owned()) == link
    }
}
