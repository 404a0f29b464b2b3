//! Counts the lines that a tool call added to files and removed from them: in the diff that the agent recorded, else in
//! the patch or the texts of the call's arguments.

use std::fmt;

use imara_diff::{Algorithm, Diff as LineDiff, InternedInput};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::shell;
use crate::source::records::{Flag, List, Number, Object, Text, lenient, record};
use crate::source::unescape;
use crate::tables::{Category, Status, ToolCallRow};

/// Lines added and removed. `None` if the call does not say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct EditedLines {
    pub(crate) added: Option<i64>,
    pub(crate) removed: Option<i64>,
}

/// Largest texts that are compared line by line. Bytes.
const LARGEST: usize = 4 << 20;

const BEGIN_PATCH: &str = "*** Begin Patch";

/// Returns the lines that a call added and removed. Expects the row before redaction. A call that did not succeed
/// changed nothing.
pub(super) fn edited_lines(row: &ToolCallRow<'_>) -> EditedLines {
    let recorded = EditedLines { added: row.lines_added, removed: row.lines_removed };
    match row.category {
        _ if row.status != Status::Ok => None,
        _ if recorded != EditedLines::default() => Some(recorded),
        Category::Edit | Category::Write => row.input.and_then(of_input),
        Category::Shell => row.command.and_then(of_command),
        _ => None,
    }
    .unwrap_or_default()
}

fn of_command(command: &str) -> Option<EditedLines> {
    let is_patch = command.contains(BEGIN_PATCH);
    let is_run = || shell::programs(command).iter().any(|program| program.name == "apply_patch");
    if is_patch && is_run() { of_patch(command) } else { None }
}

record! {
    /// Arguments of tools that edit files, as different agents name them.
    Arguments<'a> {
        old: Text<'a> = "old_string" | "oldString" | "old_str" | "oldStr" | "oldText" | "old_text" | "originalContent",
        new: Text<'a> = "new_string" | "newString" | "new_str" | "newStr" | "newText" | "new_text" | "modifiedContent",
        is_repeated: Flag = "replace_all" | "replaceAll" | "allow_multiple" | "change_all",
        replacements: Number = "expected_replacements",
        edits: List<Object<Edit<'a>>> = "edits",
        patch: Text<'a> = "patch" | "patchText" | "input",
        diff: Text<'a> = "diff",
    }

    /// One of several edits of a call.
    Edit<'a> {
        old: Text<'a> = "old_string" | "oldString" | "old_str" | "oldStr" | "oldText" | "old_text",
        new: Text<'a> = "new_string" | "newString" | "new_str" | "newStr" | "newText" | "new_text",
        is_repeated: Flag = "replace_all" | "replaceAll",
    }
}

/// Reads the arguments of a call: a patch, or an object.
fn of_input(input: &str) -> Option<EditedLines> {
    if input.starts_with('"') {
        return of_patch(&unescape(input)?);
    }
    if input.starts_with(BEGIN_PATCH) {
        return of_patch(input);
    }
    let arguments: Arguments<'_> = serde_json::from_str(input).ok()?;
    if let Some(patch) = arguments.patch.get().filter(|patch| patch.contains(BEGIN_PATCH)) {
        return of_patch(patch);
    }
    if let Some(diff) = arguments.diff.get() {
        return of_blocks(diff).or_else(|| Some(EditedLines::of_diff(diff)).filter(|_| has_hunk(diff)));
    }
    // The arguments lack the number of replacements.
    if arguments.is_repeated.0 || arguments.replacements.0.is_some_and(|count| count > 1) {
        return None;
    }
    if let (Some(old), Some(new)) = (&arguments.old.0, &arguments.new.0) {
        return EditedLines::between(old, new);
    }
    let edits = arguments.edits.0.iter().map(|edit| {
        let edit = edit.0.as_ref().filter(|edit| !edit.is_repeated.0)?;
        EditedLines::between(edit.old.0.as_ref()?, edit.new.0.as_ref()?)
    });
    edits.collect::<Option<Vec<_>>>()?.into_iter().reduce(EditedLines::and)
}

