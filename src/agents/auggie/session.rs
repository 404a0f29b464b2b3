//! One session: its exchanges in order, its subagents, and the calls that summed up its history.

use std::collections::{BTreeMap, BTreeSet};

use super::record::{AgentState, Exchange, Item, Node, Subagent, Summarization, Usage};
use super::tools;
use crate::agents::document::{self, Torn};
use crate::agents::ids::qualified;
use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::kit::texts::join;
use crate::agents::kit::thread::{Position, Thread, blank};
use crate::extract::{Facts, Kind, Reject, Sink};
use crate::source::Source;
use crate::source::records::{List, Object, Text, Usd};
use crate::tables::{Category, MessageKind, MessageRow, Role, SessionKind, Status, UsageRow};

/// Kinds of nodes.
const TEXT: i64 = 0;
const RESULT: i64 = 1;
const CALL: i64 = 5;
const THINKING: i64 = 8;
const BILLING: i64 = 9;
const USAGE: i64 = 10;

/// The unit of a cost in USD.
const IN_USD: i64 = 2;

/// Reads a session into the sink.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let Some(json) = document::text(source, "a session", out)? else { return Ok(()) };
    let document = Torn::read(&json, "chatHistory");
    let items = exchanges(&document, out);
    let field = |key: &str| document.field::<Text<'_>>(key).owned();
    let session_id = field("sessionId").unwrap_or_else(|| source.stem().to_owned());
    let subagents: List<Object<Subagent<'_>>> = document.field("subAgents");
    let state: Object<AgentState<'_>> = document.field("agentState");
    if subagents.0.is_empty() && document.field::<Usd>("subAgentCostUsd").0.is_some_and(|cost| cost > 0.0) {
        out.remark("the session records what its subagents cost, and not their tokens");
    }
    let facts = Facts {
        session_id,
        title: field("customTitle").or_else(|| field("title")),
        parent_session_id: field("parentConversationId"),
        ..Facts::default()
    };
    let runs = (1..).zip(&subagents.0).filter_map(|(number, run)| Some((number, run.0.as_ref()?)));
    let children: Vec<_> = runs.map(|(number, run)| (run, facts_of_subagent(number, run, &facts))).collect();
    let mut main = Session::new(facts, state.0.and_then(|state| state.model.owned()));
    for (run, facts) in children.iter().rev() {
        if let Some(request) = run.request.get() {
            main.children.entry(request.to_owned()).or_default().push(facts.session_id.clone());
        }
    }
    let main_id = main.thread.id().to_owned();
    main.take_all(items.iter().collect(), out)?;
    let summarizations: List<Object<Summarization<'_>>> = document.field("summarizations");
    // A torn document may have lost the exchange that is the same request.
    let is_whole = document.error.is_none();
    for summarization in summarizations.0.iter().filter_map(|one| one.0.as_ref()).filter(|_| is_whole) {
        main.take_summarization(summarization, out)?;
    }
    main.thread.finish(out)?;
    for (run, facts) in children {
        out.turn_to(&facts.session_id);
        let mut child = Session::new(facts, run.model.owned());
        child.scope.clone_from(&main_id);
        child.take_all(run.history.0.iter().filter_map(|item| item.0.as_ref()).collect(), out)?;
        child.thread.finish(out)?;
    }
    out.turn_to("");
    Ok(())
}

fn exchanges<'d>(document: &'d Torn<'_>, out: &mut Sink<'_>) -> Vec<Item<'d>> {
    let mut items = Vec::new();
    for item in &document.items {
        out.line();
        match serde_json::from_str(item.get()) {
            Ok(item) => items.push(item),
            Err(_) => out.problem(out.report.lines, "an exchange that cannot be read"),
        }
        out.note_out_of_range(out.report.lines);
    }
    if let Some(error) = &document.error {
        out.line();
        out.problem(out.report.lines, &format!("a torn session; everything before the tear was read: {error}"));
    }
    items
}

