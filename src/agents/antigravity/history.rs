//! `history.jsonl`: typed prompts. They name the folder of their conversation, which the conversation itself does not.

use super::record::Prompt;
use crate::agents::uri::path_of_uri;
use crate::extract::jsonl::each_record;
use crate::extract::{NoteField, Reject, Sink, session_key};
use crate::source::Source;

/// Ranks of the folders that the program, a command and a subagent's parent name; the highest wins.
pub(super) const OF_PROGRAM: i64 = 2;
pub(super) const OF_COMMAND: i64 = 1;
pub(super) const OF_PARENT: i64 = 0;

/// Reads the folders of conversations.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    each_record::<Prompt<'static>>(source, out, |prompt, _, out| {
        if let Some((conversation, folder)) = prompt.conversation.get().zip(prompt.workspace.get()) {
            note_folder(conversation, folder, OF_PROGRAM, out);
        }
    })
}

/// Notes the folder that a conversation works in.
pub(super) fn note_folder(conversation: &str, folder: &str, rank: i64, out: &mut Sink<'_>) {
    if let Some(folder) = path_of_uri(folder) {
        out.note(NoteField::ProjectPath, session_key(out.agent(), conversation), rank, &folder);
    }
}
