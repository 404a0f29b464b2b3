//! One run of Aider: a session.

mod acts;
mod usage;

use std::collections::HashMap;
use std::fmt::Write as _;

use chrono::NaiveDateTime;
use sha2::{Digest, Sha256};

use super::blocks::Block;
use super::companions::{Companions, MOST_PASSED};
use super::edits::Edits;
use super::inputs::{self, command_of};
use super::notices::{self, Notice};
use super::{reasoning, session_id, tokens};
use crate::extract::{Facts, Kind, Reject, Sink};
use crate::tables::{MessageKind, MessageRow, Role};
use acts::Acts;
use usage::Ahead;

/// A run as read so far.
#[derive(Default)]
pub(super) struct Run {
    /// Local time of its start; `None` if the head of the file is cut off.
    started: Option<NaiveDateTime>,
    /// Local time of the next run's start.
    until: Option<NaiveDateTime>,
    /// Line that it begins on; its lines are counted from there.
    line: u64,
    /// Identity, set once the person or the model has said something.
    id: Option<String>,
    /// Hash of everything up to the first text.
    opening: Sha256,
    banner: String,
    version: Option<String>,
    model: Option<String>,
    /// True if answers are streamed, so that tokens are Aider's own estimates.
    streams: bool,
    seq: i64,
    turn: i64,
    /// The last known time. Microseconds since 1970.
    moment: Option<i64>,
    /// Text that the person typed after a command such as `/ask`; Aider records it a second time.
    echo: Option<String>,
    reply: Option<Reply>,
    /// Tokens printed before the reply that they belong to.
    ahead: Option<Ahead>,
    /// True if the model's answer is due.
    is_awaiting: bool,
    /// A Ctrl-C with which the person may have left Aider.
    interrupted: Option<(String, u64)>,
    acts: Acts,
    /// Edits of the last reply that are not applied yet.
    edits: Edits,
    /// Places of the first input and the first send that are not used yet.
    next_input: usize,
    next_send: usize,
}

/// A reply, held until its time and its cost are known.
struct Reply {
    id: String,
    seq: i64,
    turn: i64,
    line: u64,
    text: String,
    thinking: Option<String>,
    response: Option<String>,
    timestamp: Option<i64>,
}

/// Values of a message row that differ between messages.
#[derive(Clone, Copy)]
struct Message<'t> {
    line: u64,
    role: Role,
    kind: MessageKind,
    text: &'t str,
    timestamp: Option<i64>,
}

impl Run {
    pub(super) fn new(started: Option<NaiveDateTime>, until: Option<NaiveDateTime>, line: u64) -> Self {
        let mut opening = Sha256::new();
        opening.update(started.map(|started| started.to_string()).unwrap_or_default());
        Self { started, until, line, opening, streams: true, ..Self::default() }
    }

    pub(super) fn has_content(&self) -> bool {
        self.id.is_some()
    }

    /// Takes a block. `ids` are those of the file's runs so far.
    pub(super) fn take(
        &mut self,
        block: Block<'_>,
        line: u64,
        ids: &mut HashMap<String, u32>,
        out: &mut Sink<'_>,
        companions: &mut Companions,
    ) -> Result<(), Reject> {
        match block {
            Block::Typed(text) if text.contains("(Y)es/(N)o") => Ok(()),
            Block::Typed(text) => {
                self.begin(text, ids, out)?;
                self.typed(text, line, out, companions)
            }
            Block::Reply(text) => {
                self.begin(text, ids, out)?;
                self.replied(text, line, out, companions)
            }
            Block::Printed(text) => self.printed(text, line, out, companions),
            Block::Started(_) | Block::Heading(_) => Ok(()),
        }
    }

    /// Sets the run's identity at the first text: a hash of everything up to it, which copies of the file share.
    fn begin(&mut self, prompt: &str, ids: &mut HashMap<String, u32>, out: &mut Sink<'_>) -> Result<(), Reject> {
        if self.id.is_some() {
            return Ok(());
        }
        self.moment = self.started.and_then(|started| out.local_moment(started));
        self.opening.update(prompt.lines().next().unwrap_or_default());
        let mut id = session_id(&self.opening.finalize_reset());
        let times = ids.entry(id.clone()).or_default();
        *times += 1;
        if *times > 1 {
            let _ = write!(id, "-{times}");
        }
        self.id = Some(id);
        if self.started.is_none() && self.banner.is_empty() {
            return Ok(());
        }
        let banner = std::mem::take(&mut self.banner);
        let (line, timestamp) = (self.line, self.moment);
        self.push(Message { line, role: Role::System, kind: MessageKind::Meta, text: &banner, timestamp }, out)
    }

