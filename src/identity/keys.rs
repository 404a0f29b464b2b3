//! Maps and sets by key.

use std::hash::{BuildHasherDefault, Hasher};

/// A hasher that does nothing: keys are hashes already.
#[derive(Default)]
pub(crate) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

/// A map by key.
pub(crate) type KeyMap<V> = hashbrown::HashMap<u64, V, BuildHasherDefault<KeyHasher>>;
/// A set of keys.
pub(crate) type KeySet = hashbrown::HashSet<u64, BuildHasherDefault<KeyHasher>>;