fn facts_of_subagent(number: u32, run: &Subagent<'_>, main: &Facts) -> Facts {
    Facts {
        session_id: format!("{}:{number}", main.session_id),
        kind: SessionKind::Subagent,
        parent_session_id: Some(main.session_id.clone()),
        is_subagent: true,
        subagent_type: run.name.owned(),
        ..Facts::default()
    }
}

struct Session {
    thread: Thread,
    /// The session of the file, within which ids of requests are unique.
    scope: String,
    model: Option<String>,
    /// For each request that started subagents, their sessions; the first one last.
    children: BTreeMap<String, Vec<String>>,
    /// Finish time of the previous exchange. Microseconds since 1970.
    before: Option<i64>,
    /// End time of each open call. Microseconds since 1970.
    ends: BTreeMap<String, i64>,
    /// Calls of the previous exchange, by the names that results give them.
    called: Vec<String>,
}

/// The nodes of a kind.
fn nodes<'n, 'a>(nodes: &'n List<Object<Node<'a>>>, kind: i64) -> impl Iterator<Item = &'n Node<'a>> {
    nodes.0.iter().filter_map(|node| node.0.as_ref()).filter(move |node| node.kind.0 == Some(kind))
}

impl Session {
    fn new(facts: Facts, model: Option<String>) -> Self {
        let scope = facts.session_id.clone();
        Self {
            thread: Thread::new(facts),
            scope,
            model,
            children: BTreeMap::new(),
            before: None,
            ends: BTreeMap::new(),
            called: Vec::new(),
        }
    }

    /// Takes exchanges in the order of their numbers.
    fn take_all(&mut self, mut items: Vec<&Item<'_>>, out: &mut Sink<'_>) -> Result<(), Reject> {
        items.sort_by(|a, b| a.sequence.0.unwrap_or(f64::MAX).total_cmp(&b.sequence.0.unwrap_or(f64::MAX)));
        for item in items {
            if let Some(exchange) = &item.exchange.0 {
                self.take(item, exchange, out)?;
            }
            self.before = item.finished.0.or(self.before);
        }
        Ok(())
    }

    fn take(&mut self, item: &Item<'_>, exchange: &Exchange<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        let request =
            join(nodes(&exchange.request_nodes, TEXT).filter_map(|node| node.text.0.as_ref()?.content.0.clone()));
        let request = exchange.request.get().or(request.as_deref()).filter(|text| !text.is_empty());
        let id = match exchange.id.get() {
            Some(id) => qualified(&self.scope, id).into_owned(),
            None => {
                self.thread.print("exchange", item.finished.0, [request, exchange.response.get()].into_iter().flatten())
            }
        };
        if self.thread.has(Kind::Message, &id) {
            return Ok(());
        }
        if item.is_summary.0 {
            let at = Position::new(&id, item.finished.0);
            let response_id = self.bill(exchange, &at, out)?.then_some(&*id);
            let text = exchange.response.get().or(request);
            let model = self.model_of(exchange);
            let row = MessageRow {
                text,
                response_id,
                model: model.as_deref(),
                ..blank(Role::System, MessageKind::Compaction)
            };
            return self.thread.message(&at, row, out).map(drop);
        }
        self.take_request(exchange, request, &id, out)?;
        self.interrupt_open();
        self.take_response(item, exchange, &id, out)?;
        if item.completed.json() == Some("false") {
            let id = format!("{id}:abort");
            self.thread.message(&Position::new(&id, item.finished.0), blank(Role::System, MessageKind::Abort), out)?;
        }
        Ok(())
    }

