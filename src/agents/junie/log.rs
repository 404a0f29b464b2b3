//! One log: screen updates into messages, tool calls and billed responses.

use std::borrow::Cow;
use std::path::Path;

use super::blocks::{self, CAPTION};
use super::record::{Event, Line, Usage};
use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::kit::facts::{fill, set};
use crate::agents::kit::texts::join;
use crate::agents::kit::thread::{Position, Thread, blank};
use crate::extract::jsonl::RecordReader;
use crate::extract::{Facts, Kind, Reject, Sink, error_type};
use crate::source::{Source, name_of};
use crate::tables::{MessageKind, MessageRow, Role, Status, UsageRow};

/// Kinds of lines and events that hold nothing for the tables. The environment and the state of the agent hold secrets.
const IGNORED: [&str; 19] = [
    "TaskStartedEvent",
    "AgentTaskFailedEvent",
    "SessionCostTrajectorySnapshotEvent",
    "UserMessagesCommittedToHistory",
    "SendToAgentEvent",
    "SkillsStatusEvent",
    "TaskContinueStopped",
    "ContextWindowReportEvent",
    "EnvironmentVariablesUpdatedEvent",
    "AgentCurrentStatusUpdatedEvent",
    "AgentStateUpdatedEvent",
    "AvailablePullRequestsEvent",
    "AgentPatchCreatedEvent",
    "TipSuggestionCreatedEvent",
    "NextPromptSuggestionEvent",
    "AgentPlanUpdatedEvent",
    "TaskSummaryCreatedEvent",
    "QuotaUpdatedEvent",
    "SessionA2uxEvent",
];

/// Reads a log into the sink.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let name = name_of(source.path);
    let path = Path::new(&*name);
    let is_log = path.file_name().is_some_and(|name| name == "events.jsonl");
    let folder = path.parent().filter(|_| is_log).and_then(|folder| folder.file_name()?.to_str());
    let session_id = folder.unwrap_or(source.stem()).to_owned();
    let thread = Thread::new(Facts { session_id, ..Facts::default() });
    let mut log = Log { out, thread, title: None, effort: None, shown: None, caption: None };
    log.read_all(&mut source.lines()?)?;
    log.push_shown()?;
    log.close_caption(None)?;
    log.thread.facts.title = log.title.or(log.thread.facts.title);
    log.thread.finish(log.out)
}

struct Log<'o, 's> {
    out: &'o mut Sink<'s>,
    thread: Thread,
    /// The title that was given, before that of the task.
    title: Option<String>,
    effort: Option<String>,
    /// The text that the screen shows last. It may grow.
    shown: Option<Shown>,
    /// A call that ended, of a block that may turn out to be the caption of another.
    caption: Option<(Call, Outcome<'static>)>,
}

/// A block with a text of the model.
struct Shown {
    id: String,
    is_thought: bool,
    text: String,
    moment: Option<i64>,
    line: Option<i64>,
}

impl<'s> RecordReader<'s> for Log<'_, 's> {
    type Record = Line<'static>;
    const STARTS: &'static [&'static str] = &["{\"kind\""];

    fn sink(&mut self) -> &mut Sink<'s> {
        self.out
    }

    fn take(&mut self, line: &Line<'_>, number: u64) -> Result<(), Reject> {
        let at = Position::on_line("", line.time.0, number);
        let event = line.event.0.as_ref().and_then(|update| update.event.0.as_ref());
        match (line.kind.get().unwrap_or_default(), event) {
            ("SessionA2uxEvent", Some(event)) => self.take_event(event, at),
            ("UserPromptEvent", _) => {
                let effort = line.launch.0.iter().filter_map(|launch| launch.0.as_ref()?.effort.get()).next_back();
                self.effort = effort.map(str::to_owned).or(self.effort.take());
                let attachments = i64::try_from(line.attachments.0.len()).unwrap_or(0);
                self.take_prompt(line.shown.get().or(line.prompt.get()), line.request.get(), attachments, at)
            }
            ("UserResponseEvent", _) => self.take_prompt(line.prompt.get(), None, 0, at),
            ("UserAsyncResponseEvent", _) => {
                let answers = line.entries.0.iter().filter_map(|entry| entry.0.as_ref()?.answer.0.clone());
                self.take_prompt(join(answers).as_deref(), None, 0, at)
            }
            ("CancelAgentEvent", _) => {
                self.push_shown()?;
                self.push("abort", None, at, blank(Role::System, MessageKind::Abort))
            }
            ("SystemMessageEvent", _) => {
                let text = join([&line.text, &line.details].into_iter().filter_map(|text| text.0.clone()));
                let row = MessageRow { text: text.as_deref(), ..blank(Role::System, MessageKind::Notice) };
                self.push("message", None, at, row)
            }
            ("SessionTitleSetEvent", _) => {
                set(&mut self.title, line.name.get());
                Ok(())
            }
            ("TaskState", _) => self.end_task(),
            (kind, _) => {
                self.note_unknown("line", kind);
                Ok(())
            }
        }
    }
}

