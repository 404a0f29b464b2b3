use super::super::rule::Level;
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
            let (clean, _) = redacted(mode, example);
            assert_eq!(clean, *example, "by {}", rule.kind);
        }
    }
}

#[test]
fn literals_are_long_enough() {
    for literal in rules::all().flat_map(|rule| rule.literals) {
        assert!(literal.len() >= 3, "{literal} would occur everywhere");
    }
}
