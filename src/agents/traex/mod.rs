//! TraeX, the second TRAE CLI: a fork of Codex CLI that writes Codex' rollouts.

use std::path::Path;

use super::codex;
use super::folders::lies_in;
use super::{About, Agent, Found, Grain, Places, Records, RestsOn};
use crate::extract::{Reject, Sink};
use crate::source::Source;

/// The agent.
pub struct TraeX;

static ABOUT: About = About {
    id: "traex",
    title: "TraeX",
    paths: &["~/.trae/cli/sessions", "~/.trae/cli/archived_sessions", "~/.trae/sessions"],
    environment: &["TRAE_HOME"],
    versions: "2026, as 0.200.19",
    rests_on: RestsOn::OtherTools,
    records: Records { cost: Grain::Absent, durations: Grain::Absent, ..Records::EXACT },
    marks: &[("/payload/model_provider", Some("trae"))],
    streams: &["transcript"],
    began: &["timestamp"],
    ..About::NEW
};

impl Agent for TraeX {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        codex::discover(&places.folder("TRAE_HOME", ".trae/cli"), found);
        codex::discover(&places.home.join(".trae"), found);
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        lies_in(path, ".trae").then(|| codex::rollout_kind(path.file_name()?.to_str()?)).flatten()
    }

    fn takes(&self, path: &Path) -> Option<&'static str> {
        let name = path.file_name()?.to_str()?;
        let is_lines = path.extension().is_some_and(|extension| extension == "jsonl");
        codex::rollout_kind(name).or(is_lines.then_some("transcript"))
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        codex::extract(source, out)
    }
}
