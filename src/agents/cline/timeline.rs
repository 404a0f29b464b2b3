//! Contents of `ui_messages.json` other than texts: requests with their token counts, and errors between them.

use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_64;

use super::content::{plain, without_surroundings};
use super::items::{self, Tally};
use super::record::{Details, RequestInfo, Shown};
use super::split::RecordedInput;
use crate::agents::ids::Prints;
use crate::agents::kit::texts::add_line;
use crate::agents::waiting::LastBefore;
use crate::extract::{Reject, Sink};
use crate::source::Source;
use crate::source::records::Text;
use crate::tables::MessageKind;
use crate::time::from_epoch;

/// All requests and events of a task.
#[derive(Default)]
pub(super) struct Timeline {
    pub(super) requests: Vec<Request>,
    /// Times of the requests.
    pub(super) moments: LastBefore,
    pub(super) events: Vec<Event>,
    pub(super) totals: Vec<Total>,
    /// Time of the first row. Microseconds since 1970.
    pub(super) begun: Option<i64>,
    /// Folder, if a request names it.
    pub(super) folder: Option<String>,
    pub(super) tally: Tally,
    /// True if rows name the message of the model's history after which they were written.
    pub(super) has_indices: bool,
    /// Times at which the person spoke or resumed the task.
    heard: Vec<i64>,
    heard_at: LastBefore,
    thoughts: Vec<Thought>,
    thought_bytes: usize,
    /// Place of the last row of each time and name, which replaces those before it.
    last: HashMap<(i64, u64), u64>,
    removed_to: i64,
    previous: Option<i64>,
    names: Names,
    /// Name of the row being read.
    name: String,
}

/// Names rows within their task: by their time, in milliseconds since 1970; rows without one by their content.
#[derive(Default)]
pub(super) struct Names(Prints);

impl Names {
    /// Returns the name of the next row.
    pub(super) fn of(&mut self, shown: &Shown<'_>) -> String {
        match shown.at.0 {
            Some(at) => at.to_string(),
            None => self.0.name(name_of(shown), None, plain(shown.text).as_deref()),
        }
    }
}

/// One `api_req_started`.
#[derive(Default)]
pub(super) struct Request {
    /// Milliseconds since 1970.
    pub(super) at: i64,
    /// Its identity within the task.
    pub(super) name: String,
    pub(super) recorded: RecordedInput,
    pub(super) output: Option<i64>,
    pub(super) cost: Option<f64>,
    /// Last message of the model's history when it was made.
    pub(super) index: Option<i64>,
    pub(super) model: Option<String>,
    pub(super) provider: Option<String>,
    pub(super) protocol: Option<String>,
    /// True if rows show an answer of the model.
    pub(super) is_answered: bool,
    /// The model's visible thinking.
    pub(super) thinking: String,
    /// True if a row says that it failed or that the person cancelled it.
    pub(super) is_interrupted: bool,
    /// Times before it that the person spoke or resumed the task.
    pub(super) heard: usize,
    /// Sums of removed requests before it.
    pub(super) removals: usize,
    place: u64,
}

/// Visible thinking, before it is joined to its request.
struct Thought {
    text: String,
    /// Requests before it.
    requests: usize,
    place: u64,
}

/// Bytes of thinking that is held until the model's history is read. Real tasks stay far below.
const MOST_THINKING: usize = 32 << 20;

/// Something that becomes a message.
pub(super) struct Event {
    /// Id within the task.
    pub(super) id: String,
    /// The row's identity within the task.
    pub(super) name: String,
    pub(super) at: i64,
    pub(super) kind: MessageKind,
    pub(super) text: Option<String>,
    pub(super) index: Option<i64>,
    /// Requests before it.
    pub(super) requests: usize,
    /// Its own cost. USD.
    pub(super) cost: Option<f64>,
    pub(super) place: u64,
}

/// Numbers of several requests in one.
pub(super) struct Total {
    pub(super) at: i64,
    /// Its identity within the task.
    pub(super) name: String,
    pub(super) recorded: RecordedInput,
    pub(super) output: Option<i64>,
    pub(super) cost: Option<f64>,
    /// True if the requests are of subagents, false if they were removed.
    pub(super) is_of_subagents: bool,
    /// Time of the row before it. Milliseconds since 1970.
    pub(super) previous: Option<i64>,
    place: u64,
}

