//! Rows of `sessions`. They are computed last, after all sources were read.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use arrow::array::RecordBatch;

use super::Shared;
use super::group::{NewPart, SessionOut};
use super::notes::SessionNotes;
use super::rebuild::Rebuilt;
use super::totals::Totals;
use crate::error::Result;
use crate::extract::Facts;
use crate::lake::layout::{Layout, PartName};
use crate::lake::manifest::SessionEntry;
use crate::lake::part::{self, PartWriter};
use crate::tables::{SESSIONS, SessionColumns, SessionKind, SessionRow, Sessions};

/// Notes of other sources, by agent and session.
pub(super) type AllNotes = BTreeMap<(String, String), SessionNotes>;

/// Completes the sessions' file of a part. Returns the part with the file, and the sessions' entries for the manifest.
pub(super) fn write(shared: &Shared<'_>, mut part: NewPart, notes: &AllNotes) -> Result<(NewPart, Vec<SessionEntry>)> {
    let notes_of = |id: &str| notes.get(&(part.name.agent.clone(), id.to_owned()));
    if part.sessions.iter().all(|session| session.is_new && notes_of(&session.entry.id).is_none()) {
        let entries = std::mem::take(&mut part.sessions).into_iter().map(|session| session.entry).collect();
        return Ok((part, entries));
    }
    let (mut old, mut new) = (SessionRows::new(), SessionRows::new());
    if part.sessions.iter().any(|session| !session.is_new) {
        old = old_rows(shared, &part.name)?;
    }
    if let [Some(staged), ..] = &part.files {
        add_all_rows(&mut new, &staged.path)?;
    }
    let mut rows = Sessions::default();
    let mut entries = Vec::new();
    for SessionOut { entry, is_new } in std::mem::take(&mut part.sessions) {
        let notes = notes_of(&entry.id);
        let made = if is_new { &new } else { &old };
        if let Some((batch, row)) = made.get(&*entry.id) {
            rows.push(with_notes(SessionColumns::of(batch).row(*row), &entry, notes));
        }
        let notes = notes.map_or(0, SessionNotes::hash);
        entries.push(SessionEntry { notes, ..entry });
    }
    let mut writer = PartWriter::new(&shared.run.layout.staging(), &shared.stage_name(), &shared.syncer);
    writer.write(0, &rows.finish()?)?;
    let ([of_sessions, ..], [staged, ..]) = (&mut part.files, writer.finish()?);
    *of_sessions = staged;
    Ok((part, entries))
}

/// Adds notes of other sources to the row of a session. A title of its own source stays; a title that comes from a
/// prompt is replaced.
fn with_notes<'r>(row: SessionRow<'r>, entry: &SessionEntry, notes: Option<&'r SessionNotes>) -> SessionRow<'r> {
    let Some(notes) = notes else { return row };
    if notes.hash() == entry.notes {
        return row;
    }
    let title = notes.title.as_deref().or(notes.summary.as_deref()).filter(|_| !entry.marks.has_title()).or(row.title);
    let summary = notes.summary.as_deref().or(row.summary);
    let subagent_type = row.subagent_type.or(notes.subagent_type.as_deref());
    let project_path = row.project_path.or(notes.project_path.as_deref());
    let user_name = row.user_name.or(project_path.and_then(user_of));
    let project = row.project.or(project_path.and_then(project_of));
    let is_spawned = row.parent_session_id.is_none() && notes.parent_session_id.is_some();
    let noted_parent = notes.parent_session_id.as_deref().filter(|_| !entry.marks.has_parent());
    let noted_root = notes.root_session_id.as_deref().filter(|_| !entry.marks.has_root());
    SessionRow {
        kind: kind_of(row.kind, is_spawned),
        title,
        summary,
        user_name,
        project,
        project_path,
        parent_session_id: noted_parent.or(row.parent_session_id),
        root_session_id: noted_root.unwrap_or(row.root_session_id),
        forked_from_session_id: row.forked_from_session_id.filter(|_| !is_spawned),
        is_subagent: row.is_subagent || is_spawned,
        subagent_type,
        ..row
    }
}

/// Returns the `kind` of a session. `is_spawned` is true if only other sources say that another session started
/// it.
fn kind_of(kind: SessionKind, is_spawned: bool) -> SessionKind {
    if is_spawned && kind == SessionKind::Session { SessionKind::Subagent } else { kind }
}

