//! Some detectors add up several sessions. Their filters choose the findings, and not the sessions that are added up.

use std::path::Path;

use serde_json::Value;

use super::script::Scripts;
use super::{folder, lake_of, llrem};

#[test]
fn filters_leave_findings_of_several_sessions_as_they_are() {
    for name in ["rework", "runaway_subagents"] {
        let scripts = Scripts::load(&folder("tests/detectors").join(name).with_extension("toml"));
        let folder_of_test = tempfile::tempdir().unwrap();
        lake_of([&scripts], folder_of_test.path());
        let rows = |filters: &[&str]| rows(folder_of_test.path(), name, &scripts, filters);
        let all = rows(&[]);
        assert_eq!(rows(&["--agent", "claude-code"]), all, "{name}");
        let started = |row: &Value| row["started_at"].as_str().unwrap().to_owned();
        let mut starts: Vec<String> = all.iter().map(started).collect();
        starts.sort();
        starts.dedup();
        assert!(starts.len() > 1, "{name}: {starts:?}");
        for start in starts {
            let earlier: Vec<Value> = all.iter().filter(|row| started(row) < start).cloned().collect();
            assert_eq!(rows(&["--until", &start]), earlier, "{name} until {start}");
            let later = rows(&["--since", &start]);
            assert!(later.iter().all(|row| all.contains(row)), "{name} since {start}: {later:?}");
            assert!(
                all.iter().filter(|row| started(row) >= start).all(|row| later.contains(row)),
                "{name} since {start}: {later:?}"
            );
        }
    }
}

fn rows(folder_of_test: &Path, name: &str, scripts: &Scripts, filters: &[&str]) -> Vec<Value> {
    let given: Vec<String> = scripts.parameters.iter().map(|(name, value)| format!("--param={name}={value}")).collect();
    let mut arguments = vec!["query", name, "-f", "ndjson"];
    arguments.extend(given.iter().map(String::as_str));
    arguments.extend(filters);
    let output = llrem(folder_of_test, &arguments);
    assert!(output.status.success(), "{name} {filters:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
