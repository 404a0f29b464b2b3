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
