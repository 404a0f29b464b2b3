//! Reads one session from the lake: its facts first, then its messages and tool calls in parts, in their order.

use std::collections::BTreeMap;

use arrow::array::RecordBatch;
use datafusion::scalar::ScalarValue;

use crate::cli::detect;
use crate::cli::runner::Runner;
use crate::cli::session::{self, integer};
use crate::cli::settings::Settings;
use crate::lake::AnyLake;
use crate::query::canned::Library;
use crate::query::findings::{Detector, Detectors};
use crate::query::short_id::{KnownSession, SessionIds};
use crate::query::{Statement, are_findings_kept};
use crate::tables::{
    FindingColumns, FindingRow, MessageColumns, MessageRow, SessionColumns, SessionRow, ToolCallColumns, ToolCallRow,
    UsageColumns, UsageGrain,
};
use crate::{Error, Result};

/// Positions of a session that are read at once, so that a long session does not fill the memory.
const AT_ONCE: i64 = 2_000;

/// Detectors that read the records of many sessions. `llrem detect` runs them.
const WIDE: [&str; 1] = ["rework"];

/// Most subagents and parents whose records the detectors read.
const FAMILY: usize = 100;

/// Selects the rows of one session.
const OWN: &str = "machine = $machine and agent = $agent and month = $month and session_id = $session";

/// Cost and tokens of some responses.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spent {
    /// Tokens; `None` if the agent records none.
    pub(super) tokens: Option<i64>,
    /// Dollars; `None` if no price is known.
    pub(super) usd: Option<f64>,
    /// True if a response has no known price.
    pub(super) is_partial: bool,
    /// Responses.
    pub(super) responses: i64,
    /// Tool calls.
    pub(super) calls: i64,
}

impl Spent {
    fn add(&mut self, tokens: Option<i64>, usd: Option<f64>) {
        self.tokens = sum(self.tokens, tokens, |one, other| one + other);
        self.usd = sum(self.usd, usd, |one, other| one + other);
        self.is_partial |= usd.is_none();
    }
}

fn sum<T>(one: Option<T>, other: Option<T>, add: fn(T, T) -> T) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(add(one, other)),
        (one, other) => one.or(other),
    }
}

/// A subagent that the session started.
#[derive(Debug, Clone)]
pub(super) struct Subagent {
    pub(super) session_id: String,
    pub(super) kind: Option<String>,
    pub(super) responses: i64,
    pub(super) usd: Option<f64>,
}

/// The session that follows in the project.
#[derive(Debug, Clone)]
pub(super) struct Next {
    pub(super) short: String,
    pub(super) started_at: Option<i64>,
    pub(super) title: Option<String>,
}

/// Cost of each response.
#[derive(Debug, Default)]
pub(super) struct Spending {
    by_response: BTreeMap<String, Spent>,
    /// The response of each message that is named with one.
    by_message: BTreeMap<String, String>,
}

impl Spending {
    /// Returns all of it.
    pub(super) fn all(&self) -> impl Iterator<Item = &Spent> {
        self.by_response.values()
    }

    /// Takes what the response of a message cost. A second message of the response costs nothing more.
    pub(super) fn take(&mut self, message: &MessageRow<'_>) -> Option<Spent> {
        let response = message.response_id.or_else(|| self.by_message.get(message.message_id).map(String::as_str));
        self.by_response.remove(response?)
    }
}

/// The facts of a session.
pub(super) struct Facts {
    pub(super) session: KnownSession,
    pub(super) ids: SessionIds,
    rows: RecordBatch,
    findings: RecordBatch,
    pub(super) spending: Spending,
    /// Cost of each turn.
    by_turn: BTreeMap<i64, Spent>,
    pub(super) subagents: Vec<Subagent>,
    pub(super) next: Option<Next>,
    /// The first and the last position.
    pub(super) range: Option<(i64, i64)>,
}

