//! Folders of editors that are built like VS Code, and of their servers.

use std::path::{Path, PathBuf};

use super::folders::folders;
use super::uri::path_of_uri;
use super::{Found, Places};
use crate::source::records::{Text, record};
use crate::source::{Source, repair};

/// Parts of the names of hidden folders in which editors keep the data of their servers: `.vscode-server`,
/// `.vscode-remote`, `.cursor-server`.
const SERVERS: [&str; 2] = ["-server", "-remote"];
/// Folder of code-server.
const CODE_SERVER: &str = ".local/share/code-server";

/// The file in which an editor names the folder of a workspace.
pub(super) const WORKSPACE: &str = "workspace.json";

record! {
    /// The folder of a workspace, or a file that lists several.
    Workspace<'a> { folder: Text<'a> = "folder", workspace: Text<'a> = "workspace" }
}

/// Returns the `User` folder of every editor. Forks have folders of their own names, so that any folder counts.
pub(super) fn users(places: &Places, found: &mut Found) -> Vec<PathBuf> {
    let home = &places.home;
    let bases = [
        places.folder("XDG_CONFIG_HOME", ".config"),
        home.join("Library/Application Support"),
        places.folder("APPDATA", "AppData/Roaming"),
    ];
    let mut users: Vec<PathBuf> = Vec::new();
    for base in bases {
        users.extend(folders(&base, found).into_iter().map(|editor| editor.join("User")));
    }
    users.extend(servers(home));
    users.push(home.join(CODE_SERVER).join("User"));
    users
}

fn servers(home: &Path) -> Vec<PathBuf> {
    let is_server = |name: &str| name.starts_with('.') && SERVERS.iter().any(|part| name.contains(part));
    let entries = std::fs::read_dir(home).into_iter().flatten().filter_map(Result::ok);
    let servers = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_server));
    let mut servers: Vec<PathBuf> = servers.map(|entry| entry.path().join("data/User")).collect();
    servers.sort_unstable();
    servers
}

/// Returns the folder of a workspace from its description; of several folders, the one that holds their list.
pub(super) fn workspace_folder(source: &Source<'_>, description: &Path) -> Option<String> {
    let bytes = source.sidecar(description)?;
    let json = repair(&bytes);
    let workspace: Workspace<'_> = serde_json::from_str(&json).ok()?;
    if let Some(folder) = workspace.folder.get() {
        return path_of_uri(folder);
    }
    let list = path_of_uri(workspace.workspace.get()?)?;
    Path::new(&list).parent().and_then(Path::to_str).map(str::to_owned)
}
