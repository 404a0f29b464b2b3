//! Auggie, the command line program of Augment Code: one document for each session.

mod record;
mod session;
mod tools;

use std::path::Path;

use super::folders::{add_files, lies_in};
use super::{About, Agent, Found, Places, Records, RestsOn};
use crate::extract::{Reject, Sink};
use crate::source::Source;

/// The value of the `agent` column.
const AGENT: &str = "auggie";

/// The kind of source.
const SESSION: &str = "session";

/// The agent.
pub struct Auggie;

static ABOUT: About = About {
    id: AGENT,
    title: "Auggie",
    paths: &["~/.augment/sessions"],
    versions: "0.36",
    rests_on: RestsOn::Source,
    records: Records::EXACT,
    parser_version: 2,
    began: &["created"],
    ..About::NEW
};

impl Agent for Auggie {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        add_files(&places.home.join(".augment/sessions"), 0, &|entry| kind_of(&entry.path), found);
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        let is_ours = lies_in(path, ".augment") && path.parent().is_some_and(|folder| folder.ends_with("sessions"));
        is_ours.then(|| kind_of(path)).flatten()
    }

    fn takes(&self, path: &Path) -> Option<&'static str> {
        kind_of(path)
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        session::extract(source, out)
    }
}

fn kind_of(path: &Path) -> Option<&'static str> {
    path.extension().is_some_and(|extension| extension == "json").then_some(SESSION)
}
