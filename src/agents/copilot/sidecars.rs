//! The small files beside an events file that tell of the session: `workspace.yaml` and `vscode.metadata.json`.

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
    let workspace = repair(workspace.as_deref().unwrap_or_default()).into_owned();
    let editor = repair(editor.as_deref().unwrap_or_default()).into_owned();
    let editor: EditorMetadata<'_> = serde_json::from_str(&editor).unwrap_or_default();
    let value = |key| yaml_value(&workspace, key);
    Told {
        name: value("name"),
        custom_title: editor.title.get().map(str::to_owned),
        summary: value("summary"),
        cwd: value("cwd").or_else(|| editor.folder.get().map(str::to_owned)),
        branch: value("branch"),
        repository: value("repository"),
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

/// The text under a key of a flat YAML mapping: plain, quoted, or as a block on the lines below.
fn yaml_value(yaml: &str, key: &str) -> Option<String> {
    let mut lines = yaml.lines();
    let first = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?.trim();
    let rest = lines.take_while(|line| line.starts_with(' ') || line.trim().is_empty()).map(str::trim);
    let text = match first.as_bytes().first() {
        Some(b'|') => rest.collect::<Vec<_>>().join("\n"),
        Some(b'>') => rest.collect::<Vec<_>>().join(" "),
        Some(b'"') => {
            let whole = std::iter::once(first).chain(rest).collect::<Vec<_>>().join(" ");
            serde_json::from_str(whole.trim()).unwrap_or_else(|_| whole.trim().trim_matches('"').to_owned())
        }
        Some(b'\'') => {
            let whole = std::iter::once(first).chain(rest).collect::<Vec<_>>().join(" ");
            whole.trim().trim_matches('\'').replace("''", "'")
        }
        _ => std::iter::once(first).chain(rest).collect::<Vec<_>>().join(" "),
    };
    let text = text.trim();
    (!matches!(text, "" | "null" | "~")).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_a_flat_mapping() {
        let yaml = "id: 1\nname: Fix: it's\ncwd: '/home/ana''s'\nsummary: |-\n  Two\n  lines\nbranch: \"a\\tb\"\nhost: null\n\
                    repository: >-\n  ana/\n  api\nlast: a\n";
        let value = |key| yaml_value(yaml, key);
        assert_eq!(value("name").as_deref(), Some("Fix: it's"));
        assert_eq!(value("cwd").as_deref(), Some("/home/ana's"));
        assert_eq!(value("summary").as_deref(), Some("Two\nlines"));
        assert_eq!(value("branch").as_deref(), Some("a\tb"));
        assert_eq!(value("repository").as_deref(), Some("ana/ api"));
        assert_eq!((value("host"), value("none")), (None, None));
    }
}
