//! A session's rows, whichever store they come from.

use super::ids;
use super::ids::{Identity, Traits};
use super::record::Arguments;
use super::tokens::Billed;
use super::tools::{self, Call};
use crate::agents::kit::facts::keep_earlier;
use crate::agents::kit::texts::compact;
use crate::extract::{Facts, Kind, Reject, Sink, session_key};
use crate::tables::{
    Category, ErrorType, MessageKind, MessageRow, Role, SessionKind, ToolCallRow, UsageGrain, UsageRow,
};

/// The facts about a session apart from its messages.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    pub(super) id: String,
    /// Version of the program.
    pub(super) version: Option<String>,
    pub(super) directory: Option<String>,
    /// Folder of the project.
    pub(super) worktree: Option<String>,
    pub(super) is_git: bool,
    pub(super) title: Option<String>,
    /// Session whose call started this one.
    pub(super) parent: Option<String>,
    /// Outermost parent.
    pub(super) root: Option<String>,
    pub(super) forked_from: Option<String>,
    /// Session of another program that its beginning was copied from, of which no message is read.
    pub(super) imported_from: Option<String>,
    /// Task of an extension that its beginning was moved here from.
    pub(super) moved_from: Option<String>,
    pub(super) agent: Option<String>,
    /// True if its own file is gone. Any store that has the session knows its messages better.
    pub(super) is_stray: bool,
    /// When it began. Microseconds since 1970.
    pub(super) created: Option<i64>,
    /// The message from which on all was undone, and whether its beginning stays.
    pub(super) reverted: Option<(String, bool)>,
}

/// A message as it is to be stored.
#[derive(Default)]
pub(super) struct NewMessage<'s> {
    pub(super) seq: i64,
    pub(super) parent: Option<&'s str>,
    /// Microseconds since 1970.
    pub(super) timestamp: Option<i64>,
    pub(super) role: Role,
    pub(super) kind: MessageKind,
    pub(super) text: Option<&'s str>,
    pub(super) thinking: Option<&'s str>,
    pub(super) model: Option<&'s str>,
    pub(super) response: Option<&'s str>,
    pub(super) stop_reason: Option<&'s str>,
    pub(super) is_error: bool,
    pub(super) error_type: Option<ErrorType>,
    pub(super) permission_mode: Option<&'s str>,
    pub(super) attachments: i64,
    /// True if none of its parts is there.
    pub(super) is_bare: bool,
    /// True if the model was still at it: files that were moved to a database stay as they were.
    pub(super) is_unfinished: bool,
}

/// An API call as it is to be stored.
pub(super) struct Response<'s> {
    pub(super) id: &'s str,
    /// Place of the message that it became.
    pub(super) seq: i64,
    /// Microseconds since 1970.
    pub(super) timestamp: Option<i64>,
    pub(super) provider: Option<&'s str>,
    pub(super) model: Option<&'s str>,
    pub(super) billed: Billed,
    /// USD.
    pub(super) cost: Option<f64>,
    /// Milliseconds.
    pub(super) duration_ms: Option<i64>,
    pub(super) stop_reason: Option<&'s str>,
    pub(super) effort: Option<&'s str>,
    /// True if only the last of several calls was counted.
    pub(super) is_partial: bool,
    /// The grain of its row of `usage`: `response` or `session`.
    pub(super) grain: UsageGrain,
}

/// Writes the rows of one session.
pub(super) struct Rows<'o, 'a> {
    pub(super) out: &'o mut Sink<'a>,
    pub(super) known: Known,
    /// Records read, over all kinds.
    number: u64,
    next_seq: i64,
    turns: i64,
    first_moment: Option<i64>,
    /// Folder that the session is in by its latest message.
    pub(super) cwd: Option<String>,
    first_cwd: Option<String>,
    /// True while the messages are a subagent's within the session.
    pub(super) is_sidechain: bool,
    is_reverted: bool,
    abandoned: Vec<usize>,
    /// True if all messages of the session count as copies: the title says that it is a fork, and nothing says since
    /// when.
    all_are_copies: Option<bool>,
    last_copy: String,
    equal_copies: u32,
}

impl<'o, 'a> Rows<'o, 'a> {
    pub(super) fn new(known: Known, out: &'o mut Sink<'a>) -> Self {
        let created = known.created.or_else(|| ids::moment_of(&known.id));
        Self {
            out,
            known: Known { created, ..known },
            number: 0,
            next_seq: 0,
            turns: 0,
            first_moment: None,
            cwd: None,
            first_cwd: None,
            is_sidechain: false,
            is_reverted: false,
            abandoned: Vec::new(),
            all_are_copies: None,
            last_copy: String::new(),
            equal_copies: 0,
        }
    }

