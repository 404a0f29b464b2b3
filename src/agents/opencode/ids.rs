//! Identifies records, so that each is there once: the stores share ids, and forks give new ones.
//!
//! A fork copies messages under new ids, but with their original times, which are before the fork itself began. So every
//! message also has a key made of its time, and once it is finished, of its cost, so that no other message of the same
//! time is taken for it. A copy is superseded by the message with the same key, and by other copies. If the program names
//! the original session, its records supersede the copy too.

use std::borrow::Cow;

use super::record::Tokens;
use crate::agents::ids::ends_at_random;
use crate::extract::{Kind, Sink, key};

/// The names of a message.
#[derive(Default)]
pub(super) struct Identity {
    id: String,
    /// A key that all copies of the message share; `None` if its time is unknown.
    original: Option<u64>,
    /// The same for a finished message, with what it cost.
    finished: Option<u64>,
    /// The same without the money: since 7.7.9, Kilo Code sets what a copy cost to 0.
    unpaid: Option<u64>,
    /// A key of the session that it was copied from, if the program records one.
    origin: Option<u64>,
    is_copy: bool,
}

/// The fields that a fork leaves as they were.
#[derive(Clone, Copy, Default)]
pub(super) struct Traits<'t> {
    pub(super) role: &'t str,
    /// Microseconds since 1970.
    pub(super) created: Option<i64>,
    pub(super) provider: Option<&'t str>,
    pub(super) model: Option<&'t str>,
    pub(super) finished: Option<Finished>,
}

/// The fields of a model's finished message.
#[derive(Debug, Clone, Copy)]
#[expect(dead_code, reason = "its fields become one text")]
pub(super) struct Finished {
    /// Microseconds since 1970.
    completed: i64,
    tokens: [Option<i64>; 6],
    /// USD.
    cost: Option<f64>,
}

impl Finished {
    pub(super) fn of(completed: Option<i64>, tokens: Option<&Tokens<'_>>, cost: Option<f64>) -> Option<Self> {
        Some(Self { completed: completed?, tokens: tokens.map(Tokens::numbers).unwrap_or_default(), cost })
    }
}

/// Provider and model of what an extension's task had before it was moved to a session.
const MOVED: Option<&str> = Some("legacy");

impl Traits<'_> {
    /// Returns true if the message was moved here from a task of an extension, which knows its model and its tokens.
    pub(super) fn is_moved(&self) -> bool {
        self.provider == MOVED && self.model == MOVED
    }
}

impl Identity {
    pub(super) fn new(agent: &str, id: &str, traits: Traits<'_>, is_copy: bool) -> Self {
        let Some(created) = traits.created else {
            return Self { id: id.to_owned(), ..Self::default() };
        };
        let provider = traits.provider.unwrap_or_default();
        let shared = format!("{}@{created}:{provider}/{}", traits.role, traits.model.unwrap_or_default());
        let original = key(agent, Kind::Presence, &format!("original:{shared}"));
        let key_of = |finished: Finished| key(agent, Kind::Presence, &format!("original:{shared} {finished:?}"));
        let finished = traits.finished.map(key_of);
        let paid = traits.finished.filter(|finished| !is_copy && finished.cost.is_some_and(|cost| cost > 0.0));
        let unpaid = paid.map(|finished| key_of(Finished { cost: Some(0.0), ..finished }));
        let id = if is_copy { shared } else { id.to_owned() };
        Self { id, original: Some(original), finished, unpaid, origin: None, is_copy }
    }

    /// Of a message that the program says was copied from the session of that key.
    pub(super) fn copied_from(self, session: u64) -> Self {
        Self { origin: Some(session), ..self }
    }

    /// Of a copy that may be older than the message is now: what it cost by then says nothing.
    pub(super) fn of_any_age(self) -> Self {
        Self { finished: None, ..self }
    }

    /// Of a message that was moved here from another store, where that is known by a key.
    pub(super) fn moved(id: &str, from: u64) -> Self {
        Self { id: id.to_owned(), original: Some(from), is_copy: true, ..Self::default() }
    }

    /// Of a row that comes with a message: it is a copy where that is one.
    pub(super) fn of_row(id: String, message: &Self) -> Self {
        if message.is_copy { Self { id, ..*message } } else { Self { id, ..Self::default() } }
    }

    /// Value of `message_id`.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// The same, for one of several messages of a session that share all their traits.
    pub(super) fn again(self, number: u32) -> Self {
        Self { id: format!("{}.{number}", self.id), ..self }
    }

    pub(super) fn is_copy(&self) -> bool {
        self.is_copy
    }