    fn take_request(
        &mut self,
        exchange: &Exchange<'_>,
        request: Option<&str>,
        id: &str,
        out: &mut Sink<'_>,
    ) -> Result<(), Reject> {
        let mut results = nodes(&exchange.request_nodes, RESULT).filter_map(|node| node.result.0.as_ref()).peekable();
        if results.peek().is_some() {
            let id = format!("{id}:results");
            let at = Position::new(&id, self.before);
            let mut is_error = false;
            for result in results {
                let Some(name) = result.call.get() else { continue };
                if let Some(call) = self.thread.calls.take(name) {
                    let ended_at = self.ends.remove(name).or(self.before);
                    let end = Outcome { ended_at, ..tools::outcome(&call, result) };
                    is_error |= end.status != Status::Ok;
                    self.thread.close_call(&call, &end, out)?;
                }
            }
            self.thread.message(&at, MessageRow { is_error, ..blank(Role::Tool, MessageKind::ToolResult) }, out)?;
        }
        if let Some(text) = request {
            self.thread.begin_turn();
            let id = format!("{id}:request");
            let row = MessageRow { text: Some(text), ..blank(Role::User, MessageKind::Prompt) };
            self.thread.message(&Position::new(&id, self.before), row, out)?;
        }
        Ok(())
    }

    fn take_response(
        &mut self,
        item: &Item<'_>,
        exchange: &Exchange<'_>,
        id: &str,
        out: &mut Sink<'_>,
    ) -> Result<(), Reject> {
        let texts = nodes(&exchange.response_nodes, TEXT).filter_map(|node| node.content.0.clone());
        let text = exchange.response.0.clone().filter(|text| !text.is_empty()).or_else(|| join(texts));
        let thoughts = nodes(&exchange.response_nodes, THINKING).filter_map(|node| node.thinking.0.as_ref());
        let thinking = join(thoughts.filter_map(|thought| {
            let texts = [&thought.summary, &thought.content];
            texts.into_iter().find(|text| text.get().is_some()).and_then(|text| text.0.clone())
        }));
        let calls: Vec<_> = nodes(&exchange.response_nodes, CALL).filter_map(|node| node.call.0.as_ref()).collect();
        let at = Position::new(id, item.finished.0);
        let response_id = self.bill(exchange, &at, out)?.then_some(id);
        let text = text.as_deref().filter(|text| !text.is_empty());
        if text.is_none() && thinking.is_none() && calls.is_empty() && response_id.is_none() {
            return Ok(());
        }
        let model = self.model_of(exchange);
        let row = MessageRow {
            text,
            thinking: thinking.as_deref(),
            model: model.as_deref(),
            response_id,
            ..blank(Role::Assistant, MessageKind::Reply)
        };
        self.thread.message(&at, row, out)?;
        for (place, used) in calls.into_iter().enumerate() {
            let name = used.id.owned().unwrap_or_else(|| format!("{id}#{place}"));
            let call = tools::call(used);
            let child = self.child_of(exchange, &call);
            let call = Call {
                id: qualified(id, &name).into_owned(),
                message_id: Some(id.to_owned()),
                response_id: response_id.map(str::to_owned),
                child,
                ..call
            };
            if self.thread.is_new(Kind::ToolCall, &call.id) {
                let at = Position { moment: used.started.0, ..at };
                self.thread.open_named_call(&at, Some(&name), call, out)?;
                self.ends.remove(&name);
                self.ends.extend(used.completed.0.map(|moment| (name.clone(), moment)));
                self.called.push(name);
            }
        }
        Ok(())
    }

    /// Marks the open calls of the exchange before as interrupted. Their results may still come.
    fn interrupt_open(&mut self) {
        for name in std::mem::take(&mut self.called) {
            if let Some(call) = self.thread.calls.get(&name) {
                call.status = Status::Interrupted;
            }
        }
    }

    /// Returns the session that a call started.
    fn child_of(&mut self, exchange: &Exchange<'_>, call: &Call) -> Option<String> {
        let request = exchange.id.get().filter(|_| call.category == Category::Task)?;
        self.children.get_mut(request)?.pop()
    }

