//! E-mail and IP addresses.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Range;

use super::Found;
use crate::redact::rule::{end_of_escape, ends_with_escape};

/// Longest local part and domain of an address, by the standard. Bytes.
const LONGEST: usize = 254;

/// Finds addresses around each `@`, also in URLs and JSON.
pub(super) fn find_emails(text: &str, found: &mut Vec<Found>) {
    for sign in ["@", "%40", r"\u0040"] {
        find_emails_around(sign, text, found);
    }
}

fn find_emails_around(sign: &str, text: &str, found: &mut Vec<Found>) {
    for at in memchr::memmem::find_iter(text.as_bytes(), sign) {
        let (Some(before), Some(after)) = (text.get(..at), text.get(at + sign.len()..)) else { continue };
        let is_local = |letter: &char| letter.is_alphanumeric() || matches!(letter, '.' | '_' | '%' | '+' | '-' | '\'');
        let local: usize = before.chars().rev().take(LONGEST).take_while(is_local).map(char::len_utf8).sum();
        let run = at - local;
        // Of `=10kim` and `[12mike`, all may be the name.
        let is_escaped = text.get(..run).is_some_and(|before| before.ends_with('\\') || before.ends_with("\x1b["));
        let escape = is_escaped.then(|| end_of_escape(text.as_bytes(), run, at)).flatten();
        let start = escape.unwrap_or(run);
        let Some(domain) = domain(after) else { continue };
        let name = text.get(start..at).unwrap_or_default().trim_start_matches(['.', '-', '\'']);
        // The part before the `@` of a clone URL is no person.
        if !name.is_empty() && name != "git" {
            found.push((at - name.len()..at + sign.len() + domain, "email"));
        }
    }
}

/// Returns the length of a domain at the beginning of a text: labels separated by dots, the last of which begins with a
/// letter.
fn domain(text: &str) -> Option<usize> {
    let is_part = |letter: &char| letter.is_alphanumeric() || matches!(letter, '-' | '.');
    let whole: usize = text.chars().take(LONGEST).take_while(is_part).map(char::len_utf8).sum();
    let (mut end, mut longest) = (0, None);
    for (place, label) in text.get(..whole)?.split('.').enumerate() {
        if label.is_empty() || label.starts_with('-') {
            break;
        }
        end += label.len() + usize::from(place > 0);
        let letters = label.chars().filter(|letter| letter.is_alphabetic()).count();
        if place > 0 && letters > 1 && label.starts_with(char::is_alphabetic) {
            longest = Some(end - (label.len() - label.trim_end_matches('-').len()));
        }
    }
    longest
}

/// Finds IP addresses, except those that every machine has, such as `127.0.0.1` and `::1`.
pub(super) fn find_ips(text: &str, found: &mut Vec<Found>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(mark) = memchr::memchr2(b'.', b':', bytes.get(at..).unwrap_or_default()) {
        let mark = at + mark;
        let is_part = |byte: &&u8| byte.is_ascii_hexdigit() || matches!(byte, b'.' | b':');
        let before = bytes.get(at..mark).unwrap_or_default().iter().rev().take_while(is_part).count();
        let after = bytes.get(mark..).unwrap_or_default().iter().take_while(is_part).count();
        let run = mark - before..mark + after;
        at = run.end;
        let Some(part) = text.get(run.clone()).filter(|part| part.len() > 2) else { continue };
        if !find_v6(text, &run, part, found) {
            find_v4(text, &run, part, found);
        }
    }
}

/// Finds addresses in names of cloud machines, such as `ip-10-0-3-7.ec2.internal`.
pub(super) fn find_host_names(text: &str, found: &mut Vec<Found>) {
    const MARK: &str = "ip-";
    for at in memchr::memmem::find_iter(text.as_bytes(), MARK) {
        let before = text.get(..at).unwrap_or_default();
        let is_inside =
            before.ends_with(|letter: char| letter.is_alphanumeric()) && !ends_with_escape(before.as_bytes());
        let from = at + MARK.len();
        let rest = text.get(from..).unwrap_or_default();
        let is_part = |byte: &u8| byte.is_ascii_digit() || *byte == b'-';
        let length = rest.bytes().take_while(is_part).count();
        let Some(octets) = rest.get(..length).map(|part| part.trim_end_matches('-')) else { continue };
        if !is_inside && lenient_v4(&octets.replace('-', ".")).is_some() {
            found.push((from..from + octets.len(), "ip"));
        }
    }
}

fn find_v6(text: &str, run: &Range<usize>, part: &str, found: &mut Vec<Found>) -> bool {
    let bytes = text.as_bytes();
    let is_word = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let before = bytes.get(..run.start).unwrap_or_default();
    let is_inside = is_word(before.last()) && !ends_with_escape(before);
    if is_word(bytes.get(run.end)) {
        return false;
    }
    for skipped in starts(text, run).filter(|skipped| *skipped > 0 || !is_inside) {
        // Punctuation around an address, such as that before a port, is no part of it.
        for (front, back) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let inner = skipped + front..part.len().saturating_sub(back);
            let Some(Ok(address)) = part.get(inner.clone()).map(str::parse::<Ipv6Addr>) else { continue };
            let text = part.get(inner.clone()).unwrap_or_default();
            // `a::b` is a path in some languages.
            let groups = text.split(':').filter(|group| !group.is_empty()).count();
            let is_telling = groups > 2 || text.bytes().any(|byte| byte.is_ascii_digit());
            if is_telling && !address.is_loopback() && !address.is_unspecified() {
                found.push((run.start + inner.start..run.start + inner.end, "ip"));
            }
            return true;
        }
    }
    false
}

/// Returns where an address may begin in a run: at its start, or after the end of an escape such as `\u2192`.
fn starts(text: &str, run: &Range<usize>) -> impl Iterator<Item = usize> {
    let after_escape = end_of_escape(text.as_bytes(), run.start, run.end);
    std::iter::once(0).chain(after_escape.map(|end| end - run.start))
}

fn find_v4(text: &str, run: &Range<usize>, part: &str, found: &mut Vec<Found>) {
    let mut start = 0;
    for piece in part.split(|letter: char| !letter.is_ascii_digit() && letter != '.') {
        let offset = start;
        start += piece.len() + 1;
        let whole = run.start + offset..run.start + offset + piece.len();
        let addresses = starts(text, &whole).filter_map(|skipped| {
            let rest = piece.get(skipped..)?;
            let address = rest.trim_matches('.');
            let from = whole.start + skipped + rest.len() - rest.trim_start_matches('.').len();
            Some((from..from + address.len(), lenient_v4(address)?))
        });
        for (range, address) in addresses.take(1) {
            let before = text.get(..range.start).unwrap_or_default();
            let is_version = before.ends_with(['v', 'V']) && !before.ends_with("\\v");
            if !is_version && !address.is_loopback() && !address.is_unspecified() {
                found.push((range, "ip"));
            }
        }
    }
}

/// Removes leading zeros, which make no difference.
fn lenient_v4(text: &str) -> Option<Ipv4Addr> {
    let mut octets = [0; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        *octet = parts.next().filter(|part| part.len() <= 3)?.parse().ok()?;
    }
    parts.next().is_none().then(|| Ipv4Addr::from(octets))
}
