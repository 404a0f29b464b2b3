//! `state.db`: all sessions of a profile, with their messages and sums of tokens.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use rusqlite::Row;
use rusqlite::types::ValueRef;
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

use super::conversation::{Conversation, StoredMessage};
use super::usage::{Spent, Sum, by_name};
use super::{profile, session_id};
use crate::agents::kit::store::{damaged, each_row, text};
use crate::agents::kit::thread::{Position, Thread};
use crate::agents::kit::values::At;
use crate::agents::total_id;
use crate::extract::{Facts, KeySet, Reject, Sink};
use crate::source::records::TokenNumber;
use crate::source::{Database, Scope, Section, Source};
use crate::tables::{SessionKind, UsageRow};
use crate::time::from_epoch;

/// The facts about a session in the database.
#[derive(Debug, Clone, Default)]
struct Known {
    source: Option<String>,
    /// JSON.
    config: Option<String>,
    parent: Option<String>,
    began: Option<i64>,
    end_reason: Option<String>,
    cwd: Option<String>,
    branch: Option<String>,
    title: Option<String>,
    /// The sum over the session, without auxiliary tasks.
    total: Sum,
    /// Sums by model and task.
    sums: Vec<Sum>,
    /// Number of messages, and sums that change with them.
    messages: [f64; 5],
}

/// All sessions, by id.
struct Survey {
    sessions: BTreeMap<String, Known>,
    /// Subagents of each session, with their starts.
    children: BTreeMap<String, Vec<(i64, String)>>,
    /// Why it is incomplete.
    damage: Option<String>,
}

/// Columns of sessions, in the order in which they are read.
const SESSION: [&str; 20] = [
    "id",
    "source",
    "model_config",
    "parent_session_id",
    "started_at",
    "end_reason",
    "cwd",
    "git_branch",
    "title",
    "model",
    "billing_provider",
    "ended_at",
    "actual_cost_usd",
    "cost_status",
    "cost_source",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
];
/// Columns of sums.
const USAGE: [&str; 13] = [
    "session_id",
    "model",
    "billing_provider",
    "task",
    "last_seen",
    "actual_cost_usd",
    "cost_status",
    "cost_source",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
];
/// Columns of messages.
const MESSAGE: [&str; 12] = [
    "id",
    "role",
    "content",
    "tool_calls",
    "tool_call_id",
    "tool_name",
    "timestamp",
    "finish_reason",
    "reasoning",
    "reasoning_content",
    "active",
    "compacted",
];

impl Survey {
    fn of(database: &Database) -> Self {
        let mut survey = Self { sessions: BTreeMap::new(), children: BTreeMap::new(), damage: None };
        for read in [read_sessions, read_usage, read_sizes] {
            if let Err(error) = read(database, &mut survey.sessions) {
                survey.damage.get_or_insert(match error {
                    Reject::Database(error) => damaged(&error),
                    error => format!("the database cannot be read: {error:?}"),
                });
            }
        }
        for (id, known) in survey.sessions.iter().filter(|(_, known)| known.is_subagent()) {
            if let Some((parent, began)) = known.parent.clone().zip(known.began) {
                survey.children.entry(parent).or_default().push((began, id.clone()));
            }
        }
        for children in survey.children.values_mut() {
            children.sort_unstable();
        }
        survey
    }

    /// Subagents of a session, by their starts.
    fn children(&self, id: &str, profile: Option<&str>) -> VecDeque<(i64, String)> {
        let children = self.children.get(id).into_iter().flatten();
        children.map(|(began, child)| (*began, session_id(profile, child))).collect()
    }

    /// The session whose messages one copied at its start.
    fn origin(&self, known: &Known) -> Option<String> {
        let parent = known.parent.as_deref();
        let is_branched = || self.sessions.get(parent?)?.end_reason.as_deref().map(|reason| reason == "branched");
        known.marked("_branched_from").or_else(|| parent.filter(|_| is_branched() == Some(true)).map(str::to_owned))
    }
}

impl Known {
    fn marked(&self, mark: &str) -> Option<String> {
        let config: Value = serde_json::from_str(self.config.as_deref()?).ok()?;
        config.text_at(&format!("/{mark}")).map(str::to_owned)
    }

    fn is_subagent(&self) -> bool {
        self.source.as_deref() == Some("subagent") || self.marked("_delegate_from").is_some()
    }
}

fn fraction(row: &Row<'_>, column: usize) -> Option<f64> {
    match row.get_ref(column).ok()? {
        ValueRef::Integer(number) => Some(number as f64),
        ValueRef::Real(number) => Some(number).filter(|number| number.is_finite()),
        _ => None,
    }
}

