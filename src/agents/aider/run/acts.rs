//! Records what Aider did for the model, which has no tools of its own: edits, commands, commits.

use chrono::NaiveDateTime;
use serde_json::json;

use super::Run;
use crate::agents::aider::companions::Companions;
use crate::agents::aider::notices::{self, Notice, Topic};
use crate::extract::{EditedLines, Kind, Reject, Sink};
use crate::tables::{Category, Status, ToolCallRow};

/// Name of a call that makes a commit.
const COMMIT: &str = "git_commit";
/// Most text to keep about a failed edit. Bytes.
const MAX_FAILURE: usize = 64 << 10;
/// Longest time of a commit before its run's start or after the next run's, if the clock's zone changed. Microseconds.
const ZONES: i64 = 26 * 3_600_000_000;

/// Facts from earlier lines about the act that follows.
#[derive(Default)]
pub(super) struct Acts {
    /// Lines since the last recognized one: the subject of a question.
    subject: String,
    /// True if the person allowed the commands that follow.
    may_run: bool,
    /// A file whose change the person refused; the next line reports it again.
    refused: Option<String>,
    /// Edits that could not be applied, and the text about them so far.
    failure: Option<Failure>,
}

struct Failure {
    line: u64,
    text: String,
}

impl Acts {
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

/// Values of a tool call row that differ between calls.
struct Call<'t> {
    line: u64,
    name: &'static str,
    category: Category,
    input: Option<String>,
    command: Option<&'t str>,
    path: Option<&'t str>,
    status: Status,
    output: Option<&'t str>,
    time: Option<i64>,
    lines: EditedLines,
}

impl Run {
    pub(super) fn act(
        &mut self,
        notice: &Notice<'_>,
        text: &str,
        line: u64,
        out: &mut Sink<'_>,
        companions: &mut Companions,
    ) -> Result<(), Reject> {
        match (notice, &mut self.acts.failure) {
            (Notice::Other | Notice::EditFailed, Some(failure)) => {
                if failure.text.len() + text.len() < MAX_FAILURE {
                    failure.text.push('\n');
                    failure.text.push_str(text);
                }
                return Ok(());
            }
            (Notice::EditFailed, None) => {
                self.acts.failure = Some(Failure { line, text: text.to_owned() });
                return Ok(());
            }
            _ => {}
        }
        let subject = std::mem::take(&mut self.acts.subject);
        let refused = self.acts.refused.take();
        match *notice {
            Notice::Applied(path) => self.edit(path, Status::Ok, line, out),
            Notice::NotApplied(path) if refused.as_deref() == Some(path) => Ok(()),
            Notice::NotApplied(path) => self.edit(path, Status::Error, line, out),
            Notice::Commit { hash, message } => self.commit(hash, message, line, out, companions),
            Notice::Running(command) if self.acts.may_run => self.shell(command, Status::Pending, line, out),
            Notice::Asked { about, is_allowed } => {
                // Aider pads the lines with spaces to one length.
                let subject: Vec<&str> = subject.lines().map(str::trim_end).collect();
                self.asked(about, is_allowed, &subject.join("\n"), line, out)
            }
            _ => {
                self.acts.subject = subject;
                if !self.acts.subject.is_empty() {
                    self.acts.subject.push('\n');
                }
                self.acts.subject.push_str(text.trim());
                Ok(())
            }
        }
    }

    fn asked(
        &mut self,
        about: Topic<'_>,
        is_allowed: bool,
        subject: &str,
        line: u64,
        out: &mut Sink<'_>,
    ) -> Result<(), Reject> {
        if is_allowed {
            self.is_awaiting |= about == Topic::Again;
            self.acts.may_run = about == Topic::Shell;
            return Ok(());
        }
        match about {
            Topic::Shell => self.shell(subject, Status::Rejected, line, out),
            Topic::Edit(path) => {
                let path = path.or(subject.lines().next_back()).unwrap_or_default();
                self.acts.refused = Some(path.to_owned());
                self.edit(path, Status::Rejected, line, out)
            }
            Topic::Again | Topic::Other => Ok(()),
        }
    }