    /// Takes for copies only what the program says is one.
    pub(super) fn trust_boundary(&mut self) {
        self.all_are_copies = Some(false);
    }

    /// Counts a record; gives its number.
    pub(super) fn record(&mut self) -> u64 {
        self.out.line();
        self.number += 1;
        self.number
    }

    /// Counts a record that could not be read.
    pub(super) fn problem(&mut self, what: &str, reason: &str) {
        self.out.problem(self.number, &format!("{what}: {reason}"));
    }

    /// The next place in the session.
    pub(super) fn seq(&mut self) -> i64 {
        let seq = self.next_seq;
        self.next_seq += 1;
        seq
    }

    /// Begins a turn.
    pub(super) fn turn(&mut self) {
        self.turns += i64::from(!self.is_sidechain);
    }

    /// Returns the names of a message. Messages come in order.
    pub(super) fn identity(&mut self, id: &str, traits: Traits<'_>, is_replay: bool) -> Identity {
        keep_earlier(&mut self.first_moment, traits.created);
        let began = self.known.created;
        let is_older = began.is_some_and(|began| traits.created.is_some_and(|created| created < began));
        let is_fork = self.known.forked_from.is_some() || self.known.title.as_deref().is_some_and(is_fork_title);
        let all_are_copies = *self.all_are_copies.get_or_insert(is_fork && !is_older);
        if let Some((first, keeps_beginning)) = &self.known.reverted
            && first == id
        {
            self.is_reverted = !keeps_beginning;
        }
        if let Some(task) = self.known.moved_from.as_deref().filter(|_| traits.is_moved()) {
            return Identity::moved(id, session_key(self.out.agent(), task));
        }
        let is_stray = self.known.is_stray;
        let is_copy = is_older || is_replay || all_are_copies || is_stray;
        let mut identity = Identity::new(self.out.agent(), id, traits, is_copy);
        if is_stray {
            identity = identity.of_any_age();
        }
        if let Some(origin) = self.known.forked_from.as_deref().filter(|_| is_replay) {
            identity = identity.copied_from(session_key(self.out.agent(), origin));
        }
        if !identity.is_copy() {
            return identity;
        }
        if self.last_copy == identity.id() {
            self.equal_copies += 1;
            return identity.again(self.equal_copies);
        }
        self.equal_copies = 0;
        identity.id().clone_into(&mut self.last_copy);
        identity
    }

    /// Notes the folder that a message was written in.
    pub(super) fn enter(&mut self, cwd: Option<&str>) {
        if let Some(cwd) = cwd.filter(|cwd| self.cwd.as_deref() != Some(cwd)) {
            self.first_cwd.get_or_insert_with(|| cwd.to_owned());
            self.cwd = Some(cwd.to_owned());
        }
    }

    /// Adds a message, and says that it is there. One that has lost its parts, or is not finished, yields to what
    /// another store has of it.
    pub(super) fn message(&mut self, id: &str, identity: &Identity, new: &NewMessage<'_>) -> Result<(), Reject> {
        let row = MessageRow {
            session_id: &self.known.id,
            seq: new.seq,
            message_id: identity.id(),
            parent_id: new.parent,
            turn: Some(self.turns).filter(|turns| *turns > 0),
            timestamp: new.timestamp,
            role: new.role,
            kind: new.kind,
            text: new.text,
            thinking: new.thinking,
            model: new.model,
            response_id: new.response,
            stop_reason: new.stop_reason,
            is_error: new.is_error,
            error_type: new.error_type,
            permission_mode: new.permission_mode.filter(|_| new.kind == MessageKind::Prompt),
            cwd: self.cwd.as_deref().or(self.known.directory.as_deref()),
            attachments: new.attachments,
            is_sidechain: self.is_sidechain,
            ..MessageRow::default()
        };
        let place = self.out.message(row, identity.is_copy() || new.is_bare || new.is_unfinished)?;
        identity.yields_to(Kind::Message, identity.id(), self.out);
        identity.claim(self.out);
        if self.is_reverted {
            self.abandoned.push(place);
        }
        if let Some((first, _)) = &self.known.reverted
            && first == id
        {
            self.is_reverted = true;
        }
        Ok(())
    }

    /// Adds a tool call of a message.
    pub(super) fn call(
        &mut self,
        identity: &Identity,
        id: &str,
        call: &Call,
        response: Option<&str>,
    ) -> Result<(), Reject> {
        let seq = self.seq();
        self.call_at(seq, identity, id, call, response)
    }