impl EditedLines {
    /// Returns both counts.
    pub(crate) fn new(added: i64, removed: i64) -> Self {
        Self { added: Some(added), removed: Some(removed) }
    }

    /// Adds the lines of another edit. A count that one of the two lacks is unknown.
    pub(crate) fn and(self, other: Self) -> Self {
        let sum = |a: Option<i64>, b: Option<i64>| Some(a?.saturating_add(b?));
        Self { added: sum(self.added, other.added), removed: sum(self.removed, other.removed) }
    }

    /// Counts the lines of a new file.
    pub(crate) fn of_new_file(content: &str) -> Self {
        Self::new(count(content.lines().count()), 0)
    }

    /// Counts the lines of a diff. Without hunks, every line begins with its mark.
    pub(crate) fn of_diff(diff: &str) -> Self {
        let mut open = if has_hunk(diff) { None } else { Some((usize::MAX, usize::MAX)) };
        let (mut added, mut removed) = (0, 0);
        let mut lines = diff.lines().peekable();
        while let Some(line) = lines.next() {
            if line.starts_with("@@") {
                open = Some(lengths(line).unwrap_or((usize::MAX, usize::MAX)));
                continue;
            }
            let Some((old, new)) = open.filter(|open| *open != (0, 0)) else { continue };
            let is_unbounded = old == usize::MAX;
            if is_unbounded && line.starts_with("--- ") && lines.peek().is_some_and(|next| next.starts_with("+++ ")) {
                open = None;
                continue;
            }
            let (takes_old, takes_new) = match line.as_bytes().first() {
                Some(b'+') => (0, 1),
                Some(b'-') => (1, 0),
                Some(b'\\') => (0, 0),
                _ => (1, 1),
            };
            added += i64::from(takes_new > takes_old);
            removed += i64::from(takes_old > takes_new);
            if !is_unbounded {
                open = Some((old.saturating_sub(takes_old), new.saturating_sub(takes_new)));
            }
        }
        Self::new(added, removed)
    }

    /// Compares two texts line by line, as parts of a file. `None` if they are too large.
    pub(crate) fn between(old: &str, new: &str) -> Option<Self> {
        if old.is_empty() {
            return Some(Self::of_new_file(new));
        }
        if old.len() + new.len() > LARGEST {
            return None;
        }
        let mut lines = InternedInput::default();
        lines.update_before(old.split('\n'));
        lines.update_after(new.split('\n'));
        let diff = LineDiff::compute(Algorithm::Myers, &lines);
        Some(Self::new(diff.count_additions().into(), diff.count_removals().into()))
    }
}

fn count(lines: usize) -> i64 {
    i64::try_from(lines).unwrap_or(i64::MAX)
}

fn has_hunk(diff: &str) -> bool {
    diff.starts_with("@@") || diff.contains("\n@@")
}

/// Returns the lengths of the hunk that a line `@@ -3,2 +3,4 @@` begins, before and after. Lines.
fn lengths(line: &str) -> Option<(usize, usize)> {
    let mut ranges = line.strip_prefix("@@ ")?.split(' ');
    let mut length = |mark: char| -> Option<usize> {
        let range = ranges.next()?.strip_prefix(mark)?;
        range.split_once(',').map_or(Some(1), |(_, length)| length.parse().ok())
    };
    Some((length('-')?, length('+')?))
}

/// Counts the lines of patches in the form that OpenAI's models write. A deleted file's lines are not in its patch.
fn of_patch(text: &str) -> Option<EditedLines> {
    let (mut is_open, mut has_file, mut deletes) = (false, false, false);
    let (mut added, mut removed) = (0, 0);
    for line in text.lines() {
        if line.contains(BEGIN_PATCH) {
            is_open = true;
        } else if line.starts_with("*** End Patch") {
            is_open = false;
        } else if is_open && let Some(heading) = line.strip_prefix("*** ") {
            has_file |= ["Update File: ", "Add File: ", "Delete File: "].iter().any(|what| heading.starts_with(what));
            deletes |= heading.starts_with("Delete File: ");
        } else if is_open {
            added += i64::from(line.starts_with('+'));
            removed += i64::from(line.starts_with('-'));
        }
    }
    let lines = EditedLines { added: Some(added), removed: Some(removed).filter(|_| !deletes) };
    has_file.then_some(lines)
}

