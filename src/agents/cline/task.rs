//! One task's folder: messages sent to the model, rows shown to the person, and the files next to them.

use std::path::Path;

use super::billing::Billing;
use super::chatter::Chatter;
use super::companion::{Companion, METADATA};
use super::dialect::Dialect;
use super::history::{Form, History};
use super::items;
use super::keys;
use super::record::{Message, Shown};
use super::rows::Rows;
use super::timeline::Timeline;
use crate::agents::kit::facts::keep_earlier;
use crate::extract::{Facts, Kind, Reject, Sink};
use crate::source::Source;
use crate::tables::{SessionKind, UsageGrain, UsageRow};

/// File of messages sent to the model.
pub(super) const HISTORY: &str = "api_conversation_history.json";
/// File of rows shown to the person; the second name is that of 2024.
pub(super) const SHOWN: [&str; 2] = ["ui_messages.json", "claude_messages.json"];

/// Reads the task whose folder the source's file is in.
pub(super) fn extract(dialect: &'static Dialect, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let folder = source.path.parent().unwrap_or(Path::new(""));
    let name = source.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let companion = if name == METADATA { metadata_alone(source, out)? } else { Companion::of(source, folder)? };
    let named = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let task = companion.totals.as_ref().and_then(|totals| totals.task.clone()).unwrap_or_else(|| named.to_owned());
    let timeline = if SHOWN.contains(&name) { Some(Timeline::read(source, out)?) } else { None };
    let mut rows = Rows::new(out, dialect, task.clone());
    let begun = timeline.as_ref().and_then(|timeline| timeline.begun);
    rows.thread.facts.first_moment = begun;
    rows.thread.cwd = timeline.as_ref().and_then(|timeline| timeline.folder.clone());
    let has_history = if name == METADATA {
        false
    } else {
        read_history(dialect, source, folder, timeline.as_ref(), &companion, &mut rows)?
    };
    if let Some(timeline) = timeline.as_ref().filter(|_| !has_history) {
        let billing = Billing::new(dialect, &companion, timeline);
        let mut chatter = Chatter::new(&mut rows, billing, timeline);
        items::read::<Shown<'static>>(&mut source.again(), "", &mut |shown, place| chatter.take(shown, place))?;
        chatter.finish()?;
    }
    // A torn file may have had more.
    let is_billed = timeline.as_ref().is_some_and(|timeline| timeline.has_tokens() || !timeline.tally.is_whole);
    if !is_billed && !rows.has_own_bills {
        sum_up(dialect, &companion, timeline.is_none(), &mut rows)?;
    }
    if timeline.is_some() && rows.thread.has_rows {
        rows.out.claim(keys::shown(dialect.agent, &task), false);
    }
    end(dialect, &task, &companion, rows)
}

/// Reads the messages sent to the model. Returns false if there are none.
fn read_history(
    dialect: &'static Dialect,
    source: &mut Source<'_>,
    folder: &Path,
    timeline: Option<&Timeline>,
    companion: &Companion,
    rows: &mut Rows<'_, '_>,
) -> Result<bool, Reject> {
    let path = folder.join(HISTORY);
    let mut beside = if timeline.is_some() { source.beside(&path) } else { Some(source.again()) };
    let Some(source) = &mut beside else { return Ok(false) };
    let mut has_history = false;
    let billing = timeline.map(|timeline| Billing::new(dialect, companion, timeline));
    let mut history = History::new(rows, Form::Task(billing), Some(companion));
    let tally = items::read::<Message<'static>>(source, "", &mut |message, _| {
        has_history = true;
        history.take(message)
    })?;
    if has_history {
        history.finish()?;
        rows.out.claim(keys::history(dialect.agent, rows.thread.id()), false);
    }
    tally.report(rows.out);
    Ok(has_history)
}

/// Reads a folder that holds nothing but metadata.
fn metadata_alone(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<Companion, Reject> {
    let mut companion = Companion::default();
    let bytes = source.document()?.unwrap_or_default();
    if bytes.is_empty() {
        return Ok(companion);
    }
    out.line();
    match serde_json::from_str(&crate::source::repair(&bytes)) {
        Ok(metadata) => companion.take(&metadata),
        Err(error) => out.problem(1, &format!("metadata that cannot be read: {error}")),
    }
    Ok(companion)
}

/// Emits the totals of a task whose requests have no token counts. `are_alone`: the shown rows are missing.
fn sum_up(
    dialect: &'static Dialect,
    companion: &Companion,
    are_alone: bool,
    rows: &mut Rows<'_, '_>,
) -> Result<(), Reject> {
    let Some(totals) = &companion.totals else { return Ok(()) };
    keep_earlier(&mut rows.thread.facts.first_moment, totals.started);
    if totals.input.is_none() && totals.output.is_none() && totals.cost.is_none() {
        return Ok(());
    }
    let id = format!("{}:{}", rows.thread.id(), if are_alone { "metadata" } else { "total" });
    let row = UsageRow {
        response_id: &id,
        timestamp: totals.ended.or(totals.started),
        model: totals.model.as_deref(),
        input_tokens: totals.input,
        output_tokens: totals.output,
        cost_usd: totals.cost,
        grain: UsageGrain::Session,
        ..UsageRow::default()
    };
    rows.bill(row, None, false)?;
    let finer = if are_alone { keys::shown } else { keys::requests };
    let finer = finer(dialect.agent, rows.thread.id());
    rows.out.yields_to(Kind::Response, &id, finer, None);
    Ok(())
}

fn end(dialect: &'static Dialect, task: &str, companion: &Companion, rows: Rows<'_, '_>) -> Result<(), Reject> {
    let Rows { out, mut thread, .. } = rows;
    if thread.has_rows {
        out.claim(keys::folder(dialect.agent, task), false);
    }
    let item = companion.item.as_ref();
    let parent = item.and_then(|item| item.parent.clone());
    let root = item.and_then(|item| item.root.clone()).or_else(|| parent.clone());
    thread.facts = Facts {
        session_id: task.to_owned(),
        kind: if parent.is_some() { SessionKind::Subagent } else { SessionKind::Session },
        agent_version: companion.version().map(str::to_owned),
        project_path: item.and_then(|item| item.folder.clone()).or(thread.cwd.take()),
        title: item.and_then(|item| item.title.clone()),
        summary: item.and_then(|item| item.summary.clone()),
        is_subagent: parent.is_some(),
        subagent_type: item.and_then(|item| item.mode.clone()).filter(|_| parent.is_some()),
        root_session_id: root.filter(|_| parent.is_some()),
        parent_session_id: parent,
        first_moment: thread.facts.first_moment,
        ..Facts::default()
    };
    thread.finish(out)
}
