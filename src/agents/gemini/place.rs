//! Derives a session's parent and project from the path of its chat.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::record::Projects;
use crate::source::records::Text;
use crate::source::{Source, repair};

/// The folder of a chat, and what follows from it.
pub(super) struct Origin {
    /// The file's name without its extension.
    pub(super) stem: String,
    /// True if it is one document rather than lines.
    pub(super) is_document: bool,
    /// Session that started it: the folders between `chats` and the file.
    pub(super) parent: Option<String>,
    /// The project's folder below `tmp`.
    project: Option<PathBuf>,
}

impl Origin {
    /// Looks at the path of a chat.
    pub(super) fn of(source: &Source<'_>) -> Self {
        let chats = source.path.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == "chats"));
        let between = source.path.parent().zip(chats).and_then(|(folder, chats)| folder.strip_prefix(chats).ok());
        let names = between.into_iter().flat_map(Path::iter).filter_map(|name| name.to_str());
        let parent = names.collect::<Vec<_>>().join("/");
        Self {
            stem: source.stem().to_owned(),
            is_document: source.path.extension().is_some_and(|extension| extension == "json"),
            parent: Some(parent).filter(|parent| !parent.is_empty()),
            project: chats.and_then(Path::parent).map(Path::to_owned),
        }
    }

    /// The session's id. A subagent is named by its place. The server gives all its chats one name.
    pub(super) fn session_id(&self, session: &str) -> String {
        match &self.parent {
            Some(parent) => format!("{parent}/{}", self.stem),
            None if session.starts_with("a2a-server") => self.stem.clone(),
            None => session.to_owned(),
        }
    }

    /// The project's path, or its hash where only that is known.
    pub(super) fn project(&self, source: &Source<'_>, hash: Option<&str>) -> (Option<String>, Option<String>) {
        self.project.as_deref().map_or((None, None), |folder| project_of(source, folder, hash))
    }

    /// A line of the source; a document's lines say nothing.
    pub(super) fn line(&self, line: u64) -> Option<i64> {
        i64::try_from(line).ok().filter(|_| !self.is_document)
    }
}

/// Name of the file that says whose a project's folder is.
pub(super) const OWNER: &str = ".project_root";

/// The path of the project that a folder below `tmp` is of: the folder says it, or the registry does; or only its hash.
pub(super) fn project_of(source: &Source<'_>, folder: &Path, hash: Option<&str>) -> (Option<String>, Option<String>) {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let hash = Some(name).filter(|name| is_hash(name)).or(hash.filter(|hash| is_hash(hash)));
    let owner = source.sidecar(&folder.join(OWNER)).map(|bytes| repair(&bytes).trim().to_owned());
    let path = owner.filter(|path| !path.is_empty()).or_else(|| registered(source, folder, name, hash));
    (path, hash.map(str::to_owned))
}

/// Returns the project that `projects.json` names for a folder.
fn registered(source: &Source<'_>, folder: &Path, name: &str, hash: Option<&str>) -> Option<String> {
    let registry = source.sidecar(&folder.parent()?.parent()?.join("projects.json"))?;
    let registry = repair(&registry);
    let projects: Projects<'_> = serde_json::from_str(&registry).ok()?;
    let slugs: BTreeMap<String, Text<'_>> = serde_json::from_str(projects.slugs.json()?).ok()?;
    let by_slug = slugs.iter().find(|(_, slug)| slug.is(name)).map(|(path, _)| path);
    let by_hash = || slugs.keys().find(|path| hash.is_some_and(|hash| hash_of(path) == hash));
    by_slug.or_else(by_hash).cloned()
}

fn is_hash(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// SHA-256 of a project's path, as Gemini CLI names its folder.
fn hash_of(path: &str) -> String {
    Sha256::digest(path).iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
