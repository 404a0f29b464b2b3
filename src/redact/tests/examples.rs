use super::super::rule::Level;
use super::super::scanner::Scanner;
use super::super::{Mode, rules};
use super::{Dice, expand, redacted, survivor};

#[test]
fn every_pattern_compiles() {
    for rule in rules::all() {
        assert!(rule.regex().is_some(), "{} is not a valid expression", rule.kind);
    }
}

#[test]
fn every_rule_matches_what_it_must() {
    for rule in rules::all() {
        assert!(!rule.matches.is_empty() && !rule.misses.is_empty(), "{} lacks examples", rule.kind);
        let mode = if rule.level == Level::Strict { Mode::Strict } else { Mode::Secrets };
        for example in rule.matches {
            let mut missed = Vec::new();
            for seed in 1..=100 {
                let (text, bodies) = expand(example, &mut Dice(seed * 0x9E37_79B9));
                let (clean, counts) = redacted(mode, &text);
                let named = counts.iter().any(|(kind, _)| kind == rule.kind);
                if !named || survivor(&clean, &bodies).is_some() {
                    missed.push(format!("{text} -> {clean}"));
                }
            }
            let allowed = if rule.generic { 4 } else { 1 };
            assert!(missed.len() <= allowed, "{} misses {} of 100 of {example}: {missed:#?}", rule.kind, missed.len());
        }
    }
}

#[test]
fn no_rule_matches_what_it_must_not() {
    for rule in rules::all() {
        for example in rule.misses {
            let mode = if rule.level == Level::Strict { Mode::Strict } else { Mode::Secrets };
            let (text, _) = expand(example, &mut Dice(0xFADE));
            let (clean, _) = redacted(mode, &text);
            assert_eq!(clean, text, "by {}", rule.kind);
        }
    }
}

#[test]
fn literals_are_long_enough() {
    for literal in rules::all().flat_map(|rule| rule.literals) {
        assert!(literal.len() >= 3, "{literal} would occur everywhere");
    }
}

#[test]
fn processors_without_vector_instructions_find_the_same() {
    let slow = Scanner::without_vectors(Level::Strict);
    let fast = Scanner::of(Mode::Strict).unwrap();
    let mut dice = Dice(0xABBA);
    for example in rules::all().flat_map(|rule| rule.matches.iter().chain(rule.misses)) {
        let (text, _) = expand(example, &mut dice);
        let order = |one: &_| format!("{one:?}");
        let (mut slowly, mut fastly) = (slow.find_all(&text), fast.find_all(&text));
        slowly.sort_by_key(order);
        fastly.sort_by_key(order);
        assert_eq!(slowly, fastly, "{text}");
    }
}
