//! Finds the workspace of a folder: the folder's name is a hash of the workspace's path; a folder of sessions is named
//! after the path itself.

use std::fmt::Write as _;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::SESSIONS;
use crate::agents::base64;
use crate::source::Source;

/// Digits of the hash that a folder is named after.
const DIGITS: usize = 32;

/// A workspace, as far as it is known.
#[derive(Default)]
pub(super) struct Workspace {
    pub(super) path: Option<String>,
    /// The first digits of the hash of its path.
    pub(super) hash: Option<String>,
}

impl Workspace {
    /// The workspace of a folder.
    pub(super) fn of(source: &Source<'_>, folder: Option<&Path>) -> Self {
        let Some(folder) = folder else { return Self::default() };
        let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.len() != DIGITS || !name.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Self::default();
        }
        let named = folder.parent().map(|ours| source.names_in(&ours.join(SESSIONS))).unwrap_or_default();
        let path = named.iter().flat_map(|name| paths(name)).find(|path| hash(path) == name);
        Self { path, hash: Some(name.to_owned()) }
    }
}

/// Returns the paths that the name of a folder of sessions may mean: some names end in `_` where Base64 ends in
/// `=`.
fn paths(name: &str) -> impl Iterator<Item = String> {
    let decoded = [name, name.trim_end_matches('_')].map(base64::decode);
    decoded.into_iter().flatten().filter_map(|bytes| String::from_utf8(bytes).ok())
}

fn hash(path: &str) -> String {
    let mut digits = String::with_capacity(64);
    for byte in Sha256::digest(path) {
        let _ = write!(digits, "{byte:02x}");
    }
    digits.truncate(DIGITS);
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_paths() {
        assert!(paths("L3dvcmsvZGVtby1hcHA_").any(|path| path == "/work/demo-app"));
        assert!(paths("L3cvaWRl").any(|path| path == "/w/ide"));
        assert_eq!(hash("/w/ide"), "4de6464413ef4f76c90c085830739f5a");
    }
}
