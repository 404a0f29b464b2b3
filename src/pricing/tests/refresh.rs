//! Runs `refresh.py` over two tables, without a network.

use std::fs;
use std::path::Path;
use std::process::Command;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/pricing/refresh.py");

const PRICES: &str = r#"{"source":"litellm","litellm":"1.0.0","date":"2026-01-01","models":{
"cheaper":{"provider":"openai","mode":"chat","std":[2,0.2,null,null,8],"batch":[1,null,null,null,4]},
"gone-before":{"provider":"openai","mode":"chat","std":[1,null,null,null,2],"gone":"0.9.0"},
"lost-a-kind":{"provider":"openai","mode":"chat","std":[2,0.2,null,null,8],"search":0.01},
"lost-a-tier":{"provider":"openai","mode":"chat","std":[2,null,null,null,8],"priority":[4,null,null,null,16]},
"lost-its-price":{"provider":"openai","mode":"chat","std":[3,null,null,null,9]},
"never-priced":null,
"not-listed":{"provider":"openai","mode":"chat","std":[5,null,null,null,6],"long":[{"over":200000,"std":[10,null,null,null,9]}]},
"openrouter/openai/passed-on":{"provider":"openrouter","mode":"chat","std":[1,null,null,null,2]},
"same":{"provider":"openai","mode":"chat","std":[1,null,null,null,2]}
}}
"#;

const TABLE: &str = r#"{
    "cheaper": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1e-6,
        "cache_read_input_token_cost": 2e-7, "output_cost_per_token": 4e-6, "input_cost_per_token_batches": 5e-7,
        "output_cost_per_token_batches": 2e-6},
    "lost-a-kind": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 2e-6, "output_cost_per_token": 8e-6},
    "lost-a-tier": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 2e-6, "output_cost_per_token": 8e-6},
    "lost-its-price": {"litellm_provider": "openai", "mode": "chat"},
    "never-priced": {"litellm_provider": "openai", "mode": "chat"},
    "new": {"litellm_provider": "anthropic", "mode": "chat", "input_cost_per_token": 5e-6, "output_cost_per_token": 25e-6,
        "provider_specific_entry": {"fast": 2.0, "us": 1.1}},
    "same": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6}
}"#;

const REPORT: &str = "\
cheaper: std: input 2 -> 1, output 8 -> 4
cheaper: batch: input 1 -> 0.5, output 4 -> 2
lost-a-kind: std: cache read 0.2 -> lost
lost-a-kind: factors and searches: search 0.01 -> lost
lost-a-tier: priority: input 4 -> lost, output 16 -> lost
lost-its-price: no longer priced, keeps its price
not-listed: no longer priced, keeps its price
openrouter/openai/passed-on: dropped
";

const REFRESHED: [&str; 9] = [
    r#""cheaper":{"provider":"openai","mode":"chat","std":[1,0.2,null,null,4],"batch":[0.5,null,null,null,2]}"#,
    r#""gone-before":{"provider":"openai","mode":"chat","std":[1,null,null,null,2],"gone":"0.9.0"}"#,
    r#""lost-a-kind":{"provider":"openai","mode":"chat","std":[2,null,null,null,8]}"#,
    r#""lost-a-tier":{"provider":"openai","mode":"chat","std":[2,null,null,null,8]}"#,
    r#""lost-its-price":{"provider":"openai","mode":"chat","std":[3,null,null,null,9],"gone":"1.0.0"}"#,
    r#""never-priced":null"#,
    r#""new":{"provider":"anthropic","mode":"chat","std":[5,null,null,null,25],"fast":2,"us":1.1}"#,
    r#""not-listed":{"provider":"openai","mode":"chat","std":[5,null,null,null,6],"long":[{"over":200000,"std":[10,null,null,null,9]}],"gone":"1.0.0"}"#,
    r#""same":{"provider":"openai","mode":"chat","std":[1,null,null,null,2]}"#,
];

/// Returns the output of the script, and true if it succeeded.
fn refresh(folder: &Path, more: &[&str]) -> Option<(String, bool)> {
    let mut command = Command::new("python3");
    command.arg(SCRIPT).arg("--prices").arg(folder.join("prices.json")).arg("--table").arg(folder.join("2.0.0.json"));
    match command.args(more).output() {
        Ok(output) => Some((String::from_utf8_lossy(&output.stdout).into_owned(), output.status.success())),
        Err(error) => {
            eprintln!("the script is not tested: python3: {error}");
            None
        }
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "files of the test's own")]
fn the_script_reports_every_price_that_changed_or_was_lost() {
    let folder = tempfile::tempdir().expect("a folder");
    let prices = folder.path().join("prices.json");
    fs::write(&prices, PRICES).expect("written");
    fs::write(folder.path().join("2.0.0.json"), TABLE).expect("written");

    let Some((report, written)) = refresh(folder.path(), &[]) else { return };
    assert_eq!((report.as_str(), written), (REPORT, false));
    assert_eq!(fs::read_to_string(&prices).expect("read"), PRICES);

    let (report, written) = refresh(folder.path(), &["--accept"]).expect("python3 was there");
    assert!(written);
    assert!(report.starts_with(REPORT), "{report}");
    let refreshed = fs::read_to_string(&prices).expect("read");
    let models: Vec<&str> = refreshed.lines().filter(|line| !line.contains(r#""source""#) && *line != "}}").collect();
    assert_eq!(models.iter().map(|line| line.trim_end_matches(',')).collect::<Vec<_>>(), REFRESHED);

    let (report, written) = refresh(folder.path(), &[]).expect("python3 was there");
    assert!(written && report.starts_with(&prices.display().to_string()), "{report}");
}
