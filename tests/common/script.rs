//! Sessions told as scripts: what the person asks and the agent does, step by step, written down as Claude Code does.
//!
//! A script says what matters to its case; times, tokens and ids come by themselves.

#![allow(dead_code, unreachable_pub, reason = "each test program uses a part of it")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::{Value, json};

/// A file of scripts.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scripts {
    /// Sessions, each with what is to be found in it.
    pub session: Vec<Session>,
    /// Parameters of the query.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
}

/// One session.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// Its id, which says what the case is.
    pub name: String,
    /// Findings in it.
    #[serde(default)]
    pub found: usize,
    /// Short name of the project.
    #[serde(default = "shop")]
    project: String,
    /// When it begins.
    #[serde(default = "monday")]
    at: DateTime<Utc>,
    /// Model of its responses.
    #[serde(default = "sonnet")]
    model: String,
    /// The program that started the agent; by default not recorded.
    entrypoint: Option<String>,
    /// Session that started this one; by a step with `agent` in it.
    parent: Option<String>,
    #[serde(default)]
    steps: Vec<Step>,
    /// Files of another agent, instead of steps: the text of each by its path below the home.
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// True if a person who reads the session would call it waste of the detector's kind; only in `cases`.
    pub is_waste: Option<bool>,
    /// The real case that this session rewrites; only in `cases`.
    pub seen: Option<String>,
}

/// One step: a prompt, a reply, a call with its result, or an event.
#[derive(Deserialize, Clone, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Step {
    /// Seconds since the step before; 5.
    after: Option<f64>,
    /// Says the step again, so many times in all; `{n}` in its texts is the number, from 1.
    times: Option<usize>,
    /// The person says.
    prompt: Option<String>,
    /// The prompt comes with an image.
    image: bool,
    /// A record in Claude Code's own form, as JSON without ids and times, for what no other step can say.
    record: Option<String>,
    /// The agent says.
    reply: Option<String>,
    /// The agent calls the tool.
    call: Option<String>,
    /// Arguments of the call.
    input: toml::Table,
    /// The call succeeds with the result; what it does when nothing else is said.
    ok: Option<String>,
    /// The result is filled up with lines to so many bytes.
    bytes: usize,
    /// The call fails with the result.
    error: Option<String>,
    /// The person declines the call.
    rejected: bool,
    /// The call was running when the person stopped it.
    interrupted: bool,
    /// The call has no result.
    pending: bool,
    /// The call belongs to the response of the step before.
    together: bool,
    /// The call starts the session of that name.
    agent: Option<String>,
    /// Seconds from the call to its result; 1.
    took: Option<f64>,
    /// Tokens of the response.
    tokens: Option<Tokens>,
    /// Model of the response.
    model: Option<String>,
    /// Model that the request asked for.
    requested: Option<String>,
    /// Why the provider says that cached input was not used.
    missed: Option<String>,
    /// The context is compacted.
    compact: bool,
    /// The person rewinds to before the n-th prompt.
    rewind: Option<usize>,
    /// The request fails.
    api_error: Option<String>,
    /// The person interrupts.
    interrupt: bool,
}

/// Tokens of a response.
#[derive(Deserialize, Clone, Copy)]
#[serde(deny_unknown_fields, default)]
struct Tokens {
    input: i64,
    read: i64,
    write: i64,
    write_1h: i64,
    output: i64,
}

impl Default for Tokens {
    fn default() -> Self {
        Self { input: 10, read: 20_000, write: 500, write_1h: 0, output: 200 }
    }
}

/// A file of a folder with scripts that holds none: why thresholds stand where they stand.
pub const THRESHOLDS: &str = "thresholds";

/// The files of a folder that hold scripts, by name.
pub fn paths(folder: &Path) -> BTreeMap<String, PathBuf> {
    let paths = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let scripts = paths.filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
    let named = scripts.map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), path));
    named.filter(|(name, _)| name != THRESHOLDS).collect()
}

fn shop() -> String {
    "shop".to_owned()
}

fn monday() -> DateTime<Utc> {
    "2026-03-02T10:00:00Z".parse().unwrap()
}

fn sonnet() -> String {
    "claude-sonnet-4-5".to_owned()
}

impl Scripts {
    /// The scripts of a folder's files, by name.
    pub fn all(folder: &Path) -> BTreeMap<String, Self> {
        paths(folder).into_iter().map(|(name, path)| (name, Self::load(&path))).collect()
    }

