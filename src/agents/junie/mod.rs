//! JetBrains Junie: a log of screen updates for each session, and an index of all sessions.

mod blocks;
mod log;
mod record;

use std::path::{Path, PathBuf};

use super::folders::{folders, lies_in};
use super::{About, Agent, Found, Places, Records, RestsOn};
use crate::extract::jsonl::each_record;
use crate::extract::{NoteField, Reject, Sink, session_key};
use crate::source::Source;
use record::Indexed;

/// The value of the `agent` column.
const AGENT: &str = "junie";

/// Kinds of sources.
const SESSION: &str = "transcript";
const INDEX: &str = "index";

/// The agent.
pub struct Junie;

static ABOUT: About = About {
    id: AGENT,
    title: "JetBrains Junie",
    paths: &["~/.junie/sessions"],
    environment: &["JUNIE_HOME"],
    versions: "2026, builds of April to September",
    rests_on: RestsOn::OtherTools,
    records: Records::EXACT,
    parser_version: 2,
    marks: &[("/event/agentEvent/kind", None)],
    streams: &[SESSION],
    began: &["timestampMs"],
    ..About::NEW
};

impl Agent for Junie {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        let root: PathBuf = places.folder("JUNIE_HOME", ".junie").join("sessions");
        for session in folders(&root, found) {
            found.add_file(session.join("events.jsonl"), SESSION);
        }
        found.add_file(root.join("index.jsonl"), INDEX);
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        let name = path.file_name()?;
        let folder = path.parent().filter(|_| lies_in(path, ".junie"))?;
        match name.to_str()? {
            "events.jsonl" if folder.parent()?.ends_with("sessions") => Some(SESSION),
            "index.jsonl" if folder.ends_with("sessions") => Some(INDEX),
            _ => None,
        }
    }

    fn takes(&self, path: &Path) -> Option<&'static str> {
        let is_lines = path.extension().is_some_and(|extension| extension == "jsonl");
        self.claims(path).or(is_lines.then_some(SESSION))
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        if source.kind == INDEX { extract_index(source, out) } else { log::extract(source, out) }
    }
}

/// Reads the index: titles and projects of sessions whose own logs have none. Of several lines of a session, the last
/// counts.
fn extract_index(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    each_record::<Indexed<'static>>(source, out, |indexed, number, out| {
        let Some(session) = indexed.id.get().map(|id| session_key(AGENT, id)) else { return };
        let rank = i64::try_from(number).unwrap_or(i64::MAX);
        for (field, text) in [(NoteField::Title, &indexed.name), (NoteField::ProjectPath, &indexed.folder)] {
            if let Some(text) = text.get() {
                out.note(field, session, rank, text);
            }
        }
    })
}