fn moment(row: &Row<'_>, column: usize) -> Option<i64> {
    fraction(row, column).and_then(from_epoch)
}

fn count(row: &Row<'_>, column: usize) -> i64 {
    let whole = row.get_ref(column).ok().and_then(|value| value.as_i64().ok());
    TokenNumber::of(whole).0.unwrap_or(0)
}

/// The tokens from a column on.
fn spent(row: &Row<'_>, first: usize) -> Spent {
    Spent {
        input: count(row, first),
        output: count(row, first + 1),
        cache_read: count(row, first + 2),
        cache_write: count(row, first + 3),
        reasoning: count(row, first + 4),
    }
}

/// Returns which of the three columns from `first` on have a value; earlier schemas lack them.
fn records(row: &Row<'_>, first: usize) -> [bool; 3] {
    [0, 1, 2].map(|at| row.get_ref(first + at).is_ok_and(|value| value != ValueRef::Null))
}

fn read_sessions(database: &Database, sessions: &mut BTreeMap<String, Known>) -> Result<(), Reject> {
    each_row(database, "sessions", &SESSION, "ORDER BY id", |row| {
        let Some(id) = text(row, 0) else { return Ok(()) };
        let known = Known {
            source: text(row, 1),
            config: text(row, 2),
            parent: text(row, 3),
            began: moment(row, 4),
            end_reason: text(row, 5),
            cwd: text(row, 6),
            branch: text(row, 7),
            title: text(row, 8),
            total: Sum {
                model: text(row, 9),
                provider: text(row, 10),
                last: moment(row, 11),
                cost: fraction(row, 12),
                cost_status: text(row, 13).unwrap_or_default(),
                cost_source: text(row, 14).unwrap_or_default(),
                spent: spent(row, 15),
                records: records(row, 17),
                ..Sum::default()
            },
            ..Known::default()
        };
        sessions.insert(id, known);
        Ok(())
    })
}

fn read_usage(database: &Database, sessions: &mut BTreeMap<String, Known>) -> Result<(), Reject> {
    each_row(database, "session_model_usage", &USAGE, "ORDER BY session_id, model, rowid", |row| {
        let Some(id) = text(row, 0) else { return Ok(()) };
        sessions.entry(id).or_default().sums.push(Sum {
            model: text(row, 1),
            provider: text(row, 2),
            task: text(row, 3).unwrap_or_default(),
            last: moment(row, 4),
            cost: fraction(row, 5),
            cost_status: text(row, 6).unwrap_or_default(),
            cost_source: text(row, 7).unwrap_or_default(),
            spent: spent(row, 8),
            records: records(row, 10),
        });
        Ok(())
    })
}

/// Reads what shows that messages of a session changed, without their contents.
fn read_sizes(database: &Database, sessions: &mut BTreeMap<String, Known>) -> Result<(), Reject> {
    let there = database.columns("messages")?;
    if !there.iter().any(|name| name == "session_id") {
        return Ok(());
    }
    let total = |column: &str, of: &str| {
        if there.iter().any(|name| name == column) { format!("TOTAL({of})") } else { "0.0".to_owned() }
    };
    let columns = [
        "session_id".to_owned(),
        "TOTAL(1)".to_owned(),
        total("id", "id"),
        total("content", "octet_length(content)"),
        total("active", "active"),
        total("compacted", "compacted"),
    ];
    let mut statement =
        database.prepare(&format!("SELECT {} FROM messages GROUP BY session_id", columns.join(", ")))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if let Some(id) = text(row, 0) {
            sessions.entry(id).or_default().messages = [1, 2, 3, 4, 5].map(|at| fraction(row, at).unwrap_or(0.0));
        }
    }
    Ok(())
}

fn survey(source: &Source<'_>, database: &Database) -> Result<Arc<Survey>, Reject> {
    source.survey(|| Ok(Survey::of(database)))
}

/// The sessions of the database.
pub(super) fn sections(source: &mut Source<'_>) -> Result<Vec<Section>, Reject> {
    let database = source.database()?;
    let survey = survey(source, &database)?;
    let all: f64 = survey.sessions.values().map(|known| known.messages[2] + 1.0).sum();
    let section = |(id, known): (&String, &Known)| {
        // Other sessions show what this one copied, and which subagents it started.
        let relatives = (survey.origin(known), survey.children(id, None));
        let stamp = xxh3_64(format!("{known:?} {relatives:?}").as_bytes());
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of the file's size")]
        let bytes = (source.bytes as f64 * (known.messages[2] + 1.0) / all.max(1.0)) as u64;
        Section { id: id.clone(), stamp, bytes, began: known.began, modified: None }
    };
    Ok(survey.sessions.iter().map(section).collect())
}

