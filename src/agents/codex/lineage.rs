//! Owner of each line. Forks and spawned agents begin with a copy of another thread's lines, stamped with the time of
//! the copy. Turn ids distinguish them: they and thread ids are UUIDv7, and a copied turn began before the thread did.

use super::record::Meta;
use super::spawn::spawn_of;
use crate::agents::ids::is_uuid;

/// Owner of the current line, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// The thread of the file.
    Own,
    /// Another thread.
    Copied,
    /// A copy, or the thread's own. The file has not shown it yet, or never will (0.32 to 0.99).
    Unclear,
}

/// Distinguishes copied lines from a thread's own.
pub(super) struct Lineage {
    /// Start of the thread; `None` if its id holds no time. Milliseconds since 1970.
    began: Option<u64>,
    /// Thread that the copied lines come from, if the file names it.
    origin: Option<String>,
    /// True if another thread's history may be in the file.
    may_copy: bool,
    /// True if the thread continues another's history, in the file or not.
    is_fork: bool,
    /// True if its version gave all turns ids that hold their time (by 0.100).
    has_timed_turns: bool,
    /// Ordinal of the first line that is certainly the thread's own.
    own_from: Option<i64>,
    owner: Owner,
    /// True if a turn has begun in the file, copied or own.
    has_turn: bool,
}

impl Lineage {
    /// Returns the lineage of a thread, as its own first line records it.
    pub(super) fn of(session: &str, meta: Option<&Meta<'_>>) -> Self {
        let own_from = meta.and_then(|meta| meta.own_from.0);
        let may_copy = meta.is_some_and(|meta| {
            let spawned = spawn_of(meta).is_some();
            meta.forked_from.get().is_some() || meta.parent.get().is_some() || spawned || own_from.is_some()
        });
        let owner = match (own_from, may_copy) {
            (Some(_), _) => Owner::Copied,
            (None, true) => Owner::Unclear,
            (None, false) => Owner::Own,
        };
        let is_fork = meta.is_some_and(|meta| meta.forked_from.get().is_some());
        let has_timed_turns = meta.and_then(|meta| meta.version.get()).is_some_and(has_timed_turns);
        let began = v7_millis(session);
        Self { began, origin: None, may_copy, is_fork, has_timed_turns, own_from, owner, has_turn: false }
    }

    /// Takes another thread's copied first line. The following lines may be copies until a line shows otherwise.
    pub(super) fn foreign_meta(&mut self, id: &str) {
        (self.may_copy, self.is_fork) = (true, true);
        self.origin = Some(id.to_owned());
        if self.owner == Owner::Own {
            self.owner = Owner::Unclear;
        }
    }

    /// Takes a line's place in the thread's own history.
    pub(super) fn ordinal(&mut self, ordinal: Option<i64>) {
        if let (Some(ordinal), Some(own_from)) = (ordinal, self.own_from)
            && ordinal >= own_from
        {
            self.owner = Owner::Own;
        }
    }

    /// Begins a turn. Returns true if it is the first proof that all lines before it were copied.
    pub(super) fn turn(&mut self, id: Option<&str>) -> bool {
        self.has_turn = true;
        let (Some(began), Some(turn)) = (self.began, id.and_then(v7_millis)) else { return false };
        // An older program may have written turns of the thread before, whose ids hold no time.
        let was_unclear = self.is_unclear() && self.origin.is_some() && self.has_timed_turns;
        if turn >= began {
            self.owner = Owner::Own;
        } else if self.may_copy {
            self.owner = Owner::Copied;
        }
        was_unclear && self.owner == Owner::Own
    }

    /// Takes a line that names its thread.
    pub(super) fn named(&mut self, is_own: bool) {
        if is_own {
            self.owner = Owner::Own;
        } else if self.may_copy {
            self.owner = Owner::Copied;
        }
    }

    /// Returns true if the current line is known to be another thread's.
    pub(super) fn is_copied(&self) -> bool {
        self.owner == Owner::Copied
    }

    /// Returns true if it may be another thread's. Then the other thread's claim takes precedence.
    pub(super) fn is_unclear(&self) -> bool {
        self.owner == Owner::Unclear
    }

    /// Returns true if running totals and replies at this place are inherited: the thread continues another's history,
    /// and no turn has begun. Threads whose ids hold no time are of versions that may not mark turns (until 0.34).
    pub(super) fn is_before_first_turn(&self) -> bool {
        self.is_fork && self.owner != Owner::Own && !self.has_turn && self.began.is_some()
    }

    /// Returns the thread whose first line was copied last.
    pub(super) fn origin(&self) -> Option<&str> {
        self.origin.as_deref()
    }

    /// Returns true if running totals may include another thread's.
    pub(super) fn may_inherit(&self) -> bool {
        self.may_copy
    }

    /// Returns the thread that qualifies ids, so that a copy has the ids of the original.
    pub(super) fn namespace<'s>(&'s self, session: &'s str) -> &'s str {
        self.origin.as_deref().filter(|_| self.is_unclear()).unwrap_or(session)
    }
}

fn has_timed_turns(version: &str) -> bool {
    let mut numbers = version.split('.').map(|number| number.parse().unwrap_or(0));
    (numbers.next(), numbers.next()) >= (Some(0), Some(100))
}

/// Returns the time in a UUIDv7. Milliseconds since 1970.
fn v7_millis(id: &str) -> Option<u64> {
    if !is_uuid(id) || id.as_bytes().get(14) != Some(&b'7') {
        return None;
    }
    let digits = [id.get(..8)?, id.get(9..13)?].concat();
    u64::from_str_radix(&digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::records::Text;

    const THREAD: &str = "019fbcc4-a900-7000-8000-000000000002";
    const OLDER: &str = "019fbcc4-3c88-7000-8000-0000000000a1";
    const NEWER: &str = "019fbcc4-aa42-7000-8000-0000000000b1";

    #[test]
    fn turn_ids_tell_copies_from_own_lines() {
        let mut lineage = Lineage::of(THREAD, None);
        lineage.turn(Some(OLDER));
        assert!(!lineage.is_copied(), "a thread that copied nothing");
        lineage.foreign_meta("parent");
        assert!(lineage.is_unclear());
        lineage.turn(Some(OLDER));
        assert!(lineage.is_copied());
        lineage.turn(Some("3"));
        assert!(lineage.is_copied(), "a counter tells nothing");
        lineage.turn(Some(NEWER));
        assert!(!lineage.is_copied() && !lineage.is_unclear());
    }

    #[test]
    fn an_own_turn_tells_of_the_lines_before_it_that_they_were_copied() {
        let mut lineage = Lineage::of(THREAD, None);
        assert!(!lineage.turn(Some(NEWER)), "nothing was copied");
        let by = |version: &str| {
            let version = Text(Some(version.to_owned().into()));
            let mut lineage = Lineage::of(THREAD, Some(&Meta { version, ..Meta::default() }));
            lineage.foreign_meta("parent");
            lineage
        };
        assert!(!by("0.99.0").turn(Some(NEWER)), "own turns of that version do not tell");
        let mut lineage = by("0.140.0");
        assert!(lineage.is_before_first_turn());
        assert!(!lineage.turn(Some("3")) && lineage.is_unclear());
        assert!(lineage.turn(Some(NEWER)) && !lineage.turn(Some(NEWER)));
    }

    #[test]
    fn only_version_7_tells_the_time() {
        assert_eq!(v7_millis(THREAD), Some(0x019f_bcc4_a900));
        assert_eq!(v7_millis("5973b6c0-94b8-487b-a530-2aeb6098ae0e"), None);
        assert_eq!(v7_millis("turn-7"), None);
    }
}
