//! How values look to people. Text from transcripts is untrusted: what would steer a terminal, or hide text, is escaped.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a character steers the terminal, reorders or hides text.
fn is_unsafe(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// The text on one line: line breaks and tabs are escaped, too.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        match letter {
            '\n' | '\r' | '\t' => escaped.extend(letter.escape_default()),
            letter => push(&mut escaped, letter),
        }
    }
    Cow::Owned(escaped)
}

/// Adds a character, escaped where it would steer or hide.
pub(crate) fn push(escaped: &mut String, letter: char) {
    if is_unsafe(letter) {
        escaped.extend(letter.escape_unicode());
    } else {
        escaped.push(letter);
    }
}

/// The same within JSON.
pub(crate) fn push_in_json(escaped: &mut String, letter: char) {
    if is_unsafe(letter) {
        for unit in letter.encode_utf16(&mut [0; 2]) {
            let _ = write!(escaped, "\\u{unit:04x}");
        }
    } else {
        escaped.push(letter);
    }
}

/// What stands for a part of a URL that may be a secret.
const HIDDEN: &str = "***";

/// The URL without user, password, query and fragment, which may be credentials. Every URL in a message goes through here.
pub fn url(url: &str) -> Cow<'_, str> {
    let Some((scheme, rest)) = url.split_once("://") else { return Cow::Borrowed(url) };
    let authority = rest.find(['/', '?', '#']).map_or(rest, |end| rest.split_at(end).0);
    // A key of AWS may hold slashes: what stands after the colon is no port then.
    let holds_password = authority.rsplit_once(':').is_some_and(|(host, port)| {
        // Messages name the form of a URL, too.
        let is_port = port.bytes().all(|byte| byte.is_ascii_digit()) || port.eq_ignore_ascii_case("port");
        !is_port && !host.ends_with(']') && !authority.ends_with(']')
    });
    let user = match authority.rfind('@') {
        // What stands there is the name of the container.
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

/// The text with every URL as [`url`] shows it.
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

/// An amount of dollars: two decimals from one dollar on, up to four below.
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
