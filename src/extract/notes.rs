//! Notes of a source on rows of another source.

use serde::{Deserialize, Serialize};

/// The subject and field of a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum NoteField {
    /// Summary of the session with the message of that key.
    Summary,
    /// Title of the session of that presence key.
    Title,
    /// Kind of subagent of the session of that presence key.
    SubagentType,
    /// Session that the tool call of that key started.
    ChildSession,
    /// Folder of the session of that presence key, if its own source names none.
    ProjectPath,
    /// Parent of the session of that presence key, if its own source names none.
    Parent,
    /// Root of the session of that presence key, if its own source names none.
    Root,
}

/// A note of one source on a row of another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Note {
    /// Key of the subject.
    pub key: u64,
    /// Field of the note.
    pub field: NoteField,
    /// Priority. The highest wins; if equal, the later text.
    pub rank: i64,
    /// Text of the note.
    pub text: String,
}
