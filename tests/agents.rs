//! Every agent's fixtures come out as expected.
#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::trivially_copy_pass_by_ref,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "what fails here fails a test; files are the test's own"
)]

mod common;
#[path = "agents/damage.rs"]
mod damage;
#[path = "agents/laws.rs"]
mod laws;
#[path = "agents/order.rs"]
mod order;
#[path = "agents/sections.rs"]
mod sections;

use std::fmt::Write as _;

use common::{Built, Case, Home, Rows};

/// Writes what comes out as what is expected, to be reviewed as a change of the fixtures.
fn updates() -> bool {
    std::env::var_os("LLREM_UPDATE").is_some_and(|value| value == "1")
}

fn compare(case: &Case, rows: &Rows, differences: &mut String) {
    for (table, lines) in &rows.0 {
        let path = case.expected(&format!("{table}.ndjson"));
        let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
        if updates() {
            std::fs::write(&path, &text).unwrap();
            continue;
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        if expected != text {
            let _ = writeln!(differences, "--- {}/{table}", case.name);
            let missing = expected.lines().filter(|line| !text.contains(line)).map(|line| format!("- {line}\n"));
            let new = text.lines().filter(|line| !expected.contains(line)).map(|line| format!("+ {line}\n"));
            differences.extend(missing.chain(new));
        }
    }
}

#[test]
fn fixtures_give_the_expected_rows() {
    let mut differences = String::new();
    for case in Case::all() {
        let home = Home::of(&case);
        compare(&case, &Built::full(&home).rows(), &mut differences);
    }
    assert!(differences.is_empty(), "LLREM_UPDATE=1 accepts what comes out\n{differences}");
}
