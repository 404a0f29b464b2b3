//! Hashes as stored: sixteen hexadecimal digits, the same on every machine.

use std::ops::Deref;

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// A hash as 16 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hex([u8; 16]);

const DIGITS: [u8; 16] = *b"0123456789abcdef";

impl Hex {
    pub(super) fn of(hash: u64) -> Self {
        let mut digits = [0; 16];
        for (byte, pair) in hash.to_be_bytes().into_iter().zip(digits.chunks_exact_mut(2)) {
            pair.copy_from_slice(&hex_byte(byte));
        }
        Self(digits)
    }
}

impl Deref for Hex {
    type Target = str;

    fn deref(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// A byte as two hexadecimal digits.
pub(super) fn hex_byte(byte: u8) -> [u8; 2] {
    [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 0xf)]]
}

/// Bytes that are concatenated before hashing.
const SHORT: usize = 512;

/// Hashes pieces as if they were concatenated. Short ones are concatenated first, because setting up a streaming hasher
/// costs more than hashing them.
pub(super) struct Pieces {
    short: [u8; SHORT],
    length: usize,
    long: Option<Box<Xxh3>>,
}

impl Pieces {
    pub(super) fn new() -> Self {
        Self { short: [0; SHORT], length: 0, long: None }
    }

    pub(super) fn add(&mut self, piece: &[u8]) {
        if let Some(long) = &mut self.long {
            long.update(piece);
        } else if let Some(room) = self.short.get_mut(self.length..self.length + piece.len()) {
            room.copy_from_slice(piece);
            self.length += piece.len();
        } else {
            let mut long = Box::new(Xxh3::new());
            long.update(self.so_far());
            long.update(piece);
            self.long = Some(long);
        }
    }

    pub(super) fn hash(&self) -> u64 {
        self.long.as_ref().map_or_else(|| xxh3_64(self.so_far()), |long| long.digest())
    }

    fn so_far(&self) -> &[u8] {
        self.short.get(..self.length).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pieces_hash_as_what_they_are_together(pieces in prop::collection::vec(
            prop::collection::vec(any::<u8>(), 0..400), 0..8)) {
            let mut hasher = Pieces::new();
            for piece in &pieces {
                hasher.add(piece);
            }
            let hash = xxh3_64(&pieces.concat());
            prop_assert_eq!(hasher.hash(), hash);
            prop_assert_eq!(&*Hex::of(hash), format!("{hash:016x}"));
        }
    }
}