/// Returns the row of a rebuilt session, without notes of other sources.
pub(super) fn row<'r>(
    entry: &'r SessionEntry,
    known: &'r Known,
    totals: &'r Totals,
    active_ms: i64,
    file: &'r str,
) -> SessionRow<'r> {
    let facts = &known.facts;
    let project_path = facts.project_path.as_deref();
    let title = facts.title.as_deref().or(facts.summary.as_deref()).or(totals.first_prompt());
    let origin = facts.forked_from_session_id.as_deref().or(known.origin.as_deref());
    SessionRow {
        session_id: &entry.id,
        kind: facts.kind,
        agent_version: facts.agent_version.as_deref(),
        entrypoint: facts.entrypoint.as_deref(),
        user_name: project_path.and_then(user_of).or(known.user_name.as_deref()),
        project: facts.git_repo.as_deref().and_then(last_part).or(project_path.and_then(project_of)),
        project_path,
        git_branch: facts.git_branch.as_deref(),
        git_commit: facts.git_commit.as_deref(),
        git_repo: facts.git_repo.as_deref(),
        title,
        summary: facts.summary.as_deref(),
        parent_session_id: facts.parent_session_id.as_deref(),
        root_session_id: facts.root_session_id.as_deref().unwrap_or(&entry.id),
        forked_from_session_id: origin.filter(|_| !facts.is_subagent),
        is_subagent: facts.is_subagent,
        subagent_type: facts.subagent_type.as_deref(),
        started_at: totals.started_at,
        ended_at: totals.ended_at,
        active_ms,
        models: totals.models.iter().map(String::as_str).collect(),
        turns: totals.turns,
        prompts: totals.prompts,
        messages: totals.messages,
        responses: totals.responses,
        tool_calls: totals.tool_calls,
        tool_errors: totals.tool_errors,
        tool_rejections: totals.tool_rejections,
        commits: totals.commits,
        pull_requests: totals.pull_requests.as_ref().map(|urls| urls.iter().map(String::as_str).collect()),
        lines_added: totals.lines_added,
        lines_removed: totals.lines_removed,
        api_errors: totals.api_errors,
        compactions: totals.compactions,
        aborts: totals.aborts,
        input_tokens: totals.input,
        cache_read_tokens: totals.cache_read,
        cache_write_tokens: totals.cache_write,
        output_tokens: totals.output,
        reasoning_tokens: totals.reasoning,
        total_tokens: totals.total,
        cost_usd: totals.cost_usd,
        source_path: file,
    }
}

type SessionRows = BTreeMap<String, (RecordBatch, usize)>;

fn old_rows(shared: &Shared<'_>, name: &PartName) -> Result<SessionRows> {
    let mut rows = SessionRows::new();
    let Some(part) = shared.manifest.parts.get(name) else { return Ok(rows) };
    if part.files.first().is_none_or(Option::is_none) {
        return Ok(rows);
    }
    add_all_rows(&mut rows, &shared.run.layout.root().join(Layout::part(&SESSIONS, &shared.manifest.machine, name)))?;
    Ok(rows)
}

fn add_all_rows(rows: &mut SessionRows, file: &Path) -> Result<()> {
    for batch in part::read(file, &SESSIONS)? {
        let batch = batch?;
        let sessions = SessionColumns::of(&batch);
        rows.extend((0..batch.num_rows()).map(|row| (sessions.session_id(row).to_owned(), (batch.clone(), row))));
    }
    Ok(())
}

/// Rows of `sessions` of an earlier run. Each part is read on first use.
pub(super) struct KnownSessions<'s> {
    shared: &'s Shared<'s>,
    parts: BTreeMap<PartName, HashMap<&'s str, (RecordBatch, usize, &'s SessionEntry)>>,
}

/// A session's facts in the lake.
#[derive(Default)]
pub(super) struct Known {
    pub(super) facts: Facts,
    /// True if its own source gave the summary.
    pub(super) is_own_summary: bool,
    /// The user, which an earlier folder of the project may have named.
    pub(super) user_name: Option<String>,
    /// The session whose history was copied, if its own source did not name it.
    pub(super) origin: Option<String>,
}

impl<'s> KnownSessions<'s> {
    pub(super) fn new(shared: &'s Shared<'s>) -> Self {
        Self { shared, parts: BTreeMap::new() }
    }

