//! Sessions in the form of Claude Code: a line of JSON for each message, linked to the one before.

use std::path::PathBuf;

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};

use super::play::{Call, Ending, Form, Outcome, Response, Tool};
use super::script::{Telling, short_id, uuid};

const VERSION: &str = "2.1.181";
const MODEL: &str = "claude-sonnet-4-6";

/// The lines of a session, or of a subagent.
pub(super) struct Lines<'t> {
    telling: &'t Telling<'t>,
    text: String,
    count: usize,
    /// Id of the line before.
    before: Option<String>,
    /// For each prompt, the line before it.
    before_prompts: Vec<Option<String>>,
}

impl<'t> Lines<'t> {
    pub(super) fn new(telling: &'t Telling<'t>) -> Self {
        Self { telling, text: String::new(), count: 0, before: None, before_prompts: Vec::new() }
    }

    fn line(&mut self, now: DateTime<Utc>, mut record: Value) {
        self.count += 1;
        let id = uuid(&format!("{} line {}", self.telling.id, self.count));
        let parent = self.telling.parent();
        let place = json!({"uuid": id, "parentUuid": self.before, "isSidechain": parent.is_some(),
            "timestamp": now.to_rfc3339_opts(SecondsFormat::Millis, true), "cwd": self.telling.cwd(), "version": VERSION,
            "gitBranch": self.telling.branch(), "userType": "external"});
        if let (Value::Object(fields), Value::Object(place)) = (&mut record, place) {
            fields.extend(place);
            fields.insert("sessionId".to_owned(), json!(parent.as_ref().unwrap_or(&self.telling.id)));
            let entrypoint = self.telling.script.entrypoint.as_ref();
            fields.extend(entrypoint.map(|entrypoint| ("entrypoint".to_owned(), json!(entrypoint))));
            fields.extend(parent.is_some().then(|| ("agentId".to_owned(), json!(short_id(&self.telling.id)))));
        }
        self.before = Some(id);
        self.text.push_str(&record.to_string());
        self.text.push('\n');
    }

    fn path_of(&self, target: &str) -> String {
        format!("{}/{target}", self.telling.cwd())
    }

    fn call_id(&self, call: &Call) -> String {
        format!("toolu_{}_{}", short_id(&self.telling.id), call.number)
    }

    fn block(&self, call: &Call) -> Value {
        let path = || self.path_of(&call.target);
        let (name, input) = match call.tool {
            Tool::Run => ("Bash", json!({"command": call.target})),
            Tool::Read => ("Read", json!({"file_path": path()})),
            Tool::Edit => ("Edit", json!({"file_path": path(), "old_string": call.old, "new_string": call.new})),
            Tool::Write => ("Write", json!({"file_path": path(), "content": call.new})),
            Tool::Search => ("Grep", json!({"pattern": call.target})),
            Tool::Look => ("mcp__playwright__browser_take_screenshot", json!({"url": call.target})),
            Tool::Task => {
                ("Task", json!({"description": call.target, "prompt": call.new, "subagent_type": "general-purpose"}))
            }
        };
        json!({"type": "tool_use", "id": self.call_id(call), "name": name, "input": input})
    }

    /// Returns what the program records of a result for itself.
    fn recorded(&self, call: &Call, outcome: &Outcome) -> Value {
        match (outcome.ending, call.tool) {
            (Ending::Declined, _) => json!("User rejected tool use"),
            (Ending::Failed, _) => json!(format!("Error: {}", outcome.text)),
            (Ending::Done, Tool::Run) => {
                json!({"stdout": outcome.text, "stderr": "", "interrupted": false, "isImage": false})
            }
            (Ending::Done, Tool::Edit) => {
                let marked =
                    |mark: char, text: &str| text.lines().map(|line| format!("{mark}{line}")).collect::<Vec<_>>();
                let lines = [marked('-', &call.old), marked('+', &call.new)].concat();
                json!({"filePath": self.path_of(&call.target), "structuredPatch": [{"oldStart": 12, "newStart": 12,
                    "oldLines": call.old.lines().count(), "newLines": call.new.lines().count(), "lines": lines}]})
            }
            (Ending::Done, Tool::Write) => json!({"type": "create", "filePath": self.path_of(&call.target),
                "content": call.new, "structuredPatch": []}),
            (Ending::Done, Tool::Task) => json!({"status": "completed", "agentId": self.telling.subagent(&call.target),
                "totalDurationMs": (outcome.seconds * 1e3).round()}),
            (Ending::Done, _) => json!({}),
        }
    }
}