    fn edit(&mut self, path: &str, status: Status, line: u64, out: &mut Sink<'_>) -> Result<(), Reject> {
        let input = Some(json!({ "path": path }).to_string());
        let lines = self.edits.take(path);
        let path = Some(path);
        let call = Call {
            line,
            name: "edit",
            category: Category::Edit,
            input,
            command: None,
            path,
            status,
            output: None,
            time: None,
            lines: lines.unwrap_or_default(),
        };
        self.call(&call, out)
    }

    fn shell(&mut self, command: &str, status: Status, line: u64, out: &mut Sink<'_>) -> Result<(), Reject> {
        let input = Some(json!({ "command": command }).to_string());
        let command = Some(command);
        let call = Call {
            line,
            name: "shell",
            category: Category::Shell,
            input,
            command,
            path: None,
            status,
            output: None,
            time: None,
            lines: EditedLines::default(),
        };
        self.call(&call, out)
    }

    /// Emits a commit, with its time and full hash if the repository still has it.
    fn commit(
        &mut self,
        hash: &str,
        message: &str,
        line: u64,
        out: &mut Sink<'_>,
        companions: &mut Companions,
    ) -> Result<(), Reject> {
        let moment = |clock: Option<NaiveDateTime>| clock.and_then(|clock| out.local_moment(clock));
        let began = moment(self.started).map_or(i64::MIN, |began| began - ZONES);
        let ended = moment(self.until).map_or(i64::MAX, |ended| ended + ZONES);
        let stored = companions.commit(hash).filter(|commit| (began..ended).contains(&commit.time));
        let time = stored.as_ref().map(|commit| commit.time);
        if let (Some(reply), Some(_)) = (&mut self.reply, time) {
            reply.timestamp = reply.timestamp.or(time);
        }
        self.moment = time.or(self.moment);
        let message = stored.as_ref().map_or(message, |commit| &commit.message);
        let input = Some(json!({ "message": message }).to_string());
        let output = Some(stored.as_ref().map_or(hash, |commit| &commit.hash));
        let (name, category, status) = (COMMIT, Category::Other, Status::Ok);
        let lines = EditedLines::default();
        self.call(&Call { line, name, category, input, command: None, path: None, status, output, time, lines }, out)
    }

    /// Emits the failed edit, if there is one.
    pub(super) fn close_failure(&mut self, out: &mut Sink<'_>) -> Result<(), Reject> {
        let Some(Failure { line, text }) = self.acts.failure.take() else { return Ok(()) };
        let path = notices::file_of_failure(&text);
        let input = path.map(|path| json!({ "path": path }).to_string());
        let (name, category, status, output) = ("edit", Category::Edit, Status::Error, Some(text.trim()));
        let lines = EditedLines::default();
        self.call(&Call { line, name, category, input, command: None, path, status, output, time: None, lines }, out)
    }

    fn call(&mut self, call: &Call<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        let id = self.record_id(call.line);
        let Some(session) = &self.id else { return Ok(()) };
        let row = ToolCallRow {
            session_id: session,
            seq: self.seq,
            call_id: &id,
            message_id: self.reply.as_ref().map(|reply| reply.id.as_str()),
            response_id: self.reply.as_ref().and_then(|reply| reply.response.as_deref()),
            turn: (self.turn > 0).then_some(self.turn),
            name: call.name,
            category: call.category,
            input: call.input.as_deref(),
            command: call.command,
            file_path: call.path,
            status: call.status,
            output: call.output,
            lines_added: call.lines.added,
            lines_removed: call.lines.removed,
            started_at: call.time,
            ended_at: call.time,
            source_line: i64::try_from(call.line).ok(),
            ..ToolCallRow::default()
        };
        self.seq += 1;
        out.tool_call(row, false)?;
        if call.name == COMMIT && call.time.is_some() {
            out.from_companion(Kind::ToolCall, &id);
        }
        Ok(())
    }
}
