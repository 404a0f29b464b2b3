//! A thread: its messages, tool calls and tokens. Nothing in it has a time but the thread itself.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use super::tools::{call, outcome, text_of};
use crate::agents::ids::qualified;
use crate::agents::kit::calls::Call;
use crate::agents::kit::texts::append;
use crate::agents::kit::thread::{Position, Thread, blank};
use crate::agents::kit::values::At;
use crate::agents::total_id;
use crate::extract::{Facts, Kind, Reject, Sink};
use crate::tables::{MessageKind, MessageRow, Role, SessionKind, UsageGrain, UsageRow};

/// A thread in the table.
pub(super) struct Described {
    pub(super) title: Option<String>,
    pub(super) updated: Option<i64>,
    pub(super) created: Option<i64>,
    pub(super) parent: Option<String>,
    pub(super) folder: Option<String>,
}

/// Adds a thread.
pub(super) fn push(id: &str, described: Described, document: &Value, out: &mut Sink<'_>) -> Result<(), Reject> {
    let text = |pointer: &str| document.text_at(pointer).map(str::to_owned);
    let git = |key: &str| text(&format!("/initial_project_snapshot/worktree_snapshots/0/git_state/{key}"));
    let parent = described.parent.or_else(|| text("/subagent_context/parent_thread_id"));
    let is_subagent = parent.is_some();
    let facts = Facts {
        session_id: id.to_owned(),
        kind: if is_subagent { SessionKind::Subagent } else { SessionKind::Session },
        is_subagent,
        parent_session_id: parent,
        project_path: described.folder.or_else(|| text("/initial_project_snapshot/worktree_snapshots/0/worktree_path")),
        git_branch: git("current_branch"),
        git_commit: git("head_sha"),
        git_repo: git("remote_url"),
        title: described.title.or_else(|| text("/title")).or_else(|| text("/summary")),
        first_moment: described.created,
        ..Facts::default()
    };
    let messages = document.items_at("/messages");
    let model = document.text_at("/model/model");
    let thread = Thread::new(facts);
    let (user, turns) = (id.to_owned(), BTreeMap::new());
    let mut reader = Reader { out, thread, model, user, steps: 0, moment: None, turns };
    for (place, message) in messages.iter().enumerate() {
        reader.moment = match () {
            () if place == 0 => described.created,
            () if place + 1 == messages.len() => described.updated,
            () => None,
        };
        reader.take(message)?;
    }
    if !document.is_true_at("/imported") && reader.thread.has_rows {
        reader.push_usage(document, described.updated)?;
    }
    reader.thread.finish(reader.out)
}

struct Reader<'o, 's, 'v> {
    out: &'o mut Sink<'s>,
    thread: Thread,
    model: Option<&'v str>,
    /// Id of the last user's message, after which answers are named.
    user: String,
    /// Messages after it.
    steps: u32,
    moment: Option<i64>,
    /// The turn of each prompt.
    turns: BTreeMap<String, i64>,
}

impl<'v> Reader<'_, '_, 'v> {
    fn take(&mut self, message: &'v Value) -> Result<(), Reject> {
        if message.text_at("/role").is_some() {
            return self.take_old(message);
        }
        if let Some(user) = message.at("/User") {
            let id = user.text_at("/id").unwrap_or_default();
            let text = text_of(user.at("/content"));
            let others = user.items_at("/content").iter().filter(|block| block.at("/Text").is_none()).count();
            return self.take_prompt(id, text.as_deref(), others);
        }
        if let Some(agent) = message.at("/Agent") {
            return self.take_reply(agent);
        }
        self.steps += 1;
        let id = format!("{}#{}", self.user, self.steps);
        let row = match message.at("/Compaction") {
            Some(summary) => {
                let text = summary.as_str().or_else(|| summary.text_at("/Summary").or(summary.text_at("/summary")));
                MessageRow { text, ..blank(Role::System, MessageKind::Compaction) }
            }
            None => {
                if message.as_str() != Some("Resume") {
                    let name = message.as_object().and_then(|fields| fields.keys().next());
                    self.out.unknown(&format!("message {}", name.map_or("", String::as_str)));
                }
                MessageRow { text: message.as_str(), ..blank(Role::User, MessageKind::Meta) }
            }
        };
        self.push(&id, row)
    }

