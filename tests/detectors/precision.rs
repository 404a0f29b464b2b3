//! Measures how often a detector is right: sessions that a person has judged, against its findings with default
//! parameters.
//!
//! Cases are in `tests/detectors/cases/NAME.toml`, in the form of the scripts. Each session says whether it `is_waste`, and
//! what real transcripts show that it rewrites (`seen`); sessions that only serve another, such as callers of subagents, say
//! neither. `cargo test --test detectors precision -- --nocapture` prints the table.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use llrem::query::canned::Library;

use super::script::{self, Scripts, THRESHOLDS};
use super::{Rows, bound, folder, lake_of};

/// Cases of each kind that a detector has at least.
const LEAST_CASES: usize = 10;
/// Share of the reported sessions that are waste, at least.
const LEAST_PRECISION: f64 = 0.8;
/// Parameters that choose sessions; all others are thresholds.
const FILTERS: [&str; 4] = ["since", "until", "project", "agent"];

fn cases() -> BTreeMap<String, PathBuf> {
    script::paths(&folder("tests/detectors/cases"))
}

/// A detector's findings in the sessions that a person has judged.
#[derive(Default)]
struct Tally {
    is_waste: usize,
    is_fine: usize,
    reported_waste: usize,
    reported_fine: Vec<String>,
    missed: Vec<String>,
    problems: Vec<String>,
}

impl Tally {
    fn count(name: &str, path: &Path) -> Self {
        let cases = Scripts::load(path);
        let folder_of_test = tempfile::tempdir().unwrap();
        let lake = lake_of([&cases], folder_of_test.path());
        let found = Rows::of(&lake, &bound(name, &cases)).values();
        let found: BTreeSet<&str> = found.iter().map(|row| row["session_id"].as_str().unwrap()).collect();
        let mut tally = Self::default();
        if !cases.parameters.is_empty() {
            tally.problems.push("cases run with the default parameters".to_owned());
        }
        let judged = cases.session.iter().filter_map(|session| Some((session, session.is_waste?)));
        for (session, is_waste) in judged {
            if session.seen.as_ref().is_none_or(String::is_empty) {
                tally.problems.push(format!("`{}` does not say what was seen", session.name));
            }
            match (is_waste, found.contains(session.id().as_str())) {
                (true, true) => tally.reported_waste += 1,
                (true, false) => tally.missed.push(session.name.clone()),
                (false, true) => tally.reported_fine.push(session.name.clone()),
                (false, false) => {}
            }
            *if is_waste { &mut tally.is_waste } else { &mut tally.is_fine } += 1;
        }
        if tally.is_waste < LEAST_CASES || tally.is_fine < LEAST_CASES {
            tally.problems.push(format!("{} true and {} false cases", tally.is_waste, tally.is_fine));
        }
        if tally.precision().is_none_or(|precision| precision < LEAST_PRECISION) {
            tally.problems.push(format!("reports {:?}, which are no waste", tally.reported_fine));
        }
        tally
    }

    /// Unknown if nothing was reported.
    #[expect(clippy::cast_precision_loss, reason = "counts of a few sessions")]
    fn precision(&self) -> Option<f64> {
        let reported = self.reported_waste + self.reported_fine.len();
        (reported > 0).then(|| self.reported_waste as f64 / reported as f64)
    }
}

#[test]
fn precision() {
    let only = std::env::var("LLREM_TEST_DETECTOR").ok();
    let cases: Vec<_> = cases().into_iter().filter(|(name, _)| only.as_ref().is_none_or(|only| only == name)).collect();
    let tallies: Vec<(&str, Tally)> = std::thread::scope(|scope| {
        let counts: Vec<_> =
            cases.iter().map(|(name, path)| (name.as_str(), scope.spawn(|| Tally::count(name, path)))).collect();
        counts.into_iter().map(|(name, count)| (name, count.join().unwrap())).collect()
    });
    let mut table = format!("{:<24}{:>6}{:>6}{:>11}\n", "detector", "true", "false", "precision");
    let mut problems = String::new();
    for (name, tally) in &tallies {
        let precision = tally.precision().map_or("-".to_owned(), |precision| format!("{precision:.2}"));
        let counts = (tally.reported_waste, tally.reported_fine.len());
        writeln!(table, "{name:<24}{:>6}{:>6}{precision:>11}", counts.0, counts.1).unwrap();
        for (what, sessions) in [("missed", &tally.missed), ("wrong", &tally.reported_fine)] {
            if !sessions.is_empty() {
                writeln!(table, "  {what}: {}", sessions.join(", ")).unwrap();
            }
        }
        for problem in &tally.problems {
            writeln!(problems, "{name}: {problem}").unwrap();
        }
    }
    println!("{table}");
    assert!(problems.is_empty(), "{problems}\n{table}");
}

#[test]
fn every_detector_has_cases() {
    let detectors: BTreeSet<&str> = llrem::query::canned::detector_names().into_iter().collect();
    let cases = cases();
    assert_eq!(cases.keys().map(String::as_str).collect::<BTreeSet<_>>(), detectors);
}

#[test]
fn every_threshold_says_why_it_stands_where_it_stands() {
    let text = std::fs::read_to_string(folder("tests/detectors").join(THRESHOLDS).with_extension("toml")).unwrap();
    let mut reasons: BTreeMap<String, BTreeMap<String, String>> = toml::from_str(&text).unwrap();
    let library = Library::load(&[folder("sql/detectors")]).unwrap();
    let mut problems = Vec::new();
    for name in cases().into_keys() {
        let mut reasons = reasons.remove(&name).unwrap_or_default();
        let parameters = library.find(&name).unwrap().parameters.iter().map(|parameter| parameter.name.as_str());
        for parameter in parameters.filter(|parameter| !FILTERS.contains(parameter)) {
            if reasons.remove(parameter).is_none_or(|reason| !reason.ends_with('.')) {
                problems.push(format!("{name}.{parameter} has no sentence"));
            }
        }
        problems.extend(reasons.into_keys().map(|parameter| format!("{name} has no parameter {parameter}")));
    }
    for name in reasons.keys().filter(|name| library.find_detector(name).is_err()) {
        problems.push(format!("{name} is no detector"));
    }
    assert_eq!(problems, Vec::<String>::new());
}
