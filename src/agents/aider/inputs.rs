//! Reads typed prompts. Their times are the only ones that prompts have; without a chat history, nothing else is left.

use std::collections::BTreeMap;

use chrono::NaiveDateTime;

use super::{INPUTS, chat_key, clock};
use crate::extract::{Facts, Kind, Reject, Sink};
use crate::source::{Source, TORN_END};
use crate::tables::{MessageKind, MessageRow, Role, SessionKind};

/// One entry: text that the person typed at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Input {
    /// Local time of the machine.
    pub(super) time: NaiveDateTime,
    pub(super) text: String,
    /// Line of the source, from 1.
    line: u64,
}

/// Joins lines into entries: `# 2026-01-02 09:00:30.500000`, then each typed line after a `+`.
#[derive(Default)]
struct Inputs {
    entries: Vec<Input>,
    time: Option<NaiveDateTime>,
}

impl Inputs {
    fn line(&mut self, line: &str, number: u64) {
        if let Some(time) = line.strip_prefix("# ").and_then(clock) {
            self.time = Some(time);
        } else if let Some(text) = line.strip_prefix('+') {
            match (self.time.take(), self.entries.last_mut()) {
                (Some(time), _) => self.entries.push(Input { time, text: text.to_owned(), line: number }),
                (None, Some(entry)) => {
                    entry.text.push('\n');
                    entry.text.push_str(text);
                }
                (None, None) => {}
            }
        }
    }
}

/// Returns the typed prompts next to a chat history.
pub(super) fn beside(source: &Source<'_>) -> Vec<Input> {
    let mut inputs = Inputs::default();
    let bytes = source.sidecar(&source.path.with_file_name(INPUTS)).unwrap_or_default();
    for (line, number) in String::from_utf8_lossy(&bytes).lines().zip(1..) {
        inputs.line(line, number);
    }
    inputs.entries
}

/// Returns the message kind of typed text.
pub(super) fn kind_of(text: &str) -> MessageKind {
    match command_of(text) {
        Some(("ask" | "code" | "architect" | "context" | "help", text)) if !text.is_empty() => MessageKind::Prompt,
        Some(_) => MessageKind::Command,
        None if text.starts_with('!') => MessageKind::Command,
        None => MessageKind::Prompt,
    }
}

/// Returns the command at the start of typed text, and the text after it. A path is not a command.
pub(super) fn command_of(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix('/')?;
    let (name, text) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let is_name = !name.is_empty() && name.bytes().all(|letter| letter.is_ascii_lowercase() || letter == b'-');
    is_name.then_some((name, text.trim()))
}

/// Reads the entries into sessions of kind `prompts`, one a day. The chat history of the same folder supersedes them.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let mut inputs = Inputs::default();
    let mut lines = source.lines()?;
    while let Some(line) = lines.next_line() {
        out.line();
        if line.is_too_long() {
            out.problem(line.number, "the line is longer than what is read");
        } else if line.ended {
            inputs.line(&String::from_utf8_lossy(line.bytes), line.number);
        } else {
            out.problem(line.number, TORN_END);
        }
    }
    if lines.failed() {
        out.remark("the file could not be read to its end");
    }
    let folder = source.path.parent();
    let project = folder.map(|folder| folder.to_string_lossy().into_owned());
    let mut days: BTreeMap<String, Vec<Input>> = BTreeMap::new();
    for input in inputs.entries {
        days.entry(input.time.format("%Y-%m-%d").to_string()).or_default().push(input);
    }
    for inputs in days.values() {
        push(inputs, project.as_deref(), chat_key(folder), out)?;
    }
    Ok(())
}

fn push(inputs: &[Input], project: Option<&str>, chat: u64, out: &mut Sink<'_>) -> Result<(), Reject> {
    let Some(first) = inputs.first() else { return Ok(()) };
    let session = format!("prompts-{}", first.time.format("%Y-%m-%dT%H:%M:%S%.6f"));
    for (seq, input) in (0_i64..).zip(inputs) {
        let timestamp = out.local_moment(input.time);
        let id = format!("{session}#line-{}", input.line);
        let row = MessageRow {
            session_id: &session,
            seq,
            message_id: &id,
            turn: Some(seq + 1),
            timestamp,
            role: Role::User,
            kind: kind_of(&input.text),
            text: Some(&input.text),
            source_line: i64::try_from(input.line).ok(),
            ..MessageRow::default()
        };
        out.message(row, true)?;
        out.yields_to(Kind::Message, &id, chat, timestamp);
    }
    out.end_session(Facts {
        first_moment: out.local_moment(first.time),
        session_id: session,
        kind: SessionKind::Prompts,
        project_path: project.map(str::to_owned),
        ..Facts::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_no_commands() {
        assert_eq!(command_of("/add a.py"), Some(("add", "a.py")));
        assert_eq!(command_of("/chat-mode"), Some(("chat-mode", "")));
        assert_eq!(command_of("/home/ana/x.py is broken"), None);
        assert_eq!(kind_of("/ask why?"), MessageKind::Prompt);
        assert_eq!(kind_of("/ask"), MessageKind::Command);
        assert_eq!(kind_of("!ls"), MessageKind::Command);
    }
}