impl Log<'_, '_> {
    fn note_unknown(&mut self, what: &str, kind: &str) {
        if !IGNORED.contains(&kind) {
            self.out.unknown(&format!("{what} {kind}"));
        }
    }

    /// The id of a record: its step or request, else its time and what it says.
    fn id(&mut self, what: &str, own: Option<&str>, moment: Option<i64>, text: Option<&str>) -> String {
        match (own, moment) {
            (Some(own), _) => format!("{}#{own}:{what}", self.thread.id()),
            (None, Some(moment)) => format!("{}#{}:{what}", self.thread.id(), moment / 1000),
            (None, None) => self.thread.print(what, None, text),
        }
    }

    fn push(&mut self, what: &str, own: Option<&str>, at: Position<'_>, row: MessageRow<'_>) -> Result<(), Reject> {
        let id = self.id(what, own, at.moment, row.text);
        self.thread.message(&Position { id: &id, ..at }, row, self.out).map(drop)
    }

    fn take_prompt(
        &mut self,
        text: Option<&str>,
        request: Option<&str>,
        attachments: i64,
        at: Position<'_>,
    ) -> Result<(), Reject> {
        let id = self.id("prompt", request, at.moment, text);
        if self.thread.has(Kind::Message, &id) {
            return Ok(());
        }
        self.push_shown()?;
        self.thread.begin_turn();
        let row = MessageRow { text, attachments, ..blank(Role::User, MessageKind::Prompt) };
        self.thread.message(&Position { id: &id, ..at }, row, self.out).map(drop)
    }

    fn take_event(&mut self, event: &Event<'_>, at: Position<'_>) -> Result<(), Reject> {
        let kind = event.kind.get().unwrap_or_default();
        match kind {
            "LlmResponseMetadataEvent" => {
                let usages = event.usages.0.iter().enumerate();
                usages
                    .filter_map(|(place, usage)| Some((place, usage.0.as_ref()?)))
                    .try_for_each(|(place, usage)| self.bill(usage, place, at))
            }
            "AgentThoughtBlockUpdatedEvent" => self.show(event, event.text.get(), at),
            "MarkdownBlockUpdatedEvent" => self.show(event, event.text.get(), at),
            "ResultBlockUpdatedEvent" => self.show(event, event.result.get().or(event.title.get()), at),
            "AgentFailureEvent" => {
                let (code, text) = (event.error.get(), event.message.get());
                let error_type = Some(error_type(code, None, text));
                let row = blank(Role::System, MessageKind::ApiError);
                self.push_shown()?;
                self.push("failure", None, at, MessageRow { text, is_error: true, error_type, ..row })
            }
            "AskAsyncRequestUpdatedEvent" | "ChoiceRequestUpdatedEvent" | "AskRequestUpdatedEvent" => {
                let row = MessageRow { text: event.title.get(), ..blank(Role::System, MessageKind::Notice) };
                self.push_shown()?;
                self.push("question", event.step.get(), at, row)
            }
            "CurrentDirectoryUpdatedEvent" => {
                fill(&mut self.thread.facts.project_path, event.folder.get());
                set(&mut self.thread.cwd, event.folder.get());
                Ok(())
            }
            "AgentTaskNameUpdatedEvent" => {
                set(&mut self.thread.facts.title, event.name.get());
                Ok(())
            }
            kind => match (blocks::calls(event), event.step.get()) {
                (Some(calls), Some(step)) => self.take_block(kind, step, calls, at),
                (Some(_), None) => Ok(()),
                (None, _) => {
                    self.note_unknown("event", kind);
                    Ok(())
                }
            },
        }
    }

    /// Adds a response. The log has the same one again where it was replayed.
    fn bill(&mut self, usage: &Usage<'_>, place: usize, at: Position<'_>) -> Result<(), Reject> {
        let tokens = [usage.input, usage.cache_read, usage.cache_write, usage.output].map(|count| count.0);
        if tokens.iter().flatten().all(|count| *count == 0) {
            return Ok(());
        }
        let model = usage.model.get();
        let counts = tokens.map(|count| count.unwrap_or(0).to_string()).join("+");
        let what = format!("{place}:{counts}:{}", model.unwrap_or_default());
        let id = self.id(&what, None, at.moment, None);
        let [input_tokens, cache_read_tokens, cache_write_5m_tokens, output_tokens] = tokens;
        let row = UsageRow {
            response_id: &id,
            turn: self.thread.turn,
            model,
            reasoning_effort: self.effort.as_deref(),
            input_tokens,
            cache_read_tokens,
            cache_write_5m_tokens,
            output_tokens,
            cost_usd: usage.cost.0.filter(|cost| *cost > 0.0),
            duration_ms: usage.duration_ms.0.filter(|ms| *ms > 0),
            ..UsageRow::default()
        };
        self.thread.bill(&at, row, self.thread.last_seq(), self.out)
    }

