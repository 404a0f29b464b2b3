//! Hashes and sketches that say whether two texts are the same, or nearly. Every SQL engine compares them alike,
//! whereas its own functions for similarity differ.

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::hashing::{Pieces, hex_byte};

/// Returns a hash of all bytes of an output.
pub(super) fn output_key(output: &str) -> u64 {
    xxh3_64(output.as_bytes())
}

/// Bytes of a text that are split into words. The rest counts as it is.
const LOOKED_AT: usize = 4 << 10;

/// Returns a hash of the tool and the letters of its arguments, which is equal for nearly equal requests. Numbers,
/// white space, punctuation and case do not count, so `head -50` equals `head -100`.
pub(super) fn input_shape(tool: &str, input: &str, letters: &mut Letters) -> u64 {
    let (head, rest) = split(input);
    let mut hasher = Pieces::new();
    hasher.add(tool.as_bytes());
    hasher.add(&[0]);
    hasher.add(letters.of(head));
    hasher.add(rest.as_bytes());
    hasher.hash()
}

/// Returns a hash of the words in the first lines of an error. Names of places and things do not count: paths, and
/// words with digits (numbers, ids, addresses, times). Returns `None` if no word is left.
pub(super) fn error_key(output: &str, letters: &mut Letters) -> Option<u64> {
    let (head, _) = split(output);
    let mut hasher = Pieces::new();
    let mut has_words = false;
    for word in head.split_ascii_whitespace().filter(|word| !names_something(word)) {
        let letters = letters.of(word);
        if !letters.is_empty() {
            has_words = true;
            hasher.add(letters);
            hasher.add(b" ");
        }
    }
    has_words.then(|| hasher.hash())
}

fn names_something(word: &str) -> bool {
    word.bytes().any(|byte| byte.is_ascii_digit() || byte == b'/' || byte == b'\\')
}

/// Bytes that are processed in one step.
const STEP: usize = 32;

/// Buffer for the letters of a text, with room for one more step, so that bounds are checked once a step. It is reused,
/// because clearing it for each text would cost as much as many a text.
pub(super) struct Letters(Box<[u8]>);

impl Letters {
    pub(super) fn new() -> Self {
        Self(vec![0; LOOKED_AT + STEP].into())
    }

    /// Returns the letters of a text in lower case; bytes of other alphabets stay as they are. It writes every byte,
    /// and overwrites it by the next one if it is no letter: a branch for each byte would cost more.
    fn of(&mut self, text: &str) -> &[u8] {
        let mut count = 0;
        for bytes in text.as_bytes().chunks(STEP) {
            let room = self.0.get_mut(count..).and_then(|room| room.first_chunk_mut::<STEP>());
            let Some(letters) = room else { break };
            let mut found = 0;
            for byte in bytes {
                let letter = LETTERS[usize::from(*byte)];
                letters[found % STEP] = letter;
                found += usize::from(letter != 0);
            }
            count += found;
        }
        self.0.get(..count).unwrap_or_default()
    }
}

/// Each byte as a letter in lower case; 0 if it is no letter.
const LETTERS: [u8; 256] = {
    let mut letters = [0; 256];
    let mut byte = u8::MAX;
    while byte > 0 {
        if byte.is_ascii_alphabetic() || !byte.is_ascii() {
            letters[byte as usize] = byte.to_ascii_lowercase();
        }
        byte -= 1;
    }
    letters
};

/// Splits a text into the part that is processed word by word, and the rest.
fn split(text: &str) -> (&str, &str) {
    text.split_at(text.floor_char_boundary(LOOKED_AT))
}

/// Seed of sketches that are stored next to their texts.
pub(crate) const PUBLIC_SEED: u64 = 0;
/// Numbers in a sketch.
const SKETCHED: usize = 32;

/// Returns a sketch of a text's words and pairs of words: for each of 32 random orders, the first one as two hex
/// digits. The share of equal places of two sketches estimates the share of words and pairs that the texts have in
/// common (`MinHash`; the error is about 0.09). Only sketches with the same seed can be compared. Returns `None` for a
/// text without words.
pub(crate) fn text_sketch(text: &str, seed: u64) -> Option<String> {
    let (head, _) = split(text);
    let mut sketch = Sketch::new();
    let mut previous = None;
    for word in head.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let word = hash_of(word, seed);
        sketch.take(word);
        if let Some(previous) = previous.replace(word) {
            sketch.take(word ^ u64::rotate_left(previous, 1));
        }
    }
    previous?;
    let mut digits = String::with_capacity(2 * SKETCHED);
    for hash in sketch.least {
        // Uses the low digits: the high digits of a minimal hash are nearly always zero.
        let [low, ..] = hash.to_le_bytes();
        digits.extend(hex_byte(low).map(char::from));
    }
    Some(digits)
}

/// The smallest hash in each of the orders.
struct Sketch {
    least: [u32; SKETCHED],
    /// Recent hashes, indexed by their low bits: half of all words occurred before.
    taken: [u64; TAKEN],
}

/// Size of the index of recent hashes.
const TAKEN: usize = 256;

impl Sketch {
    fn new() -> Self {
        // Initial values that match no hash, because they differ from their index in the low bits.
        let elsewhere = |place: usize| place as u64 + 1;
        Self { least: [u32::MAX; SKETCHED], taken: std::array::from_fn(elsewhere) }
    }