/// Returns the name of a row's type: what was said or asked.
pub(super) fn name_of<'s>(shown: &'s Shown<'_>) -> &'s str {
    shown.say.get().or(shown.ask.get()).unwrap_or("without a type")
}

/// Returns true if rows of that name hold the model's answer.
fn is_reply(name: &str) -> bool {
    matches!(
        name,
        "text"
            | "reasoning"
            | "tool"
            | "command"
            | "completion_result"
            | "plan_completion_result"
            | "use_mcp_server"
            | "browser_action_launch"
            | "browser_action"
            | "plan_mode_respond"
            | "act_mode_respond"
            | "followup"
            | "use_subagents"
            | "new_task"
            | "condense"
            | "summarize_task"
            | "report_bug"
    )
}

/// Rows whose whole content is recorded elsewhere.
const SILENT: [&str; 30] = [
    "task",
    "user_feedback_diff",
    "command_output",
    "mcp_server_request_started",
    "mcp_server_response",
    "browser_action_result",
    "subtask_result",
    "checkpoint_created",
    "checkpoint_saved",
    "task_progress",
    "info",
    "mcp_notification",
    "api_req_retried",
    "api_req_retry_delayed",
    "api_req_rate_limit_wait",
    "codebase_search_result",
    "user_edit_todos",
    "image",
    "load_mcp_documentation",
    "conditional_rules_applied",
    "too_many_tools_warning",
    "generate_explanation",
    "hook",
    "subagent",
    "use_skill",
    "inspect_site_result",
    "browser_session_status",
    "tool_progress",
    "payment_required_prompt",
    "checkpoint_restored",
];

