//! Hermes: a database of all sessions of a profile, and the transcripts of earlier versions.

mod conversation;
mod store;
mod tools;
mod transcript;
mod usage;

use std::path::{Path, PathBuf};

use super::folders::{entries, folders, lies_in};
use super::{About, Agent, Found, Grain, Places, Records, RestsOn};
use crate::extract::{Reject, Sink};
use crate::source::{Section, Source};

/// The value of the `agent` column.
const AGENT: &str = "hermes";

/// Kinds of sources.
const STORE: &str = "database";
const TRANSCRIPT: &str = "transcript";

/// The folders of the program, and its database.
const HOMES: [&str; 2] = [".hermes", "AppData/Local/hermes"];
const DATABASE: &str = "state.db";
/// The folder of profiles, each of which has the same files.
const PROFILES: &str = "profiles";
/// Files next to transcripts that are none.
const OTHERS: [&str; 2] = ["request_dump_", "sessions.json"];

/// The agent.
pub struct Hermes;

static ABOUT: About = About {
    id: AGENT,
    title: "Hermes",
    paths: &["~/.hermes/state.db", "~/.hermes/sessions", "~/.hermes/profiles"],
    environment: &["HERMES_HOME"],
    versions: "up to 0.19",
    rests_on: RestsOn::Sessions,
    records: Records { tokens: Grain::Session, cost: Grain::Session, durations: Grain::Absent, ..Records::EXACT },
    parser_version: 2,
    sectioned: &[STORE],
    has_totals: true,
    streams: &[TRANSCRIPT],
    ..About::NEW
};

impl Agent for Hermes {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        let mut homes: Vec<PathBuf> = HOMES.iter().map(|folder| places.home.join(folder)).collect();
        homes.extend(places.environment("HERMES_HOME").map(PathBuf::from));
        homes.sort();
        homes.dedup();
        for home in homes {
            let profiles = folders(&home.join(PROFILES), found);
            for folder in [home].into_iter().chain(profiles) {
                found.add_file(folder.join(DATABASE), STORE);
                for entry in entries(&folder.join("sessions"), found) {
                    if !entry.is_folder && self.takes(&entry.path) == Some(TRANSCRIPT) {
                        found.add(entry.path, TRANSCRIPT);
                    }
                }
            }
        }
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        let is_ours = HOMES.iter().any(|home| lies_in(path, home.rsplit('/').next().unwrap_or(home)));
        let kind = self.takes(path).filter(|_| is_ours)?;
        let is_in_place = kind == STORE || path.parent().is_some_and(|folder| folder.ends_with("sessions"));
        is_in_place.then_some(kind)
    }

    fn takes(&self, path: &Path) -> Option<&'static str> {
        let name = path.file_name()?.to_str()?;
        let extension = path.extension().and_then(|extension| extension.to_str());
        let is_transcript = extension == Some("jsonl") || name.starts_with("session_") && extension == Some("json");
        match name {
            DATABASE => Some(STORE),
            _ if OTHERS.iter().any(|other| name.starts_with(other)) => None,
            _ => is_transcript.then_some(TRANSCRIPT),
        }
    }

    fn sections(&self, source: &mut Source<'_>) -> Result<Vec<Section>, Reject> {
        store::sections(source)
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        match source.kind {
            STORE => store::extract(source, out),
            _ => transcript::extract(source, out),
        }
    }
}

/// The profile that a file is of: sessions of different profiles may have one id.
fn profile(path: &Path) -> Option<&str> {
    let folder = path.ancestors().find(|folder| folder.parent().is_some_and(|above| above.ends_with(PROFILES)))?;
    folder.file_name()?.to_str()
}

/// The id of a session, with its profile.
fn session_id(profile: Option<&str>, id: &str) -> String {
    profile.map_or_else(|| id.to_owned(), |profile| format!("{profile}/{id}"))
}
