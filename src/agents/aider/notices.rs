//! Reads the lines in which Aider reports an act, a failure or a question.

use super::tokens::{self, Printed};

/// Meaning of a printed block.
#[derive(Debug, PartialEq)]
pub(super) enum Notice<'t> {
    /// `Aider v0.86.1`.
    Version(&'t str),
    /// `Main model: M with diff edit format`, at the start and whenever the model changes.
    Model(&'t str),
    /// Tokens and cost of a send.
    Usage(Printed),
    /// A file was changed.
    Applied(&'t str),
    /// A file was not changed.
    NotApplied(&'t str),
    /// The model's edits could not be applied.
    EditFailed,
    /// A commit was made.
    Commit { hash: &'t str, message: &'t str },
    /// A command runs.
    Running(&'t str),
    /// A question and its answer.
    Asked { about: Topic<'t>, is_allowed: bool },
    /// A request failed.
    Failed,
    /// A request is made again.
    Retrying,
    /// Aider stops though the model's work is not done.
    Limit,
    /// The person pressed Ctrl-C.
    Interrupted,
    /// Anything else.
    Other,
}

/// Subject of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Topic<'t> {
    /// Changing a file. If the question does not name it, the line before does.
    Edit(Option<&'t str>),
    /// Running the commands on the lines before.
    Shell,
    /// Input for another request to the model.
    Again,
    Other,
}

const EDIT_FAILED: [&str; 2] = ["The LLM did not conform to the edit format", "Malformed response #"];

/// Reads a block.
pub(super) fn read(text: &str) -> Notice<'_> {
    let after = |beginning: &str| text.strip_prefix(beginning).map(str::trim);
    if let Some(printed) = tokens::read(text) {
        Notice::Usage(printed)
    } else if let Some(version) = after("Aider v") {
        Notice::Version(version)
    } else if let Some(model) = ["Main model: ", "Model: ", "Models: "].iter().find_map(|beginning| after(beginning)) {
        model.split_once(" with ").map_or(Notice::Other, |(model, _)| Notice::Model(model))
    } else if let Some(path) = after("Applied edit to ") {
        Notice::Applied(path)
    } else if let Some(path) = after("Did not apply edit to ") {
        Notice::NotApplied(path.strip_suffix(" (--dry-run)").unwrap_or(path))
    } else if let Some(path) = after("Skipping edits to ") {
        Notice::NotApplied(path.split_once(" that matches").map_or(path, |(path, _)| path))
    } else if let Some(command) = after("Running ") {
        Notice::Running(command)
    } else if let Some(notice) = commit(text).or_else(|| question(text)) {
        notice
    } else if EDIT_FAILED.iter().any(|beginning| text.starts_with(beginning)) || is_failed_match(text) {
        Notice::EditFailed
    } else if is_failed_request(text) {
        Notice::Failed
    } else if text.starts_with("Retrying in ") {
        Notice::Retrying
    } else if is_limit(text) {
        Notice::Limit
    } else if text.starts_with("^C") || text == "Interrupted by user" {
        Notice::Interrupted
    } else {
        Notice::Other
    }
}

/// `Commit 1a2b3c4 fix: bug in a.py`.
fn commit(text: &str) -> Option<Notice<'_>> {
    let rest = text.strip_prefix("Commit ")?;
    let (hash, message) = rest.split_once(' ').unwrap_or((rest, ""));
    let is_hash = (7..=40).contains(&hash.len()) && hash.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_hash.then(|| Notice::Commit { hash, message: message.trim() })
}

/// `Run shell command? (Y)es/(N)o [Yes]: n`, or `Add these files to the chat? yes` as until about 0.36.
fn question(text: &str) -> Option<Notice<'_>> {
    let (question, rest) = text.split_once('?')?;
    let answer = if rest.contains("(Y)es") { rest.rsplit_once(": ")?.1 } else { rest };
    let is_allowed = match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" | "a" | "all" => true,
        "n" | "no" | "s" | "skip" | "skip all" | "d" | "don't" => false,
        _ => return None,
    };
    let path = |beginning: &str, ending: &str| {
        let rest = question.strip_prefix(beginning)?;
        Some(rest.split_once(ending).map_or(rest, |(path, _)| path)).filter(|path| !path.is_empty())
    };
    let about = if question.starts_with("Run shell command") {
        Topic::Shell
    } else if question.starts_with("Allow edits to file") || question == "Create new file" {
        Topic::Edit(None)
    } else if let Some(path) = path("Allow edits to ", " which ").or_else(|| path("Allow creation of new file ", "\n"))
    {
        Topic::Edit(Some(path))
    } else if ["Add file to the chat", "Add these files", "Attempt to fix"]
        .iter()
        .any(|words| question.starts_with(words))
    {
        Topic::Again
    } else {
        Topic::Other
    };
    Some(Notice::Asked { about, is_allowed })
}

/// `# 1 SEARCH/REPLACE block failed to match!`.
fn is_failed_match(text: &str) -> bool {
    text.starts_with("# ") && text.lines().next().is_some_and(|line| line.ends_with("failed to match!"))
}

fn is_failed_request(text: &str) -> bool {
    text.starts_with("litellm.")
        || text.starts_with("Empty response received from LLM")
        || (text.starts_with("Model ") && text.contains(" has hit a token limit!"))
}

/// `Only 3 reflections allowed, stopping.`; the number is a setting of the person's.
fn is_limit(text: &str) -> bool {
    let after_number =
        |rest: &str| rest.trim_start_matches(|digit: char| digit.is_ascii_digit()).starts_with(" reflections");
    text.strip_prefix("Only ").is_some_and(after_number)
        || text.starts_with("Exhausted ") && text.contains("reflections")
}

/// Returns the file that a failed edit was for.
pub(super) fn file_of_failure(output: &str) -> Option<&str> {
    output.lines().find_map(|line| Some(line.split_once("exactly match lines in ")?.1.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_of_old_and_new() {
        let asked = |about, is_allowed| Notice::Asked { about, is_allowed };
        let new = "Allow edits to file that has not been added to the chat? (Y)es/(N)o [Yes]: n";
        assert_eq!(read(new), asked(Topic::Edit(None), false));
        assert_eq!(read("Run shell commands? (Y)es/(N)o/(D)on't ask again [Yes]: d"), asked(Topic::Shell, false));
        let old = "Allow edits to a/b.py which was not previously provided? yes";
        assert_eq!(read(old), asked(Topic::Edit(Some("a/b.py")), true));
        assert_eq!(read("Allow creation of new file c.py? no"), asked(Topic::Edit(Some("c.py")), false));
        assert_eq!(read("Add file to the chat? (Y)es/(N)o/(A)ll/(S)kip all [Yes]: a"), asked(Topic::Again, true));
        assert_eq!(read("what? I said"), Notice::Other);
    }

    #[test]
    fn acts_and_failures() {
        assert_eq!(read("Commit 1a2b3c4 fix: a"), Notice::Commit { hash: "1a2b3c4", message: "fix: a" });
        assert_eq!(read("Commit often"), Notice::Other);
        assert_eq!(read("Skipping edits to x.log that matches gitignore spec."), Notice::NotApplied("x.log"));
        assert_eq!(read("# 2 SEARCH/REPLACE blocks failed to match!"), Notice::EditFailed);
        assert_eq!(read("Models: gpt-4o with diff edit format, weak model gpt-3.5-turbo"), Notice::Model("gpt-4o"));
        assert_eq!(read("Model gpt-4o has hit a token limit!"), Notice::Failed);
        assert_eq!(read("Only 3 reflections allowed, stopping."), Notice::Limit);
        assert_eq!(read("Only 10 reflections allowed, stopping."), Notice::Limit);
        assert_eq!(read("Only three files changed"), Notice::Other);
    }
}