impl Facts {
    /// Reads the facts of a session.
    pub(super) fn read(settings: &Settings, lake: &AnyLake, runner: &mut Runner<'_>, named: &str) -> Result<Self> {
        let ids = session::ids(runner)?;
        let session = ids.find(named)?.clone();
        let rows = runner.rows(&own(&session, "select * from sessions where", ""))?;
        let (spending, mut by_turn) = spent(&runner.rows(&own(
            &session,
            "select turn, response_id, message_id, grain, total_tokens, cost_usd from usage where",
            "",
        ))?);
        let select = "select turn, count(*) as calls, min(seq) as first, max(seq) as last from tool_calls where";
        let counted = runner.rows(&own(&session, select, "group by turn"))?;
        let said = runner.rows(&own(&session, "select min(seq) as first, max(seq) as last from messages where", ""))?;
        for row in 0..counted.num_rows() {
            let turn = by_turn.entry(integer(&counted, "turn", row).unwrap_or(0)).or_default();
            turn.calls = integer(&counted, "calls", row).unwrap_or(0);
        }
        let range = [&counted, &said].into_iter().fold(None, widened);
        let subagents = subagents(runner, &session)?;
        let next = next(runner, &session, &rows, &ids)?;
        let findings = findings(settings, lake, &session, &ids)?;
        Ok(Self { session, ids, rows, findings, spending, by_turn, subagents, next, range })
    }

    /// Returns the row of `sessions`.
    pub(super) fn row(&self) -> SessionRow<'_> {
        SessionColumns::named(&self.rows).row(0)
    }

    /// Returns the findings in the session.
    pub(super) fn findings(&self) -> impl Iterator<Item = FindingRow<'_>> {
        let columns = FindingColumns::named(&self.findings);
        (0..self.findings.num_rows()).map(move |row| columns.row(row))
    }

    /// Returns what a turn cost.
    pub(super) fn turn(&self, turn: i64) -> Spent {
        self.by_turn.get(&turn).copied().unwrap_or_default()
    }

    /// Returns the subagent with this id.
    pub(super) fn subagent(&self, session_id: &str) -> Option<&Subagent> {
        self.subagents.iter().find(|subagent| subagent.session_id == session_id)
    }

    /// Returns a position as it stands at the left of a line.
    pub(super) fn shown_place(&self, seq: i64) -> String {
        let width = self.range.map_or(0, |(_, last)| last.to_string().len()).max(4);
        format!("{seq:>width$}")
    }

    /// Returns the parts in which the session is read, each as the first position and the one after the last.
    pub(super) fn parts(&self) -> impl Iterator<Item = (i64, i64)> + use<> {
        let (mut from, last) = self.range.unwrap_or((0, -1));
        std::iter::from_fn(move || {
            let part = (from <= last).then_some((from, from.saturating_add(AT_ONCE)));
            from = from.saturating_add(AT_ONCE);
            part
        })
    }
}

/// The messages and tool calls of a part of a session.
pub(super) struct Part {
    messages: RecordBatch,
    calls: RecordBatch,
}

/// A message or a tool call.
pub(super) enum Entry<'p> {
    Message(Box<MessageRow<'p>>),
    Call(Box<ToolCallRow<'p>>),
}

impl Entry<'_> {
    pub(super) fn seq(&self) -> i64 {
        match self {
            Self::Message(message) => message.seq,
            Self::Call(call) => call.seq,
        }
    }

    pub(super) fn turn(&self) -> Option<i64> {
        match self {
            Self::Message(message) => message.turn,
            Self::Call(call) => call.turn,
        }
    }
}

