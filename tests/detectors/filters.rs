//! The filters of a detector select findings: which sessions it compares or adds up does not depend on them.

use std::path::Path;

use serde_json::Value;

use super::script::Scripts;
use super::{folder, lake_of, llrem};

#[test]
fn filters_select_findings_and_change_none() {
    for name in llrem::query::canned::detector_names() {
        let scripts = Scripts::load(&folder("tests/detectors").join(name).with_extension("toml"));
        let folder_of_test = tempfile::tempdir().unwrap();
        lake_of([&scripts], folder_of_test.path());
        let rows = |filters: &[&str]| rows(folder_of_test.path(), name, &scripts, filters);
        let all = rows(&[]);
        let those = |is_wanted: &dyn Fn(&Value) -> bool| -> Vec<Value> {
            all.iter().filter(|row| is_wanted(row)).cloned().collect()
        };
        let first = all.first().unwrap();
        let (agent, project) = (first["agent"].as_str().unwrap(), first["project"].as_str().unwrap());
        let of_first = those(&|row| row["agent"] == agent && row["project"] == project);
        assert_eq!(rows(&["--agent", agent, "--project", project]), of_first, "{name}");
        let started = |row: &Value| row["started_at"].as_str().unwrap().to_owned();
        let mut starts: Vec<String> = all.iter().map(started).collect();
        starts.sort();
        let start = &starts[starts.len() / 2];
        assert_eq!(rows(&["--until", start]), those(&|row| started(row) < *start), "{name} until {start}");
        let later = rows(&["--since", start]);
        assert!(later.iter().all(|row| all.contains(row)), "{name} since {start}: {later:?}");
        assert!(
            those(&|row| started(row) >= *start).iter().all(|row| later.contains(row)),
            "{name} since {start}: {later:?}"
        );
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
