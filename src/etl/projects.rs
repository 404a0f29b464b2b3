//! The projects that sessions name. Some agents keep files in them. Some agents record only a hash of the path, which
//! is looked up among the paths of all sessions.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use sha2::{Digest, Sha256};

use super::group::{NewPart, Outcome};
use super::sessions::AllNotes;
use crate::lake::layout::PartName;
use crate::lake::manifest::{Manifest, SessionEntry};

/// Folders that sessions name as projects.
pub(super) fn folders<'p>(paths: impl IntoIterator<Item = &'p String>) -> Vec<PathBuf> {
    paths.into_iter().map(PathBuf::from).filter(|path| path.is_absolute()).collect()
}

/// Adds the projects of rebuilt sessions to the known ones. Returns the new ones.
pub(super) fn add_new(outcomes: &[Outcome], known: &mut BTreeSet<String>) -> Vec<PathBuf> {
    let parts = outcomes.iter().flat_map(|outcome| &outcome.parts);
    let named: BTreeSet<&String> = parts.flat_map(|part| &part.projects).collect();
    let new: Vec<&String> = named.into_iter().filter(|path| !known.contains(*path)).collect();
    let folders = folders(new.iter().copied());
    known.extend(new.into_iter().cloned());
    folders
}

/// Sets the project of sessions that know only its hash. Returns all known paths, with those of new sessions.
pub(super) fn tell(manifest: &Manifest, new: &[NewPart], notes: &mut AllNotes) -> BTreeSet<String> {
    let named = new.iter().flat_map(|part| &part.projects);
    let known: BTreeSet<String> = manifest.project_paths.iter().chain(named).cloned().collect();
    let written = new.iter().flat_map(|part| part.sessions.iter().map(move |session| (&part.name, &session.entry)));
    let replaced: HashSet<&PartName> = new.iter().map(|part| &part.name).collect();
    let kept = manifest.parts.iter().filter(|(name, _)| !replaced.contains(name));
    let kept = kept.flat_map(|(name, part)| part.sessions.iter().map(move |entry| (name, entry)));
    let mut nameless: Vec<(&PartName, &SessionEntry)> = written.chain(kept).collect();
    nameless.retain(|(_, entry)| entry.project_hash.is_some());
    if nameless.is_empty() {
        return known;
    }
    let hashed = known.iter().map(|path| (hash_of(path), path));
    let paths: HashMap<String, &String> = hashed.flat_map(|(hash, path)| [(cut(&hash), path), (hash, path)]).collect();
    for (part, entry) in nameless {
        let path = entry.project_hash.as_ref().and_then(|hash| paths.get(hash));
        if let Some(path) = path {
            let said = notes.entry((part.agent.clone(), entry.id.to_string())).or_default();
            said.project_path = Some((*path).clone());
        }
    }
    known
}

/// Returns the first half of a hash, which Kiro IDE uses as the name of a workspace's folder.
fn cut(hash: &str) -> String {
    hash.chars().take(32).collect()
}

/// Returns a SHA-256 in hexadecimal digits, which Gemini CLI uses as the name of a project's folder.
fn hash_of(path: &str) -> String {
    let mut digits = String::with_capacity(64);
    for byte in Sha256::digest(path) {
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}
