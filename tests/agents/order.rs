//! A lake is a function of what the agents wrote: of no order of runs, and of nothing that they deleted since.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use llrem::agents::AGENTS;
use llrem::etl::Options;
use llrem::redact::Mode;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

use crate::common::home::{agents, touch, write};
use crate::common::{Built, Case, Home, Rows};
use crate::damage::cases;
use crate::laws::assert_consistent;

/// Fails with the rows in which two lakes differ.
fn difference(name: &str, expected: &Rows, found: &Rows) -> Result<(), TestCaseError> {
    let mut text = String::new();
    for (table, lines) in &expected.0 {
        let (lines, found): (BTreeSet<&String>, BTreeSet<&String>) =
            (lines.iter().collect(), found.table(table).iter().collect());
        for line in lines.difference(&found) {
            let _ = writeln!(text, "- {table} {line}");
        }
        for line in found.difference(&lines) {
            let _ = writeln!(text, "+ {table} {line}");
        }
    }
    prop_assert!(text.is_empty(), "{name}\n{text}");
    Ok(())
}

fn paths(home: &Home) -> Vec<PathBuf> {
    home.sources().into_iter().map(|source| source.path).collect()
}

/// Sources that no other is read together with: what a companion adds to the rows of another goes with it, but for those
/// of agents that keep what it told.
fn of_their_own(home: &Home) -> Vec<PathBuf> {
    let paths = paths(home);
    let agents = AGENTS.iter().filter(|agent| agent.about().id != "aider");
    let companions: BTreeSet<PathBuf> =
        agents.flat_map(|agent| paths.iter().flat_map(|path| agent.companions(path))).collect();
    paths.into_iter().filter(|path| !companions.contains(path)).collect()
}

/// Runs over random parts of the sources, each an order of its own.
fn batches() -> impl Strategy<Value = Vec<Vec<Index>>> {
    prop::collection::vec(prop::collection::vec(any::<Index>(), 1..5), 1..5)
}

fn any_order_gives_the_same(name: &str, home: &Home, batches: &[Vec<Index>]) -> Result<(), TestCaseError> {
    let paths = paths(home);
    let lake = Built::new(home, "batches");
    let _ = std::fs::remove_dir_all(&lake.path);
    for batch in batches {
        let batch: Vec<PathBuf> = batch.iter().map(|pick| pick.get(&paths).clone()).collect();
        lake.run_only(&batch);
    }
    lake.run();
    assert_consistent(&lake.rows(), name);
    let _ = std::fs::remove_dir_all(home.beside("full"));
    difference(name, &Built::full(home).rows().without_runs(), &lake.rows().without_runs())
}

/// Cases with more than one source.
fn with_several_sources() -> Vec<(Case, Home)> {
    let homes = Case::all().into_iter().map(|case| (case.clone(), Home::of(&case)));
    homes.filter(|(_, home)| home.sources().len() > 1).collect()
}

