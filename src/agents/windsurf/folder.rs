//! Which folder a workspace is.

use std::path::Path;

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
        return path_of(folder);
    }
    let list = path_of(workspace.workspace.get()?)?;
    Path::new(&list).parent().and_then(Path::to_str).map(str::to_owned)
}

/// The path in an address: `file:///w/app`, `file:///c%3A/app`, `vscode-remote://host/w/app`.
fn path_of(address: &str) -> Option<String> {
    let Some((_, rest)) = address.split_once("://") else { return Some(address.to_owned()) };
    let path = decoded(rest.get(rest.find('/')?..)?);
    let is_drive = path.get(2..3) == Some(":") && path.as_bytes().get(1).is_some_and(u8::is_ascii_alphabetic);
    Some(if is_drive { path.trim_start_matches('/').to_owned() } else { path })
}

/// With `%3A` and the like as what they stand for.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.get(..2).filter(|_| *first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = behind.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_paths() {
        let of = |address| path_of(address).unwrap();
        assert_eq!(of("file:///w/my%20app"), "/w/my app");
        assert_eq!(of("file:///c%3A/app"), "c:/app");
        assert_eq!(of("vscode-remote://ssh-remote%2Bhost/w/app"), "/w/app");
        assert_eq!(of("/w/100%"), "/w/100%");
    }
}