    /// Returns what the lake knows of a session; defaults for an unknown one.
    pub(super) fn facts(&mut self, session: &Rebuilt) -> Result<Known> {
        let nothing = Facts { session_id: session.id.to_string(), ..Facts::default() };
        let unknown = Known { facts: nothing, ..Known::default() };
        let Some(name) = &session.old_part else { return Ok(unknown) };
        if !self.parts.contains_key(name) {
            let mut rows = old_rows(self.shared, name)?;
            let entries = self.shared.manifest.parts.get(name).into_iter().flat_map(|part| &part.sessions);
            let known = entries.filter_map(|entry| {
                let (batch, row) = rows.remove(&*entry.id)?;
                Some((&*entry.id, (batch, row, entry)))
            });
            self.parts.insert(name.clone(), known.collect());
        }
        let known = self.parts.get(name).and_then(|sessions| sessions.get(&*session.id));
        let Some((batch, row, entry)) = known else { return Ok(unknown) };
        let row = SessionColumns::of(batch).row(*row);
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let (named, origin) = match entry.marks.has_origin() {
            true => (owned(row.forked_from_session_id), None),
            false => (None, owned(row.forked_from_session_id)),
        };
        let facts = Facts {
            kind: row.kind,
            is_one_when_empty: entry.marks.is_one_when_empty(),
            agent_version: owned(row.agent_version),
            entrypoint: owned(row.entrypoint),
            project_path: owned(row.project_path.filter(|_| entry.project_hash.is_none())),
            project_hash: entry.project_hash.clone(),
            git_branch: owned(row.git_branch),
            git_commit: owned(row.git_commit),
            git_repo: owned(row.git_repo),
            title: owned(row.title.filter(|_| entry.marks.has_title())),
            summary: owned(row.summary),
            parent_session_id: owned(row.parent_session_id),
            root_session_id: Some(row.root_session_id.to_owned()),
            forked_from_session_id: named,
            is_subagent: row.is_subagent,
            subagent_type: owned(row.subagent_type),
            ..unknown.facts
        };
        // A new source may name another folder than an earlier one did.
        let mut sources = session.members().map(|member| &member.replica.source);
        let has_no_new_source = sources.all(|source| entry.sources.contains(source));
        let user_name = owned(row.user_name.filter(|_| has_no_new_source));
        Ok(Known { facts, is_own_summary: entry.marks.has_summary(), user_name, origin })
    }
}

/// Splits a path of any operating system into its components.
fn parts_of(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split(['/', '\\']).filter(|part| !part.is_empty())
}

fn last_part(path: &str) -> Option<&str> {
    parts_of(path).next_back().map(|name| name.strip_suffix(".git").unwrap_or(name))
}

/// Returns the short name of the project in a folder. A worktree has the name of its repository, unless the worktrees are
/// in a home: `~/worktrees/app`, `~/.codex/worktrees/5a1c/app`.
fn project_of(path: &str) -> Option<&str> {
    let parts: Vec<&str> = parts_of(path).collect();
    let worktrees = parts.iter().position(|part| matches!(*part, ".worktrees" | "worktrees" | ".claude"));
    let repository = |place: usize| {
        let above = place.checked_sub(1)?;
        let name = *parts.get(above)?;
        let is_home = parts.iter().position(|part| user_of(path) == Some(*part)) == Some(above);
        // Some agents keep the worktrees of all repositories in their own folder.
        let is_of_agent = name.starts_with('.') && parts.get(place) == Some(&"worktrees");
        (!is_home && !is_of_agent).then_some(name)
    };
    worktrees.and_then(repository).or(parts.last().copied())
}

/// Returns the name of the user whose home contains a folder.
fn user_of(path: &str) -> Option<&str> {
    let mut parts = parts_of(path);
    let first = parts.next()?;
    let homes = if first.ends_with(':') { parts.next()? } else { first };
    match homes {
        "home" | "Users" => parts.next(),
        "root" => Some("root"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projects_and_users_of_paths() {
        for (path, project, user) in [
            ("/home/ana/api.v2", Some("api.v2"), Some("ana")),
            ("/Users/alex/workspace/cli/.worktrees/2", Some("cli"), Some("alex")),
            ("D:\\oh-my-posh", Some("oh-my-posh"), None),
            ("C:\\Users\\Bo\\x", Some("x"), Some("Bo")),
            ("/", None, None),
            ("/home/kim/worktrees/app", Some("app"), Some("kim")),
            ("/home/kim/.codex/worktrees/5a1c/app", Some("app"), Some("kim")),
            ("/home/kim/.claude", Some(".claude"), Some("kim")),
            ("/root/worktrees/app", Some("app"), Some("root")),
            ("/home/kim/kim/.worktrees/2", Some("kim"), Some("kim")),
            ("/home/kim/.dotfiles/.worktrees/2", Some(".dotfiles"), Some("kim")),
        ] {
            assert_eq!((project_of(path), user_of(path)), (project, user), "{path}");
        }
    }
}
