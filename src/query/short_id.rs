//! Short ids of sessions: the shortest prefix that is unique in the lake, without the agent's own prefix.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Unbounded};

use strsim::levenshtein;

use crate::{Error, Result};

/// Fewest characters of a short id.
const SHORTEST: usize = 8;
/// Most sessions that an error names.
const MOST_NAMED: usize = 7;
/// Prefixes that agents put before an id.
const OWN_PREFIXES: [&str; 3] = ["ses_", "sess_", "session_"];
/// Prefix of the last part of a subagent's id.
const SUBAGENT: &str = "agent-";

/// A session of the lake, with what distinguishes it from others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownSession {
    /// Machine that it ran on.
    pub machine: String,
    /// Its agent.
    pub agent: String,
    /// The whole id.
    pub session_id: String,
    /// Outermost session of the chain of parents.
    pub root_session_id: String,
    /// Month of its partition.
    pub month: String,
    /// Its project.
    pub project: Option<String>,
    /// Day of its start, as YYYY-MM-DD.
    pub day: Option<String>,
}

/// The ids of all sessions of a lake.
#[derive(Debug, Default)]
pub struct SessionIds {
    known: Vec<KnownSession>,
    /// The parts of ids, by the parts before them.
    parts: BTreeMap<String, BTreeSet<String>>,
}

impl SessionIds {
    /// Takes all sessions of a lake.
    pub fn new(known: Vec<KnownSession>) -> Self {
        let mut parts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for session in &known {
            let mut path = String::new();
            for part in bare(&session.session_id) {
                parts.entry(path.clone()).or_default().insert(part.to_owned());
                path.push('/');
                path.push_str(part);
            }
        }
        Self { known, parts }
    }

    /// Returns all sessions.
    pub fn all(&self) -> &[KnownSession] {
        &self.known
    }

    /// Returns the short form of an id: `53ea1606`, for a subagent `11110000/ag000003`.
    pub fn short(&self, session_id: &str) -> String {
        let (mut short, mut path, mut needs_whole) = (String::new(), String::new(), false);
        for part in bare(session_id) {
            if !short.is_empty() {
                short.push('/');
            }
            let siblings = self.parts.get(&path);
            let shown = siblings.filter(|_| !needs_whole).map_or(part, |siblings| shortest(part, siblings));
            short.push_str(shown);
            // Another parent begins with all of this one: only a whole id tells their subagents apart.
            needs_whole |= shown == part && siblings.is_some_and(|siblings| begins_another(part, siblings));
            path.push('/');
            path.push_str(part);
        }
        short
    }

    /// Returns the session that a typed id, or the beginning of one, names. It may have the name of its agent or machine
    /// before it: `codex:0199`.
    ///
    /// # Errors
    /// Fails with [`Error::Unknown`] if no session or several sessions have such an id.
    pub fn find(&self, typed: &str) -> Result<&KnownSession> {
        let matches: Vec<(&KnownSession, Fit)> =
            self.known.iter().filter_map(|session| Some((session, fit(session, typed)?))).collect();
        let whole: Vec<&KnownSession> =
            matches.iter().filter(|(_, fit)| *fit == Fit::Whole).map(|(session, _)| *session).collect();
        let fitting = if whole.is_empty() { matches.iter().map(|(session, _)| *session).collect() } else { whole };
        let outer = outermost(&fitting);
        match outer.as_slice() {
            [] => Err(self.unknown(typed)),
            [session] => Ok(session),
            several => Err(self.ambiguous(typed, several)),
        }
    }

    fn unknown(&self, typed: &str) -> Error {
        let what = if self.known.is_empty() {
            "the lake has no sessions".to_owned()
        } else {
            format!("no session's id begins with `{typed}`")
        };
        let near = self.nearest(typed);
        let named: Vec<String> = near.iter().map(|session| self.described(session)).collect();
        let guess = if named.is_empty() { String::new() } else { format!("{}? ", named.join(", ")) };
        Error::Unknown { what, hint: format!("{guess}`llrem query cost_by_session` lists all") }
    }

