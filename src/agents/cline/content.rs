//! Texts of a content, without the extension's additions around and between the person's words.

use std::borrow::Cow;

use super::record::{Block, Content};
use crate::agents::kit::texts::{join, text_or_mark};
use crate::source::records::{Raw, Text};

/// Environment that the extension describes at the end of the person's messages.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Surroundings<'a> {
    pub(super) folder: Option<&'a str>,
    /// Model that the request goes to: Roo Code and Kilo Code.
    pub(super) model: Option<&'a str>,
}

const OPENING: &str = "<environment_details>";
const CLOSING: &str = "</environment_details>";

/// Separates a text from the environment that the extension added to it.
pub(super) fn without_surroundings(text: &str) -> (Cow<'_, str>, Surroundings<'_>) {
    let Some((before, rest)) = text.split_once(OPENING) else {
        return (Cow::Borrowed(text), Surroundings::default());
    };
    let (details, after) = rest.rsplit_once(CLOSING).unwrap_or((rest, ""));
    let folder = ["Current Working Directory (", "Current Workspace Directory ("]
        .iter()
        .find_map(|mark| details.split_once(mark)?.1.lines().next()?.split_once(')'))
        .map(|(folder, _)| folder);
    let model = || details.split_once("<model>")?.1.split_once("</model>").map(|(model, _)| model.trim());
    let surroundings = Surroundings { folder, model: model().filter(|model| !model.is_empty()) };
    if after.trim().is_empty() {
        return (Cow::Borrowed(before.trim_end()), surroundings);
    }
    (Cow::Owned(format!("{}\n{}", before.trim_end(), after.trim_start())), surroundings)
}

/// Tags around text that the person typed.
const SPOKEN: [&str; 5] = ["task", "feedback", "user_message", "answer", "user_input"];

/// Returns the text that the person typed, if tags mark it: in a text, or at the end of a tool's result.
pub(super) fn spoken(text: &str, is_result: bool) -> Option<&str> {
    SPOKEN.iter().find_map(|tag| {
        let (before, inner) = tagged(text, tag)?;
        let is_marked = match before.trim().lines().next_back() {
            None => true,
            Some(line) if is_result => {
                ["feedback", "attempt completion again", "respond"].iter().any(|w| line.contains(w))
            }
            Some(_) => *tag != "answer",
        };
        is_marked.then(|| inner.trim())
    })
}

/// Returns the text before a tag that begins a line, and the text within the tag.
fn tagged<'t>(text: &'t str, tag: &str) -> Option<(&'t str, &'t str)> {
    let end = text.rfind(&format!("</{tag}>"))?;
    let head = text.get(..end)?;
    let opening = format!("<{tag}");
    let mut places = memchr::memmem::find_iter(head.as_bytes(), opening.as_bytes());
    places.find_map(|place| {
        let before = head.get(..place)?;
        let is_at_line_start = before.is_empty() || before.ends_with('\n');
        let rest = head.get(place + opening.len()..)?;
        let attributes = rest.split('>').next()?;
        let is_tag = is_at_line_start && (attributes.is_empty() || attributes.starts_with(' '));
        is_tag.then(|| Some((before, rest.get(attributes.len() + 1..)?))).flatten()
    })
}

/// Openings of texts that the extension writes in the person's name.
const WRITTEN: [&str; 5] = [
    "[ERROR]",
    "[TASK RESUMPTION]",
    "[NOTE] Some previous conversation history",
    "[Continue assisting the user",
    "# task_progress",
];

/// Returns true if the extension, not the person, wrote the text.
pub(super) fn is_written(text: &str) -> bool {
    let text = text.trim_start();
    WRITTEN.iter().any(|opening| text.starts_with(opening))
}

/// Returns true if a text replaces the history before a compaction.
pub(super) fn is_continuation(text: &str) -> bool {
    text.trim_start().starts_with("This session is being continued from a previous conversation")
}

/// Returns true if a text says that an extension not built on the SDK wrote the messages before it.
pub(super) fn is_resumption_notice(text: &str) -> bool {
    ["[cline-legacy-resume-warning:v1]", "Warning: this is a legacy conversation"]
        .iter()
        .any(|mark| text.contains(mark))
}

impl Content<'_> {
    /// Returns true if a block says that the messages before it were a task of the extension.
    pub(super) fn has_resumption_notice(&self) -> bool {
        self.0.iter().filter_map(|block| block.text.get()).any(is_resumption_notice)
    }

    /// Returns the number of images and documents.
    pub(super) fn attachments(&self) -> i64 {
        let is_attached = |block: &&Block<'_>| matches!(block.kind.get(), Some("image" | "document" | "file"));
        i64::try_from(self.0.iter().filter(is_attached).count()).unwrap_or(i64::MAX)
    }

    /// Returns the visible thinking.
    pub(super) fn thinking(&self) -> Option<Cow<'_, str>> {
        let thoughts = self.0.iter().filter(|block| matches!(block.kind.get(), Some("thinking" | "reasoning")));
        join(thoughts.filter_map(|block| {
            let text = block.thinking.get().or(block.text.get()).map(Cow::Borrowed);
            text.or_else(|| text_of(block.summary).map(|text| Cow::Owned(text.into_owned())))
        }))
    }
}

/// Returns the text of a value that is a text or a list of blocks. Blocks other than text leave a mark.
pub(super) fn text_of(raw: Raw<'_>) -> Option<Cow<'_, str>> {
    let json = raw.json()?;
    if json.starts_with('"') {
        return serde_json::from_str::<Text<'_>>(json).ok()?.0;
    }
    if !json.starts_with('[') {
        return Some(Cow::Borrowed(json));
    }
    let content: Content<'_> = serde_json::from_str(json).ok()?;
    // Results of the SDK's tools are lists of objects that are not blocks.
    if content.0.iter().any(|block| block.kind.get().is_none()) {
        return Some(Cow::Borrowed(json));
    }
    join(content.0.into_iter().map(|block| text_or_mark(block.text.0, &block.kind)))
}

/// Returns the value if it is a text by itself.
pub(super) fn plain(raw: Raw<'_>) -> Option<Cow<'_, str>> {
    let json = raw.json().filter(|json| json.starts_with('"'))?;
    serde_json::from_str::<Text<'_>>(json).ok()?.0.filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surroundings_are_told_apart() {
        let text = "fix it\n\n<environment_details>\n# Current Workspace Directory (/w/a b) Files\na\n# Current Mode\n\
                    <model>m-1</model>\n</environment_details>";
        let (text, surroundings) = without_surroundings(text);
        assert_eq!(text, "fix it");
        assert_eq!(surroundings, Surroundings { folder: Some("/w/a b"), model: Some("m-1") });
        assert_eq!(without_surroundings("a").0, "a");
    }

    #[test]
    fn what_the_person_typed_is_marked() {
        assert_eq!(
            spoken("<task>\nadd it\n</task>\n\n<file_content path=\"a\">b</file_content>", false),
            Some("add it")
        );
        assert_eq!(spoken("<user_input mode=\"act\">go</user_input>", false), Some("go"));
        assert_eq!(spoken("how do I write <task> tags?", false), None);
        let denied = "The user denied this operation and provided the following feedback:\n<feedback>\nno\n</feedback>";
        assert_eq!(spoken(denied, true), Some("no"));
        assert_eq!(spoken("a file with\n<feedback>\nx\n</feedback>", true), None);
        assert_eq!(spoken("<answer>\nB\n</answer>", true), Some("B"));
    }
}
