//! Records that wait for a later one that names them, and a lookup of times: a source may have any number of both.

use std::collections::{BTreeMap, HashMap, VecDeque};

/// Items in the order in which they came, found by their names. Several may have one name: the first is found.
pub(super) struct Waiting<T> {
    items: BTreeMap<usize, T>,
    /// Numbers of items by name, also of some that were taken by another name.
    numbers: HashMap<String, VecDeque<usize>>,
    next: usize,
}

impl<T> Default for Waiting<T> {
    fn default() -> Self {
        Self { items: BTreeMap::new(), numbers: HashMap::new(), next: 0 }
    }
}

impl<T> Waiting<T> {
    /// Adds an item, to be found by its names.
    pub(super) fn push<const N: usize>(&mut self, names: [&str; N], item: T) {
        for name in names {
            self.numbers.entry(name.to_owned()).or_default().push_back(self.next);
        }
        self.items.insert(self.next, item);
        self.next += 1;
    }

    fn first(&mut self, name: &str) -> Option<usize> {
        let numbers = self.numbers.get_mut(name)?;
        while numbers.front().is_some_and(|number| !self.items.contains_key(number)) {
            numbers.pop_front();
        }
        numbers.front().copied()
    }

    /// The first item of that name, which waits no more.
    pub(super) fn take(&mut self, name: &str) -> Option<T> {
        self.first(name).and_then(|number| self.items.remove(&number))
    }

    /// The items that wait.
    pub(super) fn values(&self) -> impl ExactSizeIterator<Item = &T> {
        self.items.values()
    }

    /// All items, which wait no more.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = T> + use<T> {
        self.numbers.clear();
        std::mem::take(&mut self.items).into_values()
    }
}

/// Finds the last of many moments that is not after another one, in whatever order they are.
#[derive(Default)]
pub(super) struct LastBefore {
    /// For each moment, the earliest from it on: these are in order.
    earliest: Vec<i64>,
}

impl LastBefore {
    /// The place of the last moment that is at or before this one.
    pub(super) fn place(&self, moment: i64) -> Option<usize> {
        self.earliest.partition_point(|earliest| *earliest <= moment).checked_sub(1)
    }
}

impl FromIterator<i64> for LastBefore {
    fn from_iter<I: IntoIterator<Item = i64>>(moments: I) -> Self {
        let mut earliest: Vec<i64> = moments.into_iter().collect();
        let mut least = i64::MAX;
        for moment in earliest.iter_mut().rev() {
            least = least.min(*moment);
            *moment = least;
        }
        Self { earliest }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_of_a_name_is_found() {
        let mut waiting = Waiting::default();
        waiting.push(["a", "x"], 1);
        waiting.push(["a"], 2);
        waiting.push(["b", "x"], 3);
        assert_eq!((waiting.take("a"), waiting.take("x"), waiting.take("x")), (Some(1), Some(3), None));
        assert_eq!((waiting.drain().collect::<Vec<_>>(), waiting.take("a")), (vec![2], None));
    }

    proptest! {
        #[test]
        fn the_last_before_a_moment_is_found(moments in prop::collection::vec(-9_i64..9, 0..20), at in -10_i64..10) {
            let expected = moments.iter().rposition(|moment| *moment <= at);
            prop_assert_eq!(moments.into_iter().collect::<LastBefore>().place(at), expected);
        }
    }
}
