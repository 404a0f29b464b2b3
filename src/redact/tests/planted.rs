use std::collections::BTreeSet;

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};

use super::super::rule::Level;
use super::super::{Mode, rules};
use super::{Dice, expand, redacted, survivor};

/// Texts as agents store them, decoded once: a `\n` here was escaped by another program.
const SURROUNDINGS: &[&str] = &[
    "@",
    "export KEY=@\nexport OTHER=1\n",
    "PATH=/usr/bin:/bin\nHOME=/root\nKEY=@\nLANG=C.UTF-8\n",
    r#"{"stdout":"KEY=@\nOTHER=2\n","stderr":""}"#,
    r#"{"key": "@", "n": 1}"#,
    r#"{\"key\":\"@\"}"#,
    "I used `@` and it works.",
    "https://service.test/v1/items?key=@&page=2",
    "$ curl -s -H 'X-Api-Key: @' https://service.test\n{\"ok\":true}\n",
    "    12→  key: @\n    13→  other: 1\n",
    "config.py:4:KEY = '@'\n",
    r"line one\n@\nline three",
    "\u{1b}[32m@\u{1b}[0m",
    "key%3D@%26x",
    r"a\u003d@\u0026b",
    "früher ‚@‘ später",
    "(@), [@]",
];

#[test]
fn planted_secrets_are_found() {
    let mut dice = Dice(0xC0FF_EE11);
    let mut planted = 0_u32;
    let mut kinds = BTreeSet::new();
    let mut missed = Vec::new();
    for rule in rules::all().filter(|rule| rule.level == Level::Secrets) {
        for example in rule.matches {
            for surrounding in SURROUNDINGS {
                let (secret, bodies) = expand(example, &mut dice);
                let text = surrounding.replace('@', &secret);
                let (clean, counts) = redacted(Mode::Secrets, &text);
                planted += 1;
                kinds.extend(counts.iter().map(|(kind, _)| kind));
                if let Some(part) = survivor(&clean, &bodies) {
                    missed.push(format!("{}: {part} of {text} in {clean}", rule.kind));
                }
            }
        }
    }
    assert!(planted >= 500 && kinds.len() >= 32, "{planted} of {} kinds", kinds.len());
    assert!(missed.len() * 100 <= planted as usize, "{} of {planted} missed: {missed:#?}", missed.len());
}

/// Letters and digits before a secret that are no part of a word, in text that was encoded once more.
const ENCODED: &[&str] = &[
    r"\n",
    r"\\n",
    r"\0",
    r"\e[0m",
    r"\x0a",
    r"\x22",
    r"\x1b[32m",
    r"\033[32m",
    r"\012",
    r"\u2192",
    r"\u00e9",
    r"\u00E9",
    r"\u200b",
    r"\\u2192",
    r"\ud83d\ude00",
    r"\U0001F600",
    "%20",
    "%3D",
    "%0a",
    "%253D",
    "=3D",
    "=20",
    "&#10;",
    "&quot;",
];