impl Part {
    /// Reads a part. Outputs of calls that succeeded are read only if `has_output`.
    pub(super) fn read(
        runner: &mut Runner<'_>,
        session: &KnownSession,
        (from, until): (i64, i64),
        has_output: bool,
    ) -> Result<Self> {
        let order = format!("and seq >= {from} and seq < {until} order by seq");
        let messages = "select seq, turn, timestamp, role, kind, text, thinking, model, message_id, response_id, \
                        attachments, is_abandoned from messages where";
        let output = if has_output { "output" } else { "case when status <> 'ok' then output end as output" };
        let calls = format!(
            "select seq, turn, name, category, input, command, file_path, status, exit_code, {output}, output_bytes, \
             started_at, duration_ms, child_session_id from tool_calls where"
        );
        Ok(Self {
            messages: runner.rows(&own(session, messages, &order))?,
            calls: runner.rows(&own(session, &calls, &order))?,
        })
    }

    /// Returns messages and calls in their order.
    pub(super) fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        let (messages, calls) = (MessageColumns::named(&self.messages), ToolCallColumns::named(&self.calls));
        let (mut message, mut call) = (0, 0);
        std::iter::from_fn(move || {
            let said = (message < self.messages.num_rows()).then(|| messages.seq(message));
            let called = (call < self.calls.num_rows()).then(|| calls.seq(call));
            match (said, called) {
                (Some(said), called) if called.is_none_or(|called| said <= called) => {
                    message += 1;
                    Some(Entry::Message(Box::new(messages.row(message - 1))))
                }
                (_, Some(_)) => {
                    call += 1;
                    Some(Entry::Call(Box::new(calls.row(call - 1))))
                }
                _ => None,
            }
        })
    }
}

/// Returns a query for rows of one session.
pub(super) fn own(session: &KnownSession, select: &str, rest: &str) -> Statement {
    let text = |value: &str| ScalarValue::Utf8(Some(value.to_owned()));
    let values = [
        ("machine", &session.machine),
        ("agent", &session.agent),
        ("month", &session.month),
        ("session", &session.session_id),
    ];
    Statement {
        sql: format!("{select} {OWN} {rest}"),
        parameters: values.map(|(name, value)| (name.to_owned(), text(value))).into(),
    }
}

/// Sums what was spent by response and by turn, and finds the responses of messages.
fn spent(usage: &RecordBatch) -> (Spending, BTreeMap<i64, Spent>) {
    let columns = UsageColumns::named(usage);
    let (mut spending, mut by_turn) = (Spending::default(), BTreeMap::new());
    for row in (0..usage.num_rows()).map(|row| columns.row(row)) {
        let id = row.response_id.to_owned();
        spending.by_response.entry(id).or_default().add(row.total_tokens, row.cost_usd);
        spending.by_message.extend(row.message_id.map(|id| (id.to_owned(), row.response_id.to_owned())));
        let turn: &mut Spent = by_turn.entry(row.turn.unwrap_or(0)).or_default();
        turn.add(row.total_tokens, row.cost_usd);
        turn.responses += i64::from(row.grain == UsageGrain::Response);
    }
    (spending, by_turn)
}

/// Widens a range to the positions in some rows.
fn widened(range: Option<(i64, i64)>, rows: &RecordBatch) -> Option<(i64, i64)> {
    (0..rows.num_rows()).fold(range, |range, row| {
        let ends = integer(rows, "first", row).zip(integer(rows, "last", row));
        let (one, other) = (range.or(ends)?, ends.or(range)?);
        Some((one.0.min(other.0), one.1.max(other.1)))
    })
}

fn subagents(runner: &mut Runner<'_>, session: &KnownSession) -> Result<Vec<Subagent>> {
    let sql = "select session_id, subagent_type, responses, cost_usd from sessions where machine = $machine \
               and agent = $agent and month >= $month and parent_session_id = $session and session_id <> $session \
               order by started_at nulls last, session_id";
    let rows = runner.rows(&Statement { sql: sql.to_owned(), ..own(session, "", "") })?;
    let columns = SessionColumns::named(&rows);
    let subagent = |row: SessionRow<'_>| Subagent {
        session_id: row.session_id.to_owned(),
        kind: row.subagent_type.map(str::to_owned),
        responses: row.responses,
        usd: row.cost_usd,
    };
    Ok((0..rows.num_rows()).map(|row| subagent(columns.row(row))).collect())
}