    fn take_prompt(&mut self, id: &str, text: Option<&str>, others: usize) -> Result<(), Reject> {
        self.user = qualified(self.thread.id(), id).into_owned();
        self.steps = 0;
        let id = self.user.clone();
        if !self.thread.has(Kind::Message, &id) {
            self.thread.begin_turn();
            self.turns.extend(self.thread.turn.map(|turn| (id.clone(), turn)));
        }
        let attachments = i64::try_from(others).unwrap_or(0);
        self.push(&id, MessageRow { text, attachments, ..blank(Role::User, MessageKind::Prompt) })
    }

    fn take_reply(&mut self, agent: &'v Value) -> Result<(), Reject> {
        self.steps += 1;
        let id = format!("{}#{}", self.user, self.steps);
        let (mut text, mut thinking) = (None, None);
        for block in agent.items_at("/content") {
            if let Some(added) = block.text_at("/Text") {
                append(&mut text, Cow::Borrowed(added), "\n");
            }
            if let Some(added) = block.text_at("/Thinking/text").or_else(|| block.text_at("/Thinking")) {
                append(&mut thinking, Cow::Borrowed(added), "\n");
            }
        }
        self.push_reply(&id, text.as_deref(), thinking.as_deref())?;
        let results = agent.at("/tool_results");
        for made in agent.items_at("/content").iter().filter_map(|block| block.at("/ToolUse")) {
            let own = made.text_at("/id").unwrap_or_default();
            let result = results.and_then(|results| results.get(own)).filter(|result| result.is_object());
            self.add_call(&id, made, result)?;
        }
        Ok(())
    }

    fn push_reply(&mut self, id: &str, text: Option<&str>, thinking: Option<&str>) -> Result<(), Reject> {
        let model = self.model;
        self.push(id, MessageRow { text, thinking, model, ..blank(Role::Assistant, MessageKind::Reply) })
    }

    fn add_call(&mut self, message: &str, made: &Value, result: Option<&Value>) -> Result<(), Reject> {
        let id = qualified(message, made.text_at("/id").unwrap_or_default()).into_owned();
        if !self.thread.is_new(Kind::ToolCall, &id) {
            return Ok(());
        }
        let call = call(made.text_at("/name").unwrap_or("unknown"), made.at("/input"));
        let call = Call { id, message_id: Some(message.to_owned()), ..call };
        let call = self.thread.number_call(&Position::default(), call);
        self.thread.close_call(&call, &outcome(result), self.out)
    }

    /// A message of versions before 0.3.0 of the document.
    fn take_old(&mut self, message: &'v Value) -> Result<(), Reject> {
        let number = message.at("/id").map(Value::to_string).unwrap_or_default();
        let (mut text, mut thinking) = (None, None);
        for segment in message.items_at("/segments") {
            let Some(added) = segment.text_at("/text") else { continue };
            let joined = if segment.text_at("/type") == Some("thinking") { &mut thinking } else { &mut text };
            append(joined, Cow::Borrowed(added), "\n");
        }
        match message.text_at("/role") {
            Some("user") => self.take_prompt(&number, text.as_deref(), 0)?,
            Some("assistant") => {
                let id = format!("{}#{number}", self.thread.id());
                self.push_reply(&id, text.as_deref(), thinking.as_deref())?;
                let results = message.items_at("/tool_results").iter();
                let results: BTreeMap<_, _> = results.map(|result| (result.text_at("/tool_use_id"), result)).collect();
                for made in message.items_at("/tool_uses") {
                    let own = made.text_at("/id");
                    self.add_call(&id, made, results.get(&own).copied())?;
                }
            }
            _ => {
                let id = format!("{}#{number}", self.thread.id());
                self.push(&id, MessageRow { text: text.as_deref(), ..blank(Role::System, MessageKind::Meta) })?;
            }
        }
        Ok(())
    }

