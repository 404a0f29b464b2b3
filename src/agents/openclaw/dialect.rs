//! OpenClaw's meaning of pi's lines.

use crate::agents::pi::{Dialect, Known, Message, Writer};
use crate::extract::session_key;
use crate::tables::MessageKind;

/// Models in whose name OpenClaw writes what it delivered.
const MIRRORS: [&str; 2] = ["delivery-mirror", "gateway-injected"];
/// Providers that are programs with session files of their own, and the agents that these are.
const PROGRAMS: [(&str, &str); 2] = [("claude-cli", "claude-code"), ("codex-cli", "codex")];
/// Prompts that OpenClaw itself gives.
const OWN_PROMPTS: [&str; 2] = ["Read HEARTBEAT.md", "A new session was started via /new or /reset"];

pub(super) static DIALECT: Dialect = Dialect { user, writer };

fn user(text: &str) -> (MessageKind, &str) {
    let text = without_stamp(text);
    let is_own = OWN_PROMPTS.iter().any(|opening| text.starts_with(opening)) || text.contains("reply HEARTBEAT_OK");
    (if is_own { MessageKind::Meta } else { MessageKind::Prompt }, text)
}

fn writer(message: &Message<'_>, known: &Known) -> Writer {
    let is_mirror = message.api.is("openclaw-transcript")
        || (message.provider.is("openclaw") && message.model.get().is_some_and(|model| MIRRORS.contains(&model)));
    if is_mirror {
        return Writer::Program;
    }
    if let Some(mirrored) = message.idempotency_key.get().and_then(|key| key.strip_prefix("codex-app-server:")) {
        let thread = mirrored.split(':').next().filter(|thread| !thread.is_empty());
        return Writer::OtherAgent(thread.map(|thread| session_key("codex", thread)));
    }
    let program = PROGRAMS.into_iter().find(|(provider, _)| message.provider.is(provider));
    program.map_or(Writer::Model, |(provider, agent)| {
        let session = known.programs.get(provider);
        Writer::OtherAgent(session.map(|session| session_key(agent, session)))
    })
}

/// The text without the moment that OpenClaw puts before it: `[Wed 2026-02-18 11:21 GMT+1] `.
fn without_stamp(text: &str) -> &str {
    let Some((stamp, rest)) = text.strip_prefix('[').and_then(|text| text.split_once("] ")) else { return text };
    let form = "Www dddd-dd-dd dd:dd ";
    let fits = stamp.len() > form.len()
        && stamp.bytes().zip(form.bytes()).all(|(byte, form)| match form {
            b'd' => byte.is_ascii_digit(),
            b'W' => byte.is_ascii_uppercase(),
            b'w' => byte.is_ascii_lowercase(),
            form => byte == form,
        });
    if fits { rest } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_stamps_are_taken_off() {
        assert_eq!(user("[Wed 2026-02-18 11:21 GMT+1] hello"), (MessageKind::Prompt, "hello"));
        assert_eq!(user("[WhatsApp +49 2026-02-18] hello"), (MessageKind::Prompt, "[WhatsApp +49 2026-02-18] hello"));
        assert_eq!(user("[Wed 2026-02-18 11:21 UTC] Read HEARTBEAT.md if it exists.").0, MessageKind::Meta);
    }
}