    /// Takes a text that the screen shows. It is sent again when it has grown, and when the task ends.
    fn show(&mut self, event: &Event<'_>, text: Option<&str>, at: Position<'_>) -> Result<(), Reject> {
        let Some(text) = text else { return Ok(()) };
        let is_thought = event.kind.is("AgentThoughtBlockUpdatedEvent");
        let what = if is_thought { "thought" } else { "reply" };
        let id = self.id(what, event.step.get(), at.moment, Some(text));
        if let Some(shown) = self.shown.as_mut().filter(|shown| shown.id == id) {
            text.clone_into(&mut shown.text);
            return Ok(());
        }
        self.push_shown()?;
        let (moment, line) = (at.moment, at.line);
        self.shown = Some(Shown { id, is_thought, text: text.to_owned(), moment, line });
        Ok(())
    }

    fn push_shown(&mut self) -> Result<(), Reject> {
        let Some(shown) = self.shown.take() else { return Ok(()) };
        let [text, thinking] = if shown.is_thought { [None, Some(&*shown.text)] } else { [Some(&*shown.text), None] };
        let row = MessageRow { text, thinking, ..blank(Role::Assistant, MessageKind::Reply) };
        let at = Position { id: &shown.id, moment: shown.moment, line: shown.line, is_copy: false };
        self.thread.message(&at, row, self.out).map(drop)
    }

    fn take_block(
        &mut self,
        kind: &str,
        step: &str,
        calls: Vec<(Call, Outcome<'_>)>,
        at: Position<'_>,
    ) -> Result<(), Reject> {
        self.push_shown()?;
        let step_id = format!("{}#{step}", self.thread.id());
        self.close_caption(Some(&step_id))?;
        let is_caption = kind == CAPTION;
        if is_caption && self.thread.has(Kind::Presence, &step_id) {
            return Ok(());
        }
        // A call that was taken from a caption is this block's.
        let is_captioned = !is_caption
            && self.thread.is_new(Kind::Presence, &step_id)
            && (self.caption.take().is_some() || self.thread.calls.take(&step_id).is_some());
        for (place, (call, end)) in calls.into_iter().enumerate() {
            let id = if place == 0 { step_id.clone() } else { format!("{step_id}#{place}") };
            let message_id = self.thread.last_reply().map(str::to_owned);
            let call = Call { id, message_id, ..call };
            self.take_call(call, end, is_caption, is_captioned && place == 0, at)?;
        }
        Ok(())
    }

    fn take_call(
        &mut self,
        call: Call,
        end: Outcome<'_>,
        is_caption: bool,
        is_captioned: bool,
        at: Position<'_>,
    ) -> Result<(), Reject> {
        let id = call.id.clone();
        if is_captioned {
            self.thread.open_named_call(&at, None, call, self.out)?;
        } else if let Some(open) = self.thread.calls.get(&id) {
            open.command = call.command.or(open.command.take());
            open.file = call.file.or(open.file.take());
            open.input = call.input.or(open.input.take());
        } else if !self.thread.open_call(&at, call, self.out)? {
            return Ok(());
        }
        if end.status == Status::Pending {
            return Ok(());
        }
        let Some(call) = self.thread.calls.take(&id) else { return Ok(()) };
        let end = Outcome { ended_at: at.moment, output: end.output.map(|text| Cow::Owned(text.into_owned())), ..end };
        if is_caption {
            self.caption = Some((call, end));
            return Ok(());
        }
        self.close_call(&call, &end)
    }

    fn close_call(&mut self, call: &Call, end: &Outcome<'_>) -> Result<(), Reject> {
        let id = format!("{}:result", call.id);
        let at = Position { id: &id, moment: end.ended_at, line: call.line, is_copy: false };
        let row = MessageRow { is_error: end.status != Status::Ok, ..blank(Role::Tool, MessageKind::ToolResult) };
        self.thread.message(&at, row, self.out)?;
        self.thread.close_call(call, end, self.out)
    }

    /// Adds the call of a block that is no caption, because a block of another step comes next.
    fn close_caption(&mut self, next: Option<&str>) -> Result<(), Reject> {
        let caption = self.caption.take_if(|(call, _)| next.is_none_or(|next| next != call.id));
        caption.map_or(Ok(()), |(call, end)| self.close_call(&call, &end))
    }

    /// A call that is still in progress was stopped with its task.
    fn end_task(&mut self) -> Result<(), Reject> {
        self.push_shown()?;
        self.close_caption(None)?;
        let interrupted = Outcome { status: Status::Interrupted, ..Outcome::default() };
        let open = self.thread.calls.take_mentioned("");
        open.iter().try_for_each(|call| self.thread.close_call(call, &interrupted, self.out))
    }
}
