//! `llrem verify` of a lake in object storage.

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use crate::lake::{data_files, stderr, succeed};
use crate::team::{Team, six_months};

fn verify(team: &Team, arguments: &[&str]) -> Output {
    team.llrem(&["-f", "csv", "verify"]).args(arguments).output().unwrap()
}

fn problems(team: &Team, arguments: &[&str]) -> Vec<String> {
    let output = verify(team, arguments);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("does not verify"), "{}", stderr(&output));
    String::from_utf8(output.stdout).unwrap().lines().skip(1).map(|line| line.trim_matches('"').to_owned()).collect()
}

#[test]
fn what_was_uploaded_is_right() {
    let team = Team::of(six_months(2, 100));
    for arguments in [[].as_slice(), &["--read-data"]] {
        let output = succeed(team.llrem(&["verify"]).args(arguments));
        assert_eq!(stderr(&output), "The lake `s3://team-lake/team` is complete and consistent.\n");
    }
}

#[test]
fn what_is_wrong_is_named() {
    let team = Team::of(six_months(2, 100));
    let objects = team.s3.objects();
    let of = |table: &str, month: &str| -> PathBuf {
        let folder = objects.join(table).join("machine=bench/agent=claude-code").join(format!("month={month}"));
        data_files(&folder).remove(0)
    };
    fs::remove_file(of("usage", "2025-01")).unwrap();
    let cut = of("usage", "2025-02");
    let bytes = fs::read(&cut).unwrap();
    fs::write(&cut, &bytes[..bytes.len() - 1]).unwrap();
    let stray = of("usage", "2025-03");
    fs::copy(&stray, stray.with_file_name("stray.parquet")).unwrap();
    let foreign = objects.join("usage/machine=zoe/agent=codex/month=2025-03");
    fs::create_dir_all(&foreign).unwrap();
    fs::copy(&stray, foreign.join("2025-03-01-0000beef.parquet")).unwrap();
    let told = problems(&team, &[]).join("\n");
    let told = told.replace(&(bytes.len() - 1).to_string(), "[CUT]").replace(&bytes.len().to_string(), "[WHOLE]");
    insta::assert_snapshot!(told, @r#"
    `usage/machine=bench/agent=claude-code/month=2025-01/2025-01-03-a049ef88.parquet` is missing
    `usage/machine=bench/agent=claude-code/month=2025-02/2025-02-03-5d86293b.parquet` has [CUT] bytes, the manifest says [WHOLE]
    `usage/machine=bench/agent=claude-code/month=2025-03/stray.parquet` is in no manifest, but every reader takes it for data
    `usage/machine=zoe/agent=codex/month=2025-03/2025-03-01-0000beef.parquet` is of the machine `zoe`, which has no manifest there
    "#);
}

#[test]
fn bytes_are_compared() {
    let team = Team::of(six_months(2, 100));
    let path = data_files(&team.s3.objects().join("messages")).remove(0);
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).unwrap();
    let found = problems(&team, &["--read-data"]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("month=2025-01"), "{found:?}");
}
