//! User names in paths of homes, also in names that a tool derived from a whole path.

use std::sync::LazyLock;

use regex::Regex;

use super::Found;

/// Text before the name: separators unchanged, doubled in JSON, encoded in URLs, or turned into hyphens, as in the
/// names of project folders of Claude Code, pi and others.
static BEFORE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    // Only Windows ignores case; elsewhere `/users/` is part of many URLs.
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

/// Returns the user whose home contains a path.
pub(crate) fn user_of(path: &str) -> Option<&str> {
    let mut found = Vec::new();
    find(path, &mut found);
    let (range, _) = found.into_iter().next()?;
    path.get(range).filter(|name| !name.starts_with('‹'))
}

/// Returns the length of a folder's name. It may contain a space only if the path continues after it.
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

/// Returns the length of the name in `~name/…`, a shell's form of another user's home.
fn of_another(text: &str) -> usize {
    let is_part = |letter: &char| letter.is_alphanumeric() || matches!(letter, '_' | '.' | '-');
    let length = text.chars().take(LONGEST).take_while(is_part).map(char::len_utf8).sum();
    let (name, rest) = text.split_at_checked(length).unwrap_or_default();
    if name.starts_with(char::is_alphabetic) && rest.starts_with('/') { length } else { 0 }
}

/// Returns the length of a name between hyphens.
fn hyphened(text: &str) -> usize {
    let is_part = |letter: &char| letter.is_alphanumeric() || matches!(letter, '_' | '.');
    text.chars().take(LONGEST).take_while(is_part).map(char::len_utf8).sum()
}