impl Timeline {
    /// Reads the rows of a file.
    pub(super) fn read(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<Self, Reject> {
        let mut timeline = Self { removed_to: -1, ..Self::default() };
        let tally = items::read::<Shown<'static>>(source, "", &mut |shown, place| {
            timeline.take(shown, place, out);
            Ok(())
        })?;
        tally.report(out);
        timeline.tally = tally;
        timeline.settle();
        Ok(timeline)
    }

    /// Returns true if no later row replaces this one.
    pub(super) fn is_current(&self, shown: &Shown<'_>, place: u64) -> bool {
        let key = shown.at.0.map(|at| (at, xxh3_64(name_of(shown).as_bytes())));
        key.is_none_or(|key| self.last.get(&key).is_none_or(|last| *last == place))
    }

    /// Returns true if any request has token counts.
    pub(super) fn has_tokens(&self) -> bool {
        self.requests.iter().any(Request::is_billed)
    }

    /// Returns true if the person did not speak or resume the task between a request and a time. Milliseconds since 1970.
    pub(super) fn is_undisturbed(&self, request: usize, at: i64) -> bool {
        let heard = self.heard_at.place(at).map_or(0, |last| last + 1);
        self.requests.get(request).is_some_and(|made| made.heard == heard)
    }

    /// Keeps the last of several requests, or events, with one time.
    fn settle(&mut self) {
        let last: std::collections::HashSet<u64> = self.last.values().copied().collect();
        let mut kept = 0;
        let mut before = Vec::with_capacity(self.requests.len() + 1);
        self.requests.retain(|request| {
            before.push(kept);
            let is_last = last.contains(&request.place);
            kept += usize::from(is_last);
            is_last
        });
        before.push(kept);
        self.moments = self.requests.iter().map(|request| request.at).collect();
        self.heard_at = self.heard.iter().copied().collect();
        for thought in std::mem::take(&mut self.thoughts).iter().filter(|thought| last.contains(&thought.place)) {
            let request = before.get(thought.requests).and_then(|requests| requests.checked_sub(1));
            if let Some(request) = request.and_then(|request| self.requests.get_mut(request)) {
                add_line(&mut request.thinking, &thought.text);
            }
        }
        self.events.retain(|event| last.contains(&event.place));
        self.totals.retain(|total| last.contains(&total.place));
        for event in &mut self.events {
            event.requests = before.get(event.requests).copied().unwrap_or(kept);
        }
    }

    fn take(&mut self, shown: &Shown<'_>, place: u64, out: &mut Sink<'_>) {
        let name = name_of(shown);
        shown.unknown.iter().for_each(|field| out.unknown(&format!("field {field}")));
        self.name = self.names.of(shown);
        // A row without a time is always kept: its position is used as its time.
        let at = shown.at.0.unwrap_or_else(|| i64::try_from(place).unwrap_or(i64::MAX));
        self.last.insert((at, xxh3_64(name.as_bytes())), place);
        self.begun = self.begun.or_else(|| moment(at));
        self.has_indices |= shown.index.0.is_some();
        self.note_removal(shown, at, place);
        self.take_named(name, shown, at, place, out);
        self.previous = Some(at);
    }

    /// Takes a row by its name.
    fn take_named(&mut self, name: &str, shown: &Shown<'_>, at: i64, place: u64, out: &mut Sink<'_>) {
        let text = || plain(shown.text).map(std::borrow::Cow::into_owned);
        match name {
            "api_req_started" => self.begin_request(shown, at, place),
            "api_req_finished" => {
                let text = text().unwrap_or_default();
                if let (Some(request), Ok(info)) = (self.requests.last_mut(), serde_json::from_str(&text)) {
                    request.take(&info);
                }
            }
            "deleted_api_reqs" | "api_req_deleted" | "subagent_usage" => self.sum_up(shown, name, at, place),
            "condense_context" => {
                let condense = shown.condense.0.as_ref();
                let summary = condense.and_then(|condense| condense.summary.owned());
                let cost = condense.and_then(|condense| condense.cost.0).filter(|cost| *cost > 0.0);
                let event = self.event(shown, at, place, MessageKind::Compaction, summary);
                self.events.push(Event { cost, ..event });
            }
            "sliding_window_truncation" => self.note(shown, at, place, MessageKind::Compaction, None),
            "compaction" => {
                let text = plain(shown.text).unwrap_or_default();
                let details: Details<'_> = serde_json::from_str(&text).unwrap_or_default();
                if details.status.is("completed") {
                    self.note(shown, at, place, MessageKind::Compaction, None);
                }
            }
            "api_req_failed" | "error_retry" => {
                let text = plain(shown.text).map(|text| match serde_json::from_str::<Details<'_>>(&text) {
                    Ok(Details { error: Text(Some(error)), .. }) => error.into_owned(),
                    _ => text.to_string(),
                });
                self.note(shown, at, place, MessageKind::ApiError, text);
            }
            "mistake_limit_reached" | "auto_approval_max_req_reached" => {
                self.note(shown, at, place, MessageKind::Abort, text());
            }
            "error"
            | "diff_error"
            | "clineignore_error"
            | "rooignore_error"
            | "command_permission_denied"
            | "condense_context_error" => self.note(shown, at, place, MessageKind::Notice, text()),
            "user_feedback" | "resume_task" | "resume_completed_task" => self.heard.push(at),
            name if is_reply(name) => {
                if name == "reasoning" {
                    self.think(text(), place, out);
                }
                if let Some(request) = self.requests.last_mut() {
                    request.is_answered = true;
                }
            }
            name if SILENT.contains(&name)
                || name.starts_with("shell_integration_warning")
                || name.starts_with("hook_") => {}
            name => out.unknown(&format!("row {name}")),
        }
    }

    fn begin_request(&mut self, shown: &Shown<'_>, at: i64, place: u64) {
        let text = plain(shown.text).unwrap_or_default();
        let info: RequestInfo<'_> = serde_json::from_str(&text).unwrap_or_default();
        if self.folder.is_none() && memchr::memmem::find(text.as_bytes(), b"<environment_details>").is_some() {
            let request = plain(info.request).unwrap_or_else(|| text.clone());
            self.folder = without_surroundings(&request).1.folder.map(str::to_owned);
        }
        let model = shown.model.0.as_ref();
        let mut request = Request {
            at,
            name: self.name.clone(),
            index: shown.index.0,
            model: model.and_then(|model| model.model.owned()),
            provider: model.and_then(|model| model.provider.owned()),
            heard: self.heard.len(),
            removals: self.totals.iter().filter(|total| !total.is_of_subagents).count(),
            place,
            ..Request::default()
        };
        request.take(&info);
        self.requests.push(request);
        let (kind, text) = match info.cancelled.get() {
            Some("user_cancelled") => (MessageKind::Abort, None),
            Some(reason) => (MessageKind::ApiError, info.failure.get().or(Some(reason)).map(str::to_owned)),
            None => return,
        };
        self.note(shown, at, place, kind, text);
    }

    /// Holds thinking until it is known which rows of it are replaced.
    fn think(&mut self, text: Option<String>, place: u64, out: &mut Sink<'_>) {
        let Some(text) = text else { return };
        self.thought_bytes += text.len();
        if self.thought_bytes <= MOST_THINKING {
            self.thoughts.push(Thought { text, requests: self.requests.len(), place });
        } else {
            out.problem(place + 1, "too much thinking; replies without thinking of their own are stored without it");
        }
    }

    fn note(&mut self, shown: &Shown<'_>, at: i64, place: u64, kind: MessageKind, text: Option<String>) {
        if let (MessageKind::Abort | MessageKind::ApiError, Some(request)) = (kind, self.requests.last_mut()) {
            request.is_interrupted = true;
        }
        let event = self.event(shown, at, place, kind, text);
        self.events.push(event);
    }

    fn event(&self, shown: &Shown<'_>, at: i64, place: u64, kind: MessageKind, text: Option<String>) -> Event {
        Event {
            id: format!("ui:{}:{}", self.name, name_of(shown)),
            name: self.name.clone(),
            at,
            kind,
            text,
            index: shown.index.0,
            requests: self.requests.len(),
            cost: None,
            place,
        }
    }

    /// Notes that Cline dropped more messages from the middle of the history that it sends.
    fn note_removal(&mut self, shown: &Shown<'_>, at: i64, place: u64) {
        let Some(end) = shown.removed.0.get(1).and_then(|end| end.0) else { return };
        if end > self.removed_to {
            self.removed_to = end;
            let event = self.event(shown, at, place, MessageKind::Compaction, None);
            self.events.push(Event { id: format!("ui:{}:truncation", event.name), ..event });
        }
    }

    fn sum_up(&mut self, shown: &Shown<'_>, name: &str, at: i64, place: u64) {
        let text = plain(shown.text).unwrap_or_default();
        let Ok(info) = serde_json::from_str::<RequestInfo<'_>>(&text) else { return };
        let mut request = Request::default();
        request.take(&info);
        if !request.is_billed() {
            return;
        }
        let Request { recorded, output, cost, .. } = request;
        let is_of_subagents = name == "subagent_usage";
        let name = self.name.clone();
        self.totals.push(Total { at, name, recorded, output, cost, is_of_subagents, previous: self.previous, place });
    }
}

impl Request {
    fn take(&mut self, info: &RequestInfo<'_>) {
        self.recorded = RecordedInput {
            input: info.input.0.or(self.recorded.input),
            cache_read: info.cache_read.0.or(self.recorded.cache_read),
            cache_write: info.cache_write.0.or(self.recorded.cache_write),
        };
        self.output = info.output.0.or(self.output);
        self.cost = info.cost.0.filter(|cost| *cost >= 0.0).or(self.cost);
        self.protocol = info.protocol.owned().or(self.protocol.take());
    }

    /// Returns true if it has any token count or cost. A request without one is running, or died before.
    pub(super) fn is_billed(&self) -> bool {
        let RecordedInput { input, cache_read, cache_write } = self.recorded;
        [input, cache_read, cache_write, self.output].iter().any(Option::is_some) || self.cost.is_some()
    }
}

/// Returns the time of a row. Microseconds since 1970.
#[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970 are below 2^53")]
pub(super) fn moment(at: i64) -> Option<i64> {
    from_epoch(at as f64)
}
