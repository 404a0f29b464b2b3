//! Decodes base64 and URL escapes within a text, so that secrets in them are found too.
//!
//! Each encoding is decoded once. Not found: text that was encoded twice, other encodings, a secret that a line break
//! of base64 cuts, and a `+` that means a space.

use std::ops::Range;

/// A text that another one contains encoded.
pub(super) struct Decoded {
    pub(super) text: String,
    encoded: Range<usize>,
    form: Form,
}

enum Form {
    Base64,
    /// Offset of the encoded text, in which each escape is one byte of the decoded text.
    Url {
        escapes: Vec<usize>,
    },
}

impl Decoded {
    /// Returns the encoded range of a part of the decoded text.
    pub(super) fn source_of(&self, part: &Range<usize>) -> Range<usize> {
        let (start, end) = match &self.form {
            Form::Base64 => (part.start / 3 * 4, part.end.div_ceil(3) * 4),
            Form::Url { escapes } => {
                let before = |place: usize| place + 2 * escapes.partition_point(|escape| *escape < place);
                (before(part.start), before(part.end))
            }
        };
        self.encoded.start + start..(self.encoded.start + end).min(self.encoded.end)
    }
}

/// Calls `found` for every text that a text contains encoded.
pub(super) fn decode(text: &str, mut each: impl FnMut(Decoded)) {
    decode_base64(text.as_bytes(), &mut each);
    for run in url_runs(text.as_bytes()) {
        each(decode_url(text, run));
    }
}

/// Groups of four digits, three bytes each, in the shortest text that is always decoded.
const SHORTEST: usize = 8;
/// Bytes that are tested together. The shortest text contains a whole block of them, wherever it begins.
const BLOCK: usize = 16;

fn decode_base64(bytes: &[u8], each: &mut impl FnMut(Decoded)) {
    let (blocks, _) = bytes.as_chunks::<BLOCK>();
    let (mut next, mut least) = (0, 0);
    while let Some(hit) = blocks.get(next..).and_then(|rest| rest.iter().position(is_close)) {
        let hit = next + hit;
        next = hit + 1;
        let starts = blocks.get(hit).map_or(0, starts_of_groups);
        for start in (0..4).filter(|start| starts >> (8 * start) & 0x80 != 0) {
            let Some(groups) = base64_text_around(bytes, least, hit * BLOCK + start) else { continue };
            least = groups.end;
            next = next.max(groups.end / BLOCK);
            each(decode_base64_text(bytes, groups));
        }
    }
}

/// True if no byte is a space, a quote or a bracket. Most blocks of a text have one; all bytes are compared at once.
fn is_close(block: &[u8; BLOCK]) -> bool {
    block.iter().fold(true, |all, byte| all & (byte.wrapping_sub(b'+') <= b'z' - b'+'))
}

/// Returns the highest bit of a byte for each of the four places from which on every fourth byte may be the first digit of
/// a group of text: the highest bit of a byte of text is not set, and few characters below the space are text.
fn starts_of_groups(block: &[u8; BLOCK]) -> u64 {
    let are_first = |bytes: u64| among(bytes, b'I', b'Z') | among(bytes, b'a', b'f') | among(bytes, b'C', b'D');
    let (words, _) = block.as_chunks::<8>();
    let all = words.iter().fold(u64::MAX, |all, bytes| all & are_first(u64::from_le_bytes(*bytes)));
    all & all >> 32
}

/// Returns the highest bit of each of eight ASCII bytes that is between two others.
const fn among(bytes: u64, first: u8, last: u8) -> u64 {
    const fn of_each(byte: u8) -> u64 {
        u64::from_le_bytes([byte; 8])
    }
    bytes.wrapping_add(of_each(0x80 - first)) & !bytes.wrapping_add(of_each(0x7f - last))
}

const NO_DIGIT: u8 = u8::MAX;

/// The value of each digit, in both alphabets of base64.
const DIGITS: [u8; 256] = {
    let alphabets = [
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
    ];
    let mut digits = [NO_DIGIT; 256];
    let mut value = 0;
    while value < 64 {
        digits[alphabets[0][value as usize] as usize] = value;
        digits[alphabets[1][value as usize] as usize] = value;
        value += 1;
    }
    digits
};

