//! Lakes that an earlier llrem wrote are taken over without loss.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::lake::{self, Bench, copy_folder};

#[test]
fn a_lake_of_the_first_version_keeps_all_its_rows() {
    let bench = Bench::new();
    let old = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/lakes/version-1");
    copy_folder(&old, &bench.lake());
    make_private(&bench.lake());
    let rows =
        |sql: &str| String::from_utf8(lake::succeed(&mut bench.llrem(&["sql", "-f", "csv", sql])).stdout).unwrap();
    let counts = "select session_id, count(*) as n, count(gone_at) as gone from messages group by 1 order by 1";
    let usage = "select session_id, count(*) as n, sum(output_tokens) as tokens from usage group by 1 order by 1";
    let calls = "select call_id, command from tool_calls order by 1";
    let mut before = [counts, usage, calls].map(rows);
    assert!(before[0].contains(",8,4\n") && before[0].contains(",2,0\n"), "{}", before[0]);
    // The fork has what its origin dropped.
    before[0] = before[0].replace(",8,4\n", ",8,0\n");
    for arguments in [&[][..], &["--full"]] {
        let output = lake::succeed(bench.etl().args(arguments));
        assert!(!lake::stderr(&output).contains("missing"), "{}", lake::stderr(&output));
        assert_eq!([counts, usage, calls].map(rows), before, "{arguments:?}");
        bench.verify();
    }
}

/// Gives a checked-out lake the modes that llrem gives: git does not keep them.
fn make_private(lake: &Path) {
    for entry in walkdir::WalkDir::new(lake) {
        let entry = entry.unwrap();
        let mode = if entry.file_type().is_dir() { 0o700 } else { 0o600 };
        std::fs::set_permissions(entry.path(), std::fs::Permissions::from_mode(mode)).unwrap();
    }
}
