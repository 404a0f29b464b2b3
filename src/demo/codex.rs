//! Sessions in the form of Codex: a rollout of items as the model sees them, and of events.

use std::path::PathBuf;

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};

use super::meter::Tokens;
use super::play::{Call, Ending, Form, Outcome, Response, Tool};
use super::script::{Telling, short_id};

const VERSION: &str = "0.146.0";
const MODEL: &str = "gpt-5.3-codex";
const WINDOW: i64 = 272_000;

/// The lines of a rollout.
pub(super) struct Lines<'t> {
    telling: &'t Telling<'t>,
    text: String,
    turns: usize,
    /// Sums over the rollout.
    sums: Tokens,
}

impl<'t> Lines<'t> {
    pub(super) fn new(telling: &'t Telling<'t>) -> Self {
        let mut lines = Self { telling, text: String::new(), turns: 0, sums: Tokens { read: 0, fresh: 0, output: 0 } };
        let source = telling.script.entrypoint.as_deref().unwrap_or("cli");
        let git = json!({"branch": telling.branch(),
            "repository_url": format!("https://github.com/ada/{}.git", telling.script.project)});
        lines.line(
            telling.starts_at,
            "session_meta",
            &json!({"id": telling.id, "timestamp": stamp(telling.starts_at),
            "cwd": telling.cwd(), "originator": "codex_cli_rs", "cli_version": VERSION, "source": source,
            "model_provider": "openai", "git": git}),
        );
        lines
    }

    fn line(&mut self, now: DateTime<Utc>, kind: &str, payload: &Value) {
        self.text.push_str(&json!({"timestamp": stamp(now), "type": kind, "payload": payload}).to_string());
        self.text.push('\n');
    }

    fn event(&mut self, now: DateTime<Utc>, payload: &Value) {
        self.line(now, "event_msg", payload);
    }

    fn item(&mut self, now: DateTime<Utc>, payload: &Value) {
        self.line(now, "response_item", payload);
    }

    fn message(&mut self, now: DateTime<Utc>, role: &str, kind: &str, text: &str) {
        self.item(now, &json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}));
    }

    fn turn_id(&self) -> String {
        format!("{}-turn-{}", self.telling.id, self.turns)
    }

    fn call_id(&self, call: &Call) -> String {
        format!("call_{}_{}", short_id(&self.telling.id), call.number)
    }

    fn call(&self, call: &Call) -> Value {
        let id = self.call_id(call);
        let command = match call.tool {
            Tool::Edit | Tool::Write => {
                let input = patch(call);
                return json!({"type": "custom_tool_call", "status": "completed", "call_id": id, "name": "apply_patch",
                    "input": input});
            }
            Tool::Read => format!("sed -n '1,400p' {}", call.target),
            Tool::Search => format!("rg -n '{}' src", call.target),
            Tool::Run | Tool::Look | Tool::Task => call.target.clone(),
        };
        let arguments = json!({"command": command}).to_string();
        json!({"type": "function_call", "name": "shell_command", "arguments": arguments, "call_id": id})
    }
}

impl Form for Lines<'_> {
    fn prompt(&mut self, now: DateTime<Utc>, text: &str) {
        self.turns += 1;
        let turn = self.turn_id();
        self.event(now, &json!({"type": "task_started", "turn_id": turn, "model_context_window": WINDOW}));
        let model = self.telling.script.model.as_deref().unwrap_or(MODEL);
        self.line(
            now,
            "turn_context",
            &json!({"turn_id": turn, "cwd": self.telling.cwd(), "model": model,
            "approval_policy": "on-request", "sandbox_policy": {"type": "workspace-write"}, "effort": "high",
            "summary": "auto"}),
        );
        self.message(now, "user", "input_text", text);
        self.event(now, &json!({"type": "user_message", "message": text, "images": []}));
    }

    fn response(&mut self, now: DateTime<Utc>, response: &Response) {
        if let Some(text) = &response.text {
            self.event(now, &json!({"type": "agent_message", "message": text}));
            self.message(now, "assistant", "output_text", text);
        }
        if let Some(call) = &response.call {
            let call = self.call(call);
            self.item(now, &call);
        }
        let tokens = response.tokens;
        self.sums.read += tokens.read;
        self.sums.fresh += tokens.fresh;
        self.sums.output += tokens.output;
        let info = json!({"total_token_usage": usage(self.sums), "last_token_usage": usage(tokens),
            "model_context_window": WINDOW});
        let used = (self.turns * 3 + response.number) as f64;
        self.event(
            now,
            &json!({"type": "token_count", "info": info, "rate_limits": {
            "primary": {"used_percent": used.min(96.0), "window_minutes": 300}}}),
        );
    }

    fn result(&mut self, now: DateTime<Utc>, call: &Call, outcome: &Outcome) {
        let code = i32::from(outcome.ending == Ending::Failed);
        let output = match outcome.ending {
            Ending::Declined => "exec command rejected by user".to_owned(),
            _ => format!("Exit code: {code}\nWall time: {:.1} seconds\nOutput:\n{}", outcome.seconds, outcome.text),
        };
        let kind = match call.tool {
            Tool::Edit | Tool::Write => "custom_tool_call_output",
            _ => "function_call_output",
        };
        self.item(now, &json!({"type": kind, "call_id": self.call_id(call), "output": output}));
    }

    fn interruption(&mut self, now: DateTime<Utc>) {
        self.event(now, &json!({"type": "turn_aborted", "reason": "interrupted"}));
    }

    fn failure(&mut self, now: DateTime<Utc>, text: &str) {
        self.event(now, &json!({"type": "error", "message": text}));
    }

    fn compaction(&mut self, now: DateTime<Utc>, _tokens: i64, summary: &str) {
        self.line(now, "compacted", &json!({"message": summary}));
    }

    /// Codex forks instead; no script goes back in its sessions.
    fn rewind(&mut self, _prompt: usize) {}

    fn finish(self) -> (PathBuf, String) {
        let day = self.telling.starts_at.format("%Y/%m/%d").to_string();
        let moment = self.telling.starts_at.format("%Y-%m-%dT%H-%M-%S");
        (
            PathBuf::from(".codex/sessions").join(day).join(format!("rollout-{moment}-{}.jsonl", self.telling.id)),
            self.text,
        )
    }
}

fn stamp(moment: DateTime<Utc>) -> String {
    moment.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// The input contains what was read from the cache.
fn usage(tokens: Tokens) -> Value {
    let input = tokens.read + tokens.fresh;
    json!({"input_tokens": input, "cached_input_tokens": tokens.read, "output_tokens": tokens.output,
        "reasoning_output_tokens": tokens.output / 2, "total_tokens": input + tokens.output})
}

fn patch(call: &Call) -> String {
    let lines = |mark: &str, text: &str| text.lines().flat_map(|line| [mark, line, "\n"]).collect::<String>();
    let head = match call.tool {
        Tool::Write => format!("*** Add File: {}\n", call.target),
        _ => format!("*** Update File: {}\n@@\n{}", call.target, lines("-", &call.old)),
    };
    format!("*** Begin Patch\n{head}{}*** End Patch", lines("+", &call.new))
}
