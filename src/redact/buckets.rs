//! Deals literals into the buckets of the packed searcher, so that little of a text looks like one of them.
//!
//! The searcher compares the halves of up to four leading bytes with those of all literals of a bucket at once: a bucket
//! stands for every combination of the halves that occur in it at each place. Where one occurs in a text, the searcher
//! stops and looks closer, and that it stops seldom is worth more than that it has few buckets. So literals share a bucket
//! if few texts have what they stand for together.

/// Buckets of the searcher for many literals, and of the one for few. Only x86 has the former.
const BUCKETS: (usize, usize) = if cfg!(target_arch = "aarch64") { (8, 8) } else { (16, 8) };
/// Literals in a bucket at most.
const IN_A_BUCKET: usize = 4;
/// More literals than these are many.
const FEW: usize = 32;
/// Leading bytes that the searcher compares, if the shortest literal has so many.
const COMPARED: usize = 4;

/// Groups of literals, each to be looked for by a searcher of its own. A literal may stand in its group more than once.
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

/// The searcher puts its literals into its buckets one after the other, and begins anew: a bucket that has fewer than
/// others gets one of them again.
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

/// Each literal goes where it makes the least difference; the most frequent ones choose first.
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
    /// For each compared place, the lower and the higher halves of bytes that occur; one bit for each half.
    halves: [(u16, u16); COMPARED],
    /// How often a text looks like one of them.
    weight: f32,
}

impl Bucket {
    fn literals(&self) -> &[&'static str] {
        self.literals.get(..self.count).unwrap_or_default()
    }

    /// The same bucket, which has room, with another literal.
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

/// How many of a text's bytes consist of these halves. Share.
fn frequency(low: u16, high: u16) -> f32 {
    let of_high = |half: usize| FREQUENCIES.get(half).into_iter().flat_map(|bytes| halves(low).map(|half| bytes[half]));
    halves(high).flat_map(of_high).sum()
}

/// The places of the bits that are set.
fn halves(mut bits: u16) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (lowest < 16).then_some(lowest)
    })
}

/// What prose and source are made of, the most frequent bytes first.
const MOST_FREQUENT: &[u8] =
    b" teinasocr_dlhumgfp.()k\"b1:v;2\\/w,34-`=50y6789{}*xT!q>[+]CIR&?S'#AjFNBJOMUD<|PLEWZGVH$z@YQK~X^%";

/// The share of each byte, by its higher and its lower half. Roughly, the second in the order is half as frequent as the
/// first, and the third a third.
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
        /// Each literal is in one group, and a group has no more than the packed searcher takes.
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
