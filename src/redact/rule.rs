//! Rules, and how they match at one position of a text.

use std::ops::Range;

use regex::{Regex, RegexBuilder};

/// The mode from which on a rule is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Secrets,
    Strict,
}

/// Condition on the byte directly before a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    /// No condition.
    Open,
    /// No letter and no digit, except for unmistakable secrets.
    Word,
    /// No letter and no digit, and no long run of base64url.
    Token,
}

/// Randomness that a secret must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Randomness {
    Any,
    Digit,
    Changes,
}

/// The form of one kind of secret.
///
/// The pattern is tried where a literal occurs, or where the run of bytes before the literal begins. Its first group is
/// the secret, or else the whole match.
pub(super) struct Rule {
    pub(super) kind: &'static str,
    pub(super) level: Level,
    pub(super) literals: &'static [&'static str],
    /// True if the rule knows only the context. A rule that knows the form decides the kind.
    pub(super) generic: bool,
    pattern: &'static str,
    edge: Edge,
    reach: usize,
    run_before: Option<fn(u8) -> bool>,
    entropy: f32,
    free_of_placeholders: bool,
    randomness: Randomness,
    #[cfg(test)]
    pub(super) matches: &'static [&'static str],
    #[cfg(test)]
    pub(super) misses: &'static [&'static str],
}

/// Longest range of a pattern. Most are much shorter; a private key of 16,384 bits with its line numbers fits.
const REACH: usize = 32 * 1024;
/// Length of a run of base64url that is data rather than a name.
const LONG_NAME: usize = 16;
/// Longest run before a literal, such as the first half of a key or the name of a variable.
const LONGEST_RUN: usize = 300;

impl Rule {
    pub(super) const fn new(kind: &'static str, literals: &'static [&'static str], pattern: &'static str) -> Self {
        Self {
            kind,
            level: Level::Secrets,
            literals,
            generic: false,
            pattern,
            edge: Edge::Word,
            reach: REACH,
            run_before: None,
            entropy: 0.0,
            free_of_placeholders: true,
            randomness: Randomness::Any,
            #[cfg(test)]
            matches: &[],
            #[cfg(test)]
            misses: &[],
        }
    }

    /// Starts the pattern where the run of such bytes before the literal begins.
    pub(super) const fn after_run_of(mut self, byte: fn(u8) -> bool) -> Self {
        self.run_before = Some(byte);
        self
    }

    pub(super) const fn edge(mut self, edge: Edge) -> Self {
        self.edge = edge;
        self
    }

    /// Limits the range of the pattern. A pattern with such a count of its own (`{20,4096}`) takes milliseconds to
    /// compile, in each run that meets its literal.
    pub(super) const fn within(mut self, reach: usize) -> Self {
        self.reach = reach;
        self
    }

    /// Requires this Shannon entropy of the secret. Bits per byte.
    pub(super) const fn entropy(mut self, least: f32) -> Self {
        self.entropy = least;
        self
    }

    pub(super) const fn generic(mut self) -> Self {
        self.generic = true;
        self
    }

    pub(super) const fn strict(mut self) -> Self {
        self.level = Level::Strict;
        self.generic()
    }

    /// Requires a digit, which names and words rarely have.
    pub(super) const fn digits(mut self) -> Self {
        self.randomness = Randomness::Digit;
        self
    }

    /// Requires more changes between digits, small and capital letters than names have.
    pub(super) const fn random(mut self) -> Self {
        self.randomness = Randomness::Changes;
        self
    }

    /// Accepts placeholder words, for secrets so long that these may occur in them.
    pub(super) const fn never_a_placeholder(mut self) -> Self {
        self.free_of_placeholders = false;
        self
    }

    /// Sets texts with a secret, for the tests. `{a36}` means 36 random letters and digits (`d` digits, `h` lower
    /// hexadecimal, `l` lower letters and digits, `u` upper base32, `w` base64url, `b` base64), so that the source
    /// contains no key.
    #[cfg_attr(not(test), expect(unused_mut, unused_variables, reason = "examples exist in tests only"))]
    pub(super) const fn matches(mut self, examples: &'static [&'static str]) -> Self {
        #[cfg(test)]
        {
            self.matches = examples;
        }
        self
    }

