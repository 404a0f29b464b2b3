//! The small files next to an events file that describe the session: `workspace.yaml` and `vscode.metadata.json`.

use serde::Deserialize;
use serde_saphyr::DuplicateKeyPolicy;

use super::record::EditorMetadata;
use crate::extract::Facts;
use crate::source::{Source, repair};

/// Their names.
pub(super) const NAMES: [&str; 2] = ["workspace.yaml", "vscode.metadata.json"];

/// Their content.
#[derive(Default)]
pub(super) struct SidecarFacts {
    name: Option<String>,
    custom_title: Option<String>,
    summary: Option<String>,
    cwd: Option<String>,
    branch: Option<String>,
    repository: Option<String>,
}

/// Reads those next to a session's events.
pub(super) fn read(source: &Source<'_>) -> SidecarFacts {
    if source.path.file_name().is_none_or(|name| name != super::EVENTS) {
        return SidecarFacts::default();
    }
    let [workspace, editor] = NAMES.map(|name| source.sidecar(&source.path.with_file_name(name)));
    let workspace = Workspace::of(&repair(workspace.as_deref().unwrap_or_default()));
    let editor = repair(editor.as_deref().unwrap_or_default()).into_owned();
    let editor: EditorMetadata<'_> = serde_json::from_str(&editor).unwrap_or_default();
    SidecarFacts {
        name: workspace.name,
        custom_title: editor.title.owned(),
        summary: workspace.summary,
        cwd: workspace.cwd.or_else(|| editor.folder.owned()),
        branch: workspace.branch,
        repository: workspace.repository,
    }
}

impl SidecarFacts {
    /// Adds the content to the facts from events. The events take precedence, except for the title, which they do not
    /// have.
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

/// The fields of `workspace.yaml` that llrem uses.
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
    /// Reads a file. From a damaged file, reads the valid entries.
    fn of(yaml: &str) -> Self {
        let parse = |yaml: &str| -> Option<Self> {
            let options = serde_saphyr::options! { duplicate_keys: DuplicateKeyPolicy::LastWins };
            serde_saphyr::from_str_with_options(yaml, options).ok()
        };
        let valid = || entries(yaml).into_iter().filter(|entry| parse(entry).is_some()).collect::<String>();
        parse(yaml).or_else(|| parse(&valid())).unwrap_or_default()
    }
}

/// Splits a mapping into its entries. An entry begins with a line that is not indented.
fn entries(yaml: &str) -> Vec<String> {
    let mut entries: Vec<String> = Vec::new();
    for line in yaml.split_inclusive('\n') {
        match entries.last_mut() {
            Some(entry) if line.starts_with([' ', '-', '\r', '\n']) => entry.push_str(line),
            _ => entries.push(line.to_owned()),
        }
    }
    entries
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
    fn a_damaged_workspace_loses_only_what_is_damaged() {
        let read = Workspace::of("id: 1\ncwd: /home/ana\nname: \"torn\nsummary: |-\n  Two\n  lines\nbranch: {");
        assert_eq!((read.cwd.as_deref(), read.summary.as_deref()), (Some("/home/ana"), Some("Two\nlines")));
        assert_eq!((read.name, read.branch), (None, None));
        for yaml in ["", "a", "name: \"x", "- a", "name: {", &"[".repeat(100_000), &"a:\n ".repeat(1000)] {
            assert_eq!(Workspace::of(yaml).name, None, "{}", yaml.len());
        }
    }
}
