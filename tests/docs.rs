//! The README's tables are what the program says of itself. `LLREM_UPDATE=1` writes them anew.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "what fails here fails a test")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use assert_cmd::Command;
use llrem::agents::{AGENTS, Grain};

#[cfg(unix)]
#[path = "docs/commands.rs"]
mod commands;
#[path = "common/python.rs"]
#[allow(dead_code, unreachable_pub, reason = "the tests of the lake use the rest")]
mod python;

fn read_text(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

fn printed(arguments: &[&str]) -> String {
    printed_at(tempfile::tempdir().unwrap().path(), arguments)
}

fn printed_at(home: &Path, arguments: &[&str]) -> String {
    let mut command = Command::cargo_bin("llrem").unwrap();
    let output = command.env_clear().env("HOME", home).env("TZ", "UTC").args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The text with what stands between a section's marks replaced.
fn with_section(text: &str, section: &str, content: &str) -> String {
    let (begin, end) = (format!("<!-- {section}: begin -->\n"), format!("<!-- {section}: end -->"));
    let (before, rest) = text.split_once(&begin).unwrap();
    let (_, after) = rest.split_once(&end).unwrap();
    format!("{before}{begin}\n{}\n\n{end}{after}", content.trim())
}

/// The agents' table, from the registry.
fn agents() -> String {
    let mut table = "| agent | id | versions read | exact | by session | absent | kept for |\n".to_owned();
    table.push_str("|---|---|---|---|---|---|---|\n");
    for agent in AGENTS {
        let about = agent.about();
        let records = &about.records;
        let things = [
            ("messages", records.messages),
            ("tool calls", records.tool_calls),
            ("tokens", records.tokens),
            ("cost", records.cost),
            ("durations", records.durations),
        ];
        let of = |wanted| {
            let things = things.iter().filter(|(_, grain)| *grain == wanted).map(|(thing, _)| *thing);
            things.collect::<Vec<_>>().join(", ")
        };
        let kept = about.retention_days.map(|days| format!("{days} days")).unwrap_or_default();
        let (title, id, versions) = (about.title, about.id, about.versions);
        let [exact, session, absent] = [Grain::Exact, Grain::Session, Grain::Absent].map(of);
        writeln!(table, "| {title} | `{id}` | {versions} | {exact} | {session} | {absent} | {kept} |").unwrap();
    }
    table
}

/// Queries whose answers about the bundled example the README shows.
const EXAMPLES: [&str; 3] = ["cost_by_branch", "output_by_project", "context_floor"];

#[test]
fn the_readme_shows_what_the_program_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = std::fs::read_to_string(&path).unwrap();
    let mut expected = with_section(&readme, "schema", &printed(&["schema", "-f", "markdown"]));
    expected = with_section(&expected, "queries", &printed(&["query", "-f", "markdown"]));
    expected = with_section(&expected, "agents", &agents());
    let home = tempfile::tempdir().unwrap();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/claude-code/readme-example/home");
    printed_at(home.path(), &["etl", "--home", example.to_str().unwrap()]);
    for query in EXAMPLES {
        let answer = printed_at(home.path(), &["query", query, "-f", "markdown"]);
        expected = with_section(&expected, query, &answer);
    }
    if std::env::var_os("LLREM_UPDATE").is_some() {
        std::fs::write(&path, expected).unwrap();
    } else {
        assert!(readme == expected, "the README is behind the program: run the tests with LLREM_UPDATE=1");
    }
}

/// The step that tests clusters is a package of its own, whose lock file has to know what llrem is made of.
#[test]
fn the_clusters_lock_file_is_up_to_date() {
    let read = |path: &str| -> toml::Table {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    };
    let manifest = read("Cargo.toml");
    let for_targets = manifest["target"].as_table().unwrap().values();
    let tables = std::iter::once(&manifest["dependencies"]).chain(for_targets.filter_map(|it| it.get("dependencies")));
    let named: BTreeSet<&str> = tables
        .flat_map(|table| table.as_table().unwrap())
        .filter(|(name, about)| *name == "ballista" || about.get("optional").is_none())
        .map(|(name, _)| name.as_str())
        .collect();
    let lock = read("tests/ballista/Cargo.lock");
    let packages = lock["package"].as_array().unwrap();
    let llrem = packages.iter().find(|package| package["name"].as_str() == Some("llrem")).unwrap();
    let locked = llrem["dependencies"].as_array().unwrap().iter();
    let locked: BTreeSet<&str> = locked.filter_map(|name| name.as_str()?.split(' ').next()).collect();
    assert_eq!(locked, named);
}