thread_local! {
    static SEVERAL: Vec<(Case, Home)> = with_several_sources();
    static ALL: Vec<(&'static str, Home)> = agents().map(|agent| (agent, Home::merged(agent))).collect();
}

#[test]
fn one_source_after_the_other_gives_the_same_as_all_at_once() {
    for (case, home) in with_several_sources() {
        let lake = Built::new(&home, "one-by-one");
        let mut paths = paths(&home);
        for backwards in [false, true] {
            if backwards {
                paths.reverse();
                std::fs::remove_dir_all(&lake.path).unwrap();
            }
            for path in &paths {
                lake.run_only(std::slice::from_ref(path));
            }
            lake.run();
            let _ = std::fs::remove_dir_all(home.beside("full"));
            let full = Built::full(&home).rows().without_runs();
            difference(&case.name, &full, &lake.rows().without_runs()).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

/// Properties of random cases.
mod random {
    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { max_shrink_iters: 60, failure_persistence: None, ..ProptestConfig::with_cases(cases(24)) })]

        #[test]
        fn any_order_and_batching_gives_the_same(pick in any::<Index>(), batches in batches()) {
            SEVERAL.with(|homes| {
                let (case, home) = pick.get(homes);
                any_order_gives_the_same(&case.name, home, &batches)
            })?;
        }

        #[test]
        fn sources_that_grow_give_the_same(case in any::<Index>(), cuts in prop::collection::vec(prop::collection::vec(any::<Index>(), 5), 1..3)) {
            let cases = Case::all();
            let case = case.get(&cases);
            let home = Home::of(case);
            let sources = home.sources();
            let files: Vec<(PathBuf, Vec<u8>)> = sources
                .into_iter()
                .filter(|source| source.kind != "database")
                .map(|source| (std::fs::read(&source.path).unwrap(), source.path))
                .map(|(bytes, path)| (path, bytes))
                .collect();
            let lake = Built::new(&home, "growing");
            let mut lengths = vec![0; files.len()];
            for cuts in &cuts {
                for (((path, bytes), length), cut) in files.iter().zip(&mut lengths).zip(cuts) {
                    *length += cut.index(bytes.len() - *length + 1);
                    write(path, &bytes[..*length]);
                }
                lake.run_after_a_while();
            }
            for (path, bytes) in &files {
                write(path, bytes);
            }
            lake.run_after_a_while();
            difference(&case.name, &Built::full(&home).rows().without_runs(), &lake.rows().without_runs())?;
            assert_none_is_gone(&case.name, &lake.rows())?;
            prop_assert_eq!(lake.problems(), Vec::<String>::new(), "{}", case.name);
        }

        #[test]
        fn what_was_deleted_stays(pick in any::<Index>(), deleted in prop::collection::vec(any::<Index>(), 1..4)) {
            let (case, home) = SEVERAL.with(|homes| {
                let case = pick.get(homes).0.clone();
                (case.clone(), Home::of(&case))
            });
            let lake = Built::full(&home);
            let before = lake.rows().without_runs();
            let paths = of_their_own(&home);
            for path in deleted.iter().map(|pick| pick.get(&paths)) {
                let _ = std::fs::remove_file(path);
            }
            lake.run();
            difference(&case.name, &before, &lake.rows().without_runs())?;
            lake.run_with(|options| options.full = true);
            difference(&case.name, &before, &lake.rows().without_runs())?;
        }

        #[test]
        fn what_was_dropped_from_a_file_stays(case in any::<Index>(), source in any::<Index>(), from in any::<Index>(), count in 1_usize..6) {
            let cases = Case::all();
            let case = case.get(&cases);
            let home = Home::of(case);
            let lake = Built::full(&home);
            let before = lake.rows();
            let sources = home.sources();
            let source = source.get(&sources);
            if source.kind == "database" || source.kind == "prompts" {
                return Ok(());
            }
            let bytes = std::fs::read(&source.path).unwrap();
            let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
            if lines.is_empty() {
                return Ok(());
            }
            let from = from.index(lines.len());
            drop(lines.drain(from..lines.len().min(from + count)));
            write(&source.path, &lines.concat());
            lake.run();
            assert_nothing_lost(&case.name, &before, &lake.rows())?;
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { max_shrink_iters: 30, failure_persistence: None, ..ProptestConfig::with_cases(cases(4)) })]

        #[test]
        fn any_order_of_everything_gives_the_same(batches in prop::collection::vec(prop::collection::vec(any::<Index>(), 1..40), 1..4)) {
            ALL.with(|homes| homes.iter().try_for_each(|(agent, home)| any_order_gives_the_same(agent, home, &batches)))?;
        }
    }
}

/// No row is marked as dropped from its file.
fn assert_none_is_gone(name: &str, rows: &Rows) -> Result<(), TestCaseError> {
    for table in ["messages", "tool_calls", "usage"] {
        let gone: Vec<Value> = rows.values(table).into_iter().filter(|row| row.get("gone_at").is_some()).collect();
        prop_assert!(gone.is_empty(), "{name}: gone from {table}: {gone:?}");
    }
    Ok(())
}

/// All rows are still there, under their places; what the file no longer gives is marked.
fn assert_nothing_lost(name: &str, before: &Rows, after: &Rows) -> Result<(), TestCaseError> {
    assert_consistent(after, name);
    for (table, column) in [("messages", "message_id"), ("tool_calls", "call_id"), ("usage", "response_id")] {
        // A partial record may be completed by another record, as it now looks.
        let ids = |rows: &Rows, with_partial: bool| -> BTreeSet<String> {
            let rows = rows.values(table);
            let rows = rows.iter().filter(|row| with_partial || row["is_partial"] != true);
            rows.map(|row| row[column].to_string()).collect()
        };
        let lost: Vec<String> = ids(before, false).difference(&ids(after, true)).cloned().collect();
        // Lines without an id are named by their number.
        let lost: Vec<&String> = lost.iter().filter(|id| !id.contains("#line-")).collect();
        prop_assert!(lost.is_empty(), "{name}: lost from {table}: {lost:?}");
    }
    Ok(())
}

