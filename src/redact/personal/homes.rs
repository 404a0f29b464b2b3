//! Names of users in paths of homes, also where a tool has made a name of a whole path.

use std::sync::LazyLock;

use regex::Regex;

use super::Found;

/// What stands before the name: separators as they are, doubled in JSON, encoded in URLs, or turned into hyphens as Claude
/// Code, pi and others name the folder of a project.
static BEFORE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    // Windows does not tell capitals apart; elsewhere `/users/` is part of many a URL.
    let plain = r"(?:(?:/|\\{1,4})(?:home|Users|Documents and Settings)|(?i:[a-z](?::|%3A)(?:/|\\{1,4})(?:users|documents and settings)))(?:/|\\{1,4})";
    let encoded = r"(?i:%2F|%5C)(?:home|Users)(?i:%2F|%5C)";
    let hyphens = r#"(?:^|[/\\"'`])(?:-{1,2}|[A-Za-z]--|-mnt-[a-z]-|-var-)(?:home|Users)-"#;
    let tilde = r#"(?:^|[\s"'`=:(,]|\\[nrt])~"#;
    let all = format!("(?:(?P<plain>{plain})|(?P<encoded>{encoded})|(?P<hyphens>{hyphens})|(?P<tilde>{tilde}))");
    Regex::new(&all).ok()
});

/// Longest name. Bytes.
const LONGEST: usize = 64;

/// Finds the names.
pub(super) fn find(text: &str, found: &mut Vec<Found>) {
    let Some(before) = BEFORE.as_ref() else { return };
    let mut at = 0;
    while let Some(hit) = before.captures_at(text, at) {
        let Some(whole) = hit.get(0) else { return };
        let rest = text.get(whole.end()..).unwrap_or_default();
        let length = match (hit.name("hyphens"), hit.name("tilde")) {
            (Some(_), _) => hyphened(rest),
            (_, Some(_)) => of_another(rest),
            _ => name(rest),
        };
        if length > 0 {
            found.push((whole.end()..whole.end() + length, "user"));
        }
        at = (whole.end() + length).max(whole.start() + 1);
        at = text.ceil_char_boundary(at);
    }
}

/// The user in whose home a path lies.
pub(crate) fn user_of(path: &str) -> Option<&str> {
    let mut found = Vec::new();
    find(path, &mut found);
    let (range, _) = found.into_iter().next()?;
    path.get(range).filter(|name| !name.starts_with('‹'))
}

/// Length of a folder's name. It may hold a space only where the path goes on behind it.
fn name(text: &str) -> usize {
    let is_part = |letter: &char| {
        !letter.is_control()
            && !matches!(
                letter,
                '/' | '\\'
                    | '"'
                    | '\''
                    | '`'
                    | '<'
                    | '>'
                    | ':'
                    | '|'
                    | '?'
                    | '*'
                    | ','
                    | ';'
                    | ')'
                    | ']'
                    | '}'
                    | '('
                    | '['
                    | '{'
                    | '$'
                    | '&'
                    | '%'
                    | '‹'
                    | '›'
                    | '='
            )
    };
    let whole: usize = text.chars().take(LONGEST).take_while(is_part).map(char::len_utf8).sum();
    let (name, rest) = text.split_at_checked(whole).unwrap_or_default();
    let goes_on = rest.starts_with(['/', '\\']);
    let name = match name.find(char::is_whitespace) {
        Some(space) if !goes_on || name.matches(' ').count() > 2 => name.get(..space).unwrap_or_default(),
        _ => name,
    };
    name.trim_end_matches(['.', '!', '#', '@', ' ']).len()
}

/// Length of the name in `~name/…`, as shells write the home of another.
fn of_another(text: &str) -> usize {
    let is_part = |letter: &char| letter.is_alphanumeric() || matches!(letter, '_' | '.' | '-');
    let length = text.chars().take(LONGEST).take_while(is_part).map(char::len_utf8).sum();
    let (name, rest) = text.split_at_checked(length).unwrap_or_default();
    if name.starts_with(char::is_alphabetic) && rest.starts_with('/') { length } else { 0 }
}

/// Length of a name that hyphens stand around.
fn hyphened(text: &str) -> usize {
    let is_part = |letter: &char| letter.is_alphanumeric() || matches!(letter, '_' | '.');
    text.chars().take(LONGEST).take_while(is_part).map(char::len_utf8).sum()
}
