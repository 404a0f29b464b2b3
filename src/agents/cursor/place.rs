//! Folders as Cursor names them: URIs, and `workspace.json`.

use super::record::{Repository, Uri, Workspace, WorkspaceFile};
use super::value;
use crate::agents::uri::path_of_uri;
use crate::source::records::{List, Object, Text};
use crate::source::{Source, repair};

/// Returns the folder of a workspace database, by the file next to it.
pub(super) fn of_database(source: &Source<'_>) -> Option<String> {
    let bytes = source.sidecar(&source.path.with_file_name("workspace.json"))?;
    let text = repair(&bytes);
    value::read::<WorkspaceFile<'static>, _>(&text, |file| {
        let several = || file.workspace.get().and_then(path_of_uri).and_then(|path| parent(&path));
        file.folder.get().and_then(path_of_uri).or_else(several)
    })
    .ok()?
}

/// Returns the folder in which a composer was opened, as it records.
pub(super) fn of_workspace(workspace: &Object<Workspace<'_>>) -> Option<String> {
    let workspace = workspace.0.as_ref()?;
    let several = || workspace.file.0.as_ref().and_then(path_of).and_then(|path| parent(&path));
    workspace.uri.0.as_ref().and_then(path_of).or_else(several)
}

fn path_of(uri: &Uri<'_>) -> Option<String> {
    let plain = |text: &Text<'_>| text.owned();
    plain(&uri.fs_path).or_else(|| plain(&uri.path)).or_else(|| path_of_uri(uri.external.get()?))
}

fn parent(path: &str) -> Option<String> {
    let end = path.rfind(['/', '\\'])?;
    path.get(..end).filter(|path| !path.is_empty()).map(str::to_owned)
}

/// Returns path and branch of the repositories: the first one's path, and the branch with the latest work.
pub(super) fn of_repositories(repositories: &List<Object<Repository<'_>>>) -> (Option<String>, Option<String>) {
    let all = || repositories.0.iter().filter_map(|repository| repository.0.as_ref());
    let path = all().find_map(|repository| repository.path.get());
    let branches = all().flat_map(|repository| &repository.branches.0).filter_map(|branch| branch.0.as_ref());
    let last = branches.filter(|branch| branch.name.get().is_some()).max_by_key(|branch| branch.at.0);
    (path.map(str::to_owned), last.and_then(|branch| branch.name.get()).map(str::to_owned))
}
