//! Oh My Pi, the fork of pi that keeps its sessions in `~/.omp`.

use std::path::{Path, PathBuf};

use super::folders::first_moment;
use super::pi;
use super::{About, Agent, Found, Grain, Mark, Places, Records};
use crate::extract::{Reject, Sink};
use crate::source::Source;

/// The agent.
pub struct OhMyPi;

static ABOUT: About = About {
    id: "oh-my-pi",
    title: "Oh My Pi",
    paths: &["~/.omp/agent/sessions"],
    environment: &["OMP_CODING_AGENT_DIR"],
    versions: "header version 3, up to 18.2.3",
    records: Records { durations: Grain::Exact, ..pi::RECORDS },
    retention_days: None,
    parser_version: 8,
};

impl Agent for OhMyPi {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        let folder = places.environment("OMP_CODING_AGENT_DIR").map(PathBuf::from);
        pi::discover(&folder.unwrap_or_else(|| places.home.join(".omp/agent")).join("sessions"), found);
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        pi::lies_in(path, ".omp").then(|| pi::kind_of(path)).flatten()
    }

    fn takes(&self, path: &Path) -> Option<&'static str> {
        pi::kind_of(path)
    }

    fn marks(&self) -> &'static [Mark] {
        &[("/type", Some("title"))]
    }

    fn streams(&self, _kind: &str) -> bool {
        true
    }

    fn started_hint(&self, _kind: &str, head: &[u8]) -> Option<i64> {
        first_moment(head, "timestamp")
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        pi::extract(&pi::PLAIN, source, out)
    }
}
