//! Replaces personal data: e-mail addresses, IP addresses and user names.
//!
//! User names are found in paths of homes. Known names are also replaced wherever they are words.

mod addresses;
mod homes;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;

use aho_corasick::AhoCorasick;

use super::Counts;

pub(crate) use homes::user_of;

/// Names that identify nobody. As words they are kept.
const NOBODY: [&str; 32] = [
    "admin",
    "administrator",
    "app",
    "build",
    "centos",
    "code",
    "codespace",
    "coder",
    "debian",
    "default",
    "dev",
    "docker",
    "ec2-user",
    "fedora",
    "git",
    "guest",
    "home",
    "jenkins",
    "linuxbrew",
    "local",
    "node",
    "public",
    "root",
    "runner",
    "shared",
    "test",
    "ubuntu",
    "user",
    "username",
    "users",
    "vscode",
    "workspace",
];
/// Shortest name that is replaced as a word; shorter ones would be found everywhere, and are replaced in paths only.
const SHORTEST: usize = 3;

/// Replaces personal data in texts. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Personal {
    key: [u8; 32],
    users: Option<AhoCorasick>,
}

/// A match, and its kind.
type Found = (Range<usize>, &'static str);

impl Personal {
    /// `key` belongs to one lake. `users` are known names.
    pub(crate) fn new(key: [u8; 32], users: &BTreeSet<String>) -> Self {
        let telling = users.iter().filter(|name| name.chars().count() >= SHORTEST);
        let telling = telling.filter(|name| !NOBODY.contains(&name.to_ascii_lowercase().as_str()));
        // Claude Code and others use the path of a project as a folder name, with hyphens for all but letters and
        // digits.
        let hyphened = |name: &String| name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
        let telling: BTreeSet<String> = telling.flat_map(|name| [name.clone(), hyphened(name)]).collect();
        let users = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(aho_corasick::MatchKind::LeftmostLongest)
            .build(telling.iter().filter(|name| name.contains(|letter: char| letter.is_alphanumeric())))
            .ok()
            .filter(|_| !telling.is_empty());
        Self { key, users }
    }

    /// Returns the text without personal data, borrowed if it has none.
    pub(crate) fn redact<'t>(&self, text: &'t str, counts: &mut Counts) -> Cow<'t, str> {
        let Some(mut clean) = self.pass(text, counts) else { return Cow::Borrowed(text) };
        // A second pass: the first one may have separated what ran together.
        for _ in 1..super::PASSES {
            let Some(cleaner) = self.pass(&clean, counts) else { break };
            clean = cleaner;
        }
        Cow::Owned(clean)
    }

    fn pass(&self, text: &str, counts: &mut Counts) -> Option<String> {
        let mut found = Vec::new();
        addresses::find_emails(text, &mut found);
        addresses::find_ips(text, &mut found);
        addresses::find_host_names(text, &mut found);
        homes::find(text, &mut found);
        self.find_users(text, &mut found);
        if found.is_empty() {
            return None;
        }
        found.sort_unstable_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
        let mut clean = String::with_capacity(text.len());
        let mut copied = 0;
        for (range, kind) in found {
            // Of overlapping matches, the first is replaced, and then the rest of the other.
            let start = range.start.max(copied);
            if start >= range.end {
                continue;
            }
            clean.push_str(text.get(copied..start).unwrap_or_default());
            clean.push_str(&self.marker(kind, text.get(start..range.end).unwrap_or_default()));
            counts.add(kind);
            copied = range.end;
        }
        clean.push_str(text.get(copied..).unwrap_or_default());
        Some(clean)
    }

    /// Returns the marker for a value of a column that is personal as a whole.
    pub(crate) fn marker(&self, kind: &str, value: &str) -> String {
        let hash = blake3::keyed_hash(&self.key, value.to_lowercase().as_bytes());
        let [first, second, ..] = hash.as_bytes();
        let mut marker = String::new();
        let _ = write!(marker, "‹redacted:{kind}:{first:02x}{second:02x}›");
        marker
    }

    fn find_users(&self, text: &str, found: &mut Vec<Found>) {
        let Some(users) = &self.users else { return };
        let is_letter = |letter: char| letter.is_alphanumeric();
        for hit in users.find_iter(text) {
            let before = text.get(..hit.start()).and_then(|before| before.chars().next_back());
            let after = text.get(hit.end()..).and_then(|after| after.chars().next());
            let is_escaped = text.as_bytes().get(..hit.start()).is_some_and(super::rule::ends_with_escape);
            if (!before.is_some_and(is_letter) || is_escaped) && !after.is_some_and(is_letter) {
                found.push((hit.range(), "user"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn personal() -> Personal {
        Personal::new([7; 32], &["kim", "Ada.Lovelace", "user", "al"].map(str::to_owned).into())
    }

    /// Returns the text with short markers, for readable tests.
    fn clean(text: &str) -> String {
        let marker = regex::Regex::new("‹redacted:([a-z]+):[0-9a-f]{4}›").unwrap();
        let clean = personal().redact(text, &mut Counts::default()).into_owned();
        marker.replace_all(&clean, "<$1>").into_owned()
    }

    #[test]
    fn what_tells_of_persons_is_replaced() {
        for (text, expected) in [
            ("mail kim.x+y@example.co.uk, please", "mail <email>, please"),
            ("<jörg@example.org>", "<<email>>"),
            ("at 203.0.113.7:8080, 10.0.0.1/24 and 192.168.1.20.", "at <ip>:8080, <ip>/24 and <ip>."),
            ("\\n10.1.2.3\\n", "\\n<ip>\\n"),
            ("[2001:db8::1]:443 fe80::1%eth0 ::ffff:10.0.0.1 2001:db8:0:1:1:1:1:1", "[<ip>]:443 <ip>%eth0 <ip> <ip>"),
            ("/home/jo/shop and /Users/jo-ann/x", "/home/<user>/shop and /Users/<user>/x"),
            (
                r"C:\Users\Jo Doe\x and C:\\Users\\jo\\x and c:/Users/jo/y",
                r"C:\Users\<user>\x and C:\\Users\\<user>\\x and c:/Users/<user>/y",
            ),
            ("file:///home/jo/a%20b", "file:///home/<user>/a%20b"),
            ("%2Fhome%2Fjo%2Fx", "%2Fhome%2F<user>%2Fx"),
            ("~/.claude/projects/-home-jo-shop/x.jsonl", "~/.claude/projects/-home-<user>-shop/x.jsonl"),
            ("/sessions/--Users-jo-src--/x", "/sessions/--Users-<user>-src--/x"),
            ("C--Users-jo-src", "C--Users-<user>-src"),
            (r"c:\users\bert\x and file:///c%3A/users/dora/x", r"c:\users\<user>\x and file:///c%3A/users/<user>/x"),
            ("pete%40corp.example and kurt\\u0040corp.example", "<email> and <email>"),
            ("-Users-ada-lovelace-shop /api/users/list", "-Users-<user>-shop /api/users/list"),
            ("Kim said: ask kim_2 or ada.lovelace", "<user> said: ask <user>_2 or <user>"),
            (r"x\nkim\ny", r"x\n<user>\ny"),
            (r"x\u2192kim\u200bkim\x0akim=3Dkim", r"x\u2192<user>\u200b<user>\x0a<user>=3D<user>"),
            ("/home/jo", "/home/<user>"),
            (r"cd ~jo.x/src\n~pete/x && ls '~bert/.ssh'", r"cd ~<user>/src\n~<user>/x && ls '~<user>/.ssh'"),
            (
                r"\nip-10-0-3-7.ec2.internal: up, ubuntu@ip-172-31-0-9:~$",
                r"\nip-<ip>.ec2.internal: up, ubuntu@ip-<ip>:~$",
            ),
            (r"\u219210.1.2.3 %2010.1.2.3 ip=192.168.1.20", r"\u2192<ip> %20<ip> ip=<ip>"),
            (r"\u2192fe80::1 \bfe80::1 x=2001:db8::1", r"\u2192<ip> \b<ip> x=<ip>"),
            (
                "\x1b[32mfe80::1 \x1b[1mip-10-0-3-7 \x1b[32mkim@example.org",
                "\x1b[32m<ip> \x1b[1mip-<ip> \x1b[32m<email>",
            ),
            (r"\u2192jo@example.org", r"\u2192<email>"),
            ("id=10pete@example.org [12mike@example.org]", "id=<email> [<email>]"),
        ] {
            assert_eq!(clean(text), expected, "{text}");
        }
    }

    #[test]
    fn what_does_not_is_left() {
        for text in [
            "kimono, akim, user, al, @kim2",
            "127.0.0.1:3000 0.0.0.0 ::1 [::]:80",
            "v1.2.3.4 1.2.3.4.5 300.1.1.1 1.2.3",
            "~/.claude ~10/20 HEAD~main/x a~b/c ~approx",
            "zip-1-2-3-4 ip-1-2-3 ip-1-2-3-4-5 ip-300-1-1-1 ip-address",
            "std::fmt a::b 12:34:56 aa:bb:cc:dd:ee:ff 10:20",
            "react@18.2.0 @types/node git@github.com:owner/repo user@host",
            "/home/ /Users/ /homes/x nav-home-button --home-dir /var/lib",
            "",
        ]
        .iter()
        .map(|text| text.replace("@kim2", ""))
        {
            assert_eq!(clean(&text), text, "{text}");
        }
    }

    #[test]
    fn equal_values_have_equal_markers() {
        let personal = personal();
        let mut counts = Counts::default();
        let [a, b] = ["mail Kim@Example.org", "mail kim@example.org"]
            .map(|text| personal.redact(text, &mut Counts::default()).into_owned());
        assert_eq!(a, b);
        personal.redact("10.0.0.1 10.0.0.1 a@b.io", &mut counts);
        assert_eq!(counts.iter().collect::<Vec<_>>(), [("email", 1), ("ip", 2)]);
    }

    proptest! {
        #[test]
        fn once_is_enough(text in r"([ -~é‹›]|/home/kim|-home-|10\.0\.0\.1|a@b\.io|::1|\\n){0,20}") {
            let personal = personal();
            let once = personal.redact(&text, &mut Counts::default()).into_owned();
            let twice = personal.redact(&once, &mut Counts::default()).into_owned();
            prop_assert_eq!(once, twice);
        }

        #[test]
        fn a_planted_value_never_stays(before in r"[ -~\n]{0,12}[ /\n(]", after in r"[ \n),;][ -~\n]{0,12}", which in 0..5_usize) {
            let planted = ["jo@example.org", "198.51.100.23", "2001:db8::42", "/home/zaphod/x", "Ada.Lovelace"][which];
            let secret = ["jo@example", "198.51.100.23", "2001:db8::42", "zaphod", "Ada.Lovelace"][which];
            let clean = personal().redact(&format!("{before}{planted}{after}"), &mut Counts::default()).into_owned();
            prop_assert!(!clean.contains(secret), "{}", clean);
        }
    }
}
