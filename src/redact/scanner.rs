//! Finds the positions at which rules are tried, at the speed of memory rather than of regular expressions.

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::packed::{self, Searcher};
use aho_corasick::{AhoCorasick, MatchKind, Span};
use regex::Regex;

use super::encoded::{self, Decoded};
use super::rule::{Level, Rule};
use super::{Mode, buckets, rules};

/// A secret that a rule recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) secret: Range<usize>,
    pub(super) kind: &'static str,
    /// The secret itself, if the text contains it encoded.
    pub(super) decoded: Option<String>,
    generic: bool,
    order: usize,
}

impl Found {
    /// Rank of the kind. The lowest names a span on which several rules agree: a known form says more than a known
    /// context.
    pub(super) fn rank(&self) -> (bool, usize, usize) {
        (self.generic, usize::MAX - self.secret.len(), self.order)
    }

    /// Returns the same secret in the text that contains it encoded.
    fn encoded_in(self, text: &Decoded) -> Self {
        let decoded = text.text.get(self.secret.clone()).map(str::to_owned);
        Self { secret: text.source_of(&self.secret), decoded, ..self }
    }
}

/// A rule, and its regular expression, compiled on first use. `None` inside means that the expression is invalid.
struct Armed {
    rule: &'static Rule,
    regex: OnceLock<Option<Regex>>,
}

/// All rules of a mode, and the searchers for their literals.
pub(super) struct Scanner {
    rules: Vec<Armed>,
    searchers: Vec<LiteralSearcher>,
}

impl Scanner {
    pub(super) fn of(mode: Mode) -> Option<&'static Self> {
        static SECRETS: LazyLock<Scanner> = LazyLock::new(|| Scanner::new(Level::Secrets));
        static STRICT: LazyLock<Scanner> = LazyLock::new(|| Scanner::new(Level::Strict));
        match mode {
            Mode::Secrets => Some(&SECRETS),
            Mode::Strict => Some(&STRICT),
            Mode::None => None,
        }
    }

    /// The prefix of a literal is also a literal: the shorter one finds both.
    fn new(level: Level) -> Self {
        let rules: Vec<Armed> = rules::all()
            .filter(|rule| rule.level <= level)
            .map(|rule| Armed { rule, regex: OnceLock::new() })
            .collect();
        let mut literals: Vec<&'static str> =
            rules.iter().flat_map(|armed| armed.rule.literals).chain(rules::SHARED_BEGINNINGS).copied().collect();
        literals.sort_unstable();
        literals.dedup_by(|longer, shorter| longer.starts_with(*shorter));
        let rules_of = |literal: &str| -> Vec<usize> {
            let wants = |armed: &Armed| armed.rule.literals.iter().any(|own| own.starts_with(literal));
            (0..rules.len()).filter(|&at| rules.get(at).is_some_and(wants)).collect()
        };
        let searchers = buckets::groups(&literals)
            .into_iter()
            .filter_map(|group| {
                let rules = group.iter().map(|literal| rules_of(literal)).collect();
                Some(LiteralSearcher {
                    engine: Engine::new(&group)?,
                    rules,
                    #[cfg(test)]
                    literals: group,
                })
            })
            .collect();
        Self { rules, searchers }
    }

    /// Finds every secret in the text, also in what it contains encoded. Matches are unordered and may overlap.
    pub(super) fn find_all(&self, text: &str) -> Vec<Found> {
        let mut found = self.find_plain(text);
        encoded::decode(text, |decoded| {
            found.extend(self.find_plain(&decoded.text).into_iter().map(|one| one.encoded_in(&decoded)));
        });
        found
    }

    fn find_plain(&self, text: &str) -> Vec<Found> {
        let mut found = Vec::new();
        for searcher in &self.searchers {
            let mut at = 0;
            while let Some((hit, rules)) = searcher.next_hit(text, at) {
                at = hit + 1;
                for order in rules {
                    let Some(one) = self.look(text, hit, *order) else { continue };
                    if !one.generic {
                        at = at.max(one.secret.end);
                    }
                    found.push(one);
                }
            }
        }
        found
    }

    fn look(&self, text: &str, hit: usize, order: usize) -> Option<Found> {
        let armed = self.rules.get(order)?;
        let regex = armed.regex.get_or_init(|| armed.rule.regex()).as_ref()?;
        let secret = armed.rule.find_at(regex, text, hit)?;
        Some(Found { secret, kind: armed.rule.kind, decoded: None, generic: armed.rule.generic, order })
    }
}

/// Occurrences of the literals of one group. Each literal leads to its rules.
struct LiteralSearcher {
    engine: Engine,
    rules: Vec<Vec<usize>>,
    #[cfg(test)]
    literals: Vec<&'static str>,
}

impl LiteralSearcher {
    fn next_hit(&self, text: &str, from: usize) -> Option<(usize, &[usize])> {
        let span = Span { start: from, end: text.len() };
        let hit = match &self.engine {
            Engine::Packed(searcher) if from <= text.len() => searcher.find_in(text, span),
            Engine::Automaton(automaton) if from <= text.len() => {
                automaton.find(aho_corasick::Input::new(text).span(span))
            }
            _ => None,
        }?;
        Some((hit.start(), self.rules.get(hit.pattern().as_usize())?))
    }
}

/// Vector instructions if the processor has them, or else the classical automaton.
enum Engine {
    Packed(Searcher),
    Automaton(AhoCorasick),
}

impl Engine {
    fn new(literals: &[&str]) -> Option<Self> {
        let packed = packed::Config::new().builder().extend(literals).build();
        packed.map(Self::Packed).or_else(|| Self::automaton(literals))
    }

    fn automaton(literals: &[&str]) -> Option<Self> {
        AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(literals).ok().map(Self::Automaton)
    }
}

#[cfg(test)]
impl Scanner {
    /// Creates a searcher as on a processor without vector instructions.
    pub(super) fn without_vectors(level: Level) -> Self {
        let mut scanner = Self::new(level);
        for searcher in &mut scanner.searchers {
            let Engine::Packed(_) = searcher.engine else { continue };
            searcher.engine = Engine::automaton(&searcher.literals).unwrap();
        }
        scanner
    }
}