    fn ambiguous(&self, typed: &str, several: &[&KnownSession]) -> Error {
        let shorts: BTreeSet<String> = several.iter().map(|session| self.short(&session.session_id)).collect();
        let agents: BTreeSet<&str> = several.iter().map(|session| session.agent.as_str()).collect();
        let (named, hint): (Vec<String>, _) = if shorts.len() > 1 {
            (shorts.into_iter().collect(), "type more of the id")
        } else if agents.len() > 1 {
            let named = several.iter().map(|session| format!("{}:{typed}", session.agent));
            (named.collect(), "type the agent before the id, as above")
        } else {
            let named = several.iter().map(|session| format!("{}:{typed}", session.machine));
            (named.collect(), "type the machine before the id, as above")
        };
        let more = if named.len() > MOST_NAMED { ", …" } else { "" };
        let shown = named.iter().take(MOST_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        let what = format!("`{typed}` names {} sessions: {shown}{more}", several.len());
        Error::Unknown { what, hint: hint.to_owned() }
    }

    /// Returns the sessions whose ids contain what was typed, or else those with the most similar beginnings.
    fn nearest(&self, typed: &str) -> Vec<&KnownSession> {
        let letters = typed.chars().count();
        let whole: Vec<_> = self.known.iter().filter(|session| session.root_session_id == session.session_id).collect();
        let contain = whole.iter().filter(|session| letters > 2 && session.session_id.contains(typed));
        let contain: Vec<_> = contain.take(MOST_NAMED).copied().collect();
        if !contain.is_empty() {
            return contain;
        }
        let distance = |session: &KnownSession| {
            let beginning: String =
                bare(&session.session_id).next().unwrap_or_default().chars().take(letters).collect();
            levenshtein(typed, &beginning)
        };
        let mut near: Vec<_> = whole.iter().map(|session| (distance(session), *session)).collect();
        let least = near.iter().map(|(distance, _)| *distance).min().unwrap_or(usize::MAX);
        near.retain(|(distance, _)| *distance == least && letters > 1 && least <= letters.div_ceil(4));
        near.into_iter().take(MOST_NAMED).map(|(_, session)| session).collect()
    }

    fn described(&self, session: &KnownSession) -> String {
        let told: Vec<&str> = [&session.project, &session.day].into_iter().filter_map(Option::as_deref).collect();
        let short = self.short(&session.session_id);
        if told.is_empty() { short } else { format!("{short} ({})", told.join(", ")) }
    }
}

/// Match of an id with the typed text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    Whole,
    Beginning,
}

fn fit(session: &KnownSession, typed: &str) -> Option<Fit> {
    if typed.is_empty() {
        return None;
    }
    let qualified = typed.split_once(':').filter(|(name, _)| [&*session.agent, &*session.machine].contains(name));
    let rest = qualified.map(|(_, rest)| rest).filter(|rest| !rest.is_empty());
    [Some(typed), rest].into_iter().flatten().find_map(|typed| fit_of_id(&session.session_id, typed))
}

fn fit_of_id(id: &str, typed: &str) -> Option<Fit> {
    if let Some(rest) = id.strip_prefix(typed) {
        return Some(if rest.is_empty() { Fit::Whole } else { Fit::Beginning });
    }
    let (mut parts, mut is_whole) = (id.split('/').zip(bare(id)), true);
    for typed in typed.split('/') {
        let (part, bare) = parts.next()?;
        let rest = bare.strip_prefix(typed).or_else(|| part.strip_prefix(typed))?;
        is_whole &= rest.is_empty();
    }
    Some(if is_whole && parts.next().is_none() { Fit::Whole } else { Fit::Beginning })
}

/// Returns the sessions without the subagents of others among them.
fn outermost<'s>(sessions: &[&'s KnownSession]) -> Vec<&'s KnownSession> {
    let key = |session: &KnownSession, id: &str| (session.machine.clone(), session.agent.clone(), id.to_owned());
    let all: BTreeSet<_> = sessions.iter().map(|session| key(session, &session.session_id)).collect();
    let is_inner = |session: &KnownSession| {
        let is_below_root =
            session.root_session_id != session.session_id && all.contains(&key(session, &session.root_session_id));
        let mut outer = session.session_id.as_str();
        let is_below = std::iter::from_fn(|| {
            outer = outer.rsplit_once('/')?.0;
            Some(all.contains(&key(session, outer)))
        });
        is_below_root || is_below.into_iter().any(|is_there| is_there)
    };
    sessions.iter().filter(|session| !is_inner(session)).copied().collect()
}