    /// Sets similar texts without a secret, for the tests.
    #[cfg_attr(not(test), expect(unused_mut, unused_variables, reason = "examples exist in tests only"))]
    pub(super) const fn misses(mut self, examples: &'static [&'static str]) -> Self {
        #[cfg(test)]
        {
            self.misses = examples;
        }
        self
    }

    pub(super) fn regex(&self) -> Option<Regex> {
        RegexBuilder::new(&format!(r"\A(?:{})", self.pattern)).build().ok()
    }

    /// Returns the range of the secret, if there is one around the literal at `hit`.
    pub(super) fn find_at(&self, regex: &Regex, text: &str, hit: usize) -> Option<Range<usize>> {
        let rest = text.get(hit..)?;
        if !self.literals.iter().any(|literal| rest.starts_with(literal)) {
            return None;
        }
        let bytes = text.as_bytes();
        let start = self.start_of_run(bytes, hit)?;
        let decoded = self.run_before.and_then(|_| end_of_escape(bytes, start, hit));
        decoded.and_then(|start| self.find_from(regex, text, start)).or_else(|| self.find_from(regex, text, start))
    }

    fn find_from(&self, regex: &Regex, text: &str, start: usize) -> Option<Range<usize>> {
        let is_joined = self.is_joined_to_what_precedes(text.as_bytes(), start);
        if is_joined && (self.edge == Edge::Token || is_in_data(text.as_bytes(), start)) {
            return None;
        }
        let window = text.get(start..text.floor_char_boundary(start + self.reach))?;
        let secret = if regex.captures_len() > 1 {
            let groups = regex.captures(window)?;
            groups.iter().skip(1).flatten().next()?.range()
        } else {
            regex.find(window)?.range()
        };
        let text = window.get(secret.clone())?;
        let is_whole = !is_joined || is_unmistakable(text.as_bytes());
        (is_whole && self.is_credible(text)).then_some(start + secret.start..start + secret.end)
    }

    /// Returns `None` if the run is longer than names and keys are.
    fn start_of_run(&self, bytes: &[u8], hit: usize) -> Option<usize> {
        let Some(belongs) = self.run_before else { return Some(hit) };
        let (before, after) = bytes.split_at_checked(hit)?;
        let before_hit = before.iter().rev().take(LONGEST_RUN).take_while(|byte| belongs(**byte)).count();
        let is_short = || after.iter().take(LONGEST_RUN).any(|byte| !belongs(*byte)) || after.len() < LONGEST_RUN;
        (before_hit < LONGEST_RUN && is_short()).then_some(hit - before_hit)
    }

    fn is_joined_to_what_precedes(&self, bytes: &[u8], start: usize) -> bool {
        let before = bytes.get(..start).unwrap_or_default();
        let Some(&last) = before.last() else { return false };
        match self.edge {
            Edge::Open => false,
            Edge::Token
                if before.len() >= LONG_NAME && before.iter().rev().take(LONG_NAME).all(|byte| is_base64url(*byte)) =>
            {
                true
            }
            Edge::Token | Edge::Word => {
                before.ends_with("›".as_bytes()) || last.is_ascii_alphanumeric() && !ends_with_escape(before)
            }
        }
    }

    fn is_credible(&self, secret: &str) -> bool {
        let placeholder = self.free_of_placeholders && is_placeholder(secret);
        let random = match self.randomness {
            Randomness::Any => true,
            Randomness::Digit => secret.bytes().any(|byte| byte.is_ascii_digit()),
            Randomness::Changes => changes_like_a_random_text(secret.as_bytes()),
        };
        !placeholder && random && (self.entropy <= 0.0 || entropy(secret.as_bytes()) >= self.entropy)
    }
}

/// True after a run longer than names are: a literal in it is one of many, and each pattern has a long range.
fn is_in_data(bytes: &[u8], start: usize) -> bool {
    let run = start.checked_sub(LONGEST_RUN).and_then(|from| bytes.get(from..start));
    run.is_some_and(|run| run.iter().rev().all(|byte| is_base64url(*byte)))
}

const fn is_base64url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

/// Bytes of the longest escape, `\U0001F600`.
const LONGEST_ESCAPE: usize = 10;

/// Returns the length of the escape at the beginning of a text: of JSON and of programming languages (`\n`,
/// `\u2192`, `\x0a`, `\033`), of URLs (`%3D`, encoded twice `%253D`), of quoted-printable mail (`=3D`).
fn escape_length(text: &[u8]) -> Option<usize> {
    let is_hex = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
    let are_hex = |from: usize, to: usize| text.get(from..to).is_some_and(is_hex);
    match text {
        [b'\\', b'u', ..] if are_hex(2, 6) => Some(6),
        [b'\\', b'U', ..] if are_hex(2, 10) => Some(LONGEST_ESCAPE),
        [b'\\', b'x', ..] if are_hex(2, 4) => Some(4),
        [b'\\', b'0'..=b'3', b'0'..=b'7', b'0'..=b'7', ..] => Some(4),
        [b'\\', b'n' | b'r' | b't' | b'b' | b'f' | b'v' | b'a' | b'e' | b'0', ..] => Some(2),
        [b'%', b'2', b'5', ..] if are_hex(3, 5) => Some(5),
        [b'%', ..] if are_hex(1, 3) => Some(3),
        [b'=', b'0'..=b'9' | b'A'..=b'F', b'0'..=b'9' | b'A'..=b'F', ..] => Some(3),
        _ => None,
    }
}

