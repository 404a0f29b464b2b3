//! The source of a thread: the agent or the program that started it.

use super::record::{Meta, Spawn, Subagent, ThreadSource};

/// Returns the source of a thread, if it is not a plain word.
pub(super) fn source_of<'m>(meta: &Meta<'m>) -> Option<ThreadSource<'m>> {
    serde_json::from_str(meta.source.json()?).ok()
}

/// Returns the spawner of a thread, if it was spawned.
pub(super) fn spawn_of<'m>(meta: &Meta<'m>) -> Option<Spawn<'m>> {
    let json = source_of(meta)?.subagent.json()?;
    serde_json::from_str::<Subagent<'m>>(json).ok()?.spawn.0
}

/// Returns the kind of a subagent's thread.
pub(super) fn subagent_of(meta: &Meta<'_>) -> Option<String> {
    let json = source_of(meta)?.subagent.json()?;
    if json.starts_with('"') {
        return serde_json::from_str(json).ok();
    }
    let subagent: Subagent<'_> = serde_json::from_str(json).ok()?;
    subagent.other.owned().or(Some("thread_spawn".to_owned()))
}