/// Compares the two sides of each SEARCH/REPLACE block of a text. `None` if it has no such block.
fn of_blocks(text: &str) -> Option<EditedLines> {
    blocks(text)
        .map(|block| EditedLines::between(block.old, block.new))
        .collect::<Option<Vec<_>>>()?
        .into_iter()
        .reduce(EditedLines::and)
}

/// A block that replaces one text by another.
pub(crate) struct Block<'t> {
    /// Text before the block, from the end of the one before it on.
    pub(crate) before: &'t str,
    pub(crate) old: &'t str,
    pub(crate) new: &'t str,
}

/// Returns the blocks of a text: each begins with `<<<<<<< SEARCH` or `------- SEARCH`, has `=======` in the middle, and
/// ends with `>>>>>>> REPLACE` or `+++++++ REPLACE`.
pub(crate) fn blocks(text: &str) -> impl Iterator<Item = Block<'_>> {
    let (mut at, mut from) = (0, 0);
    std::iter::from_fn(move || {
        let (mut start, mut middle) = (None, None);
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let length = memchr::memchr(b'\n', rest.as_bytes()).map_or(rest.len(), |end| end + 1);
            let (line, begin) = (rest.get(..length)?.trim_end(), at);
            at += length;
            let is_mark = |marks: [char; 2], word: &str| {
                line.strip_suffix(word).is_some_and(|rest| {
                    let rest = rest.trim_end();
                    rest.len() >= 5 && marks.iter().any(|mark| rest.chars().all(|letter| letter == *mark))
                })
            };
            if is_mark(['<', '-'], " SEARCH") {
                (start, middle) = (Some((begin, at)), None);
            } else if let Some((opening, old)) = start {
                if middle.is_none() && is_mark(['=', '='], "") {
                    middle = Some((begin, at));
                } else if let Some((end, new)) = middle
                    && is_mark(['>', '+'], " REPLACE")
                {
                    let before = text.get(from..opening)?;
                    from = at;
                    let old = without_position(text.get(old..end)?);
                    return Some(Block { before, old, new: text.get(new..begin)? });
                }
            }
        }
        None
    })
}

/// Returns a searched text without the lines that say where it is: `:start_line:7`, and a line of dashes after them.
fn without_position(text: &str) -> &str {
    let mut rest = text;
    while rest.starts_with(":start_line:") || rest.starts_with(":end_line:") {
        rest = rest.split_once('\n').map_or("", |(_, after)| after);
    }
    rest.strip_prefix("-------\n").unwrap_or(rest)
}

/// The lines of a diff in a record, counted as it is read.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RecordedDiff(pub(crate) Option<EditedLines>);

impl<'de> Deserialize<'de> for RecordedDiff {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct DiffVisitor;
        impl<'de> Visitor<'de> for DiffVisitor {
            type Value = RecordedDiff;
            lenient!(@expecting "a diff");
            fn visit_str<E>(self, diff: &str) -> Result<RecordedDiff, E> {
                Ok(RecordedDiff((!diff.is_empty()).then(|| EditedLines::of_diff(diff))))
            }
            lenient!(@otherwise RecordedDiff(None); visit_bool(bool) visit_f64(f64) visit_i64(i64) visit_u64(u64));
            lenient!(@null RecordedDiff(None));
            lenient!(@seq RecordedDiff(None));
            lenient!(@map RecordedDiff(None));
        }
        deserializer.deserialize_any(DiffVisitor)
    }
}

/// The lines of hunks in a record, counted as they are read: a list of objects whose `lines` begin with their marks.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RecordedHunks(pub(crate) Option<EditedLines>);