    /// Adds a tool call of a message at a place that was kept for it.
    pub(super) fn call_at(
        &mut self,
        seq: i64,
        identity: &Identity,
        id: &str,
        call: &Call,
        response: Option<&str>,
    ) -> Result<(), Reject> {
        let category = tools::category(&call.name);
        let input = call.input.as_deref().map(compact);
        let input = input.as_deref();
        let arguments = input.and_then(|json| serde_json::from_str::<Arguments<'_>>(json).ok());
        let arguments = arguments.unwrap_or_default();
        let row = ToolCallRow {
            session_id: &self.known.id,
            seq,
            call_id: id,
            message_id: Some(identity.id()),
            response_id: response,
            turn: Some(self.turns).filter(|turns| *turns > 0),
            name: &call.name,
            category,
            mcp_server: tools::mcp_server(&call.name),
            input,
            command: arguments.command.get().filter(|_| category == Category::Shell),
            file_path: tools::file_of(category, &arguments),
            status: call.status,
            is_denied: Some(call.is_denied),
            exit_code: call.exit_code,
            output: call.output.as_deref(),
            lines_added: call.lines.added,
            lines_removed: call.lines.removed,
            started_at: call.start,
            ended_at: call.end,
            duration_ms: call.duration_ms,
            child_session_id: call.child.as_deref(),
            is_sidechain: self.is_sidechain,
            ..ToolCallRow::default()
        };
        self.out.tool_call(row, identity.is_copy() || call.end.is_none())?;
        identity.yields_to(Kind::ToolCall, id, self.out);
        Ok(())
    }

    /// Adds an API call of a message.
    pub(super) fn response(&mut self, identity: &Identity, response: &Response<'_>) -> Result<(), Reject> {
        let Billed { input, cache_read, cache_write, output, reasoning } = response.billed;
        let row = UsageRow {
            session_id: &self.known.id,
            message_id: Some(identity.id()),
            response_id: response.id,
            turn: Some(self.turns).filter(|turns| *turns > 0),
            timestamp: response.timestamp,
            model: response.model,
            provider: response.provider,
            input_tokens: input,
            cache_read_tokens: cache_read,
            cache_write_5m_tokens: cache_write,
            output_tokens: output,
            reasoning_tokens: reasoning,
            cost_usd: response.cost,
            duration_ms: response.duration_ms,
            reasoning_effort: response.effort,
            stop_reason: response.stop_reason,
            grain: response.grain,
            is_partial: response.is_partial,
            is_sidechain: self.is_sidechain,
            ..UsageRow::default()
        };
        self.out.usage(row, response.seq, identity.is_copy())?;
        identity.yields_to(Kind::Response, response.id, self.out);
        Ok(())
    }

    /// Completes the session; one without a message is none.
    pub(super) fn finish(self) -> Result<(), Reject> {
        let Self { out, known, first_moment, first_cwd, abandoned, next_seq, .. } = self;
        if next_seq == 0 {
            out.discard_session();
            return Ok(());
        }
        out.abandon(&abandoned);
        out.claim(session_key(out.agent(), &known.id), false);
        let is_place = |folder: &String| !folder.is_empty() && folder != "/";
        let worktree = known.worktree.filter(is_place);
        let is_subagent = known.parent.is_some();
        let named_agent = || known.title.as_deref().and_then(agent_in_title).map(str::to_owned);
        out.end_session(Facts {
            kind: if is_subagent { SessionKind::Subagent } else { SessionKind::Session },
            agent_version: known.version,
            project_path: known.directory.filter(is_place).or(worktree.clone()).or(first_cwd),
            git_repo: worktree.filter(|_| known.is_git),
            subagent_type: named_agent().or(known.agent).filter(|_| is_subagent),
            title: known.title.filter(|title| !is_default_title(title)),
            root_session_id: known.root,
            parent_session_id: known.parent,
            forked_from_session_id: known.forked_from.or(known.imported_from),
            is_subagent,
            first_moment,
            session_id: known.id,
            ..Facts::default()
        })
    }
}

/// True for the title of a session that was not given one yet.
fn is_default_title(title: &str) -> bool {
    let moment = title.strip_prefix("New session - ").or_else(|| title.strip_prefix("Child session - "));
    moment.is_some_and(|moment| crate::time::parse_iso(moment).is_some())
}

fn is_fork_title(title: &str) -> bool {
    title.rsplit_once(" (fork #").is_some_and(|(_, number)| number.trim_end_matches(')').parse::<u32>().is_ok())
}

/// `Look at it (@explore subagent)` names the agent that was to do it.
fn agent_in_title(title: &str) -> Option<&str> {
    title.strip_suffix(" subagent)")?.rsplit_once("(@").map(|(_, agent)| agent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles() {
        assert!(is_default_title("New session - 2026-02-25T10:00:00.000Z"));
        assert!(!is_default_title("New session - about cats"));
        assert!(is_fork_title("Fix (fork #12)"));
        assert!(!is_fork_title("Explain (fork #bombs)"));
        assert_eq!(agent_in_title("Look at it (@explore subagent)"), Some("explore"));
    }
}
