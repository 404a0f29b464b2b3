//! OpenHands CLI: a folder for each conversation, with its state and one file for each event.

mod conversation;
mod record;
mod tools;
mod usage;

use std::path::{Path, PathBuf};

use super::folders::{folders, lies_in};
use super::{About, Agent, Found, Places, Records, RestsOn};
use crate::extract::{Reject, Sink};
use crate::source::Source;

/// The value of the `agent` column.
const AGENT: &str = "openhands";

/// Kinds of sources.
const CONVERSATION: &str = "conversation";
const SUBAGENT: &str = "subagent";

/// The file that names a source.
const STATE: &str = "base_state.json";

/// The agent.
pub struct OpenHands;

static ABOUT: About = About {
    id: AGENT,
    title: "OpenHands",
    paths: &["~/.openhands/conversations"],
    environment: &["OPENHANDS_CONVERSATIONS_DIR", "OPENHANDS_PERSISTENCE_DIR"],
    versions: "1.16",
    rests_on: RestsOn::Sessions,
    records: Records::EXACT,
    parser_version: 2,
    streams: &[CONVERSATION, SUBAGENT],
    ..About::NEW
};

impl Agent for OpenHands {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        let persistence = places.folder("OPENHANDS_PERSISTENCE_DIR", ".openhands").join("conversations");
        let root = places.environment("OPENHANDS_CONVERSATIONS_DIR").map_or(persistence, PathBuf::from);
        for conversation in folders(&root, found) {
            for subagent in folders(&conversation.join("subagents"), found) {
                found.add_file(subagent.join(STATE), SUBAGENT);
            }
            found.add_file(conversation.join(STATE), CONVERSATION);
        }
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        lies_in(path, ".openhands").then(|| self.takes(path)).flatten()
    }

    fn takes(&self, path: &Path) -> Option<&'static str> {
        let folder = path.parent().filter(|_| path.file_name().is_some_and(|name| name == STATE))?;
        Some(if outer_of(folder).is_some() { SUBAGENT } else { CONVERSATION })
    }

    fn companions(&self, path: &Path) -> Vec<PathBuf> {
        vec![path.with_file_name("events")]
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        conversation::extract(source, out)
    }
}

/// Returns the folder of the conversation that started the one of this folder.
fn outer_of(folder: &Path) -> Option<&Path> {
    folder.parent().filter(|subagents| subagents.ends_with("subagents"))?.parent()
}
