//! Messages as sent to the model: a task's `api_conversation_history.json`, and an SDK session's messages.

use std::borrow::Cow;

use super::align::Place;
use super::billing::{Answer, Billing};
use super::companion::Companion;
use super::content::{is_continuation, is_resumption_notice, is_written, spoken, text_of, without_surroundings};
use super::keys;
use super::metrics::{Numbers, OwnBill};
use super::record::{Block, Message};
use super::rows::Rows;
use super::survey::Session;
use super::timeline::moment;
use super::tools;
use super::xml;
use crate::agents::held::{OpenBytes, TOO_MANY};
use crate::agents::ids::is_global;
use crate::agents::kit::calls::Call;
use crate::agents::kit::facts::set;
use crate::agents::kit::texts::join;
use crate::agents::kit::thread::{Position, blank};
use crate::agents::waiting::Waiting;
use crate::extract::{Kind, Reject};
use crate::tables::{MessageKind, MessageRow, Role, UsageGrain};

/// Writes the rows of messages, in their order.
pub(super) struct History<'h, 'o, 's> {
    pub(super) rows: &'h mut Rows<'o, 's>,
    form: Form<'h>,
    next: i64,
    parent: Option<String>,
    /// Calls without a result so far.
    open: Waiting<Call>,
    open_bytes: OpenBytes,
    /// Thinking that comes before its reply.
    thought: Option<String>,
    /// Model that the surroundings last named; before that, the index's.
    model: Option<String>,
    /// Subtasks that are not yet linked to the calls that started them.
    children: std::slice::Iter<'h, String>,
}

