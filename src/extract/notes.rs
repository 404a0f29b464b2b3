//! What a source says of a row that another source has.

use serde::{Deserialize, Serialize};

/// What a note tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum NoteField {
    /// Summary of the session that has the message of that key.
    Summary,
    /// Title of the session of that presence key.
    Title,
    /// Kind of subagent of the session of that presence key.
    SubagentType,
    /// Session that the tool call of that key started.
    ChildSession,
    /// Folder of the session of that presence key, where its own source names none.
    ProjectPath,
    /// Session that started the one of that presence key, where its own source names none.
    Parent,
    /// Outermost session above the one of that presence key; likewise.
    Root,
}

/// Something that one source tells about a row of another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Note {
    /// What it is about.
    pub key: u64,
    /// What it tells.
    pub field: NoteField,
    /// The highest wins; then the later text.
    pub rank: i64,
    /// What it says.
    pub text: String,
}
