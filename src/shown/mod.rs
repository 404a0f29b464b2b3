//! Shows values and untrusted text to people: escapes characters that control a terminal or hide text.

pub mod value;
pub mod width;

use std::borrow::Cow;
use std::fmt::Write;

use icu_properties::props::{BinaryProperty, DefaultIgnorableCodePoint, Emoji, EnumeratedProperty, GeneralCategory};

use crate::environment;

/// True if a character controls the terminal, reorders text or is invisible. Accents belong to the letter before them.
fn is_unsafe(letter: char) -> bool {
    if letter.is_ascii() {
        return letter.is_control();
    }
    let category = GeneralCategory::for_char(letter);
    // A Braille cell without dots, and the consonant joiner of Tifinagh.
    matches!(letter, '\u{2800}' | '\u{2d7f}')
        || DefaultIgnorableCodePoint::for_char(letter)
        || matches!(
            category,
            GeneralCategory::Control
                | GeneralCategory::Format
                | GeneralCategory::LineSeparator
                | GeneralCategory::ParagraphSeparator
        )
}

/// True for vowels and finals of Hangul, which have no width of their own.
fn is_joined_hangul(letter: char) -> bool {
    matches!(letter, '\u{1160}'..='\u{11ff}' | '\u{d7b0}'..='\u{d7fb}')
}

fn is_hangul(letter: char) -> bool {
    matches!(letter, '\u{1100}'..='\u{11ff}' | '\u{a960}'..='\u{a97c}' | '\u{ac00}'..='\u{d7fb}')
}

/// Escapes text incrementally.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Escaper {
    before: Option<char>,
}

impl Escaper {
    /// Adds a character, escaped if necessary.
    pub(crate) fn push(&mut self, escaped: &mut String, letter: char) {
        if self.is_unsafe(letter) {
            escaped.extend(letter.escape_unicode());
        } else {
            escaped.push(letter);
        }
    }

    /// Like [`Self::push`], within JSON.
    pub(crate) fn push_in_json(&mut self, escaped: &mut String, letter: char) {
        if self.is_unsafe(letter) {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(letter);
        }
    }

    /// The selector that turns a sign such as `⚠` into an emoji has a visible effect.
    fn is_unsafe(&mut self, letter: char) -> bool {
        let before = self.before.replace(letter);
        let selects = letter == '\u{fe0f}' && before.is_some_and(|sign| !sign.is_ascii() && Emoji::for_char(sign));
        let hangs = is_joined_hangul(letter) && !before.is_some_and(is_hangul);
        hangs || is_unsafe(letter) && !selects
    }
}

/// Returns the text on one line: line breaks and tabs are escaped too.
pub fn visible(text: &str) -> Cow<'_, str> {
    let mut escaper = Escaper::default();
    if !text.chars().any(|letter| escaper.is_unsafe(letter)) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    let mut escaper = Escaper::default();
    for letter in text.chars() {
        match letter {
            '\n' | '\r' | '\t' => escaped.extend(letter.escape_default()),
            letter => escaper.push(&mut escaped, letter),
        }
    }
    Cow::Owned(escaped)
}

/// Characters that llrem itself draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signs {
    /// Stands for a value that is not known.
    pub unknown: &'static str,
    /// A part of a line below a table.
    pub rule: &'static str,
    /// Stands for what was cut.
    pub ellipsis: &'static str,
    /// A part of a bar: whole, then seven eighths down to one; empty if there are only whole ones.
    pub bar: [&'static str; 8],
    /// Before advice.
    pub arrow: &'static str,
    /// Sign of a good result.
    pub good: &'static str,
    /// Sign of a problem.
    pub bad: &'static str,
}

impl Signs {
    /// Signs for a terminal that shows Unicode.
    pub const UNICODE: Self = Self {
        unknown: "–",
        rule: "─",
        ellipsis: "…",
        bar: ["█", "▉", "▊", "▋", "▌", "▍", "▎", "▏"],
        arrow: "→",
        good: "✓",
        bad: "✗",
    };

    /// Signs for every other terminal.
    pub const ASCII: Self = Self {
        unknown: "-",
        rule: "-",
        ellipsis: "...",
        bar: ["#", "", "", "", "", "", "", ""],
        arrow: "->",
        good: "ok",
        bad: "x",
    };

