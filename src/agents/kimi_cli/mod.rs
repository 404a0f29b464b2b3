//! kimi-cli, the program before Kimi Code: a log of lines for each session and subagent.

mod record;
mod talk;
mod tools;
mod wire;

use std::path::{Path, PathBuf};

use super::folders::{add_files, folders, lies_in};
use super::{About, Agent, Found, Grain, Places, Records, RestsOn};
use crate::extract::{Reject, Sink};
use crate::source::Source;

/// The value of the `agent` column.
const AGENT: &str = "kimi-cli";

/// Kinds of sources.
const SESSION: &str = "transcript";
const SUBAGENT: &str = "subagent";

/// The agent.
pub struct KimiCli;

static ABOUT: About = About {
    id: AGENT,
    title: "kimi-cli",
    paths: &["~/.kimi/sessions"],
    environment: &["KIMI_SHARE_DIR"],
    versions: "1.50",
    rests_on: RestsOn::Source,
    records: Records { cost: Grain::Absent, durations: Grain::Absent, ..Records::EXACT },
    parser_version: 3,
    marks: &[("/message/type", Some("TurnBegin"))],
    streams: &[SESSION, SUBAGENT],
    began: &["timestamp"],
    ..About::NEW
};

impl Agent for KimiCli {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        let root = places.folder("KIMI_SHARE_DIR", ".kimi").join("sessions");
        let sessions = folders(&root, found).into_iter().flat_map(|project| folders(&project, found));
        for session in sessions.collect::<Vec<_>>() {
            add_files(&session, 2, &|entry| kind_of(&entry.path), found);
        }
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        lies_in(path, ".kimi").then(|| kind_of(path)).flatten()
    }

    fn takes(&self, path: &Path) -> Option<&'static str> {
        let is_lines = path.extension().is_some_and(|extension| extension == "jsonl");
        kind_of(path).or(is_lines.then_some(SESSION))
    }

    fn companions(&self, path: &Path) -> Vec<PathBuf> {
        let Some(place) = Place::of(path) else { return Vec::new() };
        let meta = path.with_file_name("meta.json");
        [place.folders(), place.state()].into_iter().flatten().chain(place.agent.map(|_| meta)).collect()
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        wire::extract(source, out)
    }
}

fn kind_of(path: &Path) -> Option<&'static str> {
    Place::of(path).map(|place| if place.agent.is_some() { SUBAGENT } else { SESSION })
}

/// `sessions/<MD5 of the folder>/<session>/wire.jsonl`, and `subagents/<agent>/wire.jsonl` in the session's folder.
struct Place<'p> {
    session: &'p Path,
    agent: Option<&'p str>,
}

impl<'p> Place<'p> {
    fn of(path: &'p Path) -> Option<Self> {
        let folder = path.parent().filter(|_| path.file_name().is_some_and(|name| name == "wire.jsonl"))?;
        let subagents = folder.parent()?;
        let place = if subagents.ends_with("subagents") {
            Self { session: subagents.parent()?, agent: Some(folder.file_name()?.to_str()?) }
        } else {
            Self { session: folder, agent: None }
        };
        place.session.parent()?.parent().filter(|sessions| sessions.ends_with("sessions")).map(|_| place)
    }

    /// Names the folder of each project.
    fn folders(&self) -> Option<PathBuf> {
        self.session.ancestors().nth(3).map(|share| share.join("kimi.json"))
    }

    fn state(&self) -> Option<PathBuf> {
        self.agent.is_none().then(|| self.session.join("state.json"))
    }
}