/// Reads the database, or one session of it.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let database = source.database()?;
    let survey = survey(source, &database)?;
    let profile = profile(source.path);
    if let Scope::Section(id) = source.scope {
        return extract_session(&database, &survey, profile, id, out);
    }
    if let Some(damage) = &survey.damage {
        out.line();
        out.problem(out.report.lines, damage);
    }
    if source.scope == Scope::Whole {
        for id in survey.sessions.keys() {
            extract_session(&database, &survey, profile, id, out)?;
        }
    }
    Ok(())
}

fn extract_session(
    database: &Database,
    survey: &Survey,
    profile: Option<&str>,
    id: &str,
    out: &mut Sink<'_>,
) -> Result<(), Reject> {
    let unknown = Known::default();
    let known = survey.sessions.get(id).unwrap_or(&unknown);
    let origin = survey.origin(known);
    let parent = known.parent.as_deref().filter(|_| origin.is_none()).map(|parent| session_id(profile, parent));
    let is_subagent = known.is_subagent();
    let facts = Facts {
        session_id: session_id(profile, id),
        kind: if is_subagent { SessionKind::Subagent } else { SessionKind::Session },
        is_subagent,
        entrypoint: known.source.clone(),
        project_path: known.cwd.clone(),
        git_branch: known.branch.clone(),
        title: known.title.clone(),
        parent_session_id: parent,
        forked_from_session_id: origin.as_deref().map(|origin| session_id(profile, origin)),
        first_moment: known.began,
        ..Facts::default()
    };
    let mut conversation = Conversation::new(facts, known.total.model.clone(), out);
    conversation.children = survey.children(id, profile);
    if let Some(origin) = &origin {
        let mut copied = KeySet::default();
        // A damaged row of the origin is not recognised as a copy.
        let _ = each_message(database, origin, |message| {
            copied.insert(message.hash());
            Ok(())
        });
        conversation.copied = copied;
    }
    let read = each_message(database, id, |message| {
        conversation.out.line();
        conversation.take(message)
    });
    match read {
        Err(Reject::Database(error)) => {
            let line = conversation.out.report.lines + 1;
            conversation.out.problem(line, &damaged(&error));
        }
        read => read?,
    }
    if conversation.thread.has_rows {
        push_usage(known, &mut conversation)?;
    }
    conversation.finish()
}

fn each_message(
    database: &Database,
    session: &str,
    mut take: impl FnMut(&StoredMessage<'_>) -> Result<(), Reject>,
) -> Result<(), Reject> {
    let Some(mut statement) = database.select("messages", &MESSAGE, "WHERE session_id = ?1 ORDER BY id")? else {
        return Ok(());
    };
    let mut rows = statement.query([session])?;
    while let Some(row) = rows.next()? {
        let texts = [1, 2, 3, 4, 5, 7, 8, 9].map(|column| text(row, column));
        let [role, content, calls, call_id, tool, stop, reasoning, other] = &texts;
        let flag = |column: usize| row.get_ref(column).ok().and_then(|value| value.as_i64().ok());
        let is_active = flag(10) != Some(0);
        let is_archived = !is_active && flag(11) == Some(1);
        take(&StoredMessage {
            row: flag(0),
            role: role.as_deref().unwrap_or_default(),
            text: content.as_deref(),
            reasoning: reasoning.as_deref().or(other.as_deref()),
            calls: calls.as_deref(),
            call_id: call_id.as_deref(),
            tool: tool.as_deref(),
            moment: moment(row, 6),
            stop: stop.as_deref(),
            is_archived,
            is_undone: !is_active && !is_archived,
            line: None,
        })?;
    }
    Ok(())
}

/// Adds the sums by model and task, and the sum over the session if these lack anything of it.
fn push_usage(known: &Known, conversation: &mut Conversation<'_, '_>) -> Result<(), Reject> {
    let Conversation { thread, out, last, .. } = conversation;
    let session = thread.id().to_owned();
    let last = known.total.last.or(*last);
    let mut counted = Spent::default();
    for (name, sum) in by_name(&known.sums) {
        if sum.spent.is_nothing() {
            continue;
        }
        if sum.task.is_empty() {
            counted.add(sum.spent);
        }
        thread.is_sidechain = !sum.task.is_empty();
        bill(thread, sum.row(&format!("{session}:{name}")), out)?;
        thread.is_sidechain = false;
    }
    if known.total.spent.exceeds(&counted) {
        let id = total_id(&session);
        bill(thread, UsageRow { timestamp: last, ..known.total.row(&id) }, out)?;
    }
    Ok(())
}

fn bill(thread: &mut Thread, row: UsageRow<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let row = UsageRow { turn: thread.turn, ..row };
    thread.bill(&Position::default(), row, thread.last_seq(), out)
}
