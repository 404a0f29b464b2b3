//! OpenClaude, a descendant of Claude Code for models of any provider. It writes Claude Code's transcripts.

use std::path::{Path, PathBuf};

use super::claude_code::{self, Identity};
use super::folders::lies_in;
use super::{About, Agent, Found, Grain, Places, Records, RestsOn};
use crate::extract::{Reject, Sink};
use crate::source::Source;

/// The agent.
pub struct OpenClaude;

static ABOUT: About = About {
    id: "openclaude",
    title: "OpenClaude",
    paths: &["~/.openclaude/projects"],
    environment: &["OPENCLAUDE_CONFIG_DIR"],
    versions: "2026-04 to 2026-11, by its source",
    rests_on: RestsOn::Source,
    records: Records { cost: Grain::Absent, durations: Grain::Absent, ..Records::EXACT },
    streams: &["transcript", "subagent"],
    began: &["timestamp"],
    ..About::NEW
};

impl Agent for OpenClaude {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        claude_code::discover(&places.folder("OPENCLAUDE_CONFIG_DIR", ".openclaude").join("projects"), found);
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        lies_in(path, ".openclaude").then(|| self.takes(path)).flatten()
    }

    fn takes(&self, path: &Path) -> Option<&'static str> {
        claude_code::kind_of(path.file_name()?.to_str()?)
    }

    fn companions(&self, path: &Path) -> Vec<PathBuf> {
        claude_code::companions(path)
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        claude_code::extract(source, Identity { hides_cache: true, ..Identity::default() }, out)
    }
}
