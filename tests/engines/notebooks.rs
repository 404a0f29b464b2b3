//! Every notebook runs, each of its cells shows something, and its figures are those of llrem.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::answers::row;
use crate::common::home::file_name;
use crate::common::{Built, Home, python};
use crate::lake_of_all_fixtures;

/// Finds every session that cost something, and more waste in it than it cost.
const DETECTOR: &str = "\
-- name: everything
-- title: Everything
-- about: Whatever cost anything.
-- todo: Spend nothing.
-- habit: spending
-- param: since timestamp = null -- Only from then on.
-- param: until timestamp = null -- Only before then.
-- param: min_usd float = 0.0 -- Cost above which a session is found. USD.
-- param: severity text = 'low' -- How bad it is said to be.
select
  'everything' as detector, s.agent, s.session_id, s.project, s.started_at, $severity as severity, s.turns as occurrences,
  s.total_tokens as wasted_tokens, s.cost_usd * 2 as wasted_cost_usd, 1 as first_seq, 9 as last_seq,
  'its cost' as evidence, 'Paid for.' as explanation, 'measured' as basis, s.machine
from sessions s
where s.cost_usd > $min_usd
  and ($since is null or s.started_at >= $since)
  and ($until is null or s.started_at < $until)
";

/// The notebooks; the other file of their folder is what they share.
fn notebooks() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("notebooks");
    let mut paths: Vec<PathBuf> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| file_name(path).starts_with(|first: char| first.is_ascii_digit()));
    paths.sort();
    paths
}

/// Runs a notebook over a lake; `values` are what its own variables tell at the end.
fn run(notebook: &Path, lake: &Path, config: &Path, values: &[&str]) -> Value {
    let mut command = python::script("notebooks.py");
    command.env_clear().env("HOME", lake.parent().unwrap()).env("TZ", "UTC").env("MPLBACKEND", "Agg");
    command.env("LLREM_LAKE", lake).env("LLREM_CONFIG", config).env("LLREM", env!("CARGO_BIN_EXE_llrem"));
    // Nothing of the repository is beside them, and plots are saved where they run.
    let folder = lake.parent().unwrap();
    for file in [notebook, &notebook.with_file_name("llrem_lake.py")] {
        std::fs::copy(file, folder.join(file_name(file))).unwrap();
    }
    command.arg(folder.join(file_name(notebook))).args(values).current_dir(folder);
    let output = command.output().unwrap();
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}: {errors}", notebook.display());
    serde_json::from_str(text.lines().last().unwrap()).unwrap()
}

/// The variables that tell what everything, or a month, has cost.
fn variables(notebook: &str) -> &'static [&'static str] {
    match notebook {
        "01_duckdb_tour.py" => &["float(known['usd'].sum())"],
        "02_pandas.py" => &["float(by_model['cost_usd'].sum())"],
        "03_polars.py" => &["by_agent['usd'].sum()"],
        "04_costs_and_waste.py" => &["float(cost)", "float(waste)", "str(month)"],
        unknown => panic!("what should `{unknown}` come to?"),
    }
}

fn assert_near(found: &Value, expected: f64, notebook: &Path) {
    let found = found.as_f64().unwrap();
    assert!((found - expected).abs() < 0.005, "{}: {found} for {expected}", notebook.display());
}

#[test]
fn notebooks_answer_their_questions() {
    let home = Home::empty();
    let lake = Built::new(&home, "lake");
    lake_of_all_fixtures(&lake);
    let usd = |sql: &str| row(&lake.path, sql).remove(0).parse::<f64>().unwrap();
    let config = home.path().join("config.toml");
    let detectors = home.path().join("queries/detectors");
    std::fs::create_dir_all(&detectors).unwrap();
    std::fs::write(detectors.join("everything.sql"), DETECTOR).unwrap();
    std::fs::write(&config, format!("query_folders = ['{}']\n", detectors.parent().unwrap().display())).unwrap();
    let notebooks = notebooks();
    assert_eq!(notebooks.len(), 4, "{notebooks:?}");
    for notebook in &notebooks {
        let shown = run(notebook, &lake.path, &config, variables(&file_name(notebook)));
        let cells = shown["cells"].as_array().unwrap();
        assert!(cells.len() > 8, "{cells:?}");
        for cell in cells.iter().skip(1) {
            assert!(cell["asks"].as_str().unwrap().contains('?'), "{}: {cell}", notebook.display());
            assert!(cell["rows"].as_u64().unwrap() > 0, "{}: {cell}", notebook.display());
        }
        if file_name(notebook) == "04_costs_and_waste.py" {
            let month = shown["values"][2].as_str().unwrap();
            let spent = usd(&format!(
                "select sum(cost_usd) from usage where substr(cast(timestamp as text), 1, 7) = '{month}'"
            ));
            assert!(spent > 0.0);
            assert_near(&shown["values"][0], spent, notebook);
            assert_near(&shown["values"][1], spent, notebook);
            assert_eq!(shown["figures"], 5);
            for number in 1..=5 {
                let plot = lake.path.with_file_name(format!("llrem-{month}-{number}.png"));
                assert!(plot.metadata().unwrap().len() > 1_000, "{}", plot.display());
            }
        } else {
            assert_near(&shown["values"][0], usd("select sum(cost_usd) from usage"), notebook);
        }
    }
}
