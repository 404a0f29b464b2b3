//! QClaw, a program that keeps sessions as OpenClaw does.

use std::path::{Path, PathBuf};

use super::folders::lies_in;
use super::{About, Agent, Found, Places, RestsOn};
use super::{openclaw, pi};
use crate::extract::{Reject, Sink};
use crate::source::{Section, Source};

/// The agent.
pub struct QClaw;

static ABOUT: About = About {
    id: "qclaw",
    title: "QClaw",
    paths: &["~/.qclaw/agents"],
    versions: "2026",
    rests_on: RestsOn::OtherTools,
    records: pi::RECORDS,
    streams: &["transcript", "archive", "cold", "database"],
    sectioned: &["database"],
    began: &["timestamp"],
    ..About::NEW
};

impl Agent for QClaw {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        openclaw::discover(&places.home.join(".qclaw"), found);
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        lies_in(path, ".qclaw").then(|| openclaw::kind_of(path)).flatten()
    }

    fn takes(&self, path: &Path) -> Option<&'static str> {
        openclaw::kind_of(path)
    }

    fn companions(&self, path: &Path) -> Vec<PathBuf> {
        openclaw::companions(path)
    }

    fn sections(&self, source: &mut Source<'_>) -> Result<Vec<Section>, Reject> {
        openclaw::sections(source)
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        openclaw::extract(source, out)
    }
}