    /// The id of a part, or of something else that belongs to the message; `number` counts such things in the message.
    pub(super) fn of_part<'p>(&self, part: &'p str, number: usize) -> Cow<'p, str> {
        match part.strip_prefix("prt_") {
            _ if self.is_copy => Cow::Owned(format!("{}#{number}", self.id)),
            Some(_) => Cow::Borrowed(part),
            None => Cow::Owned(format!("{}#{part}", self.id)),
        }
    }

    /// The id of a tool call. Providers give `call_0` or `functions.bash:0` anew in every session.
    pub(super) fn of_call<'c>(&self, call: &'c str) -> Cow<'c, str> {
        let is_global = !self.is_copy && ends_at_random(call);
        if is_global { Cow::Borrowed(call) } else { Cow::Owned(format!("{}#{call}", self.id)) }
    }

    /// Says that the message is there, for its copies.
    pub(super) fn claim(&self, out: &mut Sink<'_>) {
        let keys = [self.original, self.finished, self.unpaid];
        for known_by in keys.into_iter().flatten().filter(|_| !self.is_copy) {
            out.claim(known_by, false);
        }
    }

    /// Says of a row of a copy that it is none where the original is.
    pub(super) fn yields_to(&self, kind: Kind, id: &str, out: &mut Sink<'_>) {
        for known_by in self.finished.or(self.original).into_iter().chain(self.origin).filter(|_| self.is_copy) {
            out.yields_to(kind, id, known_by, None);
        }
    }
}

/// Returns the key of a message's API calls, if the program records each of them.
pub(super) fn steps_key(agent: &str, message: &str) -> u64 {
    key(agent, Kind::Presence, &format!("steps:{message}"))
}

/// The moment that an id was made at: its prefix, then twelve hexadecimal digits that hold 4096 times the milliseconds
/// since 1970, of which only the lowest 48 bits are kept; a session's are inverted. Microseconds since 1970.
pub(super) fn moment_of(id: &str) -> Option<i64> {
    /// The period after which the kept bits repeat: some 795 days. Milliseconds.
    const ROUND: u64 = 1 << 36;
    /// There was no OpenCode before 2025-04-01. Milliseconds since 1970.
    const BEGINNING: u64 = 1_743_465_600_000;
    let (prefix, rest) = id.split_once('_').filter(|(_, rest)| rest.len() == 26)?;
    let number = u64::from_str_radix(rest.get(..12)?, 16).ok()?;
    let number = if prefix == "ses" { !number } else { number };
    let kept = (number >> 12) % ROUND;
    let rounds = (BEGINNING - kept.min(BEGINNING)).div_ceil(ROUND);
    crate::time::from_epoch((kept + rounds * ROUND) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRAITS: Traits<'static> =
        Traits { role: "user", created: Some(1_772_000_000_000_000), provider: None, model: Some("m"), finished: None };

    #[test]
    fn copies_share_what_they_are_called() {
        let [first, second] = ["msg_b1", "msg_c1"].map(|id| Identity::new("opencode", id, TRAITS, true));
        assert_eq!(first.id(), second.id());
        assert_eq!(first.of_call("c1"), second.of_call("c1"));
        let own = Identity::new("opencode", "msg_a1", TRAITS, false);
        assert_eq!((own.id(), own.original), ("msg_a1", first.original));
        let without_moment = Identity::new("opencode", "msg_d1", Traits { created: None, ..TRAITS }, true);
        assert_eq!((without_moment.id(), without_moment.is_copy()), ("msg_d1", false));
    }

    #[test]
    fn ids_that_are_not_unique_are_of_their_message() {
        let own = Identity::new("opencode", "msg_a1", TRAITS, false);
        assert_eq!(own.of_call("call_nrtgWvg1kYN75ld6gra6w4fC"), "call_nrtgWvg1kYN75ld6gra6w4fC");
        assert_eq!(own.of_call("functions.bash:0"), "msg_a1#functions.bash:0");
        assert_eq!(own.of_part("prt_1", 1), "prt_1");
        assert_eq!(own.of_part("001", 1), "msg_a1#001");
    }

    #[test]
    fn ids_tell_when_they_were_made() {
        let second = |id| moment_of(id).map(|moment| moment / 1_000_000);
        assert_eq!(second("ses_3255ce76dffeY9ydk5Ya4gTDGs"), Some(1_773_194_647));
        assert_eq!(second("msg_cdaa31899001IlL9LhHSDnPk7S"), Some(1_773_194_647));
        assert_eq!(second("ses_3255ce76").or(second("ses_a")).or(second("msg_redactedTDGs0000000000")), None);
    }
}