    /// Updates the orders in which the hash is the smallest.
    #[expect(clippy::cast_possible_truncation, reason = "each half of a hash is as good as the whole")]
    fn take(&mut self, hash: u64) {
        if std::mem::replace(&mut self.taken[hash as usize % TAKEN], hash) == hash {
            return;
        }
        for (order, least) in ORDERS.iter().zip(&mut self.least) {
            *least = (*least).min((hash as u32).wrapping_mul(*order));
        }
    }
}

/// Longest word that is lowercased in place, as most are.
const SHORT_WORD: usize = 32;

/// Returns the hash of a word in lower case.
fn hash_of(word: &str, seed: u64) -> u64 {
    let mut room = [0; SHORT_WORD];
    match room.get_mut(..word.len()).filter(|_| word.is_ascii()) {
        Some(lower) => {
            lower.copy_from_slice(word.as_bytes());
            lower.make_ascii_lowercase();
            xxh3_64_with_seed(lower, seed)
        }
        None => xxh3_64_with_seed(word.to_lowercase().as_bytes(), seed),
    }
}

/// One odd factor for each order. Multiplying by it permutes all 32-bit hashes, and vector instructions multiply
/// several at once.
const ORDERS: [u32; SKETCHED] = {
    let mut orders = [0; SKETCHED];
    let mut order = 0;
    while order < SKETCHED {
        orders[order] = (mix((order as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)) >> 32) as u32 | 1;
        order += 1;
    }
    orders
};

/// The finisher of `SplitMix64`: every input bit affects every output bit.
const fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn requests_that_differ_in_numbers_and_spaces_are_nearly_the_same() {
        let shape = |input| input_shape("Bash", input, &mut Letters::new());
        assert_eq!(shape("cargo test 2>&1 | tail -50"), shape("cargo  test 2>&1 | tail -100"));
        assert_ne!(shape("cargo test"), shape("cargo check"));
        assert_ne!(shape("ls"), input_shape("Glob", "ls", &mut Letters::new()));
        let long = "x".repeat(2 * LOOKED_AT);
        assert_ne!(shape(&long), shape(&format!("{long}1")));
    }

    #[test]
    fn errors_that_differ_in_place_and_number_are_the_same() {
        let key = |output| error_key(output, &mut Letters::new()).unwrap();
        let error = "error[E0425]: cannot find value `x` in this scope\n --> src/main.rs:4:5";
        let elsewhere = "error[E0425]: cannot find value `x` in this scope\n --> src/other/lib.rs:118:21";
        assert_eq!(key(error), key(elsewhere));
        assert_ne!(key(error), key("error[E0425]: cannot find value `y` in this scope\n --> src/main.rs:4:5"));
        assert_eq!(key("Connection to 10.0.0.1:8080 refused"), key("connection to 10.0.0.2:9090 refused"));
        assert_eq!(error_key("127", &mut Letters::new()), None);
        assert_eq!(error_key("", &mut Letters::new()), None);
    }

    #[test]
    fn sketches_tell_how_alike_texts_are() {
        let alike = |a, b| share(&text_sketch(a, 7).unwrap(), &text_sketch(b, 7).unwrap());
        let asked = "Please fix the failing test in the parser, it breaks on empty input";
        assert!(alike(asked, asked) > 0.99);
        assert!(alike(asked, "please fix the failing test in the parser: it breaks on empty input!") > 0.99);
        assert!(alike(asked, "Fix the failing test in the parser, it breaks on empty input now") > 0.6);
        assert!(alike(asked, "Now write the documentation of the new command and commit") < 0.3);
        assert_eq!(text_sketch("  … !", 7), None);
        assert!(share(&text_sketch(asked, 7).unwrap(), &text_sketch(asked, 8).unwrap()) < 0.3);
    }

    /// Share of equal places.
    fn share(a: &str, b: &str) -> f64 {
        let equal = a.as_bytes().chunks(2).zip(b.as_bytes().chunks(2)).filter(|(a, b)| a == b).count();
        f64::from(u32::try_from(equal).unwrap()) / 32.0
    }

    proptest! {
        #[test]
        fn letters_are_those_of_the_text(texts in prop::collection::vec(".{0,200}", 1..4)) {
            let mut letters = Letters::new();
            for text in texts {
                let own = text.bytes().filter(|byte| byte.is_ascii_alphabetic() || !byte.is_ascii());
                prop_assert_eq!(letters.of(&text), own.collect::<Vec<u8>>().to_ascii_lowercase());
            }
        }

        #[test]
        fn words_hash_as_in_lower_case(word in "[a-zA-Z0-9äÖŒ]{0,40}") {
            prop_assert_eq!(hash_of(&word, 7), xxh3_64_with_seed(word.to_lowercase().as_bytes(), 7));
        }

        #[test]
        fn any_text_has_its_keys(text in any::<String>(), tool in any::<String>()) {
            let mut letters = Letters::new();
            input_shape(&tool, &text, &mut letters);
            output_key(&text);
            error_key(&text, &mut letters);
            prop_assert!(text_sketch(&text, 7).is_none_or(|sketch| sketch.len() == 64));
        }
    }
}
