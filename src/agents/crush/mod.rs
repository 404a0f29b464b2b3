//! Crush, Charm's program: a database in each project. Its tokens are context sizes, so only costs are recorded.

mod record;
mod store;
mod tools;

use std::path::{Path, PathBuf};

use super::folders::{each_project, with_folders_above};
use super::{About, Agent, Found, Grain, Places, Records, RestsOn};
use crate::extract::{Reject, Sink};
use crate::source::{Section, Source, read_text};
use record::Registry;

/// The agent.
pub struct Crush;

static ABOUT: About = About {
    id: "crush",
    title: "Crush",
    paths: &["<project>/.crush/crush.db"],
    environment: &["CRUSH_GLOBAL_DATA", "XDG_DATA_HOME", "LOCALAPPDATA"],
    versions: "2025 to 2026-11, by its source",
    rests_on: RestsOn::Source,
    records: Records { tokens: Grain::Absent, cost: Grain::Session, durations: Grain::Absent, ..Records::EXACT },
    parser_version: 2,
    sectioned: &[DATABASE],
    ..About::NEW
};

/// The kind of sources.
const DATABASE: &str = "database";
const NAME: &str = "crush.db";
/// Folder in a project that holds the database, unless the settings name another.
const FOLDER: &str = ".crush";

impl Agent for Crush {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        let mut databases = registered(places);
        for root in &places.project_roots {
            each_project(root, &mut |project| databases.push(database_of(project)));
        }
        add(databases, found);
    }

    fn discover_in_projects(&self, projects: &[PathBuf], found: &mut Found) {
        add(with_folders_above(projects).into_iter().map(database_of).collect(), found);
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        path.file_name().is_some_and(|name| name == NAME).then_some(DATABASE)
    }

    fn takes(&self, path: &Path) -> Option<&'static str> {
        path.extension().is_some_and(|extension| extension == "db").then_some(DATABASE)
    }

    fn sections(&self, source: &mut Source<'_>) -> Result<Vec<Section>, Reject> {
        store::sections(source)
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        store::extract(source, out)
    }
}

fn database_of(project: &Path) -> PathBuf {
    project.join(FOLDER).join(NAME)
}

/// Returns the databases of all projects that Crush was started in.
fn registered(places: &Places) -> Vec<PathBuf> {
    let data = places.environment("CRUSH_GLOBAL_DATA").map_or_else(
        || {
            vec![
                places.folder("XDG_DATA_HOME", ".local/share").join("crush"),
                places.folder("LOCALAPPDATA", "AppData/Local").join("crush"),
            ]
        },
        |folder| vec![PathBuf::from(folder)],
    );
    let mut databases = Vec::new();
    for text in data.iter().filter_map(|folder| read_text(&folder.join("projects.json")).ok()) {
        let registry: Registry<'_> = serde_json::from_str(&text).unwrap_or_default();
        for project in registry.projects.0.iter().filter_map(|project| project.0.as_ref()) {
            let usual = project.path.get().map(|path| Path::new(path).join(FOLDER));
            let named = project.data_dir.get().map(PathBuf::from);
            let folder = named.or(usual).filter(|folder| places.includes(folder));
            databases.extend(folder.map(|folder| folder.join(NAME)));
        }
    }
    databases
}

/// Adds the databases that exist, each once.
fn add(mut databases: Vec<PathBuf>, found: &mut Found) {
    databases.sort();
    databases.dedup();
    for database in databases {
        found.add_file(database, DATABASE);
    }
}
