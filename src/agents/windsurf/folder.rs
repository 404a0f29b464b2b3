//! Which folder a workspace is.

use std::path::Path;

use crate::agents::uri::path_of_uri;
use crate::source::records::{Text, record};
use crate::source::{Source, repair};

/// The file that says it.
pub(super) const DESCRIPTION: &str = "workspace.json";

record! {
    /// What the editor notes of a workspace.
    Workspace<'a> { folder: Text<'a> = "folder", workspace: Text<'a> = "workspace" }
}

/// The folder of the workspace that a database is of; of several folders the one that their list lies in.
pub(super) fn beside(source: &Source<'_>) -> Option<String> {
    let bytes = source.sidecar(&source.path.with_file_name(DESCRIPTION))?;
    let json = repair(&bytes);
    let workspace: Workspace<'_> = serde_json::from_str(&json).ok()?;
    if let Some(folder) = workspace.folder.get() {
        return path_of_uri(folder);
    }
    let list = path_of_uri(workspace.workspace.get()?)?;
    Path::new(&list).parent().and_then(Path::to_str).map(str::to_owned)
}