    /// Returns the signs for the locale. Without one, terminals of today show Unicode.
    pub fn of_environment() -> Self {
        let locale = environment::LOCALE.into_iter().find_map(environment::value);
        Self::of_locale(locale.as_deref())
    }

    fn of_locale(locale: Option<&str>) -> Self {
        let shows_unicode = locale.is_none_or(|name| {
            let name = name.to_ascii_lowercase();
            name.ends_with("utf-8") || name.ends_with("utf8")
        });
        if shows_unicode { Self::UNICODE } else { Self::ASCII }
    }
}

/// Returns the text on one line, with single spaces and without characters that control a terminal.
pub fn one_line(text: &str) -> String {
    visible(&joined(text)).into_owned()
}

/// Returns a path with `~` for the user's home.
pub fn in_home(path: &str) -> Cow<'_, str> {
    let home = etcetera::home_dir().ok();
    let rest = home.as_ref().and_then(|home| path.strip_prefix(home.to_str()?.trim_end_matches(['/', '\\'])));
    match rest {
        Some(rest) if rest.is_empty() || rest.starts_with(['/', '\\']) => Cow::Owned(format!("~{rest}")),
        _ => Cow::Borrowed(path),
    }
}

/// Joins the words of a text with single spaces.
pub fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the first sentence of a text.
pub fn first_sentence(text: &str) -> &str {
    let mut is_quoted = false;
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        is_quoted ^= letter == '`';
        let is_end = letter == '.' && !is_quoted && letters.peek().is_some_and(|(_, next)| *next == ' ');
        if is_end {
            return text.get(..=at).unwrap_or(text);
        }
    }
    text
}

/// Replacement of a part of a URL that may be a secret.
const HIDDEN: &str = "***";

/// Returns the URL without user, password, query and fragment, which may be credentials. Every URL in a message passes
/// here.
pub fn url(url: &str) -> Cow<'_, str> {
    let Some((scheme, rest)) = url.split_once("://") else { return Cow::Borrowed(url) };
    let authority = rest.find(['/', '?', '#']).map_or(rest, |end| rest.split_at(end).0);
    // A key of AWS may contain slashes, so the text after the colon is no port then.
    let holds_password = authority.rsplit_once(':').is_some_and(|(host, port)| {
        // Messages also contain the form of a URL.
        let is_port = port.bytes().all(|byte| byte.is_ascii_digit()) || port.eq_ignore_ascii_case("port");
        !is_port && !host.ends_with(']') && !authority.ends_with(']')
    });
    let user = match authority.rfind('@') {
        // Here it is the name of the container.
        Some(end) if scheme.starts_with("abfs") && !authority.contains(':') => authority.get(end..end),
        Some(end) => authority.get(..end),
        None if holds_password => rest.rfind('@').map_or(Some(authority), |end| rest.get(..end)),
        None => None,
    };
    let user = user.unwrap_or_default();
    let place = rest.strip_prefix(user).unwrap_or_default();
    let (place, query) = place.split_at(place.find(['?', '#']).unwrap_or(place.len()));
    if user.is_empty() && query.len() < 2 {
        return Cow::Borrowed(url);
    }
    let [user, query] = [(user, ""), (query, query.get(..1).unwrap_or_default())]
        .map(|(part, mark)| if part.is_empty() { String::new() } else { format!("{mark}{HIDDEN}") });
    Cow::Owned(format!("{scheme}://{user}{place}{query}"))
}

/// Returns the text with every URL as [`url`] shows it.
pub fn with_urls(text: &str) -> Cow<'_, str> {
    if !text.contains("://") {
        return Cow::Borrowed(text);
    }
    let is_end = |letter: char| letter.is_whitespace() || matches!(letter, '`' | '"' | '\'' | '<' | '>' | '|');
    Cow::Owned(
        text.split_inclusive(is_end)
            .map(|word| {
                let end = word.len() - word.chars().next_back().filter(|last| is_end(*last)).map_or(0, char::len_utf8);
                let (word, end) = word.split_at(end);
                url(word).into_owned() + end
            })
            .collect(),
    )
}

