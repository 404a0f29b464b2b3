//! `history.jsonl`: every typed prompt. If a session left no transcript, nothing but its prompts is known.

use std::collections::BTreeMap;

use super::record::Prompt;
use crate::agents::prompts::{TypedPrompt, TypedPrompts};
use crate::extract::jsonl::each_record;
use crate::extract::{Kind, Reject, Sink, key, session_key};
use crate::source::Source;
use crate::source::records::{Object, Text, record};
use crate::tables::MessageKind;

record! {
    /// Text that was pasted into a prompt.
    Pasted<'a> { content: Text<'a> = "content" }
}

/// Returns the key of the fact that a transcript of a project holds a prompt.
pub(super) fn prompt_key(agent: &str, project: &str, text: &str) -> u64 {
    key(agent, Kind::Presence, &format!("prompt:{project}\n{}", text.trim()))
}

/// Reads the typed prompts. Each is claimed weakly, so that any transcript that has it wins.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let mut prompts = TypedPrompts::default();
    each_record::<Prompt<'static>>(source, out, |prompt, line, out| {
        let agent = out.agent();
        let Some(display) = prompt.display.get() else { return };
        let typed = with_pasted(display, prompt.pasted.json());
        let project = prompt.project.get().unwrap_or_default();
        let (session, claim) = match prompt.session.get() {
            Some(session) => (session.to_owned(), session_key(agent, session)),
            None => {
                let day = crate::time::day_of(prompt.timestamp.0);
                let project_hash = key(agent, Kind::Presence, project);
                (format!("prompts-{day}-{project_hash:016x}"), prompt_key(agent, project, &typed))
            }
        };
        let kind = if typed.starts_with(['/', '!']) { MessageKind::Command } else { MessageKind::Prompt };
        let timestamp = prompt.timestamp.0;
        prompts.add(session, project, TypedPrompt { claim, timestamp, kind, text: typed, line });
    })?;
    prompts.push(out)
}

/// Replaces the names of pasted texts in a prompt by the texts: `[Pasted text #1 +20 lines]`.
fn with_pasted(display: &str, pasted: Option<&str>) -> String {
    let pasted: BTreeMap<String, Object<Pasted<'_>>> =
        pasted.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
    let mut text = display.to_owned();
    for (number, paste) in &pasted {
        let Some(content) = paste.0.as_ref().and_then(|paste| paste.content.get()) else { continue };
        let opening = format!("[Pasted text #{number}");
        let placed = text.find(&opening).and_then(|from| {
            let (before, rest) = text.split_at_checked(from)?;
            let after = rest.strip_prefix(&opening)?.split_once(']')?.1;
            Some(format!("{before}{content}{after}"))
        });
        text = placed.unwrap_or(text);
    }
    text
}