    /// Returns the model that answered, else the one that was asked.
    fn model_of(&self, exchange: &Exchange<'_>) -> Option<String> {
        let billings = nodes(&exchange.response_nodes, BILLING).filter_map(|node| node.billing.0.as_ref());
        let answered = billings.into_iter().find_map(|billing| billing.model.owned());
        answered.or_else(|| exchange.model.owned()).or_else(|| self.model.clone())
    }

    /// Adds the response of an exchange. Returns false if its tokens are not recorded.
    fn bill(&mut self, exchange: &Exchange<'_>, at: &Position<'_>, out: &mut Sink<'_>) -> Result<bool, Reject> {
        let Some(usage) = nodes(&exchange.response_nodes, USAGE).find_map(|node| node.usage.0.as_ref()) else {
            return Ok(false);
        };
        let mut transactions = BTreeSet::new();
        let (mut cost_usd, mut credits) = (None, None);
        for billing in nodes(&exchange.response_nodes, BILLING).filter_map(|node| node.billing.0.as_ref()) {
            let is_new = billing.transaction.get().is_none_or(|transaction| transactions.insert(transaction));
            if is_new && billing.unit.0 == Some(IN_USD) {
                cost_usd = sum(cost_usd, billing.cost.0);
            } else if is_new {
                credits = sum(credits, billing.credits.0);
            }
        }
        let model = self.model_of(exchange);
        let row = UsageRow { model: model.as_deref(), cost_usd, credits, ..tokens_of(usage) };
        self.push_usage(row, at.id, at, out)
    }

    /// Adds a billed response, unless it has no tokens.
    fn push_usage(
        &mut self,
        row: UsageRow<'_>,
        id: &str,
        at: &Position<'_>,
        out: &mut Sink<'_>,
    ) -> Result<bool, Reject> {
        let counts = [row.input_tokens, row.cache_read_tokens, row.cache_write_5m_tokens, row.output_tokens];
        if counts.into_iter().flatten().all(|count| count == 0) {
            return Ok(false);
        }
        let row = UsageRow { message_id: Some(at.id), response_id: id, turn: self.thread.turn, ..row.shorten() };
        self.thread.bill(at, row, self.thread.seq, out)?;
        Ok(true)
    }

    /// Takes a call to the model that summed up the history, unless it is an exchange too.
    fn take_summarization(&mut self, one: &Summarization<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        let Some(id) = one.id.get().map(|id| qualified(&self.scope, id).into_owned()) else { return Ok(()) };
        if self.thread.has(Kind::Message, &id) {
            return Ok(());
        }
        let message_id = format!("{id}:summary");
        let at = Position::new(&message_id, one.finished.0);
        let usage = Usage {
            input: one.input,
            output: one.output,
            cache_read: one.cache_read,
            cache_write: one.cache_write,
            ..Usage::default()
        };
        let [cost_usd, credits] = [one.cost.0, one.credits.0].map(|amount| amount.filter(|amount| *amount > 0.0));
        let row = UsageRow { model: one.model.get(), cost_usd, credits, ..tokens_of(&usage) };
        let is_billed = self.push_usage(row, &id, &at, out)?;
        let row = MessageRow {
            model: one.model.get(),
            response_id: is_billed.then_some(&*id),
            ..blank(Role::System, MessageKind::Summary)
        };
        self.thread.message(&at, row, out).map(drop)
    }
}

fn sum(known: Option<f64>, more: Option<f64>) -> Option<f64> {
    known.into_iter().chain(more).reduce(|a, b| a + b)
}

/// Returns the counts of a response, which are disjoint.
fn tokens_of<'r>(usage: &Usage<'_>) -> UsageRow<'r> {
    UsageRow {
        input_tokens: usage.input.0,
        cache_read_tokens: usage.cache_read.0,
        cache_write_5m_tokens: usage.cache_write.0,
        output_tokens: usage.output.0,
        ..UsageRow::default()
    }
}
