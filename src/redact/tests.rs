//! Every rule against its examples, planted secrets, texts without secrets, and laws for any text.

mod examples;
mod laws;
mod planted;
mod quiet;

use std::borrow::Cow;

use super::{Counts, Mode, Redactor};

fn redactor(mode: Mode) -> Redactor {
    Redactor::new(mode, [7; 32])
}

fn redacted(mode: Mode, text: &str) -> (Cow<'_, str>, Counts) {
    let mut counts = Counts::default();
    let clean = redactor(mode).redact(text, &mut counts);
    (clean, counts)
}

/// Small, fast and the same on every machine.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % sides
    }

    fn letters(&mut self, alphabet: &[u8], count: usize) -> String {
        (0..count).map(|_| char::from(alphabet[self.roll(alphabet.len())])).collect()
    }
}

const WORD: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/";

fn alphabet(class: char) -> Option<Vec<u8>> {
    let upper = &WORD[..26];
    let lower = &WORD[26..52];
    let digits = &WORD[52..62];
    Some(match class {
        'a' => WORD[..62].to_vec(),
        'A' => WORD[..52].to_vec(),
        'b' => [&WORD[..62], b"+/"].concat(),
        'd' => digits.to_vec(),
        'h' => b"0123456789abcdef".to_vec(),
        'l' => [lower, digits].concat(),
        'u' => [upper, b"234567"].concat(),
        'w' => WORD[..64].to_vec(),
        'x' => b"QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L".to_vec(),
        _ => return None,
    })
}

/// Returns the example with its `{a36}` filled in, and what was filled in.
fn expand(example: &str, dice: &mut Dice) -> (String, Vec<String>) {
    let mut text = String::new();
    let mut bodies = Vec::new();
    let mut rest = example;
    while let Some(open) = rest.find('{') {
        let (before, after) = rest.split_at(open);
        text.push_str(before);
        let inside = after[1..].split('}').next().unwrap_or_default();
        let class = inside.chars().next().and_then(alphabet);
        if let (Some(letters), Some(count)) = (class, inside.get(1..).and_then(|count| count.parse().ok())) {
            let body = dice.letters(&letters, count);
            text.push_str(&body);
            bodies.push(body);
            rest = &after[inside.len() + 2..];
        } else {
            text.push('{');
            rest = &after[1..];
        }
    }
    text.push_str(rest);
    (text, bodies)
}

/// Longest part of a planted secret that may remain.
const LEGIBLE: usize = 12;

fn survivor<'a>(clean: &str, bodies: &'a [String]) -> Option<&'a str> {
    let parts =
        bodies.iter().flat_map(|body| (0..body.len().saturating_sub(LEGIBLE - 1)).map(|at| &body[at..at + LEGIBLE]));
    let mut parts = parts;
    parts.find(|part| clean.contains(*part))
}