/// True for escapes and colours of a terminal: the letters at their end are no part of a word.
pub(super) fn ends_with_escape(before: &[u8]) -> bool {
    let mut starts = (2..=LONGEST_ESCAPE).filter_map(|length| before.get(before.len().checked_sub(length)?..));
    starts.any(|escape| escape_length(escape) == Some(escape.len())) || ends_with_colour(before)
}

fn ends_with_colour(before: &[u8]) -> bool {
    let [before @ .., b'm'] = before else { return false };
    let digits = before.iter().rev().take(16).take_while(|byte| is_of_colour(**byte)).count();
    let introducer = before.get(..before.len() - digits).unwrap_or_default();
    introducer.ends_with(b"\x1b[") || digits > 0 && introducer.ends_with(b"[")
}

const fn is_of_colour(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b';')
}

/// Returns the end of an escape that begins before a run and reaches into it, but not beyond the literal at `hit`.
pub(super) fn end_of_escape(bytes: &[u8], run: usize, hit: usize) -> Option<usize> {
    let starts = (1..LONGEST_ESCAPE).filter_map(|back| run.checked_sub(back));
    let mut ends = starts.filter_map(|start| Some(start + escape_length(bytes.get(start..)?)?));
    ends.find(|end| (run + 1..=hit).contains(end)).or_else(|| end_of_colour(bytes, run))
}

fn end_of_colour(bytes: &[u8], run: usize) -> Option<usize> {
    let (before, run_and_rest) = bytes.split_at_checked(run)?;
    let [.., b'[' | b';'] = before else { return None };
    let digits = run_and_rest.iter().take(16).take_while(|byte| is_of_colour(**byte)).count();
    let is_coloured = run_and_rest.get(digits) == Some(&b'm') && (digits > 0 || before.ends_with(b"\x1b["));
    is_coloured.then_some(run + digits + 1)
}

const PLACEHOLDER_WORDS: &[&str] = &[
    "example",
    "your-",
    "your_",
    "yourapi",
    "yourtoken",
    "xxxx",
    "redacted",
    "placeholder",
    "changeme",
    "dummy",
    "****",
    "....",
    "1234567890",
    "0123456789",
    "abcdefghij",
];

/// Placeholders for secrets in examples, as whole values.
const STAND_INS: &[&str] = &[
    "pass",
    "passwd",
    "password",
    "pwd",
    "secret",
    "token",
    "test",
    "user",
    "null",
    "none",
    "undefined",
    "foo",
    "bar",
];

fn is_placeholder(secret: &str) -> bool {
    let tail = secret.len().saturating_sub(16);
    let tail = secret.as_bytes().get(tail..).unwrap_or_default();
    let monotonous = tail.len() == 16 && tail.iter().all(|byte| tail.iter().take(3).any(|first| first == byte));
    let head = secret.as_bytes().get(..secret.len().min(200)).unwrap_or_default();
    let word = STAND_INS.iter().any(|word| secret.eq_ignore_ascii_case(word));
    word || monotonous || PLACEHOLDER_WORDS.iter().any(|word| contains_ignoring_case(head, word.as_bytes()))
}

fn contains_ignoring_case(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word))
}

/// True if a text is neither word nor hash, whatever comes before it: many different letters and digits, mixed.
fn is_unmistakable(secret: &[u8]) -> bool {
    secret.len() >= 24 && changes_like_a_random_text(secret) && entropy(secret) > 4.1
}

/// Names have a capital or a digit at most every six letters, random texts every third. Other characters of base64
/// count too.
fn changes_like_a_random_text(bytes: &[u8]) -> bool {
    let digits = bytes.iter().filter(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'=')).count();
    let humps = bytes.windows(2).filter(|pair| matches!(pair, [b'a'..=b'z', b'A'..=b'Z'])).count();
    (digits + humps) * 6 >= bytes.len()
}

/// Returns the Shannon entropy in bits per byte.
fn entropy(bytes: &[u8]) -> f32 {
    let mut counts = [0_u16; 256];
    let sample = bytes.get(..bytes.len().min(1024)).unwrap_or_default();
    for byte in sample {
        if let Some(count) = counts.get_mut(usize::from(*byte)) {
            *count += 1;
        }
    }
    let total = f32::from(u16::try_from(sample.len()).unwrap_or(u16::MAX));
    let bits = |count: &u16| {
        let share = f32::from(*count) / total;
        -share * share.log2()
    };
    counts.iter().filter(|count| **count > 0).map(bits).sum()
}
