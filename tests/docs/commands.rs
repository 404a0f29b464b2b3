//! The documents' commands, each run as it stands.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use rayon::prelude::*;

use super::{NOW, documents, python, read_text};

/// Beginnings and parts of lines that need what a test does not have: a build, object storage, a cluster, Spark.
const ELSEWHERE: [&str; 7] = ["cargo ", "tests/", ".ci/", "s3://", "ballista-", "df://", "pyspark"];

const SESSION: &str = r#"
{"type":"user","uuid":"u1","sessionId":"53ea1606-0000-4000-8000-000000000001","cwd":"/home/ada/website","timestamp":"2026-03-04T10:00:00Z","message":{"role":"user","content":"Fix the header"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"53ea1606-0000-4000-8000-000000000001","cwd":"/home/ada/website","timestamp":"2026-03-04T10:00:09Z","requestId":"r1","message":{"id":"m1","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"Done."}],"usage":{"input_tokens":10,"output_tokens":20}}}
"#;

/// A crontab in the home folder.
const CRONTAB: &str = r#"if [ "$1" = -l ]; then cat "$HOME/crontab" 2>/dev/null || { echo "no crontab for ada" >&2; exit 1; }
else cat > "$HOME/crontab"; fi"#;

/// The text of all blocks in a language.
fn blocks<'t>(text: &'t str, language: &str) -> Vec<&'t str> {
    let begin = format!("\n```{language}\n");
    text.split(&begin).skip(1).map(|rest| rest.split_once("\n```").unwrap().0).collect()
}

/// A home with one session, and a path with llrem and DuckDB's command.
fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".claude/projects/-home-ada-website");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("53ea1606-0000-4000-8000-000000000001.jsonl"), SESSION.trim_start()).unwrap();
    let bin = home.path().join("bin");
    fs::create_dir(&bin).unwrap();
    symlink(env!("CARGO_BIN_EXE_llrem"), bin.join("llrem")).unwrap();
    let script = python::script("duckdb_cli.py");
    let words = std::iter::once(script.get_program()).chain(script.get_args());
    let words: Vec<String> = words.map(|word| format!("'{}'", word.to_str().unwrap())).collect();
    let duckdb = bin.join("duckdb");
    fs::write(&duckdb, format!("#!/bin/sh\nexec {} \"$@\"\n", words.join(" "))).unwrap();
    fs::set_permissions(&duckdb, fs::Permissions::from_mode(0o755)).unwrap();
    // Nothing is scheduled on the machine that runs the tests.
    for (name, script) in [("systemctl", "exit 1"), ("crontab", CRONTAB)] {
        fs::write(bin.join(name), format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    home
}

fn run(home: &Path, program: &str, text: &str) {
    let path = format!("{}:{}", home.join("bin").display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(program);
    command.env_clear().env("HOME", home).env("PATH", path).env("TZ", "UTC").env("LLREM_NOW", NOW).current_dir(home);
    let output = command.args(["-c", text]).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{stderr}");
}

#[test]
fn commands_run_as_they_stand() {
    let is_here = |text: &&str| !ELSEWHERE.iter().any(|part| text.contains(part));
    let python = python::script("duckdb_cli.py").get_program().to_str().unwrap().to_owned();
    // Most of the time is spent in waiting for one command after the other.
    let counts = documents().into_par_iter().map(|document| {
        let text = read_text(&document);
        let home = home();
        run(home.path(), "sh", "llrem etl --quiet");
        let lines = blocks(&text, "sh").into_iter().flat_map(str::lines);
        let commands: Vec<&str> = lines.filter(|line| !line.trim().is_empty() && is_here(line)).collect();
        let scripts: Vec<&str> = blocks(&text, "python").into_iter().filter(is_here).collect();
        for line in &commands {
            run(home.path(), "sh", line);
        }
        for script in &scripts {
            run(home.path(), &python, script);
        }
        (commands.len(), scripts.len())
    });
    let (commands, scripts) = counts.reduce(|| (0, 0), |one, other| (one.0 + other.0, one.1 + other.1));
    assert!(commands > 40 && scripts == 2, "only {commands} commands and {scripts} scripts ran");
}
