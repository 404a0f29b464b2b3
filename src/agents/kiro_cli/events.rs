//! Sessions of the second engine: lines of what happened, and the state beside them.

use super::content::{of_kind, plain, text};
use super::record::{Block, Event, Said, ToolResult, ToolUse};
use super::state::State;
use super::{AGENT, STATE};
use crate::agents::amazon_q::{Call, Thread, blank, ended, exit_status, succeeded};
use crate::agents::kit::texts::join;
use crate::extract::{KeyMap, Kind, Reject, Sink, key};
use crate::source::Source;
use crate::source::jsonl::RecordReader;
use crate::tables::{MessageKind, MessageRow, Role, Status};

/// Reads a session: its events, or only its state where there are none.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    if source.kind == STATE {
        return extract_state(source, out);
    }
    let state = State::beside(source);
    let mut thread = Thread::new(AGENT, state.session_id(source.path), out);
    thread.cwd.clone_from(&state.cwd);
    let mut events = Events { thread, state, places: KeyMap::default() };
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
        out.problem(1, "no state of a session");
        return Ok(());
    };
    let mut thread = Thread::new(AGENT, state.session_id(source.path), out);
    state.push_usage(&mut thread, |_| None)?;
    thread.finish(state.facts())
}

struct Events<'o, 's> {
    thread: Thread<'o, 's>,
    state: State,
    /// Turn and place of each message.
    places: KeyMap<(Option<i64>, i64)>,
}

impl<'s> RecordReader<'s> for Events<'_, 's> {
    type Record = Event<'static>;
    const STARTS: &'static [&'static str] = &["{\"version\"", "{\"kind\""];

    fn sink(&mut self) -> &mut Sink<'s> {
        self.thread.out
    }

    fn take(&mut self, event: &Event<'_>, line: u64) -> Result<(), Reject> {
        for name in &event.unknown {
            self.thread.out.unknown(name);
        }
        let Some(said) = &event.data.0 else { return Ok(()) };
        let moment = said.meta.0.as_ref().and_then(|meta| meta.timestamp.0).or(event.timestamp.0);
        let id = match said.id.get() {
            Some(id) => id.to_owned(),
            None => {
                let blocks = said.content.0.iter().filter_map(|block| block.0.as_ref()?.data.json());
                let kind = event.kind.get().unwrap_or_default();
                format!(
                    "{}#{}",
                    self.thread.id,
                    self.thread.prints.name(kind, moment, blocks.chain(said.summary.get()))
                )
            }
        };
        let at = At { id: &id, moment, line };
        match event.kind.get().unwrap_or_default() {
            _ if self.thread.ids.has(Kind::Message, &id) => Ok(()),
            "Prompt" => self.take_prompt(said, &at),
            "AssistantMessage" => self.take_reply(said, &at),
            "ToolResults" => self.take_results(said, &at),
            "Compaction" => {
                let text = text(&said.content);
                let text = said.summary.get().or(text.as_deref());
                self.push(&at, MessageRow { text, ..blank(Role::System, MessageKind::Compaction, &id) })
            }
            other => {
                self.thread.out.unknown(&format!("kind {other}"));
                Ok(())
            }
        }
    }
}

/// Where an event stands.
struct At<'e> {
    id: &'e str,
    /// Microseconds since 1970.
    moment: Option<i64>,
    line: u64,
}

impl Events<'_, '_> {
    fn take_prompt(&mut self, said: &Said<'_>, at: &At<'_>) -> Result<(), Reject> {
        self.thread.next_turn();
        let text = text(&said.content);
        let attachments = i64::try_from(of_kind(&said.content, "image").count()).unwrap_or(0);
        self.push(
            at,
            MessageRow { text: text.as_deref(), attachments, ..blank(Role::User, MessageKind::Prompt, at.id) },
        )
    }

    fn take_reply(&mut self, said: &Said<'_>, at: &At<'_>) -> Result<(), Reject> {
        let text = text(&said.content);
        let model = self.state.model_of(at.id).map(str::to_owned);
        let row = MessageRow {
            text: text.as_deref(),
            model: model.as_deref(),
            ..blank(Role::Assistant, MessageKind::Reply, at.id)
        };
        self.push(at, row)?;
        for (place, block) in of_kind(&said.content, "toolUse").enumerate() {
            let call: ToolUse<'_> = read(block);
            self.thread.begin_call(Call {
                id: call.id.get().map_or_else(|| format!("{}#{place}", at.id), str::to_owned),
                message_id: Some(at.id.to_owned()),
                name: call.name.get().unwrap_or("unknown").to_owned(),
                input: call.input.json().map(str::to_owned),
                started_at: at.moment,
                line: i64::try_from(at.line).ok(),
                ..Call::default()
            });
        }
        Ok(())
    }

    fn take_results(&mut self, said: &Said<'_>, at: &At<'_>) -> Result<(), Reject> {
        let mut is_error = false;
        for block in of_kind(&said.content, "toolResult") {
            let result: ToolResult<'_> = read(block);
            let blocks = || result.content.0.iter().filter_map(|block| block.0.as_ref());
            let exit_code = blocks().find_map(|block| exit_status(block.data.json()?));
            let output = join(blocks().filter_map(|block| plain(block.data)));
            let end = ended(succeeded(&result.status), exit_code, output, at.moment);
            is_error |= end.status != Status::Ok;
            self.thread.end_call(result.id.get().unwrap_or_default(), &end)?;
        }
        self.push(at, MessageRow { is_error, ..blank(Role::Tool, MessageKind::ToolResult, at.id) })
    }

    fn push(&mut self, at: &At<'_>, row: MessageRow<'_>) -> Result<(), Reject> {
        let source_line = i64::try_from(at.line).ok();
        self.thread.push(MessageRow { timestamp: at.moment, source_line, ..row.shorten() })?;
        self.places.insert(key(AGENT, Kind::Message, at.id), (self.thread.turn, self.thread.place()));
        Ok(())
    }

    fn finish(mut self) -> Result<(), Reject> {
        let places = &self.places;
        let place_of = |id: &str| places.get(&key(AGENT, Kind::Message, id)).copied();
        self.state.push_usage(&mut self.thread, place_of)?;
        self.thread.finish(self.state.facts())
    }
}

/// The data of a block.
fn read<'a, T: serde::Deserialize<'a> + Default>(block: &Block<'a>) -> T {
    block.data.json().and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default()
}
