//! pi, header versions 1 to 4: transcripts, and those of subagents next to them. What Oh My Pi and OpenClaw share with
//! it.

mod content;
mod dialect;
mod known;
mod record;
mod tools;
mod transcript;
mod usage;

use std::path::Path;

use super::folders::{self, add_files, lies_in};
use super::{About, Agent, Found, Grain, Places, Records, RestsOn};
use crate::extract::jsonl::RecordReader;
use crate::extract::{Reject, Sink};
use crate::source::Source;

pub(super) use dialect::{Dialect, PLAIN, Writer};
pub(super) use known::Known;
pub(super) use record::{Entry, Message};
pub(super) use transcript::{Transcript, session_of_stem};

/// The agent.
pub struct Pi;

static ABOUT: About = About {
    id: "pi",
    title: "pi",
    paths: &["~/.pi/agent/sessions"],
    environment: &["PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR"],
    versions: "header versions 1 to 4, up to 1.5.2",
    rests_on: RestsOn::Sessions,
    records: RECORDS,
    parser_version: 10,
    marks: &[("/type", Some("session"))],
    streams: &["transcript", "subagent"],
    began: &["timestamp"],
    ..About::NEW
};

/// The records of all agents that write pi's lines.
pub(super) const RECORDS: Records = Records { durations: Grain::Absent, ..Records::EXACT };

/// Folders below the sessions' one that are looked into: projects, and subagents within sessions.
const DEPTH: usize = 5;

impl Agent for Pi {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        discover(&places.folder("PI_CODING_AGENT_DIR", ".pi/agent").join("sessions"), found);
        if let Some(folder) = places.environment("PI_CODING_AGENT_SESSION_DIR") {
            discover(Path::new(&folder), found);
        }
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        let stem = path.file_name()?.to_str()?.strip_suffix(".jsonl")?;
        let is_ours = lies_in(path, ".pi") || (session_of_stem(stem) != stem && !lies_in(path, ".omp"));
        is_ours.then(|| kind_of(path)).flatten()
    }

    fn takes(&self, path: &Path) -> Option<&'static str> {
        kind_of(path)
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        extract(&PLAIN, source, out)
    }
}

/// Adds the transcripts below a folder of sessions.
pub(super) fn discover(sessions: &Path, found: &mut Found) {
    add_files(sessions, DEPTH, &|entry: &folders::Entry| kind_of(&entry.path), found);
}

/// Returns the kind of a file, by its path: a session's transcript is in the sessions' folder or in that of its
/// project, a subagent's in a folder that is named after its session.
pub(super) fn kind_of(path: &Path) -> Option<&'static str> {
    let is_transcript = path.extension().is_some_and(|extension| extension == "jsonl");
    let is_artifact = lies_in(path, "subagent-artifacts") || lies_in(path, "artifacts");
    if !is_transcript || is_artifact {
        return None;
    }
    Some(if parents(path).next().is_some() { "subagent" } else { "transcript" })
}

/// The sessions that a transcript is within, the innermost first.
fn parents(path: &Path) -> impl Iterator<Item = &str> {
    let folders = path.ancestors().skip(1).filter_map(|folder| folder.file_name()?.to_str());
    folders.take_while(|name| *name != "sessions").filter(|name| session_of_stem(name) != *name)
}

/// Reads one transcript.
pub(super) fn extract(dialect: &'static Dialect, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let path = source.path;
    let known = Known {
        fallback_id: session_of_stem(source.stem()).to_owned(),
        is_subagent: source.kind == "subagent",
        parent_session_id: parents(path).next().map(|name| session_of_stem(name).to_owned()),
        root_session_id: parents(path).last().map(|name| session_of_stem(name).to_owned()),
        ..Known::default()
    };
    let mut transcript = Transcript::new(dialect, known, out);
    transcript.read_all(&mut source.lines()?)?;
    transcript.finish()
}
