//! `agent-transcripts/*.txt`: the older transcripts, for people.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::prompt::Prompt;
use super::rows::Rows;
use super::tools;
use super::transcript::{facts, rows};
use crate::agents::held::MOST_IN_REPLY;
use crate::agents::kit;
use crate::agents::kit::calls::Outcome;
use crate::agents::kit::texts::add_line;
use crate::agents::kit::thread::{Position, blank};
use crate::agents::waiting::Waiting;
use crate::extract::{Reject, Sink};
use crate::source::{Source, repair};
use crate::tables::{MessageKind, MessageRow, Role, Status};

/// First lines of parts.
const SIDES: [&str; 2] = ["user:", "assistant:"];

/// Reads one transcript.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let mut reader = Reader { rows: rows(source, out), part: None };
    let mut lines = source.lines()?;
    while let Some(line) = lines.next_line() {
        reader.rows.out.line();
        if line.is_too_long() {
            reader.rows.out.problem(line.number, "longer than 64 MiB is not read");
            continue;
        }
        let text = repair(line.bytes);
        // A torn last line may be the beginning of another part's first line.
        if !line.ended && SIDES.iter().any(|side| side.starts_with(&*text)) {
            continue;
        }
        reader.take(text.trim_end_matches('\r'), line.number)?;
    }
    reader.flush()?;
    reader.rows.end_transcript(facts(source.path))
}

/// Text, thinking and calls of one side, up to the next `user:` or `assistant:`.
struct Part {
    is_users: bool,
    line: u64,
    text: String,
    thinking: String,
    calls: Vec<Call>,
    /// Places of the calls without a result, by the tool's name.
    open: Waiting<usize>,
    goes_to: GoesTo,
    is_blank: bool,
    /// Bytes of its lines, and of its calls in memory.
    bytes: usize,
}

/// A call of a part.
struct Call {
    name: String,
    line: u64,
    arguments: Map<String, Value>,
    output: String,
    has_result: bool,
}

/// Target of the next line.
enum GoesTo {
    Text,
    Thinking,
    Call,
    /// The call that a result names; `None` if none is open.
    Result(Option<usize>),
}

struct Reader<'o, 's> {
    rows: Rows<'o, 's>,
    part: Option<Part>,
}

impl Reader<'_, '_> {
    fn take(&mut self, line: &str, number: u64) -> Result<(), Reject> {
        if SIDES.contains(&line) {
            self.flush()?;
            self.part = Some(Part::new(line == "user:", number));
            return Ok(());
        }
        if let Some(is_users) = self.part.as_ref().filter(|part| part.bytes > MOST_IN_REPLY).map(|part| part.is_users) {
            self.flush()?;
            self.part = Some(Part::new(is_users, number));
        }
        if let Some(part) = &mut self.part {
            part.take(line, number);
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Reject> {
        let Some(part) = self.part.take().filter(|part| !part.is_blank) else { return Ok(()) };
        let id = format!("{}#line-{}", self.rows.thread.id(), part.line);
        let at = Position::on_line(&id, None, part.line);
        let (text, thinking) = (part.text.trim(), part.thinking.trim());
        if part.is_users {
            let prompt = Prompt::of(text);
            if prompt.kind == MessageKind::Prompt {
                self.rows.thread.begin_turn();
            }
            let row = MessageRow { text: Some(prompt.text), ..blank(Role::User, prompt.kind) };
            return self.rows.message(&Position { moment: prompt.moment, ..at }, row).map(drop);
        }
        let row = MessageRow {
            text: Some(text).filter(|text| !text.is_empty()),
            thinking: Some(thinking).filter(|text| !text.is_empty()),
            ..blank(Role::Assistant, MessageKind::Reply)
        };
        self.rows.message(&at, row)?;
        part.calls.iter().try_for_each(|call| self.push(call, &id))
    }

    fn push(&mut self, call: &Call, message_id: &str) -> Result<(), Reject> {
        let input = Value::Object(call.arguments.clone()).to_string();
        let made = kit::calls::Call {
            id: format!("{}#line-{}", self.rows.thread.id(), call.line),
            message_id: Some(message_id.to_owned()),
            ..tools::call(&call.name, None, [Some(&input), None])
        };
        let output = Some(call.output.trim_end()).filter(|output| !output.is_empty()).map(Cow::Borrowed);
        let status = if call.has_result { Status::Ok } else { Status::Pending };
        let at = Position::on_line("", None, call.line);
        let made = kit::calls::Call { input: Some(input), ..made };
        self.rows.call(&at, made, &Outcome { status, output, ..Outcome::default() })
    }
}

impl Part {
    /// Bytes of a call in memory without its texts.
    const CALL: usize = 512;

    fn new(is_users: bool, line: u64) -> Self {
        Self {
            is_users,
            line,
            text: String::new(),
            thinking: String::new(),
            calls: Vec::new(),
            open: Waiting::default(),
            goes_to: GoesTo::Text,
            is_blank: true,
            bytes: 0,
        }
    }

    fn take(&mut self, line: &str, number: u64) {
        self.bytes += line.len() + 1;
        self.is_blank &= line.trim().is_empty();
        if self.is_users {
            add_line(&mut self.text, line);
        } else if let Some(thought) = line.strip_prefix("[Thinking]") {
            self.goes_to = GoesTo::Thinking;
            add_line(&mut self.thinking, thought.trim());
        } else if let Some(name) = line.strip_prefix("[Tool call] ") {
            self.goes_to = GoesTo::Call;
            self.bytes += Self::CALL;
            let name = name.trim().to_owned();
            let (arguments, output) = (Map::new(), String::new());
            self.open.push([&name], self.calls.len());
            self.calls.push(Call { name, line: number, arguments, output, has_result: false });
        } else if let Some(name) = line.strip_prefix("[Tool result]") {
            let open = self.open.take(name.trim());
            self.goes_to = GoesTo::Result(open);
            if let Some(call) = open.and_then(|place| self.calls.get_mut(place)) {
                call.has_result = true;
            }
        } else {
            self.go_on(line);
        }
    }

    fn go_on(&mut self, line: &str) {
        let is_indented = line.starts_with([' ', '\t']);
        match self.goes_to {
            GoesTo::Thinking if !line.trim().is_empty() => add_line(&mut self.thinking, line),
            GoesTo::Call if is_indented => {
                if let Some((name, value)) = line.trim().split_once(':')
                    && let Some(call) = self.calls.last_mut()
                {
                    call.arguments.insert(name.to_owned(), Value::from(value.trim()));
                }
            }
            GoesTo::Result(Some(place)) if !line.trim().is_empty() => {
                if let Some(call) = self.calls.get_mut(place) {
                    add_line(&mut call.output, line);
                }
            }
            _ => {
                self.goes_to = GoesTo::Text;
                add_line(&mut self.text, line);
            }
        }
    }
}
