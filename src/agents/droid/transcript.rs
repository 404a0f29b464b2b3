//! One session file: records into messages and tool calls; the total of its tokens is in the settings next to it.

mod marks;
mod messages;
mod session;

use super::model::model_name;
use super::record::Line;
use super::settings::Companion;
use crate::agents::ids::{Given, qualified};
use crate::agents::kit::facts::set;
use crate::agents::kit::thread::{Parents, Position, Thread};
use crate::extract::jsonl::RecordReader;
use crate::extract::{Facts, Kind, Reject, Sink};
use crate::source::Source;
use crate::tables::MessageRow;

/// Reads a session into the sink.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let (companion, is_readable) = Companion::beside(source);
    if !is_readable {
        out.remark("the settings next to the session cannot be read");
    }
    let facts = Facts { session_id: source.stem().to_owned(), ..Facts::default() };
    let mut transcript = Transcript {
        out,
        companion,
        thread: Thread::new(facts).with(Parents::Rows),
        is_side_question: source.kind == super::SIDE_QUESTION,
        origin: Origin::default(),
        has_start: false,
        has_message: false,
        hinted_model: None,
        hinted_effort: None,
        autonomy: None,
        replies: Replies::default(),
        last_moment: None,
        turn_was_stopped: false,
        given: Given::default(),
    };
    transcript.read_all(&mut source.lines()?)?;
    transcript.finish(source)
}

struct Transcript<'o, 'a> {
    out: &'o mut Sink<'a>,
    companion: Companion,
    thread: Thread,
    is_side_question: bool,
    origin: Origin,
    has_start: bool,
    has_message: bool,
    /// The model that the program last named outside a message.
    hinted_model: Option<String>,
    /// The effort of the last settings.
    hinted_effort: Option<String>,
    /// The autonomy level, by the last settings.
    autonomy: Option<String>,
    replies: Replies,
    last_moment: Option<i64>,
    /// True if a message says that the turn was stopped.
    turn_was_stopped: bool,
    /// Ids of calls that are not unique by themselves.
    given: Given,
}

/// The session that a fork copied: the fork begins with its records, up to one of them.
#[derive(Default)]
struct Origin {
    session: Option<String>,
    forked_at: Option<String>,
    /// True if the last copied record has come.
    is_reached: bool,
}

impl Origin {
    /// The session that an id belongs to which is not unique by itself.
    fn namespace<'s>(&'s self, own: &'s str) -> &'s str {
        self.copied().unwrap_or(own)
    }

    /// The session that the present records were copied from.
    fn copied(&self) -> Option<&str> {
        self.session.as_deref().filter(|_| self.forked_at.is_some() && !self.is_reached)
    }
}

/// The session's own replies, to compare with the total that it was billed for.
#[derive(Default)]
struct Replies {
    models: OneOf,
    efforts: OneOf,
    last: Option<(i64, Option<i64>)>,
}

/// Returns the value that all replies share, if they share one.
#[derive(Default)]
enum OneOf {
    #[default]
    None,
    One(String),
    Several,
}

impl OneOf {
    fn add(&mut self, value: Option<&str>) {
        match (&*self, value) {
            (Self::None, Some(value)) => *self = Self::One(value.to_owned()),
            (Self::One(known), Some(value)) if known != value => *self = Self::Several,
            _ => {}
        }
    }

    /// The value, or another one if no reply has any.
    fn or<'s>(&'s self, other: Option<&'s str>) -> Option<&'s str> {
        match self {
            Self::None => other,
            Self::One(value) => Some(value),
            Self::Several => None,
        }
    }
}

impl<'a> RecordReader<'a> for Transcript<'_, 'a> {
    type Record = Line<'static>;
    const STARTS: &'static [&'static str] = &["{\"type\""];

    fn sink(&mut self) -> &mut Sink<'a> {
        self.out
    }

    fn take(&mut self, line: &Line<'_>, number: u64) -> Result<(), Reject> {
        self.out.unknown_fields("field ", &line.unknown);
        match line.kind.get().unwrap_or_default() {
            "session_start" => self.take_start(line),
            "message" => return self.take_message(line, number),
            "compaction_state" => return self.take_compaction(line, number),
            "agent_turn_outcome" => return self.take_outcome(line, number),
            "session_settings" => {
                set(&mut self.autonomy, line.autonomy.get());
                set(&mut self.hinted_effort, line.effort.get());
                self.hinted_model =
                    line.model.get().map(|model| model_name(model).to_owned()).or(self.hinted_model.take());
            }
            "todo_state" | "session_end" => {}
            kind => self.out.unknown(&format!("record {kind}")),
        }
        Ok(())
    }
}

impl Transcript<'_, '_> {
    /// The id of a record; none when it is there already.
    fn new_id(&mut self, id: Option<&str>, line: &Line<'_>) -> Option<String> {
        let id = match id {
            Some(id) => qualified(self.origin.namespace(self.thread.id()), id).into_owned(),
            None => {
                let message = line.message.0.iter();
                let blocks = message.flat_map(|message| &message.content.0).flat_map(|block| {
                    let texts = [block.text.get(), block.thinking.get(), block.id.get(), block.call.get()];
                    texts.into_iter().chain([block.name.get(), block.input.json(), block.content.0.as_deref()])
                });
                let texts = blocks.chain([line.summary.get(), line.result.json()]).flatten();
                let role = line.message.0.as_ref().and_then(|message| message.role.get()).or(line.kind.get());
                self.thread.print(role.unwrap_or_default(), line.timestamp.0, texts)
            }
        };
        self.thread.is_new(Kind::Message, &id).then_some(id)
    }

    /// The message that a record answers; the first one names the session.
    fn parent_id(&self, line: &Line<'_>) -> Option<String> {
        let parent = line.parent.get()?;
        let origin = &self.origin;
        if parent == self.thread.id() || origin.session.as_deref() == Some(parent) {
            return None;
        }
        let is_last_copied = origin.forked_at.as_deref() == Some(parent);
        let namespace =
            origin.session.as_deref().filter(|_| is_last_copied).unwrap_or(origin.namespace(self.thread.id()));
        Some(qualified(namespace, parent).into_owned())
    }

    fn push(&mut self, line: &Line<'_>, at: &Position<'_>, row: MessageRow<'_>) -> Result<(), Reject> {
        let parent = self.parent_id(line);
        self.last_moment = self.last_moment.max(at.moment);
        self.thread.push(at, MessageRow { parent_id: parent.as_deref(), ..row.shorten() }, self.out).map(drop)
    }
}
