//! Replaces credentials in text by `‹redacted:KIND:HASH›`.
//!
//! Transcripts are full of keys that were pasted, printed by `env` or read from a file. A lake of them must not become
//! a second place to leak from, so every decoded string passes here before any builder, hash, log or problem sample.
//! `HASH` is keyed: equal secrets of one lake stay joinable, and a table of hashes of known keys is useless. Hashes of
//! whole texts are computed from the redacted texts.

mod buckets;
mod encoded;
mod personal;
mod rule;
mod rules;
mod scanner;
#[cfg(test)]
#[expect(clippy::string_slice, reason = "a wrong cut fails the test, as it should")]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

pub(crate) use personal::{Personal, user_of};
use scanner::{Found, Scanner};

/// The texts that count as secrets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Credentials that their form, or a name next to them, gives away.
    #[default]
    Secrets,
    /// Like [`Mode::Secrets`], and values assigned to something called a password, secret, token or key.
    Strict,
    /// Nothing: texts stay as they are.
    None,
}

/// Number of secrets replaced, by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts(BTreeMap<&'static str, u64>);

impl Counts {
    /// Adds the counts of another text, file or thread.
    pub fn merge(&mut self, other: &Self) {
        for (kind, count) in other.iter() {
            *self.0.entry(kind).or_default() += count;
        }
    }

    /// Returns the kinds in alphabetical order with their counts; none is zero.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.0.iter().map(|(kind, count)| (*kind, *count))
    }

    /// True if nothing was replaced.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn add(&mut self, kind: &'static str) {
        *self.0.entry(kind).or_default() += 1;
    }
}

/// Replaces the secrets in texts. Cheap to create; threads share it.
#[derive(Clone)]
pub struct Redactor {
    scanner: Option<&'static Scanner>,
    key: [u8; 32],
    hash_key: [u8; 32],
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redactor").field("active", &self.scanner.is_some()).finish_non_exhaustive()
    }
}

/// Most passes. Replacing one secret can reveal another that ran together with it. In practice the second pass finds
/// nothing; the limit keeps the time linear for hostile texts.
const PASSES: usize = 4;

/// Length of the shortest text that can contain a recognisable secret.
const SHORTEST: usize = 10;

impl Redactor {
    /// `key` belongs to one lake. Hashes of different keys cannot be joined.
    pub fn new(mode: Mode, key: [u8; 32]) -> Self {
        Self { scanner: Scanner::of(mode), key, hash_key: blake3::derive_key("llrem 2026 hashes", &key) }
    }

    /// Returns a keyed form of a hash. Equal hashes stay equal; without the lake's key, nobody can test guesses of the
    /// text.
    pub(crate) fn keyed(&self, hash: u64) -> u64 {
        let keyed = blake3::keyed_hash(&self.hash_key, &hash.to_le_bytes());
        keyed.as_bytes().first_chunk().map_or(0, |first| u64::from_le_bytes(*first))
    }

    /// Returns the text without its secrets, borrowed if it has none.
    pub fn redact<'a>(&self, text: &'a str, counts: &mut Counts) -> Cow<'a, str> {
        let Some(scanner) = self.scanner.filter(|_| text.len() >= SHORTEST) else { return Cow::Borrowed(text) };
        let Some(mut clean) = self.pass(scanner, text, counts) else { return Cow::Borrowed(text) };
        for _ in 1..PASSES {
            let Some(cleaner) = self.pass(scanner, &clean, counts) else { break };
            clean = cleaner;
        }
        Cow::Owned(clean)
    }

    fn pass(&self, scanner: &Scanner, text: &str, counts: &mut Counts) -> Option<String> {
        let found = scanner.find_all(text);
        if found.is_empty() {
            return None;
        }
        let mut clean = String::with_capacity(text.len());
        let mut copied = 0;
        for (span, best) in without_overlaps(found) {
            clean.push_str(text.get(copied..span.start).unwrap_or_default());
            let secret = best.decoded.as_deref().or_else(|| text.get(best.secret));
            self.write_marker(&mut clean, best.kind, secret.unwrap_or_default());
            counts.add(best.kind);
            copied = span.end;
        }
        clean.push_str(text.get(copied..).unwrap_or_default());
        Some(clean)
    }

    fn write_marker(&self, clean: &mut String, kind: &str, secret: &str) {
        let hash = blake3::keyed_hash(&self.key, secret.as_bytes());
        let [first, second, ..] = hash.as_bytes();
        let _ = write!(clean, "‹redacted:{kind}:{first:02x}{second:02x}›");
    }
}

/// Merges overlapping matches: the span covers all of them, the best rank names it.
fn without_overlaps(mut found: Vec<Found>) -> Vec<(Range<usize>, Found)> {
    found.sort_unstable_by_key(|one| (one.secret.start, one.rank()));
    let mut joined: Vec<(Range<usize>, Found)> = Vec::with_capacity(found.len());
    for next in found {
        match joined.last_mut() {
            Some((span, best)) if next.secret.start < span.end => {
                span.end = span.end.max(next.secret.end);
                if next.rank() < best.rank() {
                    *best = next;
                }
            }
            _ => joined.push((next.secret.clone(), next)),
        }
    }
    joined
}
