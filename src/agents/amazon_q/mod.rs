//! Amazon Q Developer CLI: its database and saved conversations. Its successor, Kiro CLI, keeps them the same way.

mod conversation;
mod outcome;
mod places;
mod record;
mod save;
mod store;
mod tools;
mod usage;

use std::path::{Path, PathBuf};

pub(super) use outcome::{ended, exit_status, succeeded};
pub(super) use places::{SAVE, STORE, add_saves, add_saves_in, add_store, is_save, is_store};
pub(super) use tools::call;
pub(super) use usage::blank as blank_usage;
pub(super) use {save::extract as extract_save, store::extract as extract_store, store::sections};

use super::{About, Agent, Found, Grain, Places, Records, RestsOn};
use crate::extract::{Reject, Sink};
use crate::source::{Section, Source};

/// The value of the `agent` column, and the name of its folder.
const AGENT: &str = "amazon-q";

/// Words in the names of saved conversations.
const WORDS: [&str; 5] = ["amazonq", "amazon-q", "amazon_q", "q-chat", "q_chat"];

/// The agent.
pub struct AmazonQ;

static ABOUT: About = About {
    id: AGENT,
    title: "Amazon Q Developer CLI",
    paths: &["~/.local/share/amazon-q", "~/Library/Application Support/amazon-q", "<project>/*amazonq*.json"],
    environment: &["XDG_DATA_HOME"],
    versions: "2025-05 to 2025-12",
    rests_on: RestsOn::Source,
    records: RECORDS,
    parser_version: 6,
    sectioned: &[STORE],
    ..About::NEW
};

/// Facts that Amazon Q and Kiro CLI record.
pub(super) const RECORDS: Records = Records { tokens: Grain::Absent, cost: Grain::Absent, ..Records::EXACT };

impl Agent for AmazonQ {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        add_store(AGENT, places, found);
        add_saves(&WORDS, places, found);
    }

    fn discover_in_projects(&self, projects: &[PathBuf], found: &mut Found) {
        add_saves_in(&WORDS, projects, found);
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        if is_store(AGENT, path) {
            return Some(STORE);
        }
        is_save(&WORDS, path).then_some(SAVE)
    }

    fn sections(&self, source: &mut Source<'_>) -> Result<Vec<Section>, Reject> {
        store::sections(source)
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        match source.kind {
            STORE => extract_store(source, out),
            _ => extract_save(source, out),
        }
    }
}