/// Formats an amount of dollars: two decimals from one dollar on, up to four below.
pub fn money(amount: f64) -> String {
    if amount.abs() >= 1.0 {
        return format!("{amount:.2}");
    }
    let exact = format!("{amount:.4}");
    let cut = exact.strip_suffix('0').map(|shorter| shorter.strip_suffix('0').unwrap_or(shorter));
    cut.unwrap_or(&exact).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_or_hides_is_shown() {
        assert_eq!(visible("plain é 日本 ✓"), "plain é 日本 ✓");
        assert_eq!(
            visible("a\u{1b}[2J\u{202e}b\u{200b}c\u{9b}d\u{7f}"),
            "a\\u{1b}[2J\\u{202e}b\\u{200b}c\\u{9b}d\\u{7f}"
        );
        assert_eq!(visible("one\ntwo\tthree\r"), "one\\ntwo\\tthree\\r");
    }

    #[test]
    fn signs_are_those_of_the_locale() {
        for unicode in [None, Some("de_DE.UTF-8"), Some("C.utf8")] {
            assert_eq!(Signs::of_locale(unicode), Signs::UNICODE);
        }
        for ascii in ["C", "POSIX", "de_DE.ISO-8859-1", "de_DE"] {
            assert_eq!(Signs::of_locale(Some(ascii)), Signs::ASCII);
        }
        assert_eq!(one_line(" two\n\twords \u{1b}[2J"), "two words \\u{1b}[2J");
    }

    #[test]
    fn no_character_that_is_not_seen_passes() {
        let hidden = [
            '\u{34f}',
            '\u{600}',
            '\u{6dd}',
            '\u{70f}',
            '\u{8e2}',
            '\u{17b4}',
            '\u{180b}',
            '\u{180f}',
            '\u{fe00}',
            '\u{fe0f}',
            '\u{110bd}',
            '\u{13430}',
            '\u{1bca0}',
            '\u{1d173}',
            '\u{e0001}',
            '\u{e0100}',
            '\u{2028}',
            '\u{61c}',
            '\u{115f}',
            '\u{3164}',
            '\u{ffa0}',
            '\u{fff9}',
            '\u{feff}',
            '\u{ad}',
            '\u{2800}',
            '\u{2d7f}',
            '\u{1161}',
            '\u{d7b0}',
        ];
        for letter in hidden {
            assert_eq!(visible(&format!("a{letter}b")), format!("a{}b", letter.escape_unicode()));
        }
    }

    #[test]
    fn accents_and_emoji_are_as_they_are() {
        for text in ["e\u{301}", "\u{1112}\u{1161}\u{11ab}", "\u{26a0}\u{fe0f} careful", "\u{915}\u{94d}"] {
            assert_eq!(visible(text), text);
        }
    }

    #[test]
    fn urls_are_shown_without_credentials() {
        for (text, shown) in [
            ("s3://AKIACANARY:canary@bucket/x", "s3://***@bucket/x"),
            ("s3://canary@bucket/x", "s3://***@bucket/x"),
            ("s3://AKIA:can/ary+x@bucket/x", "s3://***@bucket/x"),
            ("s3://AKIA:canary/x", "s3://***/x"),
            ("https://u:can@ary@h:8443/x?sig=canary#canary", "https://***@h:8443/x?***"),
            ("az://c/x?sig=canary", "az://c/x?***"),
            ("gs://b/x#canary", "gs://b/x#***"),
            ("df://u:canary@h:1", "df://***@h:1"),
            ("abfss://c@a.dfs.core.windows.net/x", "abfss://c@a.dfs.core.windows.net/x"),
            ("abfss://c:canary@a.dfs.core.windows.net/x", "abfss://***@a.dfs.core.windows.net/x"),
            ("s3://bucket/kim@home/x", "s3://bucket/kim@home/x"),
            ("file:///mnt/a@b", "file:///mnt/a@b"),
            ("http://[::1]:9000/x", "http://[::1]:9000/x"),
            ("http://[::1]/x", "http://[::1]/x"),
            ("df://h:1", "df://h:1"),
            ("df://HOST:PORT", "df://HOST:PORT"),
            ("/mnt/lake", "/mnt/lake"),
            ("", ""),
        ] {
            assert_eq!(url(text), shown, "{text}");
            assert_eq!(with_urls(&format!("cannot open `{text}`: no")), format!("cannot open `{shown}`: no"), "{text}");
        }
    }

    #[test]
    fn small_amounts_have_more_decimals() {
        let shown = [0.0, 1.5, 0.1234, 0.00009, 12.3456, 1234.5].map(money);
        assert_eq!(shown, ["0.00", "1.50", "0.1234", "0.0001", "12.35", "1234.50"]);
    }
}
