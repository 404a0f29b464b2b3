//! Roo Code, the fork of Cline.

use std::path::{Path, PathBuf};

use super::cline;
use super::{About, Agent, Found, Places, RestsOn};
use crate::extract::{Reject, Sink};
use crate::source::Source;

/// The agent.
pub struct RooCode;

static ABOUT: About = About {
    id: "roo-code",
    title: "Roo Code",
    paths: &["~/.config/*/User/globalStorage/rooveterinaryinc.roo-cline", "~/.vscode-mock/global-storage"],
    environment: &["XDG_CONFIG_HOME", "APPDATA"],
    versions: "2024-11 to 3.52",
    rests_on: RestsOn::Source,
    records: cline::RECORDS,
    parser_version: 7,
    streams: &[cline::TASK],
    began: &["ts"],
    ..About::NEW
};

impl Agent for RooCode {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        cline::discover(&cline::ROO_CODE, places, found);
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        cline::claims(&cline::ROO_CODE, path)
    }

    fn companions(&self, path: &Path) -> Vec<PathBuf> {
        cline::companions(path)
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        cline::extract(&cline::ROO_CODE, source, out)
    }
}