impl<'de> Deserialize<'de> for RecordedHunks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct HunksVisitor;
        impl<'de> Visitor<'de> for HunksVisitor {
            type Value = RecordedHunks;
            lenient!(@expecting "a list of hunks");
            fn visit_seq<A: SeqAccess<'de>>(self, mut hunks: A) -> Result<RecordedHunks, A::Error> {
                let mut sum = EditedLines::new(0, 0);
                while let Some(Object(hunk)) = hunks.next_element::<Object<Hunk<'_>>>()? {
                    sum = hunk.map_or(sum, |hunk| sum.and(EditedLines::new(hunk.lines.added, hunk.lines.removed)));
                }
                Ok(RecordedHunks(Some(sum)))
            }
            lenient!(@otherwise RecordedHunks(None); visit_bool(bool) visit_f64(f64) visit_i64(i64) visit_u64(u64) visit_str(&str));
            lenient!(@null RecordedHunks(None));
            lenient!(@map RecordedHunks(None));
        }
        deserializer.deserialize_any(HunksVisitor)
    }
}

record! {
    /// A hunk of a patch.
    Hunk<'a> { lines: Marks = "lines" }

    /// Counts of a file's added and removed lines, as agents name them.
    LineCounts<'a> { added: Number = "additions" | "linesAdded", removed: Number = "deletions" | "linesRemoved" }
}

/// Added and removed lines of a hunk, counted by their first letter without decoding them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Marks {
    added: i64,
    removed: i64,
}

impl<'de> Deserialize<'de> for Marks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MarksVisitor;
        impl<'de> Visitor<'de> for MarksVisitor {
            type Value = Marks;
            lenient!(@expecting "a list of lines");
            fn visit_seq<A: SeqAccess<'de>>(self, mut lines: A) -> Result<Marks, A::Error> {
                let mut marks = Marks::default();
                while let Some(line) = lines.next_element::<&RawValue>()? {
                    marks.added += i64::from(line.get().starts_with("\"+"));
                    marks.removed += i64::from(line.get().starts_with("\"-"));
                }
                Ok(marks)
            }
            lenient!(@otherwise Marks::default(); visit_bool(bool) visit_f64(f64) visit_i64(i64) visit_u64(u64) visit_str(&str));
            lenient!(@null Marks::default());
            lenient!(@map Marks::default());
        }
        deserializer.deserialize_any(MarksVisitor)
    }
}