/// Reads the session that a person started next in the project.
fn next(runner: &mut Runner<'_>, session: &KnownSession, rows: &RecordBatch, ids: &SessionIds) -> Result<Option<Next>> {
    let (Some(project), Some(started_at)) = (&session.project, SessionColumns::named(rows).started_at(0)) else {
        return Ok(None);
    };
    let sql = "select session_id, started_at, title from sessions where machine = $machine and month >= $month \
               and project = $project and kind = 'session' and not is_subagent and started_at > $started_at \
               order by started_at, session_id limit 1";
    let mut parameters = own(session, "", "").parameters;
    parameters.retain(|(name, _)| name == "machine" || name == "month");
    parameters.push(("project".to_owned(), ScalarValue::Utf8(Some(project.clone()))));
    let moment = ScalarValue::TimestampMicrosecond(Some(started_at), Some("UTC".into()));
    parameters.push(("started_at".to_owned(), moment));
    let rows = runner.rows(&Statement { sql: sql.to_owned(), parameters })?;
    let columns = SessionColumns::named(&rows);
    Ok((rows.num_rows() > 0).then(|| Next {
        short: ids.short(columns.session_id(0)),
        started_at: columns.started_at(0),
        title: columns.title(0).map(str::to_owned),
    }))
}

/// Returns the findings in the session: those of the whole lake if they are kept, or else what the detectors find in the records
/// of the session, its subagents and its parents.
fn findings(settings: &Settings, lake: &AnyLake, session: &KnownSession, ids: &SessionIds) -> Result<RecordBatch> {
    let library = Library::load(settings.query_folders())?;
    let all = detect::bind(settings, &[], &library.default_detectors().collect::<Vec<_>>())?;
    let narrow: Vec<Detector> = all.iter().filter(|detector| !WIDE.contains(&&*detector.name)).cloned().collect();
    let place = |known: &KnownSession| (known.machine.clone(), known.agent.clone(), known.root_session_id.clone());
    let others = ids.all().iter().filter(|known| place(known) == place(session) && *known != session);
    let family: Vec<KnownSession> = std::iter::once(session).chain(others.take(FAMILY)).cloned().collect();
    let detectors = match are_findings_kept(lake, settings.clock.zone, &all) {
        true => Detectors::These(&all),
        false => Detectors::OfSession(&narrow, &family),
    };
    let mut runner = Runner::silent(settings, lake, detectors)?;
    let sql = format!(
        "select * from findings where machine = $machine and agent = $agent and session_id = $session \
         and detector not in ('{}') order by first_seq nulls first, wasted_cost_usd desc nulls last, detector",
        WIDE.join("', '")
    );
    let mut parameters = own(session, "", "").parameters;
    parameters.retain(|(name, _)| name != "month");
    runner.rows(&Statement { sql, parameters })
}

/// Returns the first and the last position of a session.
pub(super) fn range(runner: &mut Runner<'_>, session: &KnownSession) -> Result<Option<(i64, i64)>> {
    ["messages", "tool_calls"].into_iter().try_fold(None, |range, table| {
        let select = format!("select min(seq) as first, max(seq) as last from {table} where");
        Ok(widened(range, &runner.rows(&own(session, &select, ""))?))
    })
}

/// Fails if a position is not in the session.
pub(super) fn check_place(range: Option<(i64, i64)>, place: i64) -> Result<()> {
    match range {
        Some((first, last)) if (first..=last).contains(&place) => Ok(()),
        Some((first, last)) => {
            Err(Error::Usage(format!("the session has no position {place} (--at); it has {first} to {last}")))
        }
        None => Err(Error::Usage("the session has no messages, so --at names nothing".to_owned())),
    }
}
