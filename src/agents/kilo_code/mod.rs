//! Kilo Code, the fork of Roo Code, until 5: later ones keep a database.

use std::path::{Path, PathBuf};

use super::cline::{self, Dialect};
use super::folders::first_moment;
use super::{About, Agent, Found, Places};
use crate::extract::{Reject, Sink};
use crate::source::Source;

/// The agent.
pub struct KiloCode;

static ABOUT: About = About {
    id: "kilo-code",
    title: "Kilo Code",
    paths: &["~/.config/*/User/globalStorage/kilocode.kilo-code"],
    environment: &["XDG_CONFIG_HOME", "APPDATA"],
    versions: "2025-03 to 5",
    records: cline::RECORDS,
    retention_days: None,
    parser_version: 1,
};

pub(super) static DIALECT: Dialect = Dialect {
    agent: "kilo-code",
    extensions: &["kilocode.kilo-code"],
    storages: &[],
    takes_nameless: false,
    // 4.119.0, of 2025-11-12.
    whole_prompt_since: Some(1_762_905_600_000),
};

impl Agent for KiloCode {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        cline::discover(&DIALECT, places, found);
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        cline::claims(&DIALECT, path)
    }

    fn companions(&self, path: &Path) -> Vec<PathBuf> {
        cline::companions(path)
    }

    fn streams(&self, kind: &str) -> bool {
        cline::streams(kind)
    }

    fn started_hint(&self, _kind: &str, head: &[u8]) -> Option<i64> {
        first_moment(head, "ts")
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        cline::extract(&DIALECT, source, out)
    }
}