    /// Reads a file of scripts.
    pub fn load(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap();
        toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The same with other names, so that the sessions of several files can be in one home.
    pub fn prefixed(mut self, prefix: &str) -> Self {
        for session in &mut self.session {
            session.name = format!("{prefix}-{}", session.name);
            session.parent = session.parent.as_ref().map(|parent| format!("{prefix}-{parent}"));
            for step in &mut session.steps {
                step.agent = step.agent.as_ref().map(|agent| format!("{prefix}-{agent}"));
            }
        }
        self
    }

    /// Every second session, from the first or from the second.
    pub fn half(mut self, half: usize) -> Self {
        self.session = self.session.into_iter().skip(half).step_by(2).collect();
        self
    }

    /// Lets all sessions begin some days later.
    pub fn later(mut self, days: i64) -> Self {
        for session in &mut self.session {
            session.at += chrono::TimeDelta::days(days);
        }
        self
    }

    /// Writes all sessions where Claude Code would.
    pub fn write_below(&self, home: &Path) {
        for session in &self.session {
            session.write_below(home);
        }
    }
}

impl Session {
    /// Its id in the lake.
    pub fn id(&self) -> String {
        match &self.parent {
            Some(parent) => format!("{parent}/agent-{}", self.name),
            None => self.name.clone(),
        }
    }

    /// Writes the session's file where Claude Code would.
    pub fn write_below(&self, home: &Path) {
        for (path, text) in &self.files {
            write(&home.join(path), text);
        }
        if self.steps.is_empty() {
            return;
        }
        let folder = home.join(".claude/projects").join(format!("-home-ana-{}", self.project));
        let path = match &self.parent {
            Some(parent) => folder.join(parent).join("subagents").join(format!("agent-{}.jsonl", self.name)),
            None => folder.join(format!("{}.jsonl", self.name)),
        };
        let mut writer = Writer::new(self);
        for step in &self.steps {
            for round in 1..=step.times.unwrap_or(1) {
                writer.step(&step.said_with(round));
            }
        }
        write(&path, &writer.text);
    }
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

impl Step {
    fn said_with(&self, round: usize) -> Self {
        let number = |text: &Option<String>| text.as_ref().map(|text| text.replace("{n}", &round.to_string()));
        let input = toml::to_string(&self.input).unwrap().replace("{n}", &round.to_string());
        Self {
            prompt: number(&self.prompt),
            record: number(&self.record),
            reply: number(&self.reply),
            ok: number(&self.ok),
            error: number(&self.error),
            agent: number(&self.agent),
            input: toml::from_str(&input).unwrap(),
            ..self.clone()
        }
    }
}

struct Writer<'s> {
    session: &'s Session,
    text: String,
    now: DateTime<Utc>,
    lines: usize,
    responses: usize,
    calls: usize,
    parent: Option<String>,
    /// For each prompt, the record that it answers.
    before_prompts: Vec<Option<String>>,
}

impl<'s> Writer<'s> {
    fn new(session: &'s Session) -> Self {
        let (lines, responses, calls) = (0, 0, 0);
        Self {
            session,
            text: String::new(),
            now: session.at,
            lines,
            responses,
            calls,
            parent: None,
            before_prompts: Vec::new(),
        }
    }

    fn step(&mut self, step: &Step) {
        self.wait(if step.together { 0.0 } else { step.after.unwrap_or(5.0) });
        if let Some(number) = step.rewind {
            self.parent.clone_from(&self.before_prompts[number - 1]);
        }
        if let Some(text) = &step.prompt {
            self.before_prompts.push(self.parent.clone());
            let image =
                json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aW1hZ2U="}});
            let content = if step.image { json!([{"type": "text", "text": text}, image]) } else { json!(text) };
            self.line(json!({"type": "user", "message": {"role": "user", "content": content}}));
        }
        if let Some(record) = &step.record {
            self.line(serde_json::from_str(record).unwrap());
        }
        if let Some(text) = &step.reply {
            self.response(step, &json!({"type": "text", "text": text}), "end_turn");
        }
        if let Some(tool) = &step.call {
            self.call(step, tool);
        }
        if step.compact {
            self.line(json!({"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted",
                "compactMetadata": {"trigger": "auto", "preTokens": 150_000}}));
            self.line(json!({"type": "user", "isCompactSummary": true, "isVisibleInTranscriptOnly": true,
                "message": {"role": "user", "content": "This session is being continued from a previous conversation."}}));
        }
        if let Some(text) = &step.api_error {
            self.line(json!({"type": "assistant", "isApiErrorMessage": true, "message": {
                "id": format!("error_{}_{}", self.session.name, self.lines), "type": "message", "role": "assistant",
                "model": "<synthetic>", "content": [{"type": "text", "text": text}], "stop_reason": "stop_sequence",
                "usage": {"input_tokens": 0, "output_tokens": 0}}}));
        }
        if step.interrupt {
            self.line(json!({"type": "user", "message": {"role": "user",
                "content": [{"type": "text", "text": "[Request interrupted by user]"}]}}));
        }
    }

