use std::collections::BTreeSet;

use super::super::rule::Level;
use super::super::{Mode, rules};
use super::{Dice, expand, redacted, survivor};

/// Texts as agents leave them, decoded once: a `\n` here is one that another program escaped.
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

/// What may stand before a secret in text that was encoded once more: letters and digits that are no part of a word.
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

#[test]
fn strict_finds_all_that_the_default_finds() {
    let mut dice = Dice(0xBEEF);
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
