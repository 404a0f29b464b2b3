//! `history.jsonl` and the TypeScript program's `history.json`: every typed prompt. If a session left no rollout,
//! nothing but its prompts is known.

use super::record::Prompt;
use crate::agents::document;
use crate::agents::prompts::{TypedPrompt, TypedPrompts};
use crate::extract::jsonl::each_record;
use crate::extract::{Kind, Reject, Sink, key, session_key};
use crate::source::Source;
use crate::source::records::{List, Object};
use crate::tables::MessageKind;

/// Returns the key of the fact that a session holds a prompt, for histories that name no session.
pub(super) fn prompt_key(agent: &str, text: &str) -> u64 {
    key(agent, Kind::Presence, &format!("prompt:{}", text.trim()))
}

/// Reads the typed prompts. Each is claimed weakly, so that any rollout that has it wins.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let mut prompts = TypedPrompts::default();
    if source.path.extension().is_some_and(|extension| extension == "json") {
        read_document(source, out, &mut prompts)?;
        return prompts.push(out);
    }
    each_record::<Prompt<'static>>(source, out, |prompt, number, out| add(&mut prompts, prompt, number, out))?;
    prompts.push(out)
}

/// Reads the TypeScript program's history: one list, without sessions.
fn read_document(source: &mut Source<'_>, out: &mut Sink<'_>, prompts: &mut TypedPrompts) -> Result<(), Reject> {
    let Some(text) = document::text(source, "a history", out)? else { return Ok(()) };
    let Ok(entries) = serde_json::from_str::<List<Object<Prompt<'_>>>>(&text) else {
        out.line();
        out.problem(1, "no JSON list");
        return Ok(());
    };
    for (number, prompt) in (1..).zip(entries.0) {
        out.line();
        if let Some(prompt) = prompt.0 {
            add(prompts, &prompt, number, out);
        }
    }
    Ok(())
}

fn add(prompts: &mut TypedPrompts, prompt: &Prompt<'_>, line: u64, out: &Sink<'_>) {
    let Some(text) = prompt.text.get() else { return };
    let (session, claim) = match prompt.session.get() {
        Some(session) => (session.to_owned(), session_key(out.agent(), session)),
        None => (format!("prompts-{}", crate::time::day_of(prompt.moment.0)), prompt_key(out.agent(), text)),
    };
    let kind = if text.starts_with(['/', '!']) { MessageKind::Command } else { MessageKind::Prompt };
    let prompt = TypedPrompt { claim, timestamp: prompt.moment.0, kind, text: text.to_owned(), line };
    prompts.add(session, "", prompt);
}