/// Source of the messages.
pub(super) enum Form<'h> {
    /// A task. Times, models and costs are in another file; `None` if that file is missing.
    Task(Option<Billing<'h>>),
    /// An SDK session.
    Session(Session<'h>),
}

/// A call within the text of a reply: its name and input.
type Element = (&'static str, String);

/// Content of a message of the person or of tools.
#[derive(Default)]
struct Heard<'m> {
    text: Option<Cow<'m, str>>,
    /// True if the person typed it.
    is_typed: bool,
    has_results: bool,
}

impl<'h, 'o, 's> History<'h, 'o, 's> {
    pub(super) fn new(rows: &'h mut Rows<'o, 's>, form: Form<'h>, companion: Option<&'h Companion>) -> Self {
        let item = companion.and_then(|companion| companion.item.as_ref());
        let children = item.map(|item| item.children.as_slice()).unwrap_or_default().iter();
        let model = companion.and_then(|companion| companion.indexed.clone());
        let (open, open_bytes) = (Waiting::default(), OpenBytes::default());
        Self { rows, form, next: 0, parent: None, open, open_bytes, thought: None, model, children }
    }

    /// Takes a message.
    pub(super) fn take(&mut self, message: &Message<'_>) -> Result<(), Reject> {
        let place = Place { index: self.next, at: message.at.0 };
        self.next += 1;
        message.unknown.iter().for_each(|field| self.rows.out.unknown(&format!("field {field}")));
        if message.kind.is("reasoning") {
            let text = message.text.owned();
            self.thought = text.or_else(|| text_of(message.summary).map(Cow::into_owned)).or(self.thought.take());
            return Ok(());
        }
        match message.role.get() {
            // At first, Roo Code wrote summaries in the model's name.
            Some("user" | "assistant") if message.is_summary.0 => self.take_user(message, place),
            Some("user") => self.take_user(message, place),
            Some("assistant") => self.take_reply(message, place),
            role => {
                self.rows.out.unknown(&format!("role {}", role.unwrap_or("none")));
                Ok(())
            }
        }
    }

    fn take_user(&mut self, message: &Message<'_>, place: Place) -> Result<(), Reject> {
        let request = self.billing().and_then(|billing| billing.alignment.sent_by(place));
        let mut at = place.at.and_then(moment);
        if let Form::Task(Some(billing)) = &mut self.form {
            let begun = self.rows.thread.facts.first_moment.filter(|_| place.index == 0);
            at = at.or(begun).or_else(|| billing.moment_of(request));
            // No request comes before the first message: the first requests already contain it.
            if place.index > 0 {
                billing.note_before(self.rows, place, request)?;
                billing.bill_before(self.rows, request, self.model.as_deref())?;
            }
        }
        let heard = self.hear(message, at)?;
        if heard.text.is_none() && !heard.has_results && message.content.has_resumption_notice() {
            return Ok(());
        }
        let is_copy = self.is_copy(place);
        let (role, kind) = self.kind_of(message, &heard, place);
        let id = self.id_of(message);
        let row = MessageRow {
            parent_id: self.parent.as_deref(),
            text: heard.text.as_deref(),
            is_error: kind == MessageKind::ApiError,
            attachments: message.content.attachments(),
            ..blank(role, kind)
        };
        self.rows.say(&Position { is_copy, ..Position::new(&id, at) }, row)?;
        self.yields_to(Kind::Message, &id, place);
        self.parent = Some(id);
        Ok(())
    }

    /// Reads a message of the person or of tools, and ends the calls whose results it holds.
    fn hear<'m>(&mut self, message: &'m Message<'_>, at: Option<i64>) -> Result<Heard<'m>, Reject> {
        let mut heard = Heard::default();
        let mut typed: Vec<Cow<'m, str>> = Vec::new();
        let mut others: Vec<Cow<'m, str>> = Vec::new();
        let mut result: Option<(Option<Call>, Vec<Cow<'m, str>>)> = None;
        for block in &message.content.0 {
            match block.kind.get() {
                Some("tool_result") => {
                    heard.has_results = true;
                    typed.extend(self.take_result(block, at)?.map(Cow::Owned));
                }
                Some("text") => {
                    let Some(text) = block.text.get() else { continue };
                    let (text, surroundings) = without_surroundings(text);
                    set(&mut self.rows.thread.cwd, surroundings.folder);
                    set(&mut self.model, surroundings.model);
                    if text.trim().is_empty() || is_resumption_notice(&text) {
                        continue;
                    }
                    if let Some((name, output)) = xml::result(&text) {
                        heard.has_results = true;
                        if let Some((call, output)) = result.take() {
                            typed.extend(self.end_written(call, output, at)?);
                        }
                        let output = (!output.is_empty()).then(|| Cow::Owned(output.to_owned()));
                        result = Some((self.open_named(name), output.into_iter().collect()));
                    } else if let Some((_, output)) = &mut result {
                        output.push(text);
                    } else if let Some(words) = spoken(&text, false) {
                        typed.push(Cow::Owned(words.to_owned()));
                    } else {
                        others.push(text);
                    }
                }
                Some("image" | "document" | "file") => {}
                kind => self.rows.out.unknown(&format!("block {}", kind.unwrap_or("without a type"))),
            }
        }
        if let Some((call, output)) = result {
            typed.extend(self.end_written(call, output, at)?);
        }
        heard.is_typed = !typed.is_empty();
        heard.text = join(if heard.is_typed { typed } else { others });
        Ok(heard)
    }

    /// Ends a call with its result; returns the text that the person typed with it.
    fn take_result(&mut self, block: &Block<'_>, at: Option<i64>) -> Result<Option<String>, Reject> {
        let id = block.call.get().unwrap_or_default();
        let Some(call) = self.open.take(&format!("id {id}")) else { return Ok(None) };
        let output = text_of(block.content).unwrap_or_default();
        let output = without_surroundings(&output).0;
        let typed = self.typed_in(&output);
        self.end(call, Some(output), block.is_error.0, at)?;
        Ok(typed)
    }

    /// Ends a call with its result, if the call is known; returns the text that the person typed with it.
    fn end_written<'m>(
        &mut self,
        call: Option<Call>,
        output: Vec<Cow<'m, str>>,
        at: Option<i64>,
    ) -> Result<Option<Cow<'m, str>>, Reject> {
        let output = join(output).unwrap_or_default();
        let typed = self.typed_in(&output).map(Cow::Owned);
        if let Some(call) = call {
            self.end(call, Some(output), false, at)?;
        }
        Ok(typed)
    }

    /// Returns the text that the person typed, if a tool's result holds it.
    fn typed_in(&self, output: &str) -> Option<String> {
        spoken(output, true).map(str::to_owned).or_else(|| tools::feedback(output, self.rows.writer))
    }

    fn end(
        &mut self,
        mut call: Call,
        output: Option<Cow<'_, str>>,
        is_error: bool,
        at: Option<i64>,
    ) -> Result<(), Reject> {
        if call.name == "new_task" {
            call.child = self.children.next().cloned();
        }
        self.rows.end_call(&call, output, is_error, at)
    }

    /// Removes and returns the first call of that name that waits for its result.
    fn open_named(&mut self, name: &str) -> Option<Call> {
        self.open.take(&format!("name {name}"))
    }

    fn kind_of(&self, message: &Message<'_>, heard: &Heard<'_>, place: Place) -> (Role, MessageKind) {
        let text = heard.text.as_deref().unwrap_or_default();
        if let Form::Session(_) = &self.form
            && let Some(metadata) = &message.metadata.0
        {
            if metadata.kind.is("compaction_summary") {
                return (Role::User, MessageKind::Compaction);
            }
            if metadata.is_display_only.0 {
                return (Role::User, MessageKind::Meta);
            }
        }
        let has_compactions = matches!(&self.form, Form::Task(Some(billing)) if billing.has_compactions());
        match heard {
            _ if message.is_summary.0 => {
                (Role::User, if has_compactions { MessageKind::Summary } else { MessageKind::Compaction })
            }
            _ if message.is_truncation.0 => {
                (Role::User, if has_compactions { MessageKind::Meta } else { MessageKind::Compaction })
            }
            Heard { is_typed: true, .. } => (Role::User, MessageKind::Prompt),
            Heard { has_results: true, text: None, .. } => (Role::Tool, MessageKind::ToolResult),
            Heard { has_results: true, .. } => (Role::User, MessageKind::ToolResult),
            _ if is_continuation(text) => (Role::User, MessageKind::Summary),
            _ if is_written(text) => (Role::User, MessageKind::Meta),
            Heard { text: None, .. } if message.content.attachments() == 0 && place.index > 0 => {
                (Role::User, MessageKind::Meta)
            }
            _ => (Role::User, MessageKind::Prompt),
        }
    }

    fn take_reply(&mut self, message: &Message<'_>, place: Place) -> Result<(), Reject> {
        let request = self.billing().and_then(|billing| billing.alignment.answered_by(place));
        let mut at = place.at.and_then(moment);
        let (mut billed, mut response, mut shown) = (None, None, None);
        if let Form::Task(Some(billing)) = &mut self.form {
            at = at.or_else(|| billing.moment_of(request));
            // By its time, a reply comes after the events of its own request.
            billing.note_before(self.rows, place, request.filter(|_| place.at.is_none()))?;
            billed = billing.model_of(request).0;
            response = billing.response_of(self.rows.thread.id(), request);
            shown = billing.thinking_of(request);
        }
        let id = self.id_of(message);
        let is_copy = self.is_copy(place);
        let info = message.model.0.as_ref();
        let own = info.and_then(|model| model.model.get());
        let model = own.or(billed).or(self.model.as_deref()).map(str::to_owned);
        let text = join(texts(message));
        let (text, elements) = self.elements_of(message, text);
        let (before, beside) = (self.thought.take().map(Cow::Owned), message.reasoning.get().map(Cow::Borrowed));
        let thinking = join([before, message.content.thinking(), beside].into_iter().flatten());
        let thinking = thinking.or(shown.map(Cow::Borrowed));
        let bill = self.own_bill(message, place, &id, model.as_deref(), at);
        let response = response.or_else(|| bill.is_some().then(|| id.clone()));
        let (kind, is_error) = self.reply_kind(message, text.as_deref());
        let row = MessageRow {
            parent_id: self.parent.as_deref(),
            text: text.as_deref(),
            thinking: thinking.as_deref(),
            model: model.as_deref().filter(|_| kind == MessageKind::Reply),
            response_id: response.as_deref(),
            is_error,
            attachments: message.content.attachments(),
            ..blank(Role::Assistant, kind)
        };
        let seq = self.rows.say(&Position { is_copy, ..Position::new(&id, at) }, row)?;
        self.yields_to(Kind::Message, &id, place);
        if let (Form::Task(Some(billing)), Some(request)) = (&mut self.form, request) {
            let provider = info.and_then(|model| model.provider.get()).filter(|name| *name != "unknown");
            let answer = Answer { id: &id, seq, model: own, provider };
            billing.bill(self.rows, request, Some(answer), model.as_deref())?;
        }
        if let Some(bill) = bill {
            bill.push(self.rows, seq)?;
        }
        let reply = Call { response_id: response, started_at: at, is_copy, ..Call::default() };
        self.open_calls(message, elements, place, &id, &reply)?;
        self.note_interruption(message, place, request, &Position { is_copy, ..Position::new(&id, at) })?;
        self.parent = Some(id);
        Ok(())
    }

    /// Adds a row for a reply whose text ends with a mark of its interruption. An event of the request supersedes it.
    fn note_interruption(
        &mut self,
        message: &Message<'_>,
        place: Place,
        request: Option<usize>,
        reply: &Position<'_>,
    ) -> Result<(), Reject> {
        let last = texts(message).last().unwrap_or_default();
        let kind = match last.trim_end() {
            text if text.ends_with("[Response interrupted by user]") => MessageKind::Abort,
            text if text.ends_with("[Response interrupted by API Error]") => MessageKind::ApiError,
            _ => return Ok(()),
        };
        let is_error = kind == MessageKind::ApiError;
        let text = is_error.then_some("Response interrupted by API Error");
        let id = format!("{}:interruption", reply.id);
        self.rows.say(&Position { id: &id, ..*reply }, MessageRow { text, is_error, ..blank(Role::System, kind) })?;
        self.yields_to(Kind::Message, &id, place);
        let interruption = keys::interruption(self.rows.agent, reply.id);
        self.rows.out.yields_to(Kind::Message, &id, interruption, None);
        if self.billing().is_some_and(|billing| billing.is_interrupted(request)) {
            self.rows.out.claim(interruption, false);
        }
        Ok(())
    }

    /// Keeps the calls of a reply until their results come. `reply` is a call with the values that all of them share.
    fn open_calls(
        &mut self,
        message: &Message<'_>,
        elements: Vec<Element>,
        place: Place,
        id: &str,
        reply: &Call,
    ) -> Result<(), Reject> {
        let blocks = message.content.0.iter().filter(|block| block.kind.is("tool_use"));
        let calls = blocks.map(|block| {
            let name = block.name.get().unwrap_or("unknown");
            (block.id.get().unwrap_or_default(), name, block.input.json().map(str::to_owned))
        });
        let calls = calls.chain(elements.into_iter().map(|(name, input)| ("", name, Some(input))));
        for (number, (own_id, name, input)) in calls.enumerate() {
            let call_id = self.rows.call_id(own_id, id, number);
            let call = Call {
                message_id: Some(id.to_owned()),
                response_id: reply.response_id.clone(),
                started_at: reply.started_at,
                is_copy: reply.is_copy,
                ..self.rows.call(call_id, name, input)
            };
            // A call that is named by its session has the same id there.
            if !is_global(own_id) {
                self.yields_to(Kind::ToolCall, &call.id, place);
            }
            // Results of calls that have an id may also come as texts that name the tool alone.
            let bytes = call.bytes();
            self.open.push([&format!("id {own_id}"), &format!("name {name}")], call);
            if self.open_bytes.exceed(bytes, self.open.values().map(Call::bytes)) {
                self.rows.out.problem(self.next.cast_unsigned(), TOO_MANY);
                self.end_open_calls()?;
            }
        }
        Ok(())
    }

    /// Ends the calls that got no result.
    fn end_open_calls(&mut self) -> Result<(), Reject> {
        self.open.drain().try_for_each(|call| self.end(call, None, false, None))
    }

    /// Returns the calls within the text of a reply, if it has no others.
    fn elements_of<'m>(
        &self,
        message: &Message<'_>,
        text: Option<Cow<'m, str>>,
    ) -> (Option<Cow<'m, str>>, Vec<Element>) {
        let has_calls = message.content.0.iter().any(|block| block.kind.is("tool_use"));
        if has_calls || matches!(self.form, Form::Session(_)) {
            return (text, Vec::new());
        }
        let Some(text) = text else { return (None, Vec::new()) };
        let (rest, elements) = xml::split(&text);
        if elements.is_empty() {
            return (Some(text), Vec::new());
        }
        let rest = rest.into_owned();
        (Some(Cow::Owned(rest)), elements.iter().map(|element| (element.name, element.input())).collect())
    }

    /// Returns the token counts stored with a reply, if no request has any.
    fn own_bill<'m>(
        &self,
        message: &Message<'_>,
        place: Place,
        id: &'m str,
        model: Option<&'m str>,
        at: Option<i64>,
    ) -> Option<OwnBill<'m>> {
        let numbers = Numbers::of(message.metrics.0.as_ref()?)?;
        let own = |text: Option<&str>| text.map(str::to_owned);
        let provider =
            own(message.model.0.as_ref().and_then(|model| model.provider.get()).filter(|name| *name != "unknown"));
        let bill = OwnBill {
            id,
            model: own(model),
            provider,
            at,
            numbers,
            grain: UsageGrain::Response,
            superseded_by: None,
            is_copy: false,
        };
        let agent = self.rows.agent;
        match &self.form {
            Form::Task(Some(billing)) if billing.has_tokens() => None,
            Form::Task(_) => {
                Some(OwnBill { superseded_by: Some(keys::requests(agent, self.rows.thread.id())), ..bill })
            }
            Form::Session(session) => {
                let replay = session.replays(place.index).then(|| keys::folder(agent, self.rows.thread.id()));
                let grain = session.grain_of(place.index);
                let model = bill.model.or_else(|| session.model.clone());
                let provider = bill.provider.or_else(|| session.provider.clone().filter(|_| replay.is_none()));
                Some(OwnBill { model, provider, grain, superseded_by: replay, is_copy: replay.is_some(), ..bill })
            }
        }
    }

    fn billing(&mut self) -> Option<&mut Billing<'h>> {
        match &mut self.form {
            Form::Task(billing) => billing.as_mut(),
            Form::Session(_) => None,
        }
    }

    /// Returns true if the message is a copy of one in a task's own folder.
    fn is_copy(&self, place: Place) -> bool {
        matches!(&self.form, Form::Session(session) if session.replays(place.index))
    }

    fn yields_to(&mut self, kind: Kind, id: &str, place: Place) {
        if self.is_copy(place) {
            let folder = keys::folder(self.rows.agent, self.rows.thread.id());
            self.rows.out.yields_to(kind, id, folder, None);
        }
    }

    /// Returns the id of a message. The extensions give messages no lasting ids: a task that is reset to a checkpoint
    /// continues with other messages in the same places.
    fn id_of(&mut self, message: &Message<'_>) -> String {
        let own = message.id.get();
        let form = match (&self.form, own) {
            (Form::Session(_), Some(id)) => return format!("{}#{id}", self.rows.thread.id()),
            (Form::Session(_), None) => "sdk",
            (Form::Task(_), _) => "api",
        };
        let role = if message.is_summary.0 { "summary" } else { message.role.get().unwrap_or_default() };
        let texts = own.map_or_else(|| own_texts(message), |id| vec![Cow::Borrowed(id)]);
        let name = self.rows.thread.prints.name_growing(role, message.at.0, texts.iter().map(|text| &**text));
        format!("{}:{form}:{name}", self.rows.thread.id())
    }

    /// Returns the kind of a reply, and true if it is an error. The SDK shows failures and interruptions as replies
    /// that no model wrote.
    fn reply_kind(&self, message: &Message<'_>, text: Option<&str>) -> (MessageKind, bool) {
        let metadata = message.metadata.0.as_ref().filter(|metadata| metadata.is_display_only.0);
        let Some(metadata) = metadata.filter(|_| matches!(self.form, Form::Session(_))) else {
            return (MessageKind::Reply, false);
        };
        if !metadata.role.is("error") {
            return (MessageKind::Meta, false);
        }
        let text = text.unwrap_or_default().to_ascii_lowercase();
        let is_stopped = ["interrupted", "aborted", "cancelled", "canceled"].iter().any(|word| text.contains(word));
        if is_stopped { (MessageKind::Abort, false) } else { (MessageKind::ApiError, true) }
    }

    /// Ends the open calls and emits the remaining rows.
    pub(super) fn finish(mut self) -> Result<(), Reject> {
        self.end_open_calls()?;
        match self.form {
            Form::Task(Some(billing)) => billing.finish(self.rows, self.model.as_deref()),
            Form::Task(None) | Form::Session(_) => Ok(()),
        }
    }
}

/// Returns the texts of a reply.
fn texts<'m>(message: &'m Message<'_>) -> impl Iterator<Item = Cow<'m, str>> {
    let blocks = message.content.0.iter().filter(|block| block.kind.is("text"));
    blocks.filter_map(|block| block.text.get()).filter(|text| !text.trim().is_empty()).map(Cow::Borrowed)
}

/// Returns the whole content of a message without its surroundings, which the extensions remove later.
fn own_texts<'m>(message: &'m Message<'_>) -> Vec<Cow<'m, str>> {
    let blocks = message.content.0.iter().flat_map(|block| {
        let text = block.text.get().map(|text| without_surroundings(text).0);
        let others = [block.thinking.get(), block.id.get(), block.name.get(), block.call.get()];
        let others = others.into_iter().chain([block.input.json(), block.content.json()]);
        text.into_iter().chain(others.flatten().map(Cow::Borrowed))
    });
    blocks.collect()
}
