//! `sessions.json`: the list of an agent's sessions. Its token counts are of the last run, and never read.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::family::{Family, Member};
use super::names::session_of;
use crate::extract::Reject;
use crate::source::records::{Flag, Object, Text, record};
use crate::source::{Source, repair};

record! {
    /// A session in the list, or in a row of the database.
    Listed<'a> {
        session: Text<'a> = "sessionId",
        file: Text<'a> = "sessionFile",
        label: Text<'a> = "label",
        display_name: Text<'a> = "displayName",
        spawned_by: Text<'a> = "spawnedBy",
        parent_key: Text<'a> = "parentSessionKey",
        is_fork: Flag = "forkedFromParent",
        role: Text<'a> = "subagentRole",
        bindings: Object<Bindings<'a>> = "cliSessionBindings",
        cli_sessions: Object<CliSessions<'a>> = "cliSessionIds",
        claude_session: Text<'a> = "claudeCliSessionId",
    }

    /// Sessions that other agents' programs have for one of OpenClaw's.
    Bindings<'a> {
        claude: Object<Binding<'a>> = "claude-cli",
        codex: Object<Binding<'a>> = "codex-cli",
    }

    /// One of them.
    Binding<'a> { session: Text<'a> = "sessionId" }

    /// The same in an older form.
    CliSessions<'a> { claude: Text<'a> = "claude-cli", codex: Text<'a> = "codex-cli" }
}

impl Listed<'_> {
    pub(super) fn member(&self, key: &str) -> Member {
        let thread = self.file.get().map(|file| session_of(Path::new(file))).filter(|(_, is_thread)| *is_thread);
        Member {
            key: key.to_owned(),
            session_id: thread.map_or_else(|| self.session.owned().unwrap_or_default(), |(id, _)| id.to_owned()),
            began: None,
            title: self.label.owned().or_else(|| self.display_name.owned()),
            role: self.role.owned(),
            spawned_by: self.spawned_by.owned(),
            parent_key: self.parent_key.owned(),
            is_fork_of_parent: self.is_fork.0,
            forked_from: None,
            programs: self.programs().collect(),
        }
    }

    fn programs(&self) -> impl Iterator<Item = (&'static str, String)> {
        fn bound<'b>(binding: Option<&'b Object<Binding<'_>>>) -> Option<&'b str> {
            binding?.0.as_ref()?.session.get()
        }
        let (bindings, ids) = (self.bindings.0.as_ref(), self.cli_sessions.0.as_ref());
        let claude = bound(bindings.map(|bindings| &bindings.claude)).or(ids.and_then(|ids| ids.claude.get()));
        let codex = bound(bindings.map(|bindings| &bindings.codex)).or(ids.and_then(|ids| ids.codex.get()));
        let of_programs = [("claude-cli", claude.or(self.claude_session.get())), ("codex-cli", codex)];
        of_programs.into_iter().filter_map(|(program, session)| Some((program, session?.to_owned())))
    }
}

/// The list next to a transcript, which all transcripts there share; an empty one if there is none.
pub(super) fn beside(source: &Source<'_>) -> Result<Arc<Family>, Reject> {
    let path = source.path.with_file_name("sessions.json");
    source.survey_of(&path, || Ok(read(&source.sidecar(&path).unwrap_or_default())))
}

fn read(bytes: &[u8]) -> Family {
    let text = repair(bytes);
    let listed: BTreeMap<String, Object<Listed<'_>>> = serde_json::from_str(&text).unwrap_or_default();
    let members = listed.iter().filter_map(|(key, listed)| Some(listed.0.as_ref()?.member(key)));
    Family::of(members.filter(|member| !member.session_id.is_empty()).collect())
}
