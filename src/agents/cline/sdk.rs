//! Sessions of Cline's SDK: `sessions/<session>/*.messages.json`, one file for each agent.

use super::dialect::Dialect;
use super::history::{Form, History};
use super::items;
use super::keys;
use super::record::{Manifest, Message};
use super::rows::Rows;
use super::survey::{Session, Survey};
use super::timeline::moment;
use super::tools::Writer;
use crate::extract::{Facts, Reject, Sink, session_key};
use crate::source::{Source, repair};
use crate::tables::SessionKind;

/// Returns the session that a path names, and the agent within it if it is not the lead.
pub(super) fn names_of(source: &Source<'_>) -> (String, Option<String>) {
    let folder = source.path.parent().and_then(|folder| folder.file_name()?.to_str()).unwrap_or_default();
    let stem = source.stem().strip_suffix(".messages").unwrap_or(source.stem());
    let agent = (stem != folder).then(|| stem.strip_prefix(&format!("{folder}__")).unwrap_or(stem).to_owned());
    (folder.to_owned(), agent)
}

/// Reads one agent's messages.
pub(super) fn extract(dialect: &'static Dialect, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let (root, agent) = names_of(source);
    let session = match &agent {
        Some(agent) => format!("{root}__{agent}"),
        None => root.clone(),
    };
    let mut survey = Survey::default();
    let tally = items::read::<Message<'static>>(source, "messages", &mut |message, _| {
        survey.take(message);
        Ok(())
    })?;
    survey.end_run();
    tally.report(out);
    if !survey.has_messages {
        out.discard_session();
        return Ok(());
    }
    let bytes = source.path.parent().and_then(|folder| source.sidecar(&folder.join(format!("{root}.json"))));
    let text = bytes.as_deref().map(repair).unwrap_or_default();
    let manifest: Manifest<'_> = serde_json::from_str(&text).unwrap_or_default();
    let metadata = manifest.metadata.0.as_ref();
    let went_on = metadata.and_then(|metadata| metadata.went_on.json()).is_some_and(|value| value != "false");
    let known = Session {
        survey: &survey,
        is_torn_copy: !tally.is_whole && went_on,
        model: manifest.model.owned().filter(|_| agent.is_none()),
        provider: manifest.provider.owned().filter(|_| agent.is_none()),
    };
    let folder = manifest.cwd.owned().or(manifest.workspace.owned());
    let mut rows = Rows::new(out, dialect, session.clone());
    rows.writer = Writer::Sdk;
    rows.thread.cwd.clone_from(&folder);
    let mut history = History::new(&mut rows, Form::Session(known), None);
    items::read::<Message<'static>>(&mut source.again(), "messages", &mut |message, _| history.take(message))?;
    history.finish()?;
    let (begun, folder) = (rows.thread.facts.first_moment, folder.or(rows.thread.cwd.take()));
    if survey.has_numbers && agent.is_some() {
        out.claim(keys::subagents(dialect.agent, &root), false);
    }
    out.claim(session_key(dialect.agent, &session), false);
    let title = metadata.and_then(|metadata| metadata.title.owned());
    let parent = agent.as_ref().map(|_| root.clone()).or_else(|| manifest.parent.owned());
    let started = manifest.started.0.filter(|_| agent.is_none());
    out.end_session(Facts {
        session_id: session,
        kind: if parent.is_some() { SessionKind::Subagent } else { SessionKind::Session },
        agent_version: manifest.version.owned(),
        project_path: folder,
        title: title.filter(|_| agent.is_none()),
        is_subagent: parent.is_some(),
        parent_session_id: parent,
        first_moment: begun.into_iter().chain(started).min().or_else(|| named_moment(&root)),
        ..Facts::default()
    })
}

/// Returns the time in a session's name, plus a microsecond, so that a task of that name precedes it. Microseconds
/// since 1970.
fn named_moment(session: &str) -> Option<i64> {
    moment(session.get(..13)?.parse().ok()?).map(|moment| moment + 1)
}
