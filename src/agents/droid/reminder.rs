//! `<system-reminder>` blocks: what the program puts into the person's messages.

use std::borrow::Cow;

use memchr::memmem;

const OPENING: &str = "<system-reminder>";
const CLOSING: &str = "</system-reminder>";

/// The contents of the whole blocks of a text.
pub(super) fn reminders(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, content, after) = first_block(rest)?;
        rest = after;
        Some(content)
    })
}

/// A text without its whole blocks; borrowed when there are none.
pub(super) fn without_reminders(text: &str) -> Cow<'_, str> {
    if first_block(text).is_none() {
        return Cow::Borrowed(text);
    }
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, _, after)) = first_block(rest) {
        kept.push_str(before);
        rest = after;
    }
    kept.push_str(rest);
    Cow::Owned(kept.trim().to_owned())
}

/// Returns the text before the first whole block, in it, and after it.
fn first_block(text: &str) -> Option<(&str, &str, &str)> {
    let from = memmem::find(text.as_bytes(), OPENING.as_bytes())?;
    let (before, block) = text.split_at_checked(from)?;
    let (content, after) = block.strip_prefix(OPENING)?.split_once(CLOSING)?;
    Some((before, content, after))
}

/// The place where the session runs, as a reminder describes it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Surroundings<'a> {
    pub(super) folder: Option<&'a str>,
    pub(super) branch: Option<&'a str>,
    pub(super) model: Option<&'a str>,
}

impl<'a> Surroundings<'a> {
    /// Reads the commands that the program ran for the model, and their output.
    pub(super) fn of(reminder: &'a str) -> Self {
        let mut found = Self::default();
        let mut lines = reminder.lines().map(str::trim);
        while let Some(line) = lines.next() {
            let place = match line {
                "% pwd" => &mut found.folder,
                "% git rev-parse --abbrev-ref HEAD" => &mut found.branch,
                _ => {
                    let model = line.strip_prefix("Model:").map(str::trim);
                    found.model = found.model.or(model.filter(|model| !model.is_empty()));
                    continue;
                }
            };
            let output = lines.next().filter(|output| !output.is_empty() && !output.starts_with('%'));
            *place = place.or(output);
        }
        found.branch = found.branch.filter(|branch| *branch != "HEAD" && !branch.starts_with("fatal:"));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_blocks_are_left_out() {
        let text = "<system-reminder>\na\n</system-reminder>\n\nDo it <system-reminder>b</system-reminder>";
        assert_eq!(without_reminders(text), "Do it");
        assert_eq!(reminders(text).collect::<Vec<_>>(), ["\na\n", "b"]);
        let open = "see <system-reminder> in the docs ";
        assert!(matches!(without_reminders(open), Cow::Borrowed(text) if text == open));
    }

    #[test]
    fn surroundings_are_the_lines_behind_commands() {
        let reminder =
            "User system info\n% pwd\n/w/app\n% ls\nsrc\n% git rev-parse --abbrev-ref HEAD\nmain\nModel: Big One\n";
        let found = Surroundings { folder: Some("/w/app"), branch: Some("main"), model: Some("Big One") };
        assert_eq!(Surroundings::of(reminder), found);
        assert_eq!(Surroundings::of("% pwd\n% git rev-parse --abbrev-ref HEAD\nHEAD"), Surroundings::default());
    }
}
