//! Keys under which sources of one task tell what others give way to.

use crate::extract::{Kind, key};

fn presence(agent: &str, what: &str, session: &str) -> u64 {
    key(agent, Kind::Presence, &format!("{what}:{session}"))
}

/// That the model's history of a task is there, so that its messages need not be made of what the person saw.
pub(super) fn history(agent: &str, task: &str) -> u64 {
    presence(agent, "history", task)
}

/// That requests of a task told their tokens, so that neither totals of it nor what its replies tell are needed.
pub(super) fn requests(agent: &str, task: &str) -> u64 {
    presence(agent, "requests", task)
}

/// That the rows which the person saw of a task are there, so that what they cost is told by them or not at all.
pub(super) fn shown(agent: &str, task: &str) -> u64 {
    presence(agent, "shown", task)
}

/// That a task lies in a folder of its own, so that an SDK session's copy of it is not needed.
pub(super) fn folder(agent: &str, task: &str) -> u64 {
    presence(agent, "folder", task)
}

/// That subagents of a session have files of their own that tell their tokens.
pub(super) fn subagents(agent: &str, session: &str) -> u64 {
    presence(agent, "subagents", session)
}

/// That requests of a task were removed and summed up, for the n-th time.
pub(super) fn removal(agent: &str, task: &str, number: usize) -> u64 {
    key(agent, Kind::Presence, &format!("removal:{task}:{number}"))
}
