//! Keys that sources of one task claim to supersede rows of its other sources.

use crate::extract::{Kind, key};

fn presence(agent: &str, what: &str, session: &str) -> u64 {
    key(agent, Kind::Presence, &format!("{what}:{session}"))
}

/// Key of the fact that a task has the model's history, so that its messages need not be made from the shown rows.
pub(super) fn history(agent: &str, task: &str) -> u64 {
    presence(agent, "history", task)
}

/// Key of the fact that requests of a task have token counts, so that neither its totals nor its replies' counts are
/// needed.
pub(super) fn requests(agent: &str, task: &str) -> u64 {
    presence(agent, "requests", task)
}

/// Key of the fact that a task has the rows which the person saw, so that only these can record costs.
pub(super) fn shown(agent: &str, task: &str) -> u64 {
    presence(agent, "shown", task)
}

/// Key of the fact that a task has a folder of its own, so that an SDK session's copy of it is not needed.
pub(super) fn folder(agent: &str, task: &str) -> u64 {
    presence(agent, "folder", task)
}

/// Key of the fact that subagents of a session have files of their own with token counts.
pub(super) fn subagents(agent: &str, session: &str) -> u64 {
    presence(agent, "subagents", session)
}

/// Key of the fact that a row of its own says that a reply was interrupted.
pub(super) fn interruption(agent: &str, message: &str) -> u64 {
    presence(agent, "interruption", message)
}

/// Key of the fact that requests of a task were removed and summed up for the n-th time.
pub(super) fn removal(agent: &str, task: &str, number: usize) -> u64 {
    key(agent, Kind::Presence, &format!("removal:{task}:{number}"))
}