    fn call(&mut self, step: &Step, tool: &str) {
        self.calls += 1;
        let id = format!("call_{}_{}", self.session.name, self.calls);
        self.response(step, &json!({"type": "tool_use", "id": id, "name": tool, "input": step.input}), "tool_use");
        if step.pending {
            return;
        }
        self.wait(step.took.unwrap_or(1.0));
        let declined = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a \
                        file edit, the new_string was NOT written to the file). STOP what you are doing and wait for the \
                        user to tell you how to proceed.";
        let (content, is_error) = match (&step.error, step.rejected) {
            (_, true) => (declined, true),
            (Some(error), _) => (error.as_str(), true),
            (None, _) => (step.ok.as_deref().unwrap_or("done"), false),
        };
        let lines = (1..).flat_map(|number| format!("line {number} of the result\n").into_bytes());
        let filler = String::from_utf8(lines.take(step.bytes.saturating_sub(content.len())).collect()).unwrap();
        let content = format!("{content}{filler}");
        let result = match (&step.agent, step.rejected) {
            (_, true) => json!("User rejected tool use"),
            (Some(agent), _) => json!({"status": "completed", "agentId": agent, "totalDurationMs": 1000}),
            _ if is_error => json!(format!("Error: {content}")),
            _ if step.interrupted => json!({"interrupted": true}),
            _ => json!({}),
        };
        self.line(json!({"type": "user", "toolUseResult": result, "message": {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "content": content, "is_error": is_error}]}}));
    }

    fn response(&mut self, step: &Step, block: &Value, stop_reason: &str) {
        self.responses += usize::from(!step.together);
        let id = format!("{}_{}", self.session.name, self.responses);
        let tokens = step.tokens.unwrap_or_default();
        let model = step.model.as_deref().unwrap_or(&self.session.model);
        let mut record = json!({"type": "assistant", "requestId": format!("req_{id}"), "message": {
            "id": format!("msg_{id}"), "type": "message", "role": "assistant", "model": model, "content": [block],
            "stop_reason": stop_reason, "usage": {"input_tokens": tokens.input, "cache_read_input_tokens": tokens.read,
                "cache_creation_input_tokens": tokens.write + tokens.write_1h, "output_tokens": tokens.output,
                "cache_creation": {"ephemeral_5m_input_tokens": tokens.write,
                    "ephemeral_1h_input_tokens": tokens.write_1h}}}});
        if let Some(requested) = &step.requested {
            record["requestedModel"] = json!(requested);
        }
        if let Some(reason) = &step.missed {
            record["message"]["diagnostics"] = json!({"cache_miss_reason": {"type": reason}});
        }
        self.line(record);
    }

    fn line(&mut self, mut record: Value) {
        self.lines += 1;
        let id = format!("{}-{:04}", self.session.name, self.lines);
        let place = json!({"uuid": id, "parentUuid": self.parent, "timestamp": self.now.to_rfc3339(),
            "sessionId": self.session.parent.as_ref().unwrap_or(&self.session.name), "version": "2.1.112",
            "cwd": format!("/home/ana/{}", self.session.project), "gitBranch": "main", "userType": "external",
            "isSidechain": self.session.parent.is_some()});
        let fields = record.as_object_mut().unwrap();
        fields.extend(place.as_object().unwrap().clone());
        if let Some(entrypoint) = &self.session.entrypoint {
            fields.insert("entrypoint".to_owned(), json!(entrypoint));
        }
        if self.session.parent.is_some() {
            fields.insert("agentId".to_owned(), json!(self.session.name));
        }
        self.parent = Some(id);
        self.text.push_str(&record.to_string());
        self.text.push('\n');
    }

    fn wait(&mut self, seconds: f64) {
        self.now += chrono::TimeDelta::from_std(std::time::Duration::from_secs_f64(seconds)).unwrap();
    }
}