#[test]
fn secrets_are_found_after_whatever_is_encoded() {
    let mut dice = Dice(0xED6E);
    for mode in [Mode::Secrets, Mode::Strict] {
        let mut missed = Vec::new();
        let mut planted = 0_u32;
        for rule in rules::all().filter(|rule| rule.level == Level::Secrets) {
            for (example, before) in
                rule.matches.iter().flat_map(|example| ENCODED.iter().map(move |before| (example, before)))
            {
                let (secret, bodies) = expand(example, &mut dice);
                let text = format!(r#"{{"command":"echo {before}{secret}"}}"#);
                planted += 1;
                if survivor(&redacted(mode, &text).0, &bodies).is_some() {
                    missed.push(format!("{}: {text}", rule.kind));
                }
            }
        }
        assert!(missed.len() * 100 <= planted as usize, "{} of {planted} missed: {missed:#?}", missed.len());
    }
}

/// Texts around a secret that are encoded together with it, and texts around the encoded text.
const WRAPPED: &[(&str, &str)] = &[
    ("@", "@"),
    ("KEY=@\n", r#"{"data":"@"}"#),
    ("a: @, b", "echo @ | base64 -d"),
    ("user:@ end", r"line\n@\n"),
    ("config {\n  x = '@'\n}\n", r"\u2192@"),
];

#[test]
fn secrets_are_found_in_base64() {
    let mut dice = Dice(0xB64);
    let (mut planted, mut missed) = (0_u32, Vec::new());
    for rule in rules::all().filter(|rule| rule.level == Level::Secrets) {
        for (example, (inside, outside)) in
            rule.matches.iter().flat_map(|example| WRAPPED.iter().map(move |around| (example, around)))
        {
            let (secret, bodies) = expand(example, &mut dice);
            let plain = inside.replace('@', &secret);
            if plain.len() < 24 {
                continue;
            }
            for encoded in [BASE64_STANDARD.encode(&plain), BASE64_URL_SAFE_NO_PAD.encode(&plain)] {
                let text = outside.replace('@', &encoded);
                let (clean, counts) = redacted(Mode::Secrets, &text);
                planted += 1;
                let left = decoded(&clean);
                if counts.is_empty() || survivor(&String::from_utf8_lossy(&left), &bodies).is_some() {
                    missed.push(format!("{}: {plain} as {text} in {clean}", rule.kind));
                }
            }
        }
    }
    assert!(
        planted > 1_000 && missed.len() * 100 <= planted as usize,
        "{} of {planted} missed: {missed:#?}",
        missed.len()
    );
}

/// Decodes every run of base64 digits from each possible beginning of a group.
fn decoded(text: &str) -> Vec<u8> {
    let digits = text.replace('-', "+").replace('_', "/");
    let runs = digits.split(|digit: char| !digit.is_ascii_alphanumeric() && !matches!(digit, '+' | '/'));
    let from = |(run, start): (&str, usize)| {
        let digits = run.get(start..).unwrap_or_default();
        BASE64_STANDARD.decode(&digits[..digits.len() / 4 * 4]).unwrap_or_default()
    };
    runs.flat_map(|run| (0..4).map(move |start| (run, start))).flat_map(from).collect()
}

#[test]
fn a_secret_in_base64_gets_the_mark_of_the_same_secret_as_it_is() {
    let (token, _) = expand("ghp_{a36}", &mut Dice(5));
    let encoded = BASE64_STANDARD.encode(format!("user:{token}:x"));
    let (clean, counts) = redacted(Mode::Secrets, format!("{token} {encoded} key%3D{token}%26").leak());
    let marks: BTreeSet<&str> = clean.split('‹').skip(1).filter_map(|rest| rest.split('›').next()).collect();
    assert_eq!((marks.len(), counts.iter().collect::<Vec<_>>()), (1, vec![("github-token", 3)]), "{clean}");
}

#[test]
fn what_follows_base64_stays() {
    let (token, _) = expand("ghp_{a36}", &mut Dice(5));
    for (before, after) in
        ["", "a", "ab"].into_iter().flat_map(|before| ["", "é end", "日", " x", "!", ",é"].map(|after| (before, after)))
    {
        let text = format!("é {}{after}", BASE64_URL_SAFE_NO_PAD.encode(format!("{before}{token}")));
        let clean = redacted(Mode::Secrets, &text).0.into_owned();
        assert!(clean.starts_with("é ") && clean.contains("‹redacted:github-token:"), "{clean}");
        assert!(clean.ends_with(&format!("›{after}")), "{clean}");
    }
}

#[test]
fn secrets_are_found_in_urls() {
    let mut dice = Dice(0x0025);
    let (mut planted, mut missed) = (0_u32, Vec::new());
    for rule in rules::all().filter(|rule| rule.level == Level::Secrets) {
        for example in rule.matches {
            let (secret, bodies) = expand(example, &mut dice);
            let escaped = |byte: u8| match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
                _ => format!("%{byte:02X}"),
            };
            let value: String = secret.bytes().map(escaped).collect();
            let text = format!("https://service.test/v1?name=caf%C3%A9&key={value}&page=2");
            let clean = redacted(Mode::Secrets, &text).0.replace("%2B", "+").replace("%2F", "/");
            planted += 1;
            let is_whole =
                clean.starts_with("https://service.test/v1?name=caf%C3%A9&key=") && clean.ends_with("&page=2");
            if survivor(&clean, &bodies).is_some() || !is_whole {
                missed.push(format!("{}: {text} in {clean}", rule.kind));
            }
        }
    }
    assert!(missed.len() * 100 <= planted as usize, "{} of {planted} missed: {missed:#?}", missed.len());
}

#[test]
fn strict_finds_all_that_the_default_finds() {
    let mut dice = Dice(0xBEE5);
    for rule in rules::all().filter(|rule| !rule.generic) {
        for example in rule.matches {
            let (text, bodies) = expand(example, &mut dice);
            let (clean, _) = redacted(Mode::Strict, &text);
            assert_eq!(survivor(&clean, &bodies), None, "{} in {clean}", rule.kind);
        }
    }
}

#[test]
fn equal_secrets_get_equal_marks_whatever_surrounds_them() {
    let (token, _) = expand("ghp_{a36}", &mut Dice(5));
    let (clean, counts) =
        redacted(Mode::Secrets, "a: T\nAuthorization: Bearer T\nhttps://x:T@github.com".replace('T', &token).leak());
    let marks: BTreeSet<&str> = clean.split('‹').skip(1).filter_map(|rest| rest.split('›').next()).collect();
    assert_eq!(marks.len(), 1, "{clean}");
    assert!(marks.first().unwrap().starts_with("redacted:github-token:"), "{clean}");
    assert_eq!(counts.iter().collect::<Vec<_>>(), [("github-token", 3)]);
}

#[test]
fn another_key_gives_another_mark() {
    let (token, _) = expand("ghp_{a36}", &mut Dice(5));
    let mark =
        |key| super::Redactor::new(Mode::Secrets, key).redact(&token, &mut super::Counts::default()).into_owned();
    assert_ne!(mark([1; 32]), mark([2; 32]));
}