    fn typed(&mut self, text: &str, line: u64, out: &mut Sink<'_>, companions: &mut Companions) -> Result<(), Reject> {
        self.push_ahead(out, companions)?;
        self.settle(out)?;
        if self.echo.take().is_some_and(|echo| echo == text) {
            return Ok(());
        }
        self.interrupted = None;
        let timestamp = self.time_of_input(text, out, companions);
        self.moment = timestamp.or(self.moment);
        if text == "<blank>" {
            return self.push(Message { line, role: Role::User, kind: MessageKind::Meta, text: "", timestamp }, out);
        }
        let kind = inputs::kind_of(text);
        self.turn += 1;
        self.is_awaiting = kind == MessageKind::Prompt;
        self.echo = command_of(text).filter(|_| kind == MessageKind::Prompt).map(|(_, text)| text.to_owned());
        self.push(Message { line, role: Role::User, kind, text, timestamp }, out)
    }

    /// Returns the time of typed text: the inputs within the run's time have the same order.
    fn time_of_input(&mut self, text: &str, out: &Sink<'_>, companions: &Companions) -> Option<i64> {
        let (started, first) = (self.started?, text.lines().next().unwrap_or_default().trim_end());
        let from = companions.first_input_since(started).max(self.next_input);
        let left = companions.inputs.get(from..)?;
        let is_it = |time: NaiveDateTime, typed: &str| {
            let first_typed = typed.lines().next().unwrap_or_default().trim_end();
            time >= started && self.until.is_none_or(|until| time < until) && first_typed == first
        };
        let place = left.iter().take(MOST_PASSED).position(|input| is_it(input.time, &input.text))?;
        let time = left.get(place)?.time;
        self.next_input = from + place + 1;
        out.local_moment(time)
    }

    fn replied(
        &mut self,
        text: &str,
        line: u64,
        out: &mut Sink<'_>,
        companions: &mut Companions,
    ) -> Result<(), Reject> {
        self.settle(out)?;
        self.echo = None;
        if let Some((text, line)) = self.interrupted.take() {
            self.push(Message { line, role: Role::User, kind: MessageKind::Abort, text: &text, timestamp: None }, out)?;
        }
        let (text, thinking) = reasoning::split(text);
        self.edits = Edits::of(&text);
        let id = self.record_id(line);
        let (seq, turn) = (self.seq, self.turn);
        self.seq += 1;
        self.reply = Some(Reply { id, seq, turn, line, text, thinking, response: None, timestamp: None });
        self.push_ahead(out, companions)
    }

    fn push_ahead(&mut self, out: &mut Sink<'_>, companions: &Companions) -> Result<(), Reject> {
        match self.ahead.take() {
            Some(ahead) => self.push_usage(&ahead.printed, ahead.line, out, companions),
            None => Ok(()),
        }
    }

