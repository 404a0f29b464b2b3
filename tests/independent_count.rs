//! Tokens, messages and tool calls of whole homes against counts that share nothing with llrem: the generator's own, and a
//! script's.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::cast_sign_loss,
    clippy::string_slice,
    clippy::print_stderr,
    reason = "what fails here fails a test; files are the test's own"
)]

mod common;
#[path = "../benches/corpus/mod.rs"]
mod corpus;

use std::path::Path;
use std::process::Command;

use common::rows::{Count, Rows};
use common::{Built, Case, Home};
use corpus::{Params, Profile};

const BYTES: u64 = 20_000_000;

/// The agents whose files a script counts, independently of llrem: `tests/python/count_<agent>.py`.
fn counted_agents() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python");
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let agents = names.filter_map(|name| Some(name.strip_prefix("count_")?.strip_suffix(".py")?.replace('_', "-")));
    let mut agents: Vec<String> = agents.collect();
    agents.sort();
    agents
}

/// Runs an agent's script on a home and returns its count, or `None` without Python if `LLREM_ALLOW_SKIPS=1` is set.
fn counted_by_script(agent: &str, home: &Path) -> Option<Count> {
    let script = format!("tests/python/count_{}.py", agent.replace('-', "_"));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(script);
    let output = match Command::new("python3").arg(script).arg(home).output() {
        Ok(output) => output,
        Err(error) if std::env::var("LLREM_ALLOW_SKIPS").is_ok_and(|value| value == "1") => {
            eprintln!("not compared with the script: python3: {error}");
            return None;
        }
        Err(error) => panic!("python3: {error}; LLREM_ALLOW_SKIPS=1 skips the scripts"),
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

fn extracted(agent: &str, home: &Path, lake: &Built<'_>) -> Rows {
    lake.run_with(|options| {
        options.home = Some(home.to_owned());
        options.agents = vec![agent.to_owned()];
    });
    lake.rows()
}

#[test]
fn a_corpus_has_the_tokens_that_were_put_into_it() {
    let home = Home::empty();
    let params = Params { bytes: BYTES, profile: Profile::Realistic, ..Params::default() };
    let written = corpus::generate(home.path(), &params).unwrap();
    let rows = extracted("claude-code", home.path(), &Built::new(&home, "lake"));
    let count = rows.count_as(&Count::new());
    let sum = |kind: &str| -> i64 { count.values().filter_map(|model| model.get(kind)).sum() };
    assert_eq!(sum("responses") as u64, written.responses);
    assert_eq!(sum("input_tokens"), written.input_tokens);
    assert_eq!(sum("cache_read_tokens"), written.cache_read);
    assert_eq!(sum("cache_write_5m_tokens"), written.cache_write_5m);
    assert_eq!(sum("cache_write_1h_tokens"), written.cache_write_1h);
    assert_eq!(sum("output_tokens"), written.output_tokens);
    if let Some(script) = counted_by_script("claude-code", home.path()) {
        assert_eq!(rows.count_as(&script), script);
    }
}

#[test]
fn fixtures_have_what_the_scripts_count() {
    let counted = counted_agents();
    for case in Case::all().into_iter().filter(|case| counted.iter().any(|agent| agent == case.agent)) {
        let home = Home::of(&case);
        let rows = extracted(case.agent, home.path(), &Built::new(&home, "lake"));
        if let Some(script) = counted_by_script(case.agent, home.path()) {
            assert_eq!(rows.count_as(&script), script, "{}", case.name);
        }
    }
}

#[test]
fn the_demo_has_what_the_scripts_count() {
    let home = Home::empty();
    llrem::demo::write(home.path(), "2026-07-17".parse().unwrap(), chrono_tz::UTC).unwrap();
    for agent in ["claude-code", "codex", "pi"] {
        let rows = extracted(agent, home.path(), &Built::new(&home, agent));
        if let Some(script) = counted_by_script(agent, home.path()) {
            assert_eq!(rows.count_as(&script), script, "{agent}");
        }
    }
}

/// `LLREM_TEST_CORPUS` names a home folder of real sessions, for those who have one.
#[test]
fn a_given_home_has_what_the_scripts_count() {
    let Some(given) = std::env::var_os("LLREM_TEST_CORPUS") else { return };
    let given = Path::new(&given);
    for agent in counted_agents() {
        let home = Home::empty();
        let rows = extracted(&agent, given, &Built::new(&home, "lake"));
        if let Some(script) = counted_by_script(&agent, given) {
            assert_eq!(rows.count_as(&script), script, "{agent}");
        }
    }
}