    fn push(&mut self, id: &str, row: MessageRow<'_>) -> Result<(), Reject> {
        self.thread.message(&Position::new(id, self.moment), row, self.out).map(drop)
    }

    /// Adds the tokens. The document has those of the last request for each prompt, and in later versions the sum over all
    /// requests; zeros are left out.
    fn push_usage(&mut self, document: &'v Value, updated: Option<i64>) -> Result<(), Reject> {
        let provider = document.text_at("/model/provider");
        let all = document.at("/request_token_usage");
        let named = all.and_then(Value::as_object).into_iter().flatten().map(|(id, usage)| (id.clone(), usage));
        let placed = all.and_then(Value::as_array).into_iter().flatten().enumerate();
        let requests: Vec<(String, &Value)> =
            named.chain(placed.map(|(place, usage)| (format!("request {place}"), usage))).collect();
        let total = document.at("/cumulative_token_usage");
        let has_cache = |usage: &Value| CACHE.iter().any(|key| usage.count_at(key).is_some_and(|count| count > 0));
        // Other providers do not say how much of the input a cache held. Zed itself serves models of several.
        let is_anthropic = match provider {
            Some("zed.dev") => self.model.is_some_and(|model| model.starts_with("claude")),
            provider => provider == Some("anthropic"),
        };
        let is_split = is_anthropic || requests.iter().map(|(_, usage)| *usage).chain(total).any(has_cache);
        let effort = document.text_at("/thinking_effort").filter(|_| document.is_true_at("/thinking_enabled"));
        let mut sum = [0_i64; 4];
        for (id, usage) in &requests {
            let tokens = tokens_of(usage);
            if tokens == [0; 4] {
                continue;
            }
            for (sum, tokens) in sum.iter_mut().zip(tokens) {
                *sum = sum.saturating_add(tokens);
            }
            let id = qualified(self.thread.id(), id).into_owned();
            let row = UsageRow { grain: UsageGrain::Turn, is_partial: true, ..row(&id, tokens, is_split) };
            self.bill(UsageRow { provider, reasoning_effort: effort, message_id: Some(id.as_str()), ..row })?;
        }
        let total = total.map(tokens_of).unwrap_or_default();
        if total.iter().zip(sum).any(|(total, sum)| *total > sum) {
            let larger = [0, 1, 2, 3]
                .map(|at: usize| total.get(at).copied().unwrap_or(0).max(sum.get(at).copied().unwrap_or(0)));
            let id = total_id(self.thread.id());
            let row = UsageRow { grain: UsageGrain::Session, timestamp: updated, ..row(&id, larger, is_split) };
            self.bill(UsageRow { provider, reasoning_effort: effort, ..row })?;
        }
        Ok(())
    }

    fn bill(&mut self, row: UsageRow<'_>) -> Result<(), Reject> {
        let message_id = row.message_id.filter(|id| self.thread.has(Kind::Message, id));
        let turn = self.turns.get(row.response_id).copied();
        let row = UsageRow { model: self.model, message_id, turn, ..row.shorten() };
        self.thread.bill(&Position::default(), row, self.thread.last_seq(), self.out)
    }
}

const CACHE: [&str; 2] = ["/cache_read_input_tokens", "/cache_creation_input_tokens"];

/// Input, cache read, cache written, output.
fn tokens_of(usage: &Value) -> [i64; 4] {
    let [read, written] = CACHE;
    ["/input_tokens", read, written, "/output_tokens"].map(|key| usage.count_at(key).unwrap_or(0))
}

fn row(id: &str, [input, read, written, output]: [i64; 4], is_split: bool) -> UsageRow<'_> {
    UsageRow {
        response_id: id,
        input_tokens: Some(input),
        cache_read_tokens: Some(read).filter(|_| is_split),
        cache_write_5m_tokens: Some(written).filter(|_| is_split),
        output_tokens: Some(output),
        ..UsageRow::default()
    }
}
