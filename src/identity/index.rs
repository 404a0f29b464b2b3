//! The first replica with each key.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// Number of tables. They grow one after another, so that few keys are in memory twice meanwhile.
const TABLES: usize = 64;

/// The first replica with each key. A run holds the keys of all its sources, so they are packed.
pub(super) struct Index {
    tables: Vec<HashTable<Holder>>,
}

/// A key and the number of a replica.
#[derive(Clone, Copy)]
#[repr(C, packed(4))]
struct Holder {
    key: u64,
    number: u32,
}

impl Default for Index {
    fn default() -> Self {
        Self { tables: (0..TABLES).map(|_| HashTable::new()).collect() }
    }
}

impl Index {
    /// Returns the first replica with a key.
    pub(super) fn get(&self, key: u64) -> Option<u32> {
        let table = self.tables.get(table_of(key))?;
        table.find(key, |holder| holder.has(key)).map(|holder| holder.number)
    }

    /// Returns the first replica with a key; a replica with a key that none has is the first.
    pub(super) fn get_or_insert(&mut self, key: u64, number: u32) -> u32 {
        let Some(table) = self.tables.get_mut(table_of(key)) else { return number };
        match table.entry(key, |holder| holder.has(key), |holder| holder.key) {
            Entry::Occupied(entry) => entry.get().number,
            Entry::Vacant(entry) => entry.insert(Holder { key, number }).get().number,
        }
    }
}

impl Holder {
    fn has(self, key: u64) -> bool {
        self.key == key
    }
}

/// Returns the index of a key's table. Within a table, the lowest and highest bits decide about the place.
fn table_of(key: u64) -> usize {
    (key >> 40) as usize % TABLES
}
