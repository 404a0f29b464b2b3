//! Distributes literals over the buckets of the packed searcher, so that few positions of a text match a bucket.
//!
//! The searcher compares the nibbles of up to four leading bytes with those of all literals of a bucket at once. A
//! bucket matches every combination of the nibbles that occur in it at each position. At a match, the searcher verifies
//! the literals, which costs more than additional buckets. So literals share a bucket if few texts match them together.

/// Number of buckets of the searcher for many literals, and of the one for few. Only x86 has the former.
const BUCKETS: (usize, usize) = if cfg!(target_arch = "aarch64") { (8, 8) } else { (16, 8) };
/// Most literals in a bucket.
const IN_A_BUCKET: usize = 4;
/// Most literals that count as few.
const FEW: usize = 32;
/// Leading bytes that the searcher compares, if the shortest literal is long enough.
const COMPARED: usize = 4;

/// Returns groups of literals, each for a searcher of its own. A literal may occur in its group more than once.
pub(super) fn groups(literals: &[&'static str]) -> Vec<Vec<&'static str>> {
    let (short, long): (Vec<_>, Vec<_>) = literals.iter().partition(|literal| literal.len() < COMPARED);
    [short, long].into_iter().filter(|part| !part.is_empty()).flat_map(|part| searched_alike(&part)).collect()
}

fn searched_alike(literals: &[&'static str]) -> Vec<Vec<&'static str>> {
    let buckets = if literals.len() > FEW { BUCKETS.0 } else { BUCKETS.1 };
    let groups = literals.len().div_ceil(buckets * IN_A_BUCKET);
    let dealt = deal(literals, groups * buckets);
    dealt.chunks(buckets).filter_map(in_searchers_order).collect()
}

/// Orders literals so that the searcher puts them into these buckets: it deals them out in turn, so a bucket with fewer
/// than others repeats one.
fn in_searchers_order(buckets: &[Bucket]) -> Option<Vec<&'static str>> {
    let rounds = buckets.iter().map(|bucket| bucket.count).max()?;
    let any = *buckets.iter().find_map(|bucket| bucket.literals().first())?;
    let of_round = |round: usize| {
        buckets.iter().map(move |bucket| {
            let own = bucket.literals();
            *own.get(round).or(own.first()).unwrap_or(&any)
        })
    };
    Some((0..rounds).flat_map(of_round).collect())
}

/// Puts each literal into the bucket where it adds the fewest matches; the most frequent ones first.
fn deal(literals: &[&'static str], buckets: usize) -> Vec<Bucket> {
    let mut order: Vec<Bucket> = literals.iter().map(|literal| Bucket::default().with(literal)).collect();
    order.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    let mut dealt = vec![Bucket::default(); buckets];
    for literal in order.iter().flat_map(Bucket::literals) {
        let with_room = dealt.iter_mut().filter(|bucket| bucket.count < IN_A_BUCKET);
        let joined = with_room.map(|bucket| (bucket.with(literal), bucket));
        let added = |(joined, bucket): &(Bucket, &mut Bucket)| joined.weight - bucket.weight;
        if let Some((joined, bucket)) = joined.min_by(|a, b| added(a).total_cmp(&added(b))) {
            *bucket = joined;
        }
    }
    dealt
}

#[derive(Clone, Copy, Default)]
struct Bucket {
    literals: [&'static str; IN_A_BUCKET],
    count: usize,
    /// For each compared position, the lower and the higher nibbles that occur, one bit for each.
    halves: [(u16, u16); COMPARED],
    /// Expected share of a text's positions that match.
    weight: f32,
}

impl Bucket {
    fn literals(&self) -> &[&'static str] {
        self.literals.get(..self.count).unwrap_or_default()
    }

    /// Returns the bucket with another literal, if it has room.
    fn with(mut self, literal: &'static str) -> Self {
        if let Some(place) = self.literals.get_mut(self.count) {
            *place = literal;
            self.count += 1;
        }
        self.weight = 1.0;
        for ((low, high), byte) in self.halves.iter_mut().zip(literal.bytes()) {
            *low |= 1 << (byte & 0xf);
            *high |= 1 << (byte >> 4);
            self.weight *= frequency(*low, *high);
        }
        self
    }
}

/// Returns the share of a text's bytes with these nibbles.
fn frequency(low: u16, high: u16) -> f32 {
    let of_high = |half: usize| FREQUENCIES.get(half).into_iter().flat_map(|bytes| halves(low).map(|half| bytes[half]));
    halves(high).flat_map(of_high).sum()
}

/// Returns the positions of the set bits.
fn halves(mut bits: u16) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (lowest < 16).then_some(lowest)
    })
}

/// Bytes of prose and source code, the most frequent first.
const MOST_FREQUENT: &[u8] =
    b" teinasocr_dlhumgfp.()k\"b1:v;2\\/w,34-`=50y6789{}*xT!q>[+]CIR&?S'#AjFNBJOMUD<|PLEWZGVH$z@YQK~X^%";

/// Returns the share of each byte, by its higher and its lower nibble, by Zipf's law: the second is half as frequent as
/// the first, and the third a third.
const FREQUENCIES: [[f32; 16]; 16] = {
    let mut frequencies = [[0.000_2; 16]; 16];
    let mut place = 0;
    while place < MOST_FREQUENT.len() {
        let byte = MOST_FREQUENT[place];
        frequencies[(byte >> 4) as usize][(byte & 0xf) as usize] = 0.2 / (place as f32 + 2.0);
        place += 1;
    }
    frequencies
};

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Each literal is in one group, and a group has no more literals than the packed searcher takes.
        #[test]
        fn every_literal_is_looked_for(literals in prop::collection::btree_set("[a-zA-Z_-]{3,8}", 0..200)) {
            let literals: Vec<&'static str> = literals.into_iter().map(|literal| &*literal.leak()).collect();
            let groups = groups(&literals);
            let found: Vec<BTreeSet<&str>> = groups.iter().map(|group| group.iter().copied().collect()).collect();
            prop_assert_eq!(found.iter().map(BTreeSet::len).sum::<usize>(), literals.len());
            prop_assert_eq!(found.into_iter().flatten().collect::<BTreeSet<_>>(), literals.into_iter().collect());
            prop_assert!(groups.iter().all(|group| group.len() <= 64));
        }
    }
}
