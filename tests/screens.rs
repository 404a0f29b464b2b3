//! Whole screens, as a person sees them on terminals of 80 and 120 columns.
//!
//! Each is in `tests/screens/NAME.COLUMNS.txt`; `LLREM_UPDATE=1` writes what comes out, to be reviewed.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "what fails here fails a test; files are the test's own"
)]

mod common;

use std::path::Path;

use common::{Built, Home, Terminal};

/// The moment of all screens.
const NOW: &str = "2026-03-20T14:02:00+01:00";

/// Agents whose fixtures are in the lake.
const AGENTS: [&str; 4] = ["claude-code", "codex", "cursor", "opencode"];

/// Compares what a command shows with its files.
fn check(name: &str, terminal: &Terminal, arguments: &[&str]) {
    for columns in [80, 120] {
        let shown = terminal.shows(columns, arguments);
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/screens/{name}.{columns}.txt"));
        if std::env::var_os("LLREM_UPDATE").is_some_and(|value| value == "1") {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &shown).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(expected == shown, "{}: LLREM_UPDATE=1 accepts\n{shown}", path.display());
    }
}

/// Runs a test over a lake of fixtures.
fn with_lake(test: impl FnOnce(&Terminal)) {
    let homes = AGENTS.map(Home::merged);
    let [first, ..] = &homes;
    let lake = first.beside("lake");
    for home in &homes {
        let mut built = Built::new(home, "lake");
        built.path.clone_from(&lake);
        built.run();
    }
    test(&Terminal::new(first.path(), &lake, NOW));
}

#[test]
fn findings() {
    with_lake(|terminal| {
        check("detect", terminal, &["detect"]);
        check("detect-few", terminal, &["detect", "stalled_sessions", "--since", "2026-03-01", "-n", "2"]);
        check("detect-none", terminal, &["detect", "cache_misses", "--since", "2026-03-15"]);
        let high = terminal.shows(80, &["detect", "--severity", "high", "--min-cost", "1000"]);
        assert!(high.starts_with("No findings of high severity that wasted $1,000.00 or more in"), "{high}");
        let new = terminal.shows(80, &["detect", "--new"]);
        assert!(!new.contains("Not shown"), "{new}");
        let again = terminal.shows(80, &["detect", "--new"]);
        assert!(again.starts_with("No new waste found in"), "{again}");
        let leaves_out = |query| terminal.shows(80, &["query", query]).ends_with("\nsessions: those with usage\n");
        assert_eq!(["cost_by_month", "cost_by_session", "totals"].map(leaves_out), [true, false, false]);
    });
}

#[test]
fn bad_sources() {
    let home = Home::merged("claude-code");
    let lake = Built::full(&home);
    check("sources-bad", &Terminal::new(home.path(), &lake.path, NOW), &["sources", "--bad"]);
    let home = Home::of(&common::Case::named("worked-example"));
    let lake = Built::full(&home);
    check("sources-good", &Terminal::new(home.path(), &lake.path, NOW), &["sources", "--bad"]);
}

#[test]
fn agents_that_are_found() {
    let home = Home::empty();
    let write = |name: &str, text: &str| {
        let path = home.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        let modified = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_771_600_000);
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    };
    let line = r#"{"type":"user","uuid":"a-1","sessionId":"a","timestamp":"2026-02-20T10:00:00Z","message":{"role":"user","content":"hello"}}"#;
    write(".claude/projects/-shop/a.jsonl", &format!("{line}\n{{\n{line}\n"));
    let terminal = Terminal::new(home.path(), &home.beside("lake"), NOW);
    check("agents-no-lake", &terminal, &["agents"]);
    check("overview-no-lake", &terminal, &[]);
    let first = terminal.shows(80, &["etl"]);
    assert!(first.contains("1 file could not be read in full: llrem sources --bad\n"), "{first}");
    assert!(first.contains("\nNext:\n  llrem "), "{first}");
    check("overview-no-cost", &terminal, &[]);
    let again = terminal.shows(80, &["etl"]);
    assert!(again.starts_with("Nothing new: 1 file unchanged ("), "{again}");
    assert!(again.ends_with("\n1 file could not be read in full, as before\n"), "{again}");
    assert_eq!(terminal.shows(80, &["etl", "--quiet"]), "");
    write("code/site/.aider.chat.history.md", "\n# aider chat started at 2026-02-01 11:00:00\n\n#### hello\n\nHi.\n");
    write(".claude/projects/-shop/b.jsonl", &format!("{}\n[]\n{0}\n", line.replace("\"a", "\"b")));
    assert_eq!(
        terminal.shows(80, &["etl", "--quiet"]),
        "1 file could not be read in full, and is new on the list: llrem sources --bad\n"
    );
    check("agents", &terminal, &["agents"]);
}

#[test]
fn no_agents() {
    let home = Home::empty();
    let terminal = Terminal::new(home.path(), &home.beside("lake"), NOW);
    check("etl-nothing", &terminal, &["etl"]);
    check("overview-nothing", &terminal, &[]);
}
