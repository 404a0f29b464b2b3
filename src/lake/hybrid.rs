//! Parquet's encoding of small integers: runs of one number, and bit-packed groups of eight.

/// Numbers of a group.
const GROUP: usize = 8;

/// Packs numbers with a fixed number of bits.
pub(super) struct Hybrid {
    bits: usize,
    packed: Vec<u8>,
    /// Numbers of groups that are not packed yet, because their count comes first.
    waiting: Vec<u32>,
}

impl Hybrid {
    /// Creates a packer for numbers below the limit.
    pub(super) fn new(limit: usize) -> Self {
        let bits = usize::try_from(limit.saturating_sub(1).checked_ilog2().map_or(0, |log| log + 1)).unwrap_or(0);
        Self { bits, packed: Vec::new(), waiting: Vec::new() }
    }

    /// Bits of each number.
    pub(super) fn bits(&self) -> usize {
        self.bits
    }

    /// Adds a number several times.
    pub(super) fn add(&mut self, number: u32, times: usize) {
        let filling = times.min(self.waiting.len().next_multiple_of(GROUP) - self.waiting.len());
        self.waiting.extend(std::iter::repeat_n(number, filling));
        let times = times - filling;
        if times < GROUP {
            self.waiting.extend(std::iter::repeat_n(number, times));
            return;
        }
        self.end_groups();
        push_varint(&mut self.packed, times << 1);
        self.packed.extend(number.to_le_bytes().into_iter().take(self.bits.div_ceil(8)));
    }

    /// Returns all numbers, packed. The last group may be padded.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.waiting.resize(self.waiting.len().next_multiple_of(GROUP), 0);
        self.end_groups();
        self.packed
    }

    fn end_groups(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        push_varint(&mut self.packed, ((self.waiting.len() / GROUP) << 1) | 1);
        let (mut buffer, mut bits) = (0_u64, 0);
        for number in self.waiting.drain(..) {
            buffer |= u64::from(number) << bits;
            bits += self.bits;
            while bits >= 8 {
                self.packed.extend(buffer.to_le_bytes().first());
                buffer >>= 8;
                bits -= 8;
            }
        }
    }
}

pub(super) fn push_varint(bytes: &mut Vec<u8>, mut number: usize) {
    loop {
        let [low, ..] = number.to_le_bytes();
        number >>= 7;
        if number == 0 {
            return bytes.push(low);
        }
        bytes.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Unpacks numbers as the format's description says.
    fn unpacked(mut packed: &[u8], bits: usize, count: usize) -> Vec<u32> {
        let mut numbers = Vec::new();
        while numbers.len() < count {
            let (mut header, mut shift) = (0, 0);
            loop {
                let byte = packed[0];
                packed = &packed[1..];
                header |= usize::from(byte & 0x7f) << shift;
                shift += 7;
                if byte < 0x80 {
                    break;
                }
            }
            let bytes = if header & 1 == 0 { bits.div_ceil(8) } else { (header >> 1) * bits };
            let (run, rest) = packed.split_at(bytes);
            packed = rest;
            let bit = |at: usize| u32::from(run[at / 8] >> (at % 8) & 1);
            let number = |from: usize| (0..bits).map(|place| bit(from + place) << place).sum::<u32>();
            match header & 1 {
                0 => numbers.extend(std::iter::repeat_n(number(0), header >> 1)),
                _ => numbers.extend((0..(header >> 1) * 8).map(|place| number(place * bits))),
            }
        }
        assert!(packed.is_empty());
        numbers
    }

    proptest! {
        #[test]
        fn numbers_come_back(limit in 1..100_000_usize, runs in prop::collection::vec((any::<u32>(), 1..30_usize), 0..60)) {
            let mut hybrid = Hybrid::new(limit);
            let bits = hybrid.bits();
            prop_assert!(1 << bits >= limit && limit * 2 > 1 << bits);
            let runs = runs.into_iter().map(|(number, times)| (number % u32::try_from(limit).unwrap(), times));
            let runs: Vec<(u32, usize)> = runs.collect();
            for (number, times) in &runs {
                hybrid.add(*number, *times);
            }
            let numbers: Vec<u32> = runs.into_iter().flat_map(|(number, times)| std::iter::repeat_n(number, times)).collect();
            let packed = hybrid.finish();
            prop_assert_eq!(&unpacked(&packed, bits, numbers.len())[..numbers.len()], &numbers[..]);
        }
    }
}
