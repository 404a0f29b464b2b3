//! OpenCode, 0.1 to 2.x: its databases, the files that it kept before them, and the Go program of the same name.

mod events;
mod files;
mod go;
mod ids;
mod inline;
mod listing;
mod places;
mod program;
mod record;
mod rows;
mod store;
mod tokens;
mod tools;
mod transcript;

use std::path::{Path, PathBuf};

use super::folders::with_folders_above;
use super::{About, Agent, Found, Places, Records, RestsOn};
use crate::extract::{Reject, Sink};
use crate::source::{Section, Source};
use places::Folders;
use program::OPENCODE;

pub(super) use program::Program;

/// Kinds of sources.
pub(super) const DATABASE: &str = "database";
/// A session's file, since 2025-06.
pub(super) const SESSION: &str = "session";
/// A session's file in its project's folder, before.
pub(super) const FIRST_SESSION: &str = "project_session";
/// The first message of a session whose own file is gone.
pub(super) const STRAY: &str = "stray_messages";

/// The agent.
pub struct OpenCode;

static ABOUT: About = About {
    id: "opencode",
    title: "OpenCode",
    paths: &[
        "~/.local/share/opencode/opencode*.db",
        "~/.local/share/opencode/storage",
        "~/.local/share/opencode/project",
        "<project>/.opencode/opencode.db",
    ],
    environment: &["OPENCODE_DATA_DIR", "OPENCODE_DB", "XDG_DATA_HOME"],
    versions: "0.5.29 to 1.18.33; 2.x by its source",
    rests_on: RestsOn::Sessions,
    records: Records::EXACT,
    parser_version: 8,
    streams: &[SESSION, FIRST_SESSION, STRAY],
    sectioned: &[DATABASE],
    began: &["created"],
    dates_replies_by_beginning: true,
    ..About::NEW
};

impl Agent for OpenCode {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        discover(&OPENCODE, places, found);
        for project in &places.project_roots {
            places::discover_projects(project, found);
        }
    }

    fn discover_in_projects(&self, projects: &[PathBuf], found: &mut Found) {
        for folder in with_folders_above(projects) {
            places::add_go(folder, found);
        }
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        claims(&OPENCODE, path)
    }

    fn companions(&self, path: &Path) -> Vec<PathBuf> {
        companions(&OPENCODE, path)
    }

    fn sections(&self, source: &mut Source<'_>) -> Result<Vec<Section>, Reject> {
        sections(source)
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        extract(source, out)
    }
}

/// Adds the sources in a program's data folders.
pub(super) fn discover(program: &Program, places: &Places, found: &mut Found) {
    let roots = places::roots(program, places);
    for root in &roots {
        places::discover(program, root, found);
    }
    places::discover_named(program, places, &roots, found);
}

/// Returns the kind of a file, if it is the program's.
pub(super) fn claims(program: &Program, path: &Path) -> Option<&'static str> {
    places::kind_of(program, path)
}

/// Files that are read together with a session's.
pub(super) fn companions(program: &Program, path: &Path) -> Vec<PathBuf> {
    let kind = places::kind_of(program, path).filter(|kind| *kind != DATABASE);
    kind.and_then(|kind| Folders::of(path, kind)).map(|folders| folders.companions()).unwrap_or_default()
}

/// The sessions of a database.
pub(super) fn sections(source: &mut Source<'_>) -> Result<Vec<Section>, Reject> {
    store::sections(source)
}

/// Reads one source.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    if source.kind == DATABASE { store::extract(source, out) } else { files::extract(source, out) }
}
