//! The small files beside an events file that tell of the session: `workspace.yaml` and `vscode.metadata.json`.

use serde::Deserialize;
use serde_saphyr::DuplicateKeyPolicy;

use super::record::EditorMetadata;
use crate::extract::Facts;
use crate::source::{Source, repair};

/// Their names.
pub(super) const NAMES: [&str; 2] = ["workspace.yaml", "vscode.metadata.json"];

/// What they tell.
#[derive(Default)]
pub(super) struct Told {
    name: Option<String>,
    custom_title: Option<String>,
    summary: Option<String>,
    cwd: Option<String>,
    branch: Option<String>,
    repository: Option<String>,
}

/// Reads those that lie beside a session's events.
pub(super) fn read(source: &Source<'_>) -> Told {
    if source.path.file_name().is_none_or(|name| name != super::EVENTS) {
        return Told::default();
    }
    let [workspace, editor] = NAMES.map(|name| source.sidecar(&source.path.with_file_name(name)));
    let workspace = Workspace::of(&repair(workspace.as_deref().unwrap_or_default()));
    let editor = repair(editor.as_deref().unwrap_or_default()).into_owned();
    let editor: EditorMetadata<'_> = serde_json::from_str(&editor).unwrap_or_default();
    Told {
        name: workspace.name,
        custom_title: editor.title.get().map(str::to_owned),
        summary: workspace.summary,
        cwd: workspace.cwd.or_else(|| editor.folder.get().map(str::to_owned)),
        branch: workspace.branch,
        repository: workspace.repository,
    }
}

impl Told {
    /// Adds to what the events tell; they go before, but for the title, which they do not have.
    pub(super) fn complete(self, facts: Facts) -> Facts {
        Facts {
            title: self.name.or(self.custom_title),
            summary: self.summary,
            project_path: facts.project_path.or(self.cwd),
            git_branch: facts.git_branch.or(self.branch),
            git_repo: facts.git_repo.or(self.repository),
            ..facts
        }
    }
}

/// What is read of `workspace.yaml`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Workspace {
    name: Option<String>,
    summary: Option<String>,
    cwd: Option<String>,
    branch: Option<String>,
    repository: Option<String>,
}

impl Workspace {
    fn of(yaml: &str) -> Self {
        let options = serde_saphyr::options! { duplicate_keys: DuplicateKeyPolicy::LastWins };
        serde_saphyr::from_str_with_options(yaml, options).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_is_read_as_yaml() {
        let yaml = "id: 1\nname: \"Fix: it's\" # a title\ncwd: '/home/ana''s'\nsummary: |-\n  - Two\n    - lines\nbranch: 1.0\n\
                    host: {a: [b]}\nrepository: >-\n  ana/\n  api\n\n  more\n";
        let read = Workspace::of(yaml);
        assert_eq!(read.name.as_deref(), Some("Fix: it's"));
        assert_eq!(read.cwd.as_deref(), Some("/home/ana's"));
        assert_eq!(read.summary.as_deref(), Some("- Two\n  - lines"));
        assert_eq!(read.branch.as_deref(), Some("1.0"));
        assert_eq!(read.repository.as_deref(), Some("ana/ api\nmore"));
        assert_eq!(Workspace::of("name: null\nname: a\ncwd: ~").name.as_deref(), Some("a"));
        assert_eq!(Workspace::of("name: null\ncwd: ~\nsummary:\n").cwd, None);
    }

    #[test]
    fn a_damaged_workspace_is_harmless() {
        for yaml in ["", "a", "name: \"x", "- a", "name: {", &"[".repeat(100_000), &"a:\n ".repeat(1000)] {
            assert_eq!(Workspace::of(yaml).name, None, "{}", yaml.len());
        }
    }
}