impl Form for Lines<'_> {
    fn prompt(&mut self, now: DateTime<Utc>, text: &str) {
        self.before_prompts.push(self.before.clone());
        self.line(now, json!({"type": "user", "message": {"role": "user", "content": text}}));
    }

    fn response(&mut self, now: DateTime<Utc>, response: &Response) {
        let id = format!("{}_{}", short_id(&self.telling.id), response.number);
        let said = response.text.as_ref().map(|text| json!({"type": "text", "text": text}));
        let blocks: Vec<Value> = said.into_iter().chain(response.call.as_ref().map(|call| self.block(call))).collect();
        let tokens = response.tokens;
        // All tokens that were not read from the cache are written to it, except a few at the end.
        let input = tokens.fresh.min(3);
        let written = tokens.fresh - input;
        let usage = json!({"input_tokens": input, "cache_read_input_tokens": tokens.read,
            "cache_creation_input_tokens": written, "output_tokens": tokens.output, "service_tier": "standard",
            "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0}});
        let stop = if response.call.is_some() { "tool_use" } else { "end_turn" };
        let model = response.model.as_deref().unwrap_or(MODEL);
        self.line(
            now,
            json!({"type": "assistant", "requestId": format!("req_{id}"), "message": {"id": format!("msg_{id}"),
            "type": "message", "role": "assistant", "model": model, "content": blocks, "stop_reason": stop,
            "stop_sequence": null, "usage": usage}}),
        );
    }

    fn result(&mut self, now: DateTime<Utc>, call: &Call, outcome: &Outcome) {
        let recorded = self.recorded(call, outcome);
        let content = json!([{"type": "tool_result", "tool_use_id": self.call_id(call), "content": outcome.text,
            "is_error": outcome.ending != Ending::Done}]);
        self.line(
            now,
            json!({"type": "user", "toolUseResult": recorded, "message": {"role": "user", "content": content}}),
        );
    }

    fn interruption(&mut self, now: DateTime<Utc>) {
        let content = json!([{"type": "text", "text": "[Request interrupted by user]"}]);
        self.line(now, json!({"type": "user", "message": {"role": "user", "content": content}}));
    }

    fn failure(&mut self, now: DateTime<Utc>, text: &str) {
        let id = uuid(&format!("{} failure {}", self.telling.id, self.count));
        self.line(
            now,
            json!({"type": "assistant", "isApiErrorMessage": true, "message": {"id": id, "type": "message",
            "role": "assistant", "model": "<synthetic>", "content": [{"type": "text", "text": text}],
            "stop_reason": "stop_sequence", "usage": {"input_tokens": 0, "output_tokens": 0}}}),
        );
    }

    fn compaction(&mut self, now: DateTime<Utc>, tokens: i64, summary: &str) {
        self.line(
            now,
            json!({"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted",
            "compactMetadata": {"trigger": "auto", "preTokens": tokens}}),
        );
        self.line(
            now,
            json!({"type": "user", "isCompactSummary": true, "isVisibleInTranscriptOnly": true,
            "message": {"role": "user", "content": summary}}),
        );
    }

    fn rewind(&mut self, prompt: usize) {
        self.before = prompt.checked_sub(1).and_then(|at| self.before_prompts.get(at)).cloned().flatten();
    }

    fn finish(self) -> (PathBuf, String) {
        let folder = PathBuf::from(".claude/projects").join(format!("-home-ada-{}", self.telling.script.project));
        let path = match self.telling.parent() {
            Some(parent) => {
                folder.join(parent).join("subagents").join(format!("agent-{}.jsonl", short_id(&self.telling.id)))
            }
            None => folder.join(format!("{}.jsonl", self.telling.id)),
        };
        (path, self.text)
    }
}
