//! Notes of sources on other sessions: summaries, titles, kinds of subagents, parents.

use std::collections::{BTreeMap, HashMap, HashSet};

use xxhash_rust::xxh3::xxh3_64;

use crate::extract::{Note, NoteField};
use crate::identity::{KeyMap, KeySet};

/// Priority among notes of one field: the latest source wins, then the last note in it.
type Rank = (i64, i64, String);

/// All notes, by their subject.
#[derive(Default)]
pub(super) struct Notes {
    best: HashMap<(u64, NoteField), Rank>,
}

impl Notes {
    /// Adds the notes of a source. `modified` is its modification time.
    pub(super) fn add(&mut self, notes: &[Note], modified: i64) {
        for note in notes {
            let rank = (modified, note.rank, note.text.clone());
            let best = self.best.entry((note.key, note.field)).or_default();
            if rank > *best {
                *best = rank;
            }
        }
    }

    /// Returns the session of the subagent that a call started.
    pub(super) fn child_of(&self, call: u64) -> Option<&str> {
        self.best.get(&(call, NoteField::ChildSession)).map(|(.., text)| text.as_str())
    }

    /// Returns the keys that notes use to name sessions.
    pub(super) fn session_keys(&self) -> KeySet {
        self.best.keys().filter(|(_, field)| *field != NoteField::ChildSession).map(|(key, _)| *key).collect()
    }

    /// Returns the notes on each session, given the session of each key.
    pub(super) fn by_session(&self, sessions: &KeyMap<(String, String)>) -> BTreeMap<(String, String), SessionNotes> {
        let mut all: BTreeMap<(String, String), BTreeMap<NoteField, Rank>> = BTreeMap::new();
        for ((key, field), rank) in &self.best {
            let Some(session) = sessions.get(key) else { continue };
            let best = all.entry(session.clone()).or_default().entry(*field).or_default();
            if rank > best {
                *best = rank.clone();
            }
        }
        let text = |fields: &mut BTreeMap<NoteField, Rank>, field| fields.remove(&field).map(|(.., text)| text);
        let notes = all.into_iter().map(|(session, mut fields)| {
            let notes = SessionNotes {
                summary: text(&mut fields, NoteField::Summary),
                title: text(&mut fields, NoteField::Title),
                subagent_type: text(&mut fields, NoteField::SubagentType),
                project_path: text(&mut fields, NoteField::ProjectPath),
                parent_session_id: text(&mut fields, NoteField::Parent),
                root_session_id: text(&mut fields, NoteField::Root),
            };
            (session, notes)
        });
        let mut notes = notes.collect();
        lift_roots(&mut notes);
        notes
    }
}

/// Adds notes of an earlier reading that the source no longer has.
pub(super) fn with_earlier(mut notes: Vec<Note>, earlier: &[Note]) -> Vec<Note> {
    let said: HashSet<(u64, NoteField)> = notes.iter().map(|note| (note.key, note.field)).collect();
    notes.extend(earlier.iter().filter(|note| !said.contains(&(note.key, note.field))).cloned());
    notes
}

/// Most sessions between one and its root; more means a cycle.
const DEPTH: usize = 32;

/// Sets the roots. A session that names its child may not know its own parent. Without a root, the parent's counts.
fn lift_roots(notes: &mut BTreeMap<(String, String), SessionNotes>) {
    for said in notes.values_mut() {
        said.root_session_id = said.root_session_id.take().or_else(|| said.parent_session_id.clone());
    }
    let root_of = |(session, said): (&(String, String), &SessionNotes)| {
        said.root_session_id.clone().map(|root| (session.clone(), root))
    };
    let roots: BTreeMap<(String, String), String> = notes.iter().filter_map(root_of).collect();
    for ((agent, session), said) in notes {
        for _ in 0..DEPTH {
            let Some(root) = &said.root_session_id else { break };
            match roots.get(&(agent.clone(), root.clone())) {
                Some(above) if above != root && above != session => said.root_session_id = Some(above.clone()),
                _ => break,
            }
        }
    }
}

/// Notes of other sources on a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SessionNotes {
    pub(super) summary: Option<String>,
    pub(super) title: Option<String>,
    pub(super) subagent_type: Option<String>,
    /// Its project: as another source names it, or as other sessions call the path whose hash this session has.
    pub(super) project_path: Option<String>,
    /// Its parent.
    pub(super) parent_session_id: Option<String>,
    pub(super) root_session_id: Option<String>,
}

impl SessionNotes {
    /// Changes whenever the notes do; 0 for none.
    pub(super) fn hash(&self) -> u64 {
        if *self == Self::default() { 0 } else { xxh3_64(format!("{self:?}").as_bytes()) }
    }
}