    fn printed(
        &mut self,
        text: &str,
        line: u64,
        out: &mut Sink<'_>,
        companions: &mut Companions,
    ) -> Result<(), Reject> {
        let notice = notices::read(text);
        if self.id.is_none() {
            self.opening.update(text);
            self.opening.update("\n");
            if !self.banner.is_empty() {
                self.banner.push('\n');
            }
            self.banner.push_str(text);
            let mut words = text.split_whitespace();
            let is_command_line = words.next().is_some_and(|word| word.ends_with("aider"));
            self.streams &= !(is_command_line && words.any(|word| word == "--no-stream"));
        }
        if !matches!(notice, Notice::Other | Notice::EditFailed) {
            self.close_failure(out)?;
        }
        match notice {
            Notice::Version(version) => self.version = version.split_whitespace().next().map(str::to_owned),
            Notice::Model(model) => self.model = Some(model.to_owned()),
            _ if self.id.is_none() => {}
            Notice::Usage(printed) => {
                self.is_awaiting = false;
                if printed.is_ahead {
                    self.push_ahead(out, companions)?;
                    self.settle(out)?;
                    self.ahead = Some(Ahead { printed, line });
                } else {
                    self.push_usage(&printed, line, out, companions)?;
                }
            }
            Notice::Failed => {
                self.is_awaiting = false;
                self.push(
                    Message { line, role: Role::System, kind: MessageKind::ApiError, text, timestamp: None },
                    out,
                )?;
            }
            Notice::Retrying => self.is_awaiting = true,
            Notice::Limit => {
                self.push(Message { line, role: Role::System, kind: MessageKind::Notice, text, timestamp: None }, out)?;
            }
            Notice::Interrupted if self.is_awaiting => {
                self.is_awaiting = false;
                self.push(Message { line, role: Role::User, kind: MessageKind::Abort, text, timestamp: None }, out)?;
            }
            Notice::Interrupted => self.interrupted = Some((text.to_owned(), line)),
            notice => self.act(&notice, text, line, out, companions)?,
        }
        Ok(())
    }

    /// Ends the run. Returns `None` if nobody said anything.
    pub(super) fn end(&mut self, out: &mut Sink<'_>, companions: &mut Companions) -> Result<Option<Facts>, Reject> {
        self.push_ahead(out, companions)?;
        self.settle(out)?;
        let Some(session_id) = self.id.take() else { return Ok(None) };
        let first_moment = self.started.and_then(|started| out.local_moment(started));
        let agent_version = self.version.take();
        Ok(Some(Facts { session_id, agent_version, first_moment, ..Facts::default() }))
    }

    /// Emits the held failure and reply, because something else follows.
    fn settle(&mut self, out: &mut Sink<'_>) -> Result<(), Reject> {
        self.close_failure(out)?;
        self.acts.forget();
        let Some(reply) = self.reply.take() else { return Ok(()) };
        let Some(session) = &self.id else { return Ok(()) };
        let row = MessageRow {
            seq: reply.seq,
            message_id: &reply.id,
            turn: (reply.turn > 0).then_some(reply.turn),
            text: Some(&reply.text).filter(|text| !text.is_empty()).map(String::as_str),
            thinking: reply.thinking.as_deref(),
            model: self.model.as_deref(),
            response_id: reply.response.as_deref(),
            ..row(
                session,
                &Message {
                    line: reply.line,
                    role: Role::Assistant,
                    kind: MessageKind::Reply,
                    text: "",
                    timestamp: reply.timestamp,
                },
            )
        };
        out.message(row, false)?;
        if reply.timestamp.is_some() {
            out.from_companion(Kind::Message, &reply.id);
        }
        Ok(())
    }

    fn push(&mut self, message: Message<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        let id = self.record_id(message.line);
        let Some(session) = &self.id else { return Ok(()) };
        let row = MessageRow {
            seq: self.seq,
            message_id: &id,
            turn: (self.turn > 0).then_some(self.turn),
            ..row(session, &message)
        };
        self.seq += 1;
        out.message(row, false)?;
        if message.role == Role::User && message.timestamp.is_some() {
            out.from_companion(Kind::Message, &id);
        }
        Ok(())
    }

    /// Returns true if a better time than the run's start is known for the current block.
    fn is_timed(&self, out: &Sink<'_>) -> bool {
        self.moment.is_some() && self.moment != self.started.and_then(|started| out.local_moment(started))
    }

    /// Returns the identity of a record: the run's identity and the line, counted from the run's first.
    fn record_id(&self, line: u64) -> String {
        format!("{}#line-{}", self.id.as_deref().unwrap_or_default(), line.saturating_sub(self.line))
    }

    fn tuple_version(&self) -> Option<tokens::Version> {
        self.version.as_deref().and_then(tokens::version)
    }
}

fn row<'r>(session: &'r str, message: &Message<'r>) -> MessageRow<'r> {
    MessageRow {
        session_id: session,
        timestamp: message.timestamp,
        role: message.role,
        kind: message.kind,
        text: Some(message.text),
        is_error: message.kind == MessageKind::ApiError,
        source_line: i64::try_from(message.line).ok(),
        ..MessageRow::default()
    }
}
