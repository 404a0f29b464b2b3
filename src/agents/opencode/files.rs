//! Sessions that are a file each, with a file for each message and part: all versions before 1.2.

use std::path::Path;

use super::ids::moment_of;
use super::places::{Folders, records};
use super::record::{self, Message, ProjectFile, SessionFile};
use super::rows::Known;
use super::transcript::Transcript;
use super::{SESSION, STRAY};
use crate::extract::{Reject, Sink};
use crate::source::Source;

/// Sessions between a session and the outermost that started it, at most.
const GENERATIONS: usize = 32;

/// Reads a session's files.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let Some(folders) = Folders::of(source.path, source.kind) else { return Ok(()) };
    let known = known(source, &folders, out)?;
    let mut transcript = Transcript::new(known, out);
    let mut messages: Vec<(Option<i64>, String, Option<Vec<u8>>)> = Vec::new();
    for (id, path) in records(&folders.messages) {
        let bytes = source.sidecar(&path);
        let created = bytes.as_deref().and_then(created).or_else(|| moment_of(&id));
        messages.push((created, id, bytes));
    }
    messages.sort_by(|(a, a_id, _), (b, b_id, _)| (a, a_id).cmp(&(b, b_id)));
    for (created, id, bytes) in &messages {
        match bytes {
            Some(bytes) => transcript.begin(id, *created, bytes)?,
            None => transcript.begin_lost(id, *created, UNREADABLE)?,
        }
        for (id, path) in records(&folders.parts.join(id)) {
            match source.sidecar(&path) {
                Some(bytes) => transcript.part(&id, &bytes)?,
                None => {
                    transcript.rows.record();
                    transcript.rows.problem(&id, UNREADABLE);
                }
            }
        }
    }
    transcript.finish()
}

const UNREADABLE: &str = "the file cannot be read, or is longer than 16 MiB";

/// When a message was written, by itself. Microseconds since 1970.
fn created(bytes: &[u8]) -> Option<i64> {
    record::read::<Message<'static>, _>(bytes, |read| {
        let message = read.ok()?;
        let first = message.metadata.0.as_ref().and_then(|metadata| metadata.time.0.as_ref());
        message.time.0.as_ref().or(first).and_then(|times| times.created.0)
    })
}

/// Returns the facts in the session's own file.
fn known(source: &mut Source<'_>, folders: &Folders, out: &mut Sink<'_>) -> Result<Known, Reject> {
    let id = folders.session.clone();
    if source.kind == STRAY {
        source.document()?;
        return Ok(Known { id, is_stray: true, ..Known::default() });
    }
    let bytes = source.document()?.unwrap_or_default();
    out.line();
    let read = record::read::<SessionFile<'static>, _>(&bytes, |read| {
        let file = read?;
        let text = |text: Option<&str>| text.map(str::to_owned);
        let project = file.project.get().filter(|_| source.kind == SESSION);
        let (worktree, is_git) = project.map(|project| worktree(source, folders, project)).unwrap_or_default();
        let reverted = file
            .revert
            .0
            .as_ref()
            .and_then(|revert| Some((revert.message.get()?.to_owned(), revert.part.get().is_some())));
        Ok(Known {
            id: id.clone(),
            version: text(file.version.get()),
            directory: text(file.directory.get()),
            worktree,
            is_git,
            title: text(file.title.get()),
            parent: text(file.parent.get()),
            root: file.parent.get().and_then(|parent| root(source, folders, parent)),
            forked_from: None,
            imported_from: None,
            moved_from: None,
            agent: text(file.agent.get()),
            is_stray: false,
            created: file.time.0.as_ref().and_then(|times| times.created.0),
            reverted,
        })
    });
    Ok(read.unwrap_or_else(|reason: String| {
        out.problem(1, &reason);
        Known { id, ..Known::default() }
    }))
}

/// The folder of a project, and whether it is a git repository.
fn worktree(source: &Source<'_>, folders: &Folders, project: &str) -> (Option<String>, bool) {
    let path = folders.projects.as_ref().filter(|_| is_name(project)).map(|all| all.join(format!("{project}.json")));
    let bytes = path.and_then(|path| source.sidecar(&path)).unwrap_or_default();
    record::read::<ProjectFile<'static>, _>(&bytes, |read| {
        let file = read.unwrap_or_default();
        (file.worktree.owned(), file.vcs.is("git"))
    })
}

/// The outermost session above a parent.
fn root(source: &Source<'_>, folders: &Folders, parent: &str) -> Option<String> {
    let sessions = folders.sessions.as_ref()?;
    let mut root = parent.to_owned();
    for _ in 0..GENERATIONS {
        let Some(bytes) = file_of(source, sessions, &root) else { break };
        let above =
            record::read::<SessionFile<'static>, _>(&bytes, |read| read.ok().and_then(|file| file.parent.owned()));
        let Some(above) = above else { break };
        root = above;
    }
    Some(root)
}

fn file_of(source: &Source<'_>, sessions: &Path, session: &str) -> Option<Vec<u8>> {
    if is_name(session) { source.sidecar(&sessions.join(format!("{session}.json"))) } else { None }
}

/// Returns true if a text can be a file's name: what a record says leads nowhere else.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}