impl LineCounts<'_> {
    /// Returns the lines if both counts are recorded.
    pub(crate) fn lines(&self) -> Option<EditedLines> {
        Some(EditedLines::new(self.added.0?.max(0), self.removed.0?.max(0)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(category: Category, input: &str) -> (Option<i64>, Option<i64>) {
        let command = (category == Category::Shell).then_some(input);
        let row = ToolCallRow { category, status: Status::Ok, input: Some(input), command, ..ToolCallRow::default() };
        let lines = edited_lines(&row);
        (lines.added, lines.removed)
    }

    #[test]
    fn texts_are_compared_line_by_line() {
        for (old, new, expected) in [
            ("a\nb\nc", "a\nx\ny\nc", (2, 1)),
            ("a", "a\n", (1, 0)),
            ("a\n", "", (0, 1)),
            ("", "a\nb\n", (2, 0)),
            ("a\nb", "a\nb", (0, 0)),
        ] {
            let lines = EditedLines::between(old, new);
            assert_eq!(lines, Some(EditedLines::new(expected.0, expected.1)), "{old:?} {new:?}");
        }
    }

    #[test]
    fn arguments_of_many_tools() {
        for (input, expected) in [
            (r#"{"file_path":"a","old_string":"a\nb","new_string":"a\nc\nd"}"#, (Some(2), Some(1))),
            (r#"{"old_string":"a","new_string":"b","replace_all":true}"#, (None, None)),
            (r#"{"old_string":"a","new_string":"b","expected_replacements":3}"#, (None, None)),
            (r#"{"edits":[{"oldText":"a","newText":"b\nc"},{"oldText":"d\n","newText":""}]}"#, (Some(2), Some(2))),
            (r#"{"edits":[{"oldText":"a","newText":"b"},{"at":3}]}"#, (None, None)),
            (
                r#"{"diff":"<<<<<<< SEARCH\n:start_line:3\n-------\na\nb\n=======\na\n>>>>>>> REPLACE"}"#,
                (Some(0), Some(1)),
            ),
            (r#"{"diff":"------- SEARCH\n=======\na\nb\n+++++++ REPLACE\n"}"#, (Some(2), Some(0))),
            (r#"{"diff":"--- a\n+++ a\n@@\n a\n-b\n+c\n+d\n--- b\n+++ b\n@@\n+e\n"}"#, (Some(3), Some(1))),
            (
                r#""*** Begin Patch\n*** Update File: a\n@@\n a\n-b\n+c\n*** Add File: b\n+d\n*** End Patch""#,
                (Some(2), Some(1)),
            ),
            (r#"{"input":"*** Begin Patch\n*** Delete File: a\n*** Add File: b\n+d\n*** End Patch"}"#, (Some(1), None)),
            ("*** Begin Patch\n*** Update File: a\n@@\n-b\n+c\n*** End Patch", (Some(1), Some(1))),
            (r#"{"content":"a\nb"}"#, (None, None)),
            ("no JSON", (None, None)),
        ] {
            assert_eq!(of(Category::Edit, input), expected, "{input}");
        }
        let patch = "*** Begin Patch\n*** Update File: a\n@@\n-b\n+c\n+d\n*** End Patch\nEOF\n+x";
        assert_eq!(of(Category::Shell, &format!("cd b && apply_patch <<'EOF'\n{patch}")), (Some(2), Some(1)));
        assert_eq!(of(Category::Shell, &format!("cat > a.patch <<'EOF'\n{patch}")), (None, None));
    }

    #[test]
    fn diffs_with_and_without_hunks() {
        let headings =
            "Index: a\n===\n--- a\n+++ a\n@@ -1,3 +1,2 @@\n a\n--- b\n-c\n+d\n\n--- b\n+++ b\n@@ -0,0 +1 @@\n+e\n";
        assert_eq!(EditedLines::of_diff(headings), EditedLines::new(2, 2));
        assert_eq!(EditedLines::of_diff("   1 a\n-  2 b\n+  2 c\n+  3 d\n   ..."), EditedLines::new(2, 1));
    }

    #[test]
    fn recorded_hunks_are_counted() {
        let of = |json: &str| serde_json::from_str::<RecordedHunks>(json).unwrap().0;
        let json = r#"[{"oldStart":1,"lines":[" a","-b","+c","+d","\\ No newline"]},{"lines":["+é"]},7,{"lines":"x"}]"#;
        assert_eq!(of(json), Some(EditedLines::new(3, 1)));
        assert_eq!((of("[]"), of("{}"), of("null")), (Some(EditedLines::new(0, 0)), None, None));
    }

    #[test]
    fn large_and_different_texts_are_compared_in_time() {
        let lines = |from: usize| {
            let lines: Vec<String> = (from..from + 150_000).map(|line| (line * 7919 % 150_001).to_string()).collect();
            lines.join("\n")
        };
        let (old, new) = (lines(0), lines(75_000));
        assert!(EditedLines::between(&old, &new).is_some_and(|lines| lines.added == lines.removed));
    }

    proptest! {
        #[test]
        fn any_text_is_read(input in r"([ -~é\n]|@@ -1,2 \+3|<<<<<<< SEARCH\n|=======\n|>>>>>>> REPLACE\n|\*\*\* )*") {
            EditedLines::of_diff(&input);
            of_patch(&input);
            of_blocks(&input);
        }

        /// The counts differ by the difference of the lengths.
        #[test]
        fn counts_fit_the_lengths(old in "[ab\n]{1,60}", new in "[ab\n]{0,60}") {
            let lines = EditedLines::between(&old, &new).unwrap();
            let length = |text: &str| count(text.split('\n').count());
            prop_assert_eq!(lines.added.unwrap() - lines.removed.unwrap(), length(&new) - length(&old));
        }
    }
}
