//! `logs.json`: every prompt that was typed in a project. Those of sessions without a chat are all that is known of
//! them.

use super::AGENT;
use super::place::project_of;
use super::record::Prompt;
use crate::agents::document::{self, Ending, Found};
use crate::agents::prompts::{TypedPrompt, TypedPrompts};
use crate::extract::{Reject, Sink, session_key};
use crate::source::{Source, repair};
use crate::tables::MessageKind;

/// Reads the typed prompts. Each is claimed weakly, so that any chat of the session wins.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let folder = source.path.parent();
    let (project, hash) = folder.map_or((None, None), |folder| project_of(source, folder, None));
    let mut prompts = TypedPrompts::of_project_hash(hash);
    let mut number = 0;
    let ending = document::read(source, "", &mut |found| {
        let Found::Item(json) = found else { return Ok(()) };
        out.line();
        number += 1;
        let text = repair(json.as_bytes());
        let Ok(prompt) = serde_json::from_str::<Prompt<'_>>(&text) else {
            out.problem(number, "a prompt that cannot be read");
            return Ok(());
        };
        let (Some(session), Some(text)) = (prompt.session.get(), prompt.message.get()) else { return Ok(()) };
        if !prompt.kind.is("user") {
            out.unknown(&format!("prompt {}", prompt.kind.get().unwrap_or("without a type")));
            return Ok(());
        }
        let typed = TypedPrompt {
            claim: session_key(AGENT, session),
            timestamp: prompt.timestamp.0,
            kind: if text.starts_with(['/', '?', '!']) { MessageKind::Command } else { MessageKind::Prompt },
            text: text.to_owned(),
            line: number,
        };
        prompts.add(session.to_owned(), project.as_deref().unwrap_or_default(), typed);
        Ok(())
    })?;
    if let Ending::Torn(line, error) = ending {
        out.line();
        out.problem(line, &format!("a torn list; the prompts before the tear were read: {error}"));
    }
    prompts.push(out)
}
