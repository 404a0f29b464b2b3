//! Requests to the store: a listing of each table, footers once, and only the columns that are needed.

use std::collections::BTreeSet;
use std::fs;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use crate::lake::data_files;
use crate::proxy::{Fate, Request};
use crate::team::{Team, answer_on_disk, six_months};

pub(crate) const QUERY: [&str; 4] = [
    "-f",
    "csv",
    "sql",
    "select s.project, sum(u.cost_usd) as usd, count(*) as responses from usage u join sessions s on \
     s.machine = u.machine and s.agent = u.agent and s.session_id = u.session_id \
     where u.timestamp >= timestamp '2025-06-01T00:00:00Z' group by s.project order by s.project",
];

/// The same as it comes with llrem, which also counts what has no time of its own.
const CANNED: [&str; 6] = ["-f", "csv", "query", "cost_by_project", "--since", "2025-06-01"];

/// Bytes that requests ask for.
pub(crate) fn bytes(requests: &[Request]) -> u64 {
    requests.iter().filter(|request| request.method == "GET").map(range).map(|(from, to)| to - from).sum()
}

/// The range that a request asks for; nothing of a listing.
fn range(request: &Request) -> (u64, u64) {
    let Some(range) = request.headers.get("range") else { return (0, 0) };
    let (from, to) = range.strip_prefix("bytes=").unwrap().split_once('-').unwrap();
    (from.parse().unwrap(), to.parse::<u64>().unwrap() + 1)
}

pub(crate) fn gets<'r>(requests: &'r [Request], table: &str) -> Vec<&'r Request> {
    let folder = format!("/{table}/");
    requests
        .iter()
        .filter(|request| request.headers.contains_key("range") && request.target.contains(&folder))
        .collect()
}

#[test]
fn a_month_costs_a_small_share() {
    let team = Team::of(six_months(40, 20_000));
    let sizes = |folder: &str| -> u64 {
        let files = data_files(&team.s3.objects().join(folder));
        files.iter().map(|file| fs::metadata(file).unwrap().len()).sum()
    };
    let (whole, usage) = (sizes(""), sizes("usage"));
    assert!(whole > 5_000_000, "{whole}");
    let expected = answer_on_disk(&team.bench.lake(), &QUERY);
    assert!(expected.lines().count() > 1, "{expected}");

    assert_eq!(team.answer(&QUERY), expected);
    let first = team.s3.proxy.take_log();
    println!("first: {} requests, {} bytes of {whole} (usage {usage})", first.len(), bytes(&first));
    assert!(bytes(&first) < whole / 10, "{} of {whole}", bytes(&first));
    assert!(gets(&first, "messages").is_empty() && gets(&first, "tool_calls").is_empty());
    let of_other_months = |requests: &[Request]| {
        gets(requests, "usage").into_iter().filter(|request| !request.target.contains("2025-06")).count()
    };
    assert_eq!(of_other_months(&first), 5, "the footer of each month, in one request each");

    let listings = first.iter().filter(|request| !request.headers.contains_key("range")).count();
    assert_eq!(listings, 4, "whether there is a lake, whose, and the files of both tables");
    assert_eq!(gets(&first, "machines").into_iter().map(range).collect::<Vec<_>>(), [(0, 12)], "its version");

    assert_eq!(team.answer(&CANNED), answer_on_disk(&team.bench.lake(), &CANNED));
    let canned = team.s3.proxy.take_log();
    assert!(bytes(&canned) < whole / 10, "{} of {whole}", bytes(&canned));
    assert!(gets(&canned, "messages").is_empty() && gets(&canned, "tool_calls").is_empty());
    assert_eq!(of_other_months(&canned), 5, "their footers tell that all of their rows have a time");
}

#[test]
fn texts_are_not_read_when_they_are_not_asked_for() {
    let team = Team::of(six_months(40, 20_000));
    let query =
        ["-f", "csv", "sql", "select name, count(*), sum(output_bytes) from tool_calls group by name order by name"];
    assert_eq!(team.answer(&query), answer_on_disk(&team.bench.lake(), &query));
    let log = team.s3.proxy.take_log();
    let whole: u64 =
        data_files(&team.s3.objects().join("tool_calls")).iter().map(|file| fs::metadata(file).unwrap().len()).sum();
    println!("tool_calls: {} requests, {} bytes of {whole}", log.len(), bytes(&log));
    assert!(bytes(&log) < whole / 10, "{} of {whole}", bytes(&log));
}

/// All six files are requested before the first of them is answered.
#[test]
fn files_are_read_side_by_side() {
    let team = Team::of(six_months(1, 1_000));
    let query = ["-f", "csv", "sql", "select sum(output_tokens) from usage"];
    let expected = team.answer(&query);
    let (release, held) = channel::<()>();
    let (mut release, held) = (Some(release), Arc::new(Mutex::new(held)));
    let [mut footers, mut columns] = [BTreeSet::new(), BTreeSet::new()];
    team.s3.proxy.decide(move |request| {
        let is_file = request.headers.contains_key("range") && request.target.contains("/usage/");
        if !is_file || footers.insert(request.target.clone()) {
            return Fate::Pass;
        }
        columns.insert(request.target.clone());
        if columns.len() == 6 {
            drop(release.take());
        }
        Fate::Hold(Arc::clone(&held))
    });
    assert_eq!(team.answer(&query), expected);
}
