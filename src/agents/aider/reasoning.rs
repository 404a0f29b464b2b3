//! Splits the model's thinking, which Aider shows and keeps within the reply, from the answer.

/// Beginning of Aider's own tags; a hash follows.
const OPENING: &str = "<thinking-content-";
const CLOSINGS: [&str; 3] = ["</thinking-content-", "</think>", "</thinking>"];
/// Heading that Aider shows instead of a tag.
const HEADING: &str = "► **THINKING**";
const ANSWER: &str = "► **ANSWER**";

/// Returns the answer, and the thinking if there is any.
pub(super) fn split(reply: &str) -> (String, Option<String>) {
    tagged(reply).or_else(|| headed(reply)).map_or_else(
        || (reply.trim().to_owned(), None),
        |(answer, thinking)| (answer, Some(thinking).filter(|thinking| !thinking.is_empty())),
    )
}

fn tagged(reply: &str) -> Option<(String, String)> {
    let (before, rest) = reply.split_once(OPENING)?;
    let (_, rest) = rest.split_once('>')?;
    let closing = CLOSINGS.iter().filter_map(|closing| Some((rest.find(closing)?, *closing))).min();
    let (thinking, after) = match closing {
        Some((place, closing)) => {
            let (thinking, after) = rest.split_at_checked(place)?;
            let after = after.strip_prefix(closing).unwrap_or(after);
            let after = if closing.ends_with('>') { after } else { after.split_once('>').map_or("", |(_, rest)| rest) };
            (thinking, after)
        }
        None => (rest, ""),
    };
    Some((join(before, after), thinking.trim().to_owned()))
}

fn headed(reply: &str) -> Option<(String, String)> {
    let (before, rest) = reply.split_once(HEADING)?;
    let (thinking, after) = rest.split_once(ANSWER).unwrap_or((rest, ""));
    let without_rule = |text: &str| text.trim().trim_end_matches('-').trim().to_owned();
    Some((join(&without_rule(before), after), without_rule(thinking)))
}

fn join(before: &str, after: &str) -> String {
    let (before, after) = (before.trim(), after.trim());
    if before.is_empty() || after.is_empty() { format!("{before}{after}") } else { format!("{before}\n\n{after}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_told_from_the_answer() {
        let both = (("B".to_owned()), Some("a".to_owned()));
        assert_eq!(split("<thinking-content-7b>\na\n</thinking-content-7b>\n\nB"), both);
        assert_eq!(split("<thinking-content-7b>\na\n</think>\nB"), both);
        assert_eq!(split("--------------\n► **THINKING**\n\na\n\n------------\n► **ANSWER**\n\nB"), both);
        assert_eq!(split("<thinking-content-7b>\na"), (String::new(), Some("a".to_owned())));
        assert_eq!(split("B"), ("B".to_owned(), None));
    }
}
