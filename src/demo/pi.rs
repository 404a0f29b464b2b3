//! Sessions in the form of pi, which records the cost of each response itself.

use std::path::PathBuf;

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};

use super::meter::Tokens;
use super::play::{Call, Ending, Form, Outcome, Response, Tool};
use super::script::{Telling, short_id, uuid};

/// The model, and its list prices in dollars for a million tokens: input, read and written cache, output.
const MODEL: &str = "claude-haiku-4-5";
const READ: f64 = 0.1;
const WRITTEN: f64 = 1.25;
const OUTPUT: f64 = 5.0;

/// The lines of a session.
pub(super) struct Lines<'t> {
    telling: &'t Telling<'t>,
    text: String,
    count: usize,
    before: Option<String>,
}

impl<'t> Lines<'t> {
    pub(super) fn new(telling: &'t Telling<'t>) -> Self {
        let header = json!({"type": "session", "version": 3, "id": telling.id, "timestamp": stamp(telling.starts_at),
            "cwd": telling.cwd()});
        Self { telling, text: format!("{header}\n"), count: 0, before: None }
    }

    fn message(&mut self, now: DateTime<Utc>, mut message: Value) {
        self.count += 1;
        let id = short_id(&uuid(&format!("{} line {}", self.telling.id, self.count)));
        if let Value::Object(fields) = &mut message {
            fields.insert("timestamp".to_owned(), json!(now.timestamp_millis()));
        }
        let entry = json!({"type": "message", "id": id, "parentId": self.before, "timestamp": stamp(now),
            "message": message});
        self.text.push_str(&entry.to_string());
        self.text.push('\n');
        self.before = Some(id);
    }

    fn call_id(&self, call: &Call) -> String {
        format!("toolu_{}_{}", short_id(&self.telling.id), call.number)
    }
}

impl Form for Lines<'_> {
    fn prompt(&mut self, now: DateTime<Utc>, text: &str) {
        self.message(now, json!({"role": "user", "content": text}));
    }

    fn response(&mut self, now: DateTime<Utc>, response: &Response) {
        let said = response.text.as_ref().map(|text| json!({"type": "text", "text": text}));
        let call = response.call.as_ref().map(|call| {
            let (name, arguments) = named(call);
            json!({"type": "toolCall", "id": self.call_id(call), "name": name, "arguments": arguments})
        });
        let content: Vec<Value> = said.into_iter().chain(call).collect();
        let stop = if response.call.is_some() { "toolUse" } else { "stop" };
        let id = format!("msg_{}_{}", short_id(&self.telling.id), response.number);
        self.message(
            now,
            json!({"role": "assistant", "api": "anthropic-messages", "provider": "anthropic", "model": MODEL,
            "responseId": id, "content": content, "usage": usage(response.tokens), "stopReason": stop}),
        );
    }

    fn result(&mut self, now: DateTime<Utc>, call: &Call, outcome: &Outcome) {
        let details = match (call.tool, outcome.ending) {
            (Tool::Edit, Ending::Done) => json!({"diff": diff(call)}),
            _ => json!({}),
        };
        let text = match (call.tool, outcome.ending) {
            (Tool::Run, Ending::Failed) => format!("{}\n\nCommand exited with code 1", outcome.text),
            _ => outcome.text.clone(),
        };
        self.message(now, json!({"role": "toolResult", "toolCallId": self.call_id(call), "toolName": named(call).0,
            "content": [{"type": "text", "text": text}], "isError": outcome.ending != Ending::Done, "details": details}));
    }

    /// No script stops pi, lets its requests fail, or fills its context.
    fn interruption(&mut self, _now: DateTime<Utc>) {}

    fn failure(&mut self, _now: DateTime<Utc>, _text: &str) {}

    fn compaction(&mut self, _now: DateTime<Utc>, _tokens: i64, _summary: &str) {}

    fn rewind(&mut self, _prompt: usize) {}

    fn finish(self) -> (PathBuf, String) {
        let folder = PathBuf::from(".pi/agent/sessions").join(format!("--home-ada-{}--", self.telling.script.project));
        let moment = self.telling.starts_at.format("%Y-%m-%dT%H-%M-%S-%3fZ");
        (folder.join(format!("{moment}_{}.jsonl", self.telling.id)), self.text)
    }
}

fn stamp(moment: DateTime<Utc>) -> String {
    moment.to_rfc3339_opts(SecondsFormat::Millis, true)
}

fn named(call: &Call) -> (&'static str, Value) {
    match call.tool {
        Tool::Read => ("read", json!({"path": call.target})),
        Tool::Edit => ("edit", json!({"path": call.target, "oldText": call.old, "newText": call.new})),
        Tool::Write => ("write", json!({"path": call.target, "content": call.new})),
        Tool::Search => ("grep", json!({"pattern": call.target, "path": "src"})),
        Tool::Run | Tool::Look | Tool::Task => ("bash", json!({"command": call.target})),
    }
}

/// Returns a change as pi shows it: with numbered lines.
fn diff(call: &Call) -> String {
    let lines = |mark: char, text: &str| -> String {
        let numbered = |(line, number): (&str, usize)| format!("{mark}{number} {line}\n");
        text.lines().zip(12..).map(numbered).collect()
    };
    lines('-', &call.old) + &lines('+', &call.new)
}

fn usage(tokens: Tokens) -> Value {
    let cost = |count: i64, price: f64| count as f64 * price / 1e6;
    let (read, written, output) = (cost(tokens.read, READ), cost(tokens.fresh, WRITTEN), cost(tokens.output, OUTPUT));
    json!({"input": 0, "output": tokens.output, "cacheRead": tokens.read, "cacheWrite": tokens.fresh,
        "totalTokens": tokens.read + tokens.fresh + tokens.output,
        "cost": {"input": 0.0, "output": output, "cacheRead": read, "cacheWrite": written, "total": read + written + output}})
}
