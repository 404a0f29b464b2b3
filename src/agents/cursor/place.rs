//! Folders as Cursor names them: URIs, and `workspace.json`.

use super::record::{Repository, Uri, Workspace, WorkspaceFile};
use super::value;
use crate::source::records::{List, Object, Text};
use crate::source::{Source, repair};

/// The folder of a workspace database, by the file beside it.
pub(super) fn of_database(source: &Source<'_>) -> Option<String> {
    let bytes = source.sidecar(&source.path.with_file_name("workspace.json"))?;
    let text = repair(&bytes);
    value::read::<WorkspaceFile<'static>, _>(&text, |file| {
        let several = || file.workspace.get().and_then(of_uri).and_then(|path| parent(&path));
        file.folder.get().and_then(of_uri).or_else(several)
    })
    .ok()?
}

/// The folder that a composer says it was opened in.
pub(super) fn of_workspace(workspace: &Object<Workspace<'_>>) -> Option<String> {
    let workspace = workspace.0.as_ref()?;
    let several = || workspace.file.0.as_ref().and_then(path_of).and_then(|path| parent(&path));
    workspace.uri.0.as_ref().and_then(path_of).or_else(several)
}

fn path_of(uri: &Uri<'_>) -> Option<String> {
    let plain = |text: &Text<'_>| text.owned();
    plain(&uri.fs_path).or_else(|| plain(&uri.path)).or_else(|| of_uri(uri.external.get()?))
}

/// The path in a URI, whatever machine it is on; none for what has no path.
pub(super) fn of_uri(uri: &str) -> Option<String> {
    let Some((_, rest)) = uri.split_once("://") else { return Some(uri.to_owned()).filter(|path| !path.is_empty()) };
    let path = rest.get(rest.find('/')?..)?;
    let path = decoded(path);
    let after_slash = path.strip_prefix('/').unwrap_or(&path);
    let has_drive = after_slash.as_bytes().get(1) == Some(&b':')
        && after_slash.bytes().next().is_some_and(|letter| letter.is_ascii_alphabetic());
    Some(if has_drive { after_slash.to_owned() } else { path }).filter(|path| !path.is_empty())
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = after.get(..2).filter(|_| *first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        match hex.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn parent(path: &str) -> Option<String> {
    let end = path.rfind(['/', '\\'])?;
    path.get(..end).filter(|path| !path.is_empty()).map(str::to_owned)
}

/// Path and branch of the repositories that were worked in: the first's path, the branch that was worked on last.
pub(super) fn of_repositories(repositories: &List<Object<Repository<'_>>>) -> (Option<String>, Option<String>) {
    let all = || repositories.0.iter().filter_map(|repository| repository.0.as_ref());
    let path = all().find_map(|repository| repository.path.get());
    let branches = all().flat_map(|repository| &repository.branches.0).filter_map(|branch| branch.0.as_ref());
    let last = branches.filter(|branch| branch.name.get().is_some()).max_by_key(|branch| branch.at.0);
    (path.map(str::to_owned), last.and_then(|branch| branch.name.get()).map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_uris() {
        for (uri, path) in [
            ("file:///w/my%20app", Some("/w/my app")),
            ("file:///c%3A/Users/kim/app", Some("c:/Users/kim/app")),
            ("vscode-remote://ssh-remote%2Bbox/srv/app", Some("/srv/app")),
            ("vscode-remote://wsl%2BUbuntu/home/kim/100%", Some("/home/kim/100%")),
            ("/w/app", Some("/w/app")),
            ("untitled://", None),
            ("", None),
        ] {
            assert_eq!(of_uri(uri).as_deref(), path, "{uri}");
        }
    }
}