/// A run may read a session again that turns out to be the same; it still owns what a new fork repeats, and its calls
/// still learn which subagents they started.
#[test]
fn what_only_was_touched_still_counts() {
    for (case, home) in with_several_sources() {
        let paths = paths(&home);
        for first in &paths {
            let lake = Built::new(&home, "touched");
            let _ = std::fs::remove_dir_all(&lake.path);
            lake.run_only(std::slice::from_ref(first));
            let file = std::fs::File::options().append(true).open(first).unwrap();
            let modified = file.metadata().unwrap().modified().unwrap();
            file.set_modified(modified + Duration::from_micros(1)).unwrap();
            lake.run();
            assert_consistent(&lake.rows(), &case.name);
            let _ = std::fs::remove_dir_all(home.beside("full"));
            let full = Built::full(&home).rows().without_runs();
            difference(&case.name, &full, &lake.rows().without_runs()).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

/// Sources add to each other's sessions, and a run may read only one of them.
#[test]
fn a_source_that_is_read_again_alone_changes_no_row() {
    for (case, home) in with_several_sources() {
        let paths: BTreeSet<PathBuf> = paths(&home).into_iter().filter(|path| path.is_file()).collect();
        // The latest source overrides the others, so their order in time has to stay.
        let paths: Vec<(PathBuf, u64)> = paths.into_iter().zip((1_900_000_000..).step_by(10)).collect();
        for (path, seconds) in &paths {
            touch(path, Duration::from_secs(*seconds));
        }
        let lake = Built::full(&home);
        let before = lake.rows();
        for (path, seconds) in paths {
            touch(&path, Duration::from_secs(seconds + 1));
            lake.run();
            let after = lake.rows();
            for table in ["sessions", "messages", "tool_calls", "usage"] {
                assert_eq!(after.table(table), before.table(table), "{}: {table}, {}", case.name, path.display());
            }
        }
    }
}

/// Facts from files next to a chat history, exact counts and times, stay when those files are gone and the chat goes
/// on.
#[test]
fn what_was_told_beside_a_chat_stays() {
    for (case, beside) in [("analytics-beside", ".aider.analytics.jsonl"), ("worked-example", ".aider.input.history")] {
        let case = Case::of("aider").into_iter().find(|it| it.name == case).unwrap();
        let home = Home::of(&case);
        let paths = paths(&home);
        let lake = Built::full(&home);
        let before = lake.rows().without_runs();
        std::fs::remove_file(paths.iter().find(|path| path.ends_with(beside)).unwrap()).unwrap();
        let chat = paths.iter().find(|path| path.ends_with(".aider.chat.history.md")).unwrap();
        for (number, full) in [false, true, false].into_iter().enumerate() {
            let more = format!("\n# aider chat started at 2031-01-0{} 10:00:00\n\n#### more  \n\nYes.\n", number + 1);
            let text = std::fs::read_to_string(chat).unwrap();
            write(chat, (text + &more).as_bytes());
            lake.run_with(|options| options.full = full);
            let after = lake.rows().without_runs();
            for table in ["sessions", "messages", "tool_calls", "usage"] {
                let lost = before.table(table).iter().filter(|row| !after.table(table).contains(row));
                assert_eq!(lost.collect::<Vec<_>>(), Vec::<&String>::new(), "{}: {table}", case.name);
            }
            assert_eq!(after.table("sessions").len(), before.table("sessions").len() + number + 1);
            assert_none_is_gone(&case.name, &after).unwrap_or_else(|error| panic!("{error}"));
            assert_consistent(&after, &case.name);
        }
        // A run without texts removes those of rows that stayed.
        let with_texts = lake.rows();
        for _ in 0..2 {
            lake.run_with(|options| options.content = llrem::etl::Content::None);
            let bare = lake.rows();
            // Rows of the deleted log itself stay as they are.
            let messages = bare.values("messages");
            let of_chat = |row: &&Value| row["session_id"].as_str().unwrap().starts_with("aider:");
            let told: Vec<&Value> = messages.iter().filter(of_chat).filter(|row| !row["text"].is_null()).collect();
            assert!(told.is_empty(), "{}: {told:?}", case.name);
            for table in ["sessions", "messages", "tool_calls", "usage"] {
                assert_eq!(bare.table(table).len(), with_texts.table(table).len(), "{}: {table}", case.name);
            }
        }
    }
}

/// A run after a companion file was deleted reads less of the responses, with whatever policy.
#[test]
fn no_response_becomes_poorer_without_a_companion() {
    let policies: [fn(&mut Options); 2] = [|_| {}, |options| options.redact = Mode::Strict];
    let mut poorer = Vec::new();
    for case in AGENTS.iter().flat_map(|agent| Case::of(agent.about().id)) {
        let home = Home::of(&case);
        let paths = paths(&home);
        let companions = AGENTS.iter().flat_map(|agent| paths.iter().flat_map(|path| agent.companions(path)));
        let companions: BTreeSet<PathBuf> = companions.filter(|path| path.is_file() && !paths.contains(path)).collect();
        for companion in companions {
            let bytes = std::fs::read(&companion).unwrap();
            for policy in policies {
                let _ = std::fs::remove_dir_all(home.beside("full"));
                let lake = Built::full(&home);
                let before = lake.rows().values("usage");
                std::fs::remove_file(&companion).unwrap();
                lake.run_with(policy);
                let after = lake.rows().values("usage");
                write(&companion, &bytes);
                let file = companion.display();
                for row in before {
                    let same = |other: &&Value| KEYS.iter().all(|key| other[key] == row[key]);
                    let Some(now) = after.iter().find(same) else {
                        poorer.push(format!("{} without {file}: lost {row}", case.name));
                        continue;
                    };
                    let columns = row.as_object().unwrap().iter().filter(|(_, value)| !value.is_null());
                    let lost = columns.filter(|(column, _)| now[column.as_str()].is_null());
                    poorer
                        .extend(lost.map(|(column, value)| format!("{} without {file}: {column} {value}", case.name)));
                }
            }
        }
    }
    assert!(poorer.is_empty(), "{}", poorer.join("\n"));
}

const KEYS: [&str; 3] = ["agent", "session_id", "response_id"];

/// Whichever one of its sources goes first.
#[test]
fn any_source_that_was_deleted_stays() {
    for (case, home) in with_several_sources() {
        let files: Vec<(PathBuf, Vec<u8>)> =
            of_their_own(&home).into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect();
        for (path, bytes) in &files {
            let _ = std::fs::remove_dir_all(home.beside("full"));
            let lake = Built::full(&home);
            let before = lake.rows().without_runs();
            std::fs::remove_file(path).unwrap();
            for full in [false, true] {
                lake.run_with(|options| options.full = full);
                difference(&case.name, &before, &lake.rows().without_runs())
                    .unwrap_or_else(|error| panic!("without {}, full {full}: {error}", path.display()));
            }
            write(path, bytes);
        }
    }
}

/// An agent may empty a file, or write it anew, and a run may come in between.
#[test]
fn a_source_without_records_keeps_its_rows() {
    for case in AGENTS.iter().filter_map(|agent| Case::of(agent.about().id).into_iter().next()) {
        let home = Home::of(&case);
        let files: Vec<PathBuf> = of_their_own(&home).into_iter().filter(|path| path.is_file()).collect();
        for path in files {
            let bytes = std::fs::read(&path).unwrap();
            let _ = std::fs::remove_dir_all(home.beside("full"));
            let lake = Built::full(&home);
            let before = lake.rows();
            for content in [&b""[..], b"", b"{}\n", b"{}\n{}\n"] {
                write(&path, content);
                lake.run();
                assert_nothing_lost(&format!("{} {}", case.name, path.display()), &before, &lake.rows())
                    .unwrap_or_else(|error| panic!("{error}"));
            }
            write(&path, &bytes);
        }
    }
}

#[test]
fn a_rewritten_file_keeps_its_dropped_rows_as_gone() {
    let home = Home::of(&Case::named("worked-example"));
    let file = |name: &str| paths(&home).into_iter().find(|path| path.ends_with(name)).unwrap();
    // The fork holds what the origin drops.
    std::fs::remove_file(file("22222222-2222-4222-8222-222222222222.jsonl")).unwrap();
    let path = file("11111111-1111-4111-8111-111111111111.jsonl");
    let lake = Built::full(&home);
    let before = lake.rows();
    let text = std::fs::read_to_string(&path).unwrap();
    let kept: String = text.split_inclusive('\n').skip(5).collect();
    write(&path, kept.as_bytes());
    lake.run();
    let after = lake.rows();
    assert_nothing_lost("worked-example", &before, &after).unwrap();
    let gone = |table: &str| -> Vec<Value> {
        after.values(table).into_iter().filter(|row| row.get("gone_at").is_some()).collect()
    };
    let ids = |rows: &[Value], column: &str| -> Vec<String> {
        rows.iter().map(|row| row[column].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&gone("usage"), "response_id"), ["msg_A"]);
    assert_eq!(ids(&gone("tool_calls"), "call_id"), ["toolu_1"]);
    assert_eq!(gone("messages").len(), 3);
    let seqs =
        |rows: &Rows| -> Vec<Value> { rows.values("messages").into_iter().map(|row| row["seq"].clone()).collect() };
    assert_eq!(seqs(&before), seqs(&after), "no row moves");
}

/// A session that was opened and left has no month until something is said in it; once found, it stays.
#[test]
fn a_session_without_a_word_is_one_all_the_same() {
    let case = Case::of("droid").into_iter().find(|case| case.name == "damage").unwrap();
    let home = Home::of(&case);
    let lake = Built::full(&home);
    let path = paths(&home).into_iter().find(|path| path.to_string_lossy().contains("d00d0002")).unwrap();
    let rows = || -> Vec<Value> {
        let of = |row: &Value| row["session_id"] == "d00d0002-5e55-4000-8000-00000000000d";
        lake.rows().values("sessions").into_iter().filter(of).collect()
    };
    let (opened, header) = (rows(), std::fs::read(&path).unwrap());
    assert_eq!((&opened[0]["messages"], opened[0].get("started_at"), opened.len()), (&Value::from(0), None, 1));
    std::fs::remove_file(&path).unwrap();
    lake.run_with(|options| options.full = true);
    assert_eq!(rows(), opened, "its file is gone");
    let said =
        br#"{"type":"message","id":"m1","timestamp":"2026-02-12T10:00:00Z","message":{"role":"user","content":"Hi"}}"#;
    write(&path, &[&header[..], said, b"\n"].concat());
    lake.run();
    assert_eq!((&rows()[0]["messages"], &rows()[0]["started_at"]), (&1.into(), &"2026-02-12T10:00:00Z".into()));
    assert_eq!(rows().len(), 1);
    write(&path, &header);
    lake.run();
    assert_eq!((&rows()[0]["messages"], rows().len()), (&1.into(), 1), "what it dropped stays");
    assert_eq!(lake.problems(), Vec::<String>::new());
}

/// The session's file is torn where its last prompt has no answer yet, which says later what the prompt gives way to.
#[test]
fn a_prompt_gives_way_once_its_answer_is_written() {
    let home = Home::of(&Case::named("sessions-and-logs"));
    let path = paths(&home).into_iter().find(|path| path.ends_with("ide-s1.json")).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let full = Built::full(&home).rows().without_runs();
    for unanswered in ["h1", "h3", "h5"] {
        let lake = Built::new(&home, unanswered);
        let prompt = format!(r#""id": "{unanswered}"}}, "promptLogs": []}}"#);
        let (before, _) = text.split_once(&prompt).unwrap();
        write(&path, format!("{before}{prompt}").as_bytes());
        lake.run();
        let message = format!("ide-s1#{unanswered}");
        assert!(lake.rows().values("messages").iter().any(|row| row["message_id"] == message.as_str()));
        write(&path, text.as_bytes());
        lake.run();
        difference(unanswered, &full, &lake.rows().without_runs()).unwrap_or_else(|error| panic!("{error}"));
        assert_none_is_gone(unanswered, &lake.rows()).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// An event is the same one whatever is dropped before it: of a log without its head too, and where the start of the next
/// launch is gone.
#[test]
fn what_is_left_of_a_log_of_events_keeps_its_ids() {
    let home = Home::of(&Case::named("analytics-alone"));
    let path = paths(&home).remove(0);
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let sends = |rows: &Rows| -> Vec<(String, i64)> {
        let send = |row: Value| (row["response_id"].to_string(), row["input_tokens"].as_i64().unwrap());
        let mut sends: Vec<(String, i64)> = rows.values("usage").into_iter().map(send).collect();
        sends.sort();
        sends
    };
    for from in 0..lines.len() {
        for until in from + 1..=lines.len() {
            write(&path, text.as_bytes());
            let lake = Built::new(&home, &format!("without-{from}-{until}"));
            lake.run();
            let before = lake.rows();
            write(&path, [&lines[..from], &lines[until..]].concat().concat().as_bytes());
            lake.run();
            let after = lake.rows();
            let name = format!("without lines {from} to {until}");
            assert_nothing_lost(&name, &before, &after).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(sends(&before), sends(&after), "{name}: each send once");
        }
    }
}

#[test]
fn launches_of_one_second_are_one_session() {
    let home = Home::of(&Case::named("analytics-alone"));
    let path = paths(&home).remove(0);
    let event = |event: &str| {
        format!("{{\"event\": \"{event}\", \"properties\": {{}}, \"user_id\": \"u-1\", \"time\": 1770717600}}\n")
    };
    let log = ["message_send_exception", "launched", "message_send_exception"].map(event);
    write(&path, log.concat().as_bytes());
    let lake = Built::full(&home);
    assert_consistent(&lake.rows(), "one second");
    let ids: Vec<Value> = lake.rows().values("messages").into_iter().map(|row| row["message_id"].clone()).collect();
    let name = "aider-analytics:u-1:1770717600";
    let exception = format!("{name}:message_send_exception");
    assert_eq!(ids, [format!("{name}:start"), exception.clone(), format!("{exception}.2")]);
}

/// A home of an agent's case, and the source of which the path ends so.
fn file_of(agent: &str, name: &str, end: &str) -> (Home, PathBuf) {
    let case = Case::all().into_iter().find(|case| case.agent == agent && case.name == name).unwrap();
    let home = Home::of(&case);
    let path = paths(&home).into_iter().find(|path| path.to_str().unwrap().ends_with(end)).unwrap();
    (home, path)
}

/// A run reads a file of which the last lines are missing. The next run reads all of it, and corrects the rows.
#[test]
fn what_a_growing_file_said_at_first_is_corrected() {
    let files = [
        ("claude-code", "agents-beside-late-id", "agent-abc12345.jsonl"),
        ("codex", "prompts-or-not", "2a.jsonl"),
        ("copilot-cli", "usage-records", "events.jsonl"),
        ("cursor", "transcripts", "05.txt"),
    ];
    for (agent, name, file) in files {
        let (home, path) = file_of(agent, name, file);
        let text = std::fs::read(&path).unwrap();
        let full = Built::full(&home).rows().without_runs();
        for length in (0..text.len()).step_by(331) {
            write(&path, &text[..length]);
            let lake = Built::new(&home, &format!("grown-from-{length}"));
            lake.run_after_a_while();
            write(&path, &text);
            lake.run_after_a_while();
            difference(name, &full, &lake.rows().without_runs()).unwrap();
            assert_eq!(lake.problems(), Vec::<String>::new(), "{name}, {length} bytes first");
        }
    }
}

/// A file drops lines, and then only grows: the lake keeps the rows of the dropped lines.
#[test]
fn what_a_file_dropped_before_it_grew_stays() {
    let (home, path) = file_of("codex", "prompts-or-not", "2a.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let lake = Built::new(&home, "dropped-and-grown");
    write(&path, lines[..16].concat().as_bytes());
    lake.run_after_a_while();
    let first = lake.rows();
    for until in [14, 16, lines.len()] {
        write(&path, [&lines[..4], &lines[9..until]].concat().concat().as_bytes());
        lake.run_after_a_while();
        assert_nothing_lost(&format!("until {until}"), &first, &lake.rows()).unwrap();
    }
}

/// A process's end and the next one's start are dropped: by what is left, calls were recorded since before the database
/// told of them. The record of a call is dropped, and a record without a name may be that of its reply.
#[test]
fn what_a_transcript_dropped_takes_no_call_from_the_database_or_the_reply() {
    let home = Home::of(&Case::named("usage-records"));
    let path = paths(&home).into_iter().find(|path| path.ends_with("events.jsonl")).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for dropped in [3..6, 8..9] {
        write(&path, text.as_bytes());
        let lake = Built::new(&home, &format!("without-{}", dropped.start));
        lake.run();
        let before = lake.rows().without_runs();
        write(&path, [&lines[..dropped.start], &lines[dropped.end..]].concat().concat().as_bytes());
        for full in [false, true] {
            lake.run_with(|options| options.full = full);
            let calls = |rows: &Rows| -> BTreeSet<String> {
                let whole = rows.values("usage").into_iter().filter(|row| row["is_partial"] != true);
                whole.map(|row| row["response_id"].to_string()).collect()
            };
            assert_eq!(calls(&before), calls(&lake.rows()), "without {dropped:?}, full {full}");
        }
    }
}