/// Returns the parts of an id, without what agents put before them.
fn bare(id: &str) -> impl Iterator<Item = &str> {
    id.split('/').enumerate().map(|(place, part)| {
        let stripped = if place > 0 {
            part.strip_prefix(SUBAGENT)
        } else {
            let named = part.rsplit_once(':').map(|(_, rest)| rest);
            named.or_else(|| OWN_PREFIXES.iter().find_map(|prefix| part.strip_prefix(prefix)))
        };
        stripped.filter(|rest| !rest.is_empty()).unwrap_or(part)
    })
}

/// Returns the shortest prefix that no sibling has.
fn shortest<'p>(part: &'p str, siblings: &BTreeSet<String>) -> &'p str {
    let shared = |other: &String| part.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
    let before = siblings.range::<str, _>((Unbounded, Excluded(part))).next_back().map_or(0, shared);
    let after = siblings.range::<str, _>((Excluded(part), Unbounded)).next().map_or(0, shared);
    let needed = SHORTEST.max(before.max(after) + 1);
    let ends =
        part.char_indices().skip(needed).find(|(at, _)| part.get(..*at).is_some_and(|short| !short.ends_with('-')));
    ends.and_then(|(at, _)| part.get(..at)).unwrap_or(part)
}

fn begins_another(part: &str, siblings: &BTreeSet<String>) -> bool {
    siblings.range::<str, _>((Excluded(part), Unbounded)).next().is_some_and(|next| next.starts_with(part))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn session(agent: &str, session_id: &str, root: &str) -> KnownSession {
        KnownSession {
            machine: "one".to_owned(),
            agent: agent.to_owned(),
            session_id: session_id.to_owned(),
            root_session_id: root.to_owned(),
            ..KnownSession::default()
        }
    }

    const PARENT: &str = "11110000-5e55-4000-8000-000000000001";

    fn ids() -> SessionIds {
        let child = format!("{PARENT}/agent-ag000003");
        let other = format!("{PARENT}/agent-ag000004ff");
        let mut website =
            session("claude-code", "7acd37a8-0000-4000-8000-000000000001", "7acd37a8-0000-4000-8000-000000000001");
        (website.project, website.day) = (Some("website".to_owned()), Some("2025-11-18".to_owned()));
        SessionIds::new(vec![
            session("claude-code", PARENT, PARENT),
            session("claude-code", &child, PARENT),
            session("claude-code", &other, PARENT),
            website,
            session("codex", "0199a000-0000-7000-8000-000000000001", "0199a000-0000-7000-8000-000000000001"),
            session("codex", "0199a000-0000-7000-8000-000000000002", "0199a000-0000-7000-8000-000000000001"),
            session("codex", "0199b111-0000-7000-8000-000000000003", "0199b111-0000-7000-8000-000000000003"),
            session("aider", "aider:6de7a264508a48c7", "aider:6de7a264508a48c7"),
            session("opencode", "ses_30bfbb6f4ffe", "ses_30bfbb6f4ffe"),
            session("kimi-code", "session_2be5a285-1c0e", "session_2be5a285-1c0e"),
            session("cursor", "c-1", "c-1"),
            session("cursor", "c-10", "c-10"),
        ])
    }

    fn refused(typed: &str) -> String {
        let error = ids().find(typed).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        format!("{error}\n{}", error.hint().unwrap())
    }

    #[test]
    fn short_ids_have_no_prefix_of_the_agent() {
        let ids = ids();
        let short = |id: &str| ids.short(id);
        assert_eq!(short("aider:6de7a264508a48c7"), "6de7a264");
        assert_eq!(short("ses_30bfbb6f4ffe"), "30bfbb6f");
        assert_eq!(short("session_2be5a285-1c0e"), "2be5a285");
        assert_eq!(short(&format!("{PARENT}/agent-ag000003")), "11110000/ag000003");
        assert_eq!(short(&format!("{PARENT}/agent-ag000004ff")), "11110000/ag000004");
        assert_eq!(short("c-1"), "c-1");
        assert_eq!(short("0199a000-0000-7000-8000-000000000002"), "0199a000-0000-7000-8000-000000000002");
        assert_eq!(short("not-in-the-lake"), "not-in-t");
    }

    #[test]
    fn a_prefix_names_a_session_before_its_subagents() {
        let ids = ids();
        let found = |typed: &str| ids.find(typed).unwrap().session_id.clone();
        assert_eq!(found("1111"), PARENT);
        assert_eq!(found(PARENT), PARENT);
        assert_eq!(found("1111/ag000003"), format!("{PARENT}/agent-ag000003"));
        assert_eq!(found(&format!("{PARENT}/agent-ag000004")), format!("{PARENT}/agent-ag000004ff"));
        assert_eq!(found("0199a"), "0199a000-0000-7000-8000-000000000001", "its subagent has an id of its own");
        assert_eq!(found("6de7"), "aider:6de7a264508a48c7");
        assert_eq!(found("aider:6de7"), "aider:6de7a264508a48c7");
        assert_eq!(found("codex:0199b"), "0199b111-0000-7000-8000-000000000003");
        assert_eq!(found("30bf"), "ses_30bfbb6f4ffe");
        assert_eq!(found("ses_30"), "ses_30bfbb6f4ffe");
        assert_eq!(found("c-1"), "c-1", "a whole id is not ambiguous");
    }

    #[test]
    fn subagents_of_one_name_are_told_apart_where_one_parent_begins_another() {
        let (first, second) = ("abaabab/agent-bbbaababb", "abaababa/agent-bbbaababb");
        let ids = SessionIds::new(vec![session("pi", first, first), session("pi", second, second)]);
        assert_eq!(ids.short(first), "abaabab/bbbaababb");
        assert_eq!(ids.short(second), "abaababa/bbbaabab");
        assert_eq!(ids.find(&ids.short(first)).unwrap().session_id, first);
        assert_eq!(ids.find(&ids.short(second)).unwrap().session_id, second);
    }

    #[test]
    fn errors_name_the_nearest() {
        insta::assert_snapshot!(refused("7acb"), @r"
        no session's id begins with `7acb`
        7acd37a8 (website, 2025-11-18)? `llrem query cost_by_session` lists all
        ");
        insta::assert_snapshot!(refused("0199"), @r"
        `0199` names 2 sessions: 0199a000-0000-7000-8000-000000000001, 0199b111
        type more of the id
        ");
        insta::assert_snapshot!(refused("1111/ag"), @r"
        `1111/ag` names 2 sessions: 11110000/ag000003, 11110000/ag000004
        type more of the id
        ");
        insta::assert_snapshot!(refused(""), @r"
        no session's id begins with ``
        `llrem query cost_by_session` lists all
        ");
        let none = SessionIds::default().find("a").unwrap_err();
        assert_eq!(none.to_string(), "the lake has no sessions");
    }

    #[test]
    fn one_id_of_two_agents_needs_the_agent() {
        let ids = SessionIds::new(vec![session("pi", "abc", "abc"), session("openclaw", "abc", "abc")]);
        let error = ids.find("ab").unwrap_err();
        assert_eq!(error.to_string(), "`ab` names 2 sessions: pi:ab, openclaw:ab");
        assert_eq!(ids.find("pi:ab").unwrap().agent, "pi");
        let (one, mut other) = (session("pi", "abc", "abc"), session("pi", "abc", "abc"));
        other.machine = "two".to_owned();
        let ids = SessionIds::new(vec![one, other]);
        assert_eq!(ids.find("ab").unwrap_err().to_string(), "`ab` names 2 sessions: one:ab, two:ab");
        assert_eq!(ids.find("two:ab").unwrap().machine, "two");
    }

    proptest! {
        #[test]
        fn every_short_id_finds_its_session(names in prop::collection::btree_set("[ab]{6,11}(/agent-[ab]{7,10})?", 1..20)) {
            let sessions = names.iter().map(|name| {
                let root = name.split('/').next().unwrap_or_default();
                session("pi", name, if names.contains(root) { root } else { name })
            });
            let ids = SessionIds::new(sessions.collect());
            for name in &names {
                prop_assert_eq!(&ids.find(&ids.short(name)).unwrap().session_id, name);
            }
        }
    }
}
