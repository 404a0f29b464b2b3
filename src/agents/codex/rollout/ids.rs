//! Names of messages. Few items have ids of their own. The others are named by their text and the text before, so that
//! a copy in a fork, stamped with another time, has the name of the original.

use xxhash_rust::xxh3::Xxh3;

use crate::extract::{KeyMap, KeySet, Kind, key};

/// Names messages.
#[derive(Default)]
pub(super) struct Ids {
    /// Hash of the previous message.
    before: u64,
    seen: KeyMap<u32>,
    explicit: KeySet,
}

impl Ids {
    /// Returns the name of a message: the provider's id if there is one, else a hash of its parts and the message
    /// before.
    pub(super) fn of(&mut self, namespace: &str, explicit: Option<&str>, parts: &[&str]) -> String {
        let mut hasher = Xxh3::new();
        for part in parts {
            hasher.update(part.as_bytes());
            hasher.update(&[0]);
        }
        let own = hasher.digest();
        let hash = own ^ self.before.rotate_left(23);
        self.before = own;
        let explicit = explicit.filter(|id| id.len() >= 20 && (id.starts_with("msg_") || id.starts_with("rs_")));
        if let Some(id) = explicit
            && self.explicit.insert(key("", Kind::Message, id))
        {
            return id.to_owned();
        }
        let count = self.seen.entry(hash).or_default();
        *count += 1;
        match *count {
            1 => format!("{namespace}#{hash:016x}"),
            count => format!("{namespace}#{hash:016x}.{count}"),
        }
    }
}
