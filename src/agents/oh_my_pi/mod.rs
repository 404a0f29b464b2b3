//! Oh My Pi, the fork of pi that keeps its sessions in `~/.omp`.

use std::path::Path;

use super::folders::lies_in;
use super::pi;
use super::{About, Agent, Found, Grain, Places, Records, RestsOn};
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
    rests_on: RestsOn::Source,
    records: Records { durations: Grain::Exact, ..pi::RECORDS },
    parser_version: 10,
    marks: &[("/type", Some("title"))],
    streams: &["transcript", "subagent"],
    began: &["timestamp"],
    ..About::NEW
};

impl Agent for OhMyPi {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        pi::discover(&places.folder("OMP_CODING_AGENT_DIR", ".omp/agent").join("sessions"), found);
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        lies_in(path, ".omp").then(|| pi::kind_of(path)).flatten()
    }

    fn takes(&self, path: &Path) -> Option<&'static str> {
        pi::kind_of(path)
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        pi::extract(&pi::PLAIN, source, out)
    }
}