/// Returns the range of groups around one that all decode to text, if they are enough.
fn base64_text_around(bytes: &[u8], least: usize, group: usize) -> Option<Range<usize>> {
    let is_text = |group: &&[u8; 4]| text_of(**group).is_some();
    let (_, before) = bytes.get(least..group)?.as_rchunks::<4>();
    let (after, _) = bytes.get(group..)?.as_chunks::<4>();
    let start = before.iter().rev().take_while(is_text).count();
    let end = after.iter().take_while(is_text).count();
    (start + end >= SHORTEST).then(|| group - 4 * start..group + 4 * end)
}

/// Decodes whole groups of text, and the last one, which may hold one or two bytes.
fn decode_base64_text(bytes: &[u8], groups: Range<usize>) -> Decoded {
    let (whole, _) = bytes.get(groups.clone()).unwrap_or_default().as_chunks::<4>();
    let mut text: String = whole.iter().copied().filter_map(text_of).flatten().map(char::from).collect();
    let rest = bytes.get(groups.end..).unwrap_or_default().iter().take(3);
    let digits = rest.take_while(|byte| DIGITS[usize::from(**byte)] != NO_DIGIT);
    let mut last = [b'A'; 4];
    let count = last.iter_mut().zip(digits).map(|(place, digit)| *place = *digit).count();
    let is_last = |byte: &u8| is_text(*byte);
    text.extend(bytes_of(last).into_iter().take(count.saturating_sub(1)).take_while(is_last).map(char::from));
    let digits_end = groups.end + if count > 1 { count } else { 0 };
    let padding = bytes.get(digits_end..).unwrap_or_default().iter().take(2).take_while(|byte| **byte == b'=').count();
    Decoded { text, encoded: groups.start..digits_end + padding, form: Form::Base64 }
}

/// Returns the bytes of four digits, if they are text.
fn text_of(group: [u8; 4]) -> Option<[u8; 3]> {
    let are_digits = group.iter().all(|byte| DIGITS[usize::from(*byte)] != NO_DIGIT);
    Some(bytes_of(group)).filter(|bytes| are_digits && bytes.iter().all(|byte| is_text(*byte)))
}

fn bytes_of(group: [u8; 4]) -> [u8; 3] {
    let value = |byte: &u8| u32::from(DIGITS[usize::from(*byte)]);
    let [_, bytes @ ..] = group.iter().fold(0, |bits, byte| bits << 6 | value(byte)).to_be_bytes();
    bytes
}

const fn is_text(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~')
}

/// Returns the words with an escape such as `%3D` in them.
fn url_runs(bytes: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut next = 0;
    memchr::memchr_iter(b'%', bytes).filter_map(move |at| {
        let (before, after) = bytes.split_at_checked(at)?;
        escaped_byte(after.get(1..)?)?;
        let start = at - before.get(next..)?.iter().rev().take_while(|byte| is_of_url(**byte)).count();
        next = at + after.iter().take_while(|byte| is_of_url(**byte)).count();
        Some(start..next)
    })
}

const fn is_of_url(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' | b'^' | b'{' | b'|' | b'}')
}

fn escaped_byte(digits: &[u8]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let [high, low, ..] = digits else { return None };
    u8::try_from(digit(*high)? << 4 | digit(*low)?).ok()
}

/// Placeholder for a byte that is not ASCII: no secret has one.
const OTHER: char = '\u{1a}';

fn decode_url(text: &str, encoded: Range<usize>) -> Decoded {
    let mut parts = text.get(encoded.clone()).unwrap_or_default().split('%');
    let mut text = parts.next().unwrap_or_default().to_owned();
    let mut escapes = Vec::new();
    for part in parts {
        match escaped_byte(part.as_bytes()) {
            Some(byte) => {
                escapes.push(text.len());
                text.push(if byte.is_ascii() { char::from(byte) } else { OTHER });
                text.push_str(part.get(2..).unwrap_or_default());
            }
            None => {
                text.push('%');
                text.push_str(part);
            }
        }
    }
    Decoded { text, encoded, form: Form::Url { escapes } }
}
