//! The changes that a patch made to files, as Codex records them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::extract::{EditedLines, RecordedDiff};
use crate::source::records::{Object, Raw, Text, record};

record! {
    /// A change to a file. The first versions wrote an object whose only field, named after the kind, held the rest.
    Change<'a> {
        kind: Text<'a> = "type",
        diff: RecordedDiff = "unified_diff",
        content: Text<'a> = "content",
        add: Object<Rest<'a>> = "add",
        delete: Object<Rest<'a>> = "delete",
        update: Object<Rest<'a>> = "update",
    }

    /// A change without its kind.
    Rest<'a> { diff: RecordedDiff = "unified_diff", content: Text<'a> = "content" }
}

/// Returns the lines that changes added and removed.
pub(super) fn lines(changes: Raw<'_>) -> EditedLines {
    let changes: Option<BTreeMap<Cow<'_, str>, Object<Change<'_>>>> =
        changes.json().and_then(|json| serde_json::from_str(json).ok());
    let lines: Option<Vec<_>> =
        changes.unwrap_or_default().values().map(|change| change.0.as_ref().and_then(Change::lines)).collect();
    lines.and_then(|lines| lines.into_iter().reduce(EditedLines::and)).unwrap_or_default()
}

impl Change<'_> {
    fn lines(&self) -> Option<EditedLines> {
        let content = |rest: &Object<Rest<'_>>| {
            rest.0.as_ref().and_then(|rest| rest.content.0.as_deref().map(EditedLines::of_new_file))
        };
        let own = || self.content.0.as_deref().map(EditedLines::of_new_file);
        let added = content(&self.add).or_else(|| own().filter(|_| self.kind.is("add")));
        let deleted = content(&self.delete).or_else(|| own().filter(|_| self.kind.is("delete")));
        let deleted = deleted.map(|EditedLines { added, removed }| EditedLines { added: removed, removed: added });
        self.diff.0.or_else(|| self.update.0.as_ref()?.diff.0).or(added).or(deleted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_both_forms() {
        let of = |json: &str| {
            let EditedLines { added, removed } = lines(serde_json::from_str(json).unwrap());
            (added, removed)
        };
        let update = r#""unified_diff":"@@ -1,2 +1,2 @@\n a\n-b\n+c\n""#;
        let json = format!(r#"{{"a":{{"type":"update",{update}}},"b":{{"type":"add","content":"x\ny\n"}}}}"#);
        assert_eq!(of(&json), (Some(3), Some(1)));
        let json = format!(r#"{{"a":{{"update":{{{update}}}}},"b":{{"delete":{{"content":"x\ny\n"}}}}}}"#);
        assert_eq!(of(&json), (Some(1), Some(3)));
        assert_eq!(of(r#"{"a":{"type":"update"}}"#), (None, None));
        assert_eq!((of("{}"), of("[]"), of("null")), ((None, None), (None, None), (None, None)));
    }
}
