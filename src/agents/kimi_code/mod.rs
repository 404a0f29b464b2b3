//! Kimi Code: one log of lines for each agent of a session.

mod record;
mod tools;
mod wire;

use std::path::{Path, PathBuf};

use super::folders::{add_files, folders, lies_in};
use super::{About, Agent, Found, Grain, Places, Records, RestsOn};
use crate::extract::{Reject, Sink};
use crate::source::Source;

/// The value of the `agent` column.
const AGENT: &str = "kimi-code";

/// Kinds of sources.
const SESSION: &str = "transcript";
const SUBAGENT: &str = "subagent";

/// The folder of the agent that the person talks to.
const MAIN: &str = "main";

/// Homes of Kimi Work, the desktop app, which runs the same program.
const DESKTOP: [&str; 2] = ["Library/Application Support", "AppData/Roaming"];
const DESKTOP_HOME: &str = "kimi-desktop/daimon-share/daimon/runtime/kimi-code/home";

/// The agent.
pub struct KimiCode;

static ABOUT: About = About {
    id: AGENT,
    title: "Kimi Code",
    paths: &["~/.kimi-code/sessions", "~/Library/Application Support/kimi-desktop"],
    environment: &["KIMI_CODE_HOME"],
    versions: "2.1",
    rests_on: RestsOn::Sessions,
    records: Records { cost: Grain::Absent, ..Records::EXACT },
    parser_version: 2,
    marks: &[("/type", Some("runtime.set_binding")), ("/type", Some("profile.bind"))],
    streams: &[SESSION, SUBAGENT],
    began: &["time"],
    ..About::NEW
};

impl Agent for KimiCode {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        let own = places.folder("KIMI_CODE_HOME", ".kimi-code");
        let desktop = DESKTOP.map(|folder| places.home.join(folder).join(DESKTOP_HOME));
        for home in [own].into_iter().chain(desktop) {
            let sessions =
                folders(&home.join("sessions"), found).into_iter().flat_map(|project| folders(&project, found));
            for session in sessions.collect::<Vec<_>>() {
                add_files(&session.join("agents"), 1, &|entry| kind_of(&entry.path), found);
            }
        }
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        let is_ours = lies_in(path, ".kimi-code") || lies_in(path, "kimi-desktop");
        is_ours.then(|| kind_of(path)).flatten()
    }

    fn takes(&self, path: &Path) -> Option<&'static str> {
        let is_lines = path.extension().is_some_and(|extension| extension == "jsonl");
        kind_of(path).or(is_lines.then_some(SESSION))
    }

    fn companions(&self, path: &Path) -> Vec<PathBuf> {
        place_of(path).map(|(session, _)| session.join("state.json")).into_iter().collect()
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        wire::extract(source, out)
    }
}

/// `<session>/agents/<agent>/wire.jsonl`.
fn kind_of(path: &Path) -> Option<&'static str> {
    let (_, agent) = place_of(path).filter(|_| path.file_name().is_some_and(|name| name == "wire.jsonl"))?;
    Some(if agent == MAIN { SESSION } else { SUBAGENT })
}

/// Returns the folder of the session that a log is in, and the name of the agent.
fn place_of(path: &Path) -> Option<(&Path, &str)> {
    let folder = path.parent()?;
    let agents = folder.parent().filter(|agents| agents.ends_with("agents"))?;
    Some((agents.parent()?, folder.file_name()?.to_str()?))
}
