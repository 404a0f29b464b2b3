//! The answers are those of a lake on the disk.

use std::collections::BTreeSet;

use crate::lake::{self, Bench, Transcript, rows, stderr, succeed};
use crate::team::{Team, add_session, answer_on_disk, noise, six_months};

#[test]
fn every_answer_is_the_same() {
    let bench = six_months(2, 200);
    let mut wasteful = Transcript::new("w", "2025-03-05T10:00:00Z");
    wasteful.prompt("fix it");
    for _ in 0..8 {
        wasteful.call("Read", &serde_json::json!({"file_path": "/home/kim/shop/a.rs"}), &noise("a.rs", 4000));
    }
    bench.transcript("w.jsonl", wasteful.text());
    bench.extract();
    let team = Team::of(bench);
    for arguments in [
        ["-f", "csv", "query", "cost_by_day"].as_slice(),
        &["-f", "csv", "query", "billing_blocks"],
        &["-f", "csv", "query", "subagent_share"],
        &["-f", "csv", "query", "tool_use"],
        &["-f", "csv", "query", "cost_by_project", "--since", "2025-03-01", "--project", "blog"],
        &["-f", "csv", "sql", "select * from findings order by detector, session_id, first_seq, explanation"],
        &["-f", "ndjson", "sql", "select * from messages order by machine, agent, month, session_id, seq"],
        &["-f", "csv", "sql", "select month, count(*) from tool_calls group by month order by month"],
        &["-f", "csv", "sql", "select count(*), min(timestamp), max(timestamp) from usage"],
    ] {
        let found = team.answer(arguments);
        assert_eq!(found, answer_on_disk(&team.bench.lake(), arguments), "{arguments:?}");
        assert!(found.lines().count() > 1, "{arguments:?}: {found}");
    }
}

#[test]
fn two_machines_are_one_lake() {
    let team = Team::of(six_months(1, 100));
    let kim = Bench::new();
    add_session(&kim, "ka", "2025-02-07", 3, 100);
    succeed(kim.etl().env("LLREM_MACHINE", "kim"));
    succeed(&mut team.s3.upload(&kim.lake(), &["--profile", "full"]));
    let both: BTreeSet<String> = rows(&team.bench.lake()).union(&rows(&kim.lake())).cloned().collect();
    lake::assert_same_rows(&rows(&team.s3.objects()), &both, "what was uploaded");
    let count = "select machine, count(*) as responses, count(distinct session_id) as sessions from usage group by machine order by machine";
    assert_eq!(team.answer(&["-f", "csv", "sql", count]), "machine,responses,sessions\nbench,36,18\nkim,4,1\n");
    let of_one = "select count(*) as responses from usage where machine = 'kim' and month = '2025-02'";
    team.s3.proxy.take_log();
    assert_eq!(team.answer(&["-f", "csv", "sql", of_one]), "responses\n4\n");
    let others: Vec<String> = team.s3.proxy.take_short();
    assert!(others.iter().all(|request| !request.contains("machine=bench")), "{others:#?}");
}

#[test]
fn a_folder_to_which_machines_upload_is_a_lake() {
    let bench = six_months(1, 100);
    let folder = bench.path().join("team lake*");
    let url = url::Url::from_file_path(&folder).unwrap().to_string();
    succeed(&mut bench.llrem(&["upload", &url, "--profile", "full"]));
    let arguments = ["query", "cost_by_project", "-f", "csv"];
    let expected = answer_on_disk(&bench.lake(), &arguments);
    for place in [url.as_str(), folder.to_str().unwrap()] {
        let mut command = bench.llrem(&arguments);
        assert_eq!(succeed(command.args(["--lake", place])).stdout, expected.as_bytes(), "{place}");
        let mut command = bench.llrem(&["verify", "--read-data", "--lake", place]);
        assert!(stderr(&succeed(&mut command)).ends_with("is complete and consistent.\n"));
    }
}
