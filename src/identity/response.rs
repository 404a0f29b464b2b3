//! Copies of billed responses. The lake has the counts of the fullest copy.

use serde::{Deserialize, Serialize};

use crate::tables::UsageRow;

/// An optional count in eight bytes. A run holds one set of them for each response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Count(i64);

impl Count {
    /// Returns the count, if there is one.
    pub fn get(self) -> Option<i64> {
        (self.0 >= 0).then_some(self.0)
    }
}

impl Default for Count {
    fn default() -> Self {
        Self(-1)
    }
}

impl From<Option<i64>> for Count {
    fn from(count: Option<i64>) -> Self {
        count.filter(|count| *count >= 0).map_or(Self::default(), Self)
    }
}

/// One session's copy of a billed response, so that the fullest copy can be found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ResponseCopy {
    /// The response.
    pub key: u64,
    /// Tokens.
    pub input: Count,
    /// Tokens.
    pub cache_read: Count,
    /// Tokens.
    pub cache_write_5m: Count,
    /// Tokens.
    pub cache_write_1h: Count,
    /// Tokens.
    pub output: Count,
    /// Tokens.
    pub reasoning: Count,
    /// Count.
    pub web_searches: Count,
    /// Cost as the agent recorded it. USD.
    pub recorded_cost: Option<f64>,
    /// Milliseconds.
    pub duration_ms: Count,
    /// Why the model stopped.
    pub stop_reason: Option<Box<str>>,
    /// Hash of the request's id.
    pub request: Option<u64>,
    /// True if the agent recorded only a running count.
    pub is_partial: bool,
    /// True if it belongs to a side conversation.
    pub is_sidechain: bool,
    /// Copies in this source after the first.
    pub copies: i64,
}

impl ResponseCopy {
    /// Takes the counts from the row of a response with this key. A cost counts only if the agent recorded it.
    pub fn of(key: u64, row: &UsageRow<'_>) -> Self {
        Self {
            key,
            input: row.input_tokens.into(),
            cache_read: row.cache_read_tokens.into(),
            cache_write_5m: row.cache_write_5m_tokens.into(),
            cache_write_1h: row.cache_write_1h_tokens.into(),
            output: row.output_tokens.into(),
            reasoning: row.reasoning_tokens.into(),
            web_searches: row.web_searches.into(),
            recorded_cost: row.cost_usd,
            duration_ms: row.duration_ms.into(),
            stop_reason: row.stop_reason.map(Into::into),
            request: None,
            is_partial: row.is_partial,
            is_sidechain: row.is_sidechain,
            copies: row.copies,
        }
    }

    /// Returns the sum of all kinds of tokens, or `None` if the agent records no tokens.
    pub fn total(&self) -> Option<i64> {
        self.counts().into_iter().filter_map(Count::get).reduce(i64::saturating_add)
    }

    /// Returns how many kinds of tokens it counts.
    pub fn known_counts(&self) -> usize {
        self.counts().into_iter().filter_map(Count::get).count()
    }

    fn counts(&self) -> [Count; 5] {
        [self.input, self.cache_read, self.cache_write_5m, self.cache_write_1h, self.output]
    }
}

/// Copies of responses, ordered by key. They are packed, because a run holds those of all its sources.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Vec<ResponseCopy>", into = "Vec<ResponseCopy>")]
pub(crate) struct ResponseCopies(Option<Box<Packed>>);

/// Some copies. They are boxed, because many replicas have no responses.
#[derive(Debug, Clone, Default, PartialEq)]
struct Packed {
    /// Key of each copy.
    keys: Vec<u64>,
    /// Offset of each copy in `bytes`. Bytes.
    starts: Vec<u32>,
    bytes: Vec<u8>,
}

