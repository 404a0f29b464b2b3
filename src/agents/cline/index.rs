//! `state/taskHistory.json`, `tasks/_index.json`: a line for each task. If a task's folder is gone, nothing else is
//! known of the task. Otherwise the line names its project and model, unless a source nearer to the task does.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use super::dialect::Dialect;
use super::items;
use super::record::HistoryItem;
use super::rows::Rows;
use super::split::{Circumstances, RecordedInput};
use crate::extract::{Facts, KeySet, Kind, NoteField, Reject, Sink, session_key};
use crate::source::Source;
use crate::tables::{MessageKind, MessageRow, Role, SessionKind, UsageGrain, UsageRow};

/// Reads the tasks of an index. Only the first entry of a task counts, and none if the task has a folder of its own.
pub(super) fn extract(dialect: &'static Dialect, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let mut seen = KeySet::default();
    let tally = items::read::<HistoryItem<'static>>(source, "entries", &mut |item, _| match item.id.get() {
        Some(task) if seen.insert(session_key(dialect.agent, task)) => push(dialect, task, item, out),
        _ => Ok(()),
    })?;
    tally.report(out);
    Ok(())
}

/// Returns the model of each task for which the index names one. Reads the index once for all tasks of a folder.
pub(super) fn models(source: &Source<'_>, index: &Path) -> Result<Arc<HashMap<String, String>>, Reject> {
    source.survey_of(index, || {
        let mut models = HashMap::new();
        if let Some(mut index) = source.beside(index) {
            items::read::<HistoryItem<'static>>(&mut index, "entries", &mut |item, _| {
                let named = item.id.get().zip(item.model.get());
                models.extend(named.map(|(task, model)| (task.to_owned(), model.to_owned())));
                Ok(())
            })?;
        }
        Ok(models)
    })
}

fn push(dialect: &'static Dialect, task: &str, item: &HistoryItem<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    out.turn_to(task);
    let session = session_key(dialect.agent, task);
    let folder = item.cwd.get().or(item.workspace.get());
    if let Some(folder) = folder {
        out.note(NoteField::ProjectPath, session, 0, folder);
    }
    // If a task's name is a number, it is the task's start time.
    let begun = task.parse().ok().filter(|_| task.len() == 13).and_then(super::timeline::moment).or(item.at.0);
    let id = format!("{task}:index");
    if let Some(text) = item.task.get() {
        let row = MessageRow {
            session_id: task,
            message_id: &id,
            turn: Some(1),
            timestamp: begun,
            role: Role::User,
            kind: MessageKind::Prompt,
            text: Some(text),
            cwd: folder,
            ..MessageRow::default()
        };
        out.message(row, true)?;
        out.yields_to(Kind::Message, &id, session, None);
    }
    push_sum(dialect, task, &id, item, begun, out)?;
    let parent = item.parent.owned();
    out.end_session(Facts {
        session_id: task.to_owned(),
        kind: SessionKind::Prompts,
        project_path: folder.map(str::to_owned),
        summary: item.summary.owned(),
        is_subagent: parent.is_some(),
        root_session_id: item.root.owned().filter(|_| parent.is_some()),
        parent_session_id: parent,
        first_moment: begun,
        ..Facts::default()
    })
}

/// Adds the usage and cost of a task, if its line records them.
fn push_sum(
    dialect: &'static Dialect,
    task: &str,
    id: &str,
    item: &HistoryItem<'_>,
    begun: Option<i64>,
    out: &mut Sink<'_>,
) -> Result<(), Reject> {
    let recorded =
        RecordedInput { input: item.input.0, cache_read: item.cache_read.0, cache_write: item.cache_write.0 };
    let output = item.output.0;
    let cost = item.cost.0.filter(|cost| *cost >= 0.0);
    let tokens = [recorded.input, output, recorded.cache_read, recorded.cache_write];
    if tokens.into_iter().flatten().all(|tokens| tokens <= 0) && cost.is_none_or(|cost| cost <= 0.0) {
        return Ok(());
    }
    let ended = item.at.0.or(begun);
    // A sum may include requests from before and after the meaning of `tokensIn` changed.
    let is_partial = [begun, ended].into_iter().any(|at| recorded.is_guess(dialect, &made_at(at)));
    let mut rows = Rows::new(out, dialect, task.to_owned());
    let row = UsageRow {
        response_id: id,
        timestamp: ended,
        model: item.model.get(),
        grain: UsageGrain::Session,
        is_partial,
        ..recorded.split(dialect, &made_at(ended)).row(output, cost)
    };
    rows.bill(row, None, true)?;
    rows.out.yields_to(Kind::Response, id, session_key(dialect.agent, task), None);
    Ok(())
}

/// Returns the circumstances of an index's sum, of which only the time is known.
fn made_at(moment: Option<i64>) -> Circumstances<'static> {
    Circumstances { at: moment.unwrap_or_default().div_euclid(1000), ..Circumstances::default() }
}
