//! The person's messages, as the command-line program and the transcripts wrap them.

use crate::tables::MessageKind;
use chrono::{Duration, NaiveDateTime};

/// A user's message without the text added to it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Prompt<'t> {
    /// `prompt`, or `meta` for a text that the program wrote in the person's name.
    pub(super) kind: MessageKind,
    pub(super) text: &'t str,
    /// Time of the message, to the minute. Microseconds since 1970.
    pub(super) moment: Option<i64>,
}

impl<'t> Prompt<'t> {
    /// Removes the wrapping. A query that follows its tag without a line end is the program's own.
    pub(super) fn of(text: &'t str) -> Self {
        let stamp = within(text, "<timestamp>", "</timestamp>");
        let moment = stamp.and_then(|(stamp, _)| moment_of(stamp));
        let Some((query, _)) = within(text, "<user_query>", "</user_query>") else {
            let rest = stamp.map_or(text, |(_, rest)| rest).trim();
            let was_added = rest.starts_with('<') && rest.contains("</");
            return Self { kind: if was_added { MessageKind::Meta } else { MessageKind::Prompt }, text: rest, moment };
        };
        let is_own = query.starts_with(['\n', '\r']);
        Self { kind: if is_own { MessageKind::Prompt } else { MessageKind::Meta }, text: query.trim(), moment }
    }
}

/// Returns the text between two marks, and the text after them. Without the second mark, the first text goes to the
/// end.
fn within<'t>(text: &'t str, open: &str, close: &str) -> Option<(&'t str, &'t str)> {
    let (_, rest) = text.split_once(open)?;
    Some(rest.split_once(close).unwrap_or((rest, "")))
}

/// Reads `Monday, May 4, 2026, 12:39 AM (UTC+5:30)`. Returns `None` without an offset.
fn moment_of(stamp: &str) -> Option<i64> {
    let (local, offset) = stamp.trim().split_once(" (UTC")?;
    let (_, date) = local.split_once(", ")?;
    let local = NaiveDateTime::parse_from_str(date, "%B %d, %Y, %I:%M %p").ok()?;
    let offset = offset.strip_suffix(')')?;
    let (sign, offset) = match offset.strip_prefix(['+']) {
        Some(offset) => (1, offset),
        None => (-1, offset.strip_prefix(['-', '−']).unwrap_or("0")),
    };
    let (hours, minutes) = offset.split_once(':').unwrap_or((offset, "0"));
    let minutes = hours.parse::<i64>().ok()?.checked_mul(60)?.checked_add(minutes.parse().ok()?)?;
    let utc = local.checked_sub_signed(Duration::try_minutes(sign * minutes)?)?;
    Some(utc.and_utc().timestamp_micros())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrappings() {
        let moment = crate::time::parse_iso("2026-05-03T19:09:00Z");
        let stamp = "<timestamp>Monday, May 4, 2026, 12:39 AM (UTC+5:30)</timestamp>\n";
        let text = format!("{stamp}<user_query>\nrun ls\n</user_query>");
        assert_eq!(Prompt::of(&text), Prompt { kind: MessageKind::Prompt, text: "run ls", moment });
        let text = "<image_files>\n1. /a.png\n</image_files>\n<user_query>\nwhat is it\n</user_query>";
        assert_eq!(Prompt::of(text), Prompt { kind: MessageKind::Prompt, text: "what is it", moment: None });
        let text = "<user_query>Go on with the task.</user_query>";
        assert_eq!(Prompt::of(text), Prompt { kind: MessageKind::Meta, text: "Go on with the task.", moment: None });
        let text = "<user_info>\nOS: linux\n</user_info>";
        assert_eq!(Prompt::of(text).kind, MessageKind::Meta);
        assert_eq!(Prompt::of("a < b"), Prompt { kind: MessageKind::Prompt, text: "a < b", moment: None });
    }

    #[test]
    fn moments_with_and_without_offset() {
        assert_eq!(moment_of("Monday, May 4, 2026, 1:05 PM (UTC)"), crate::time::parse_iso("2026-05-04T13:05:00Z"));
        assert_eq!(moment_of("Monday, May 4, 2026, 1:05 PM (UTC-7)"), crate::time::parse_iso("2026-05-04T20:05:00Z"));
        assert_eq!(moment_of("Monday, May 4, 2026, 1:05 PM"), None);
        assert_eq!(moment_of("(UTC"), None);
    }
}