impl FromIterator<ResponseCopy> for ResponseCopies {
    fn from_iter<I: IntoIterator<Item = ResponseCopy>>(copies: I) -> Self {
        let mut copies: Vec<ResponseCopy> = copies.into_iter().collect();
        if copies.is_empty() {
            return Self(None);
        }
        copies.sort_by_key(|copy| copy.key);
        let mut bytes = Vec::new();
        let (mut keys, mut starts) = (Vec::with_capacity(copies.len()), Vec::with_capacity(copies.len()));
        for copy in copies {
            keys.push(copy.key);
            starts.push(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
            // A write to memory does not fail.
            let _ = postcard::to_io(&ResponseCopy { key: 0, ..copy }, &mut bytes);
        }
        bytes.shrink_to_fit();
        Self(Some(Box::new(Packed { keys, starts, bytes })))
    }
}

impl From<Vec<ResponseCopy>> for ResponseCopies {
    fn from(copies: Vec<ResponseCopy>) -> Self {
        copies.into_iter().collect()
    }
}

impl From<ResponseCopies> for Vec<ResponseCopy> {
    fn from(copies: ResponseCopies) -> Self {
        copies.iter().collect()
    }
}

impl ResponseCopies {
    /// Returns all copies.
    pub(crate) fn iter(&self) -> impl Iterator<Item = ResponseCopy> {
        self.starting_at(0)
    }

    /// Returns the copies of a response.
    pub(crate) fn of(&self, key: u64) -> impl Iterator<Item = ResponseCopy> {
        self.starting_at(self.keys().partition_point(|other| *other < key)).take_while(move |copy| copy.key == key)
    }

    /// Returns the copies that repeat the one before them.
    pub(crate) fn repeats(&self) -> impl Iterator<Item = ResponseCopy> {
        let pairs = self.keys().iter().zip(self.keys().iter().skip(1)).zip(1..);
        pairs.filter(|((key, next), _)| key == next).filter_map(|(_, place)| self.get(place))
    }

    /// Removes the copies of other responses.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(u64) -> bool) {
        if !self.keys().iter().all(|key| is_kept(*key)) {
            *self = self.iter().filter(|copy| is_kept(copy.key)).collect();
        }
    }

    /// Adds copies.
    pub(crate) fn add(&mut self, copies: impl Iterator<Item = ResponseCopy>) {
        let mut copies = copies.peekable();
        if copies.peek().is_some() {
            *self = self.iter().chain(copies).collect();
        }
    }

    fn starting_at(&self, place: usize) -> impl Iterator<Item = ResponseCopy> {
        (place..self.keys().len()).filter_map(|place| self.get(place))
    }

    fn keys(&self) -> &[u64] {
        self.0.as_ref().map_or(&[], |packed| &packed.keys)
    }

    fn get(&self, place: usize) -> Option<ResponseCopy> {
        let Packed { keys, starts, bytes } = &**self.0.as_ref()?;
        let (copy, _) = postcard::take_from_bytes(bytes.get(*starts.get(place)? as usize..)?).ok()?;
        Some(ResponseCopy { key: *keys.get(place)?, ..copy })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Keys may be equal, and counts, costs and texts may be missing.
        #[test]
        fn copies_come_back_as_they_were(
            drawn in proptest::collection::vec(
                (0_u64..6, proptest::option::of(0..=i64::MAX), proptest::option::of(0.0..1e9), ".{0,9}", any::<bool>()),
                0..20,
            ),
        ) {
            let copy = |(key, count, cost, text, flag): (u64, Option<i64>, Option<f64>, String, bool)| ResponseCopy {
                key,
                input: count.into(),
                recorded_cost: cost,
                stop_reason: Some(text.into()).filter(|_| flag),
                request: Some(key).filter(|_| flag),
                is_partial: flag,
                ..ResponseCopy::default()
            };
            let mut copies: Vec<ResponseCopy> = drawn.into_iter().map(copy).collect();
            let mut packed: ResponseCopies = copies.iter().cloned().collect();
            copies.sort_by_key(|copy| copy.key);
            prop_assert_eq!(packed.iter().collect::<Vec<_>>(), &copies[..]);
            for key in 0..6 {
                let of_key: Vec<ResponseCopy> = copies.iter().filter(|copy| copy.key == key).cloned().collect();
                prop_assert_eq!(packed.of(key).collect::<Vec<_>>(), of_key);
            }
            let repeats = copies.windows(2).filter(|pair| pair[0].key == pair[1].key).map(|pair| pair[1].clone());
            prop_assert_eq!(packed.repeats().collect::<Vec<_>>(), repeats.collect::<Vec<_>>());
            packed.retain(|key| key != 3);
            packed.add(copies.iter().filter(|copy| copy.key == 3).cloned());
            prop_assert_eq!(packed, copies.into_iter().collect::<ResponseCopies>());
        }
    }
}
