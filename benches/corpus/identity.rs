//! The session, folder and version that every line of a file repeats.

use super::era::Era;

/// The fields that every line of a file repeats: who speaks, and from where.
#[derive(Clone)]
pub struct Identity {
    pub era: Era,
    pub version: String,
    pub session: u128,
    pub agent: Option<String>,
    pub cwd: String,
    pub separator: &'static str,
    pub branch: String,
    pub slug: Option<String>,
}
