use std::borrow::Cow;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use proptest::prelude::*;

use super::super::rules;
use super::{Counts, Dice, Mode, expand, redacted};

/// Texts close to secrets: whole and torn secrets, literals, marks, and text between.
fn pieces() -> impl Strategy<Value = String> {
    let examples: Vec<&'static str> = rules::all().flat_map(|rule| rule.matches).copied().collect();
    let literals: Vec<&'static str> = rules::all().flat_map(|rule| rule.literals).copied().collect();
    let thrown = (prop::sample::select(examples), 1..u64::MAX, 0.0..1.5_f64).prop_map(|(example, seed, share)| {
        let (text, _) = expand(example, &mut Dice(seed));
        let mut cut = text.len();
        if share < 1.0 {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                reason = "any cut will do"
            )]
            let wish = (cut as f64 * share) as usize;
            cut = text.floor_char_boundary(wish);
        }
        text[..cut].to_owned()
    });
    let encoded = (thrown.clone(), any::<bool>()).prop_map(|(text, is_base64)| {
        if is_base64 {
            BASE64_STANDARD.encode(text)
        } else {
            text.bytes().flat_map(|byte| format!("%{byte:02x}").into_bytes()).map(char::from).collect()
        }
    });
    let piece = prop_oneof![
        4 => thrown,
        2 => encoded,
        2 => prop::sample::select(literals).prop_map(str::to_owned),
        1 => Just("‹redacted:github-token:0a1f›".to_owned()),
        1 => Just("›".to_owned()),
        2 => "[ =:\"'\\\\/@.\n-]{0,3}",
        2 => "[A-Za-z0-9_-]{1,40}",
        1 => "\\PC{0,8}",
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn obeys_the_laws(text: &str) -> Result<(), TestCaseError> {
    for mode in [Mode::Secrets, Mode::Strict] {
        let (clean, counts) = redacted(mode, text);
        prop_assert_eq!(matches!(clean, Cow::Borrowed(_)), counts.is_empty());
        prop_assert_eq!(matches!(clean, Cow::Borrowed(_)), clean == text);
        let (again, more) = redacted(mode, &clean);
        prop_assert!(matches!(again, Cow::Borrowed(_)) && more.is_empty(), "{} becomes {}", clean, again);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text(text in any::<String>()) {
        obeys_the_laws(&text)?;
    }

    #[test]
    fn texts_close_to_secrets(text in pieces()) {
        obeys_the_laws(&text)?;
    }
}

#[test]
fn counts_add_up() {
    let (token, _) = expand("ghp_{a36} npm_{a36} ghp_{a36}", &mut Dice(5));
    let (_, mut counts) = redacted(Mode::Secrets, &token);
    let other = counts.clone();
    counts.merge(&other);
    counts.merge(&Counts::default());
    assert_eq!(counts.iter().collect::<Vec<_>>(), [("github-token", 4), ("npm-token", 2)]);
}

/// A backtracking pattern would not finish on these.
#[test]
fn texts_made_to_annoy_are_read_to_the_end() {
    for unit in [
        "eyJ",
        "%25",
        "Z2hwX",
        "-----BEGIN PRIVATE KEY-----",
        "://a:b",
        "_API_",
        "sk-ant-api03-",
        "Bearer ",
        "token",
        "xoxb-1",
        "8Q~",
    ] {
        let text = unit.repeat(20_000 / unit.len());
        let (once, _) = redacted(Mode::Strict, &text);
        assert_eq!(redacted(Mode::Strict, &once).0, once, "{unit}");
    }
}
