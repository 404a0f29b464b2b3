//! The tables and screens in the documents are what the program says of itself. `LLREM_UPDATE=1` writes them anew.
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
    let output =
        command.env_clear().env("HOME", home).env("TZ", "UTC").env("LLREM_NOW", NOW).args(arguments).output().unwrap();
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
    let mut table = "| agent | id | versions read | rests on | exact | by session | absent | kept for |\n".to_owned();
    table.push_str("|---|---|---|---|---|---|---|---|\n");
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
        let (title, id, versions, rests_on) = (about.title, about.id, about.versions, about.rests_on.as_str());
        let [exact, session, absent] = [Grain::Exact, Grain::Session, Grain::Absent].map(of);
        writeln!(table, "| {title} | `{id}` | {versions} | {rests_on} | {exact} | {session} | {absent} | {kept} |")
            .unwrap();
    }
    table
}

/// Queries whose answers about the bundled example the README shows.
const EXAMPLES: [&str; 3] = ["cost_by_branch", "output_by_project", "context_floor"];

/// Commands whose answers about the demo a document shows.
const DEMOS: [(&str, &str, &[&str]); 3] = [
    ("docs/waste.md", "detect", &["detect", "--since", "30d", "-n", "3"]),
    ("docs/commands.md", "search", &["search", "migration", "test", "-n", "2"]),
    ("docs/night.md", "status", &["status"]),
];

/// The day after the sessions of the bundled example.
const NOW: &str = "2026-03-05T12:00:00Z";

/// Documents with generated sections, and the sections' contents.
fn generated() -> Vec<(&'static str, &'static str, String)> {
    let home = tempfile::tempdir().unwrap();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/claude-code/readme-example/home");
    printed_at(home.path(), &["etl", "--home", example.to_str().unwrap()]);
    let mut sections = vec![
        ("docs/tables.md", "schema", printed(&["schema", "-f", "markdown"])),
        ("docs/queries.md", "queries", printed(&["query", "-f", "markdown"])),
        ("docs/agents.md", "agents", agents()),
        ("README.md", "overview", format!("```text\n{}\n```", printed_at(home.path(), &["-f", "table"]).trim_end())),
    ];
    let answers = EXAMPLES.map(|query| printed_at(home.path(), &["query", query, "-f", "markdown"]));
    sections.extend(EXAMPLES.into_iter().zip(answers).map(|(query, answer)| ("README.md", query, answer)));
    let demo = printed_at(home.path(), &["demo"]);
    let of_demo = |format: &str, arguments: &[&str]| {
        printed_at(home.path(), &[&["--lake", demo.trim_end(), "-f", format], arguments].concat())
    };
    sections.extend(DEMOS.map(|(document, section, arguments)| {
        (document, section, format!("```text\n{}\n```", of_demo("table", arguments).trim_end()))
    }));
    sections.push(("docs/brought.md", "demo", of_demo("markdown", &["query", "output_by_project"])));
    sections
}

#[test]
fn the_documents_show_what_the_program_says() {
    for (document, section, content) in generated() {
        let text = read_text(document);
        let expected = with_section(&text, section, &content);
        if std::env::var_os("LLREM_UPDATE").is_some() {
            std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join(document), expected).unwrap();
        } else {
            assert!(text == expected, "{section} in {document} is behind the program: run with LLREM_UPDATE=1");
        }
    }
}

#[test]
fn filters_of_tests_name_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = walkdir::WalkDir::new(root.join("tests")).into_iter().map(Result::unwrap);
    let sources: Vec<String> = files
        .filter(|file| file.path().extension().is_some_and(|extension| extension == "rs"))
        .map(|file| std::fs::read_to_string(file.path()).unwrap())
        .collect();
    let text = read_text("CONTRIBUTING.md");
    let named: Vec<&str> = text.split("test(").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0)).collect();
    assert!(!named.is_empty());
    for name in named {
        assert!(sources.iter().any(|source| source.contains(&format!("fn {name}"))), "no test is called `{name}…`");
    }
}

/// The documents that people read, by their paths.
fn documents() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let names = |folder: &str| -> Vec<String> {
        let entries = std::fs::read_dir(root.join(folder)).unwrap();
        let names = entries.map(|entry| format!("{folder}{}", entry.unwrap().file_name().to_str().unwrap()));
        let mut names: Vec<String> =
            names.filter(|name| Path::new(name).extension().is_some_and(|kind| kind == "md")).collect();
        names.sort();
        names
    };
    [names(""), names("docs/")].concat()
}

/// The heading's name in links to it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase().replace(' ', "-");
    kept.chars().filter(|letter| letter.is_alphanumeric() || "-_".contains(*letter)).collect()
}

#[test]
fn links_lead_somewhere_and_the_readme_is_short() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut count, summary) = (0, read_text("docs/SUMMARY.md"));
    for document in documents() {
        let text = read_text(&document);
        let folder = root.join(&document).parent().unwrap().to_owned();
        for link in text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()) {
            if link.contains("://") || link.contains(char::is_whitespace) {
                continue;
            }
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { root.join(&document) } else { folder.join(path) };
            assert!(target.exists(), "{document}: {link}");
            if !heading.is_empty() {
                let text = std::fs::read_to_string(&target).unwrap();
                let mut headings = text.lines().filter(|line| line.starts_with('#'));
                assert!(headings.any(|line| anchor(line.trim_start_matches('#')) == heading), "{document}: {link}");
            }
            count += 1;
        }
        if let Some(page) = document.strip_prefix("docs/").filter(|page| *page != "SUMMARY.md") {
            assert!(summary.contains(&format!("]({page})")), "{page} is not in docs/SUMMARY.md");
        }
    }
    assert!(count > 40, "only {count} links");
    assert!(read_text("README.md").lines().count() <= 200);
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
