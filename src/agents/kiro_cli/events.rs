//! Sessions of the second engine: lines of what happened, and the state in the same folder.

use super::content::{of_kind, plain, text};
use super::record::{Block, Event, Message, ToolResult, ToolUse};
use super::state::State;
use super::{AGENT, STATE};
use crate::agents::amazon_q::{call, ended, exit_status, succeeded};
use crate::agents::kit::calls::Call;
use crate::agents::kit::texts::join;
use crate::agents::kit::thread::{Position, Thread, blank};
use crate::extract::jsonl::RecordReader;
use crate::extract::{KeyMap, Kind, Reject, Sink, key};
use crate::source::Source;
use crate::tables::{MessageKind, MessageRow, Role, Status};

/// Reads a session: its events, or only its state where there are none.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    if source.kind == STATE {
        return extract_state(source, out);
    }
    let state = State::beside(source);
    let thread = Thread::new(state.facts(source.path));
    let mut events = Events { out, thread, state, places: KeyMap::default() };
    events.read_all(&mut source.lines()?)?;
    events.finish()
}

fn extract_state(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let bytes = source.document()?.unwrap_or_default();
    if bytes.trim_ascii().is_empty() {
        return Ok(());
    }
    out.line();
    let Some(state) = State::of(&bytes) else {
        out.problem(1, "the state of the session cannot be read");
        return Ok(());
    };
    let mut thread = Thread::new(state.facts(source.path));
    state.push_usage(&mut thread, |_| None, out)?;
    thread.finish(out)
}

struct Events<'o, 's> {
    out: &'o mut Sink<'s>,
    thread: Thread,
    state: State,
    /// Turn and place of each message.
    places: KeyMap<(Option<i64>, i64)>,
}

impl<'s> RecordReader<'s> for Events<'_, 's> {
    type Record = Event<'static>;
    const STARTS: &'static [&'static str] = &["{\"version\"", "{\"kind\""];

    fn sink(&mut self) -> &mut Sink<'s> {
        self.out
    }

    fn take(&mut self, event: &Event<'_>, line: u64) -> Result<(), Reject> {
        for name in &event.unknown {
            self.out.unknown(name);
        }
        let Some(message) = &event.data.0 else { return Ok(()) };
        let moment = message.meta.0.as_ref().and_then(|meta| meta.timestamp.0).or(event.timestamp.0);
        let id = match message.id.get() {
            Some(id) => id.to_owned(),
            None => {
                let blocks = message.content.0.iter().filter_map(|block| block.0.as_ref()?.data.json());
                let kind = event.kind.get().unwrap_or_default();
                self.thread.print(kind, moment, blocks.chain(message.summary.get()))
            }
        };
        let at = Position::on_line(&id, moment, line);
        match event.kind.get().unwrap_or_default() {
            _ if self.thread.has(Kind::Message, &id) => Ok(()),
            "Prompt" => self.take_prompt(message, &at),
            "AssistantMessage" => self.take_reply(message, &at),
            "ToolResults" => self.take_results(message, &at),
            "Compaction" => {
                let text = text(&message.content);
                let text = message.summary.get().or(text.as_deref());
                self.push(&at, MessageRow { text, ..blank(Role::System, MessageKind::Compaction) })
            }
            other => {
                self.out.unknown(&format!("kind {other}"));
                Ok(())
            }
        }
    }
}

impl Events<'_, '_> {
    fn take_prompt(&mut self, message: &Message<'_>, at: &Position<'_>) -> Result<(), Reject> {
        self.thread.begin_turn();
        let text = text(&message.content);
        let attachments = i64::try_from(of_kind(&message.content, "image").count()).unwrap_or(0);
        self.push(at, MessageRow { text: text.as_deref(), attachments, ..blank(Role::User, MessageKind::Prompt) })
    }

    fn take_reply(&mut self, message: &Message<'_>, at: &Position<'_>) -> Result<(), Reject> {
        let text = text(&message.content);
        let model = self.state.model_of(at.id).map(str::to_owned);
        let row =
            MessageRow { text: text.as_deref(), model: model.as_deref(), ..blank(Role::Assistant, MessageKind::Reply) };
        self.push(at, row)?;
        for (place, block) in of_kind(&message.content, "toolUse").enumerate() {
            let used: ToolUse<'_> = read(block);
            let id = used.id.get().map_or_else(|| format!("{}#{place}", at.id), str::to_owned);
            let message_id = Some(at.id.to_owned());
            let call = Call { message_id, ..call(&id, used.name.get(), used.input.json()) };
            self.thread.open_call(at, call, self.out)?;
        }
        Ok(())
    }

    fn take_results(&mut self, message: &Message<'_>, at: &Position<'_>) -> Result<(), Reject> {
        let mut is_error = false;
        for block in of_kind(&message.content, "toolResult") {
            let result: ToolResult<'_> = read(block);
            let blocks = || result.content.0.iter().filter_map(|block| block.0.as_ref());
            let exit_code = blocks().find_map(|block| exit_status(block.data.json()?));
            let output = join(blocks().filter_map(|block| plain(block.data)));
            let end = ended(succeeded(&result.status), exit_code, output, at.moment);
            is_error |= end.status != Status::Ok;
            if let Some(call) = self.thread.calls.take(result.id.get().unwrap_or_default()) {
                self.thread.close_call(&call, &end, self.out)?;
            }
        }
        self.push(at, MessageRow { is_error, ..blank(Role::Tool, MessageKind::ToolResult) })
    }

    fn push(&mut self, at: &Position<'_>, row: MessageRow<'_>) -> Result<(), Reject> {
        self.thread.message(at, row, self.out)?;
        self.places.insert(key(AGENT, Kind::Message, at.id), (self.thread.turn, self.thread.last_seq()));
        Ok(())
    }

    fn finish(mut self) -> Result<(), Reject> {
        let places = &self.places;
        let place_of = |id: &str| places.get(&key(AGENT, Kind::Message, id)).copied();
        self.state.push_usage(&mut self.thread, place_of, self.out)?;
        self.thread.finish(self.out)
    }
}

/// The data of a block.
fn read<'a, T: serde::Deserialize<'a> + Default>(block: &Block<'a>) -> T {
    block.data.json().and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default()
}
