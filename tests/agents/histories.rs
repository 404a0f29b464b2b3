//! Random histories of homes: agents drop, cut, delete, restore, move and copy what they wrote. The lake keeps all of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use llrem::lake::Lake;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

use crate::common::home::touch;
use crate::common::{Built, Case, Home, Rows};
use crate::damage::cases;
use crate::laws::assert_consistent;

/// Something that happens to one file of a home.
#[derive(Clone, Debug)]
enum Event {
    /// Lines of a text, items of a document or rows of a database are removed.
    Drop {
        from: Index,
        count: usize,
    },
    /// The file ends early, as while it is being written.
    Cut {
        at: Index,
    },
    Delete,
    /// The file is again as it was at first.
    Restore,
    /// The file is renamed within its folder.
    Move,
    /// A second file in the same folder has the same content.
    Copy,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (any::<Index>(), 1_usize..5).prop_map(|(from, count)| Event::Drop { from, count }),
        1 => any::<Index>().prop_map(|at| Event::Cut { at }),
        1 => Just(Event::Delete),
        2 => Just(Event::Restore),
        1 => Just(Event::Move),
        1 => Just(Event::Copy),
    ]
}

/// The events between two runs, and true if the run reads everything again.
type Step = (Vec<(Index, Event)>, bool);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec((prop::collection::vec((any::<Index>(), event()), 1..4), any::<bool>()), 1..6)
}

/// A home in which files change.
struct Changing {
    home: Home,
    /// The files as they were at first.
    files: Vec<(PathBuf, Vec<u8>)>,
    /// Seconds since the first change.
    clock: u64,
    /// A description of each event so far, for error messages.
    story: Vec<String>,
}

impl Changing {
    fn new(case: &Case) -> Self {
        let home = Home::of(case);
        let files: Vec<_> = home.sources().into_iter().filter(|source| source.path.is_file()).collect();
        let files = files.into_iter().map(|source| (std::fs::read(&source.path).unwrap(), source.path));
        let mut files: Vec<_> = files.map(|(bytes, path)| (path, bytes)).collect();
        files.dedup();
        Self { home, files, clock: 0, story: Vec::new() }
    }

    fn happen(&mut self, pick: &Index, event: &Event) {
        let (path, original) = pick.get(&self.files).clone();
        let now = std::fs::read(&path).ok();
        let name = path.strip_prefix(self.home.path()).unwrap_or(&path).display().to_string();
        self.story.push(match event {
            Event::Drop { from, count } => format!("drop {count} after {:.3} of {name}", share(from)),
            Event::Cut { at } => format!("cut at {:.3} of {name}", share(at)),
            other => format!("{other:?} {name}"),
        });
        match (event, now) {
            (Event::Restore, _) => self.put(&path, &original),
            (Event::Delete, _) => drop(std::fs::remove_file(&path)),
            (Event::Drop { from, count }, Some(bytes)) => self.drop_records(&path, &bytes, from, *count),
            (Event::Cut { at }, Some(bytes)) if !is_database(&bytes) => {
                self.put(&path, &bytes[..at.index(bytes.len() + 1)]);
            }
            (Event::Copy, Some(bytes)) if !is_database(&bytes) => self.put(&renamed(&path), &bytes),
            (Event::Move, Some(bytes)) if !is_database(&bytes) => {
                self.put(&renamed(&path), &bytes);
                std::fs::remove_file(&path).unwrap();
            }
            _ => {}
        }
    }

    /// Writes a file that was last changed now, by the clock of the history.
    fn put(&mut self, path: &Path, bytes: &[u8]) {
        self.clock += 1;
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
        self.touch(path);
    }

    fn touch(&self, path: &Path) {
        touch(path, Duration::from_secs(1_900_000_000 + self.clock));
    }

    fn drop_records(&mut self, path: &Path, bytes: &[u8], from: &Index, count: usize) {
        if is_database(bytes) {
            drop_rows(path, from, count);
            self.clock += 1;
            return self.touch(path);
        }
        if let Ok(mut document) = serde_json::from_slice::<Value>(bytes)
            && let Some(items) = longest_list(&mut document)
        {
            let from = from.index(items.len());
            drop(items.drain(from..items.len().min(from + count)));
            return self.put(path, document.to_string().as_bytes());
        }
        let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        if !lines.is_empty() {
            let from = from.index(lines.len());
            drop(lines.drain(from..lines.len().min(from + count)));
            self.put(path, &lines.concat());
        }
    }
}

/// Returns the position that an index selects, as a fraction of the length.
fn share(at: &Index) -> f64 {
    at.index(1_000_000) as f64 / 1e6
}

fn is_database(bytes: &[u8]) -> bool {
    bytes.starts_with(b"SQLite format 3\0")
}

/// A name in the same folder: `x.jsonl` becomes `x-2.jsonl`.
fn renamed(path: &Path) -> PathBuf {
    let (stem, rest) = path.file_name().unwrap().to_str().unwrap().split_once('.').unwrap_or_default();
    path.with_file_name(format!("{stem}-2.{rest}"))
}

/// The longest list of objects in a document.
fn longest_list(document: &mut Value) -> Option<&mut Vec<Value>> {
    let is_list = |value: &Value| value.as_array().is_some_and(|items| items.first().is_some_and(Value::is_object));
    if is_list(document) {
        return document.as_array_mut();
    }
    let fields = document.as_object_mut()?.values_mut();
    fields.filter_map(longest_list).max_by_key(|items| items.len())
}

/// Deletes rows of one table of a database.
fn drop_rows(path: &Path, from: &Index, count: usize) {
    let database = rusqlite::Connection::open(path).unwrap();
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name";
    let tables: Vec<String> =
        database.prepare(tables).unwrap().query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    if tables.is_empty() {
        return;
    }
    let table = from.get(&tables);
    let rows: i64 = database.query_row(&format!("SELECT count(*) FROM \"{table}\""), [], |row| row.get(0)).unwrap();
    let first = from.index(usize::try_from(rows).unwrap().max(1));
    let rows = format!("SELECT rowid FROM \"{table}\" ORDER BY rowid LIMIT {count} OFFSET {first}");
    delete_rows(&database, &tables, table, &format!("rowid IN ({rows})"), 3);
    database.close().unwrap();
}

/// Deletes rows and what belongs to them, as agents do: rows of other tables that name one by `<table>_id`.
fn delete_rows(database: &rusqlite::Connection, tables: &[String], table: &str, which: &str, levels: u8) {
    let owner = table.trim_end_matches("_v2");
    for other in tables.iter().filter(|other| *other != table && levels > 0) {
        let of_these = format!("\"{owner}_id\" IN (SELECT id FROM \"{table}\" WHERE {which})");
        delete_rows(database, tables, other, &of_these, levels - 1);
    }
    // Fails for tables without such columns, and where a key refers to the row: nothing happens then.
    let _ = database.execute(&format!("DELETE FROM \"{table}\" WHERE {which}"), []);
}

/// The lake's records by table and id.
type Records = BTreeMap<(&'static str, String), Value>;

fn records(rows: &Rows) -> Records {
    let tables =
        [("sessions", "session_id"), ("messages", "message_id"), ("tool_calls", "call_id"), ("usage", "response_id")];
    let all = tables.into_iter().flat_map(|(table, column)| {
        rows.values(table).into_iter().map(move |row| ((table, row[column].as_str().unwrap().to_owned()), row))
    });
    all.collect()
}

/// True if a full run took something from a row: a value that a record may not lose.
fn is_poorer(before: &Value, after: &Value) -> bool {
    let mut kept = KEPT.iter().filter(|column| **column != "turn");
    kept.any(|column| !before[column].is_null() && after[column] != before[column])
}

/// True if two rows tell of the same: copies of a record may have names of their own, of which one is in the lake.
fn is_same(table: &str, a: &Value, b: &Value) -> bool {
    let columns: &[&str] = match table {
        "messages" => &["role", "text", "thinking"],
        "tool_calls" => &["name", "input", "output"],
        _ => &["timestamp", "model", "input_tokens", "output_tokens"],
    };
    columns.iter().all(|column| a[column] == b[column])
}

/// Columns that a record may not lose, and numbers that may not become smaller.
const KEPT: [&str; 16] = [
    "text",
    "thinking",
    "input",
    "output",
    "command",
    "exit_code",
    "child_session_id",
    "model",
    "timestamp",
    "summary",
    "project_path",
    "git_branch",
    "git_commit",
    "git_repo",
    "parent_session_id",
    "turn",
];
/// Number of columns that are the content of a record.
const CONTENT: usize = 4;
const GROWING: [&str; 2] = ["output_tokens", "total_tokens"];

/// `whole` holds the records of the undamaged home. A count that damage made too large may fall to the count there, and a
/// value that damage gave to another record may go: the first prompt that is left may get the moment of the session's start.
fn assert_none_is_lost_or_poorer(before: &Records, after: &Records, whole: &Records) -> Result<(), TestCaseError> {
    for (id, row) in before {
        let Some(now) = after.get(id) else {
            // All records of a session may turn out to be another's.
            if id.0 == "sessions" {
                continue;
            }
            // A partial count, a total, a typed prompt: a source that has the same in finer grain replaces it.
            let may_be_replaced =
                row["is_partial"] == true || (id.0 == "usage" && row["grain"] != "response") || row["kind"] == "prompt";
            let may_be_replaced =
                may_be_replaced || after.iter().any(|(other, now)| other.0 == id.0 && is_same(id.0, row, now));
            prop_assert!(may_be_replaced, "lost {id:?}: {row}");
            continue;
        };
        // Of two sessions that hold a record, the one that owns it may know less of where it was written.
        let kept = if row["session_id"] == now["session_id"] { &KEPT[..] } else { &KEPT[..CONTENT] };
        // A longer output has a code of its own, or none.
        let is_other_output = row["output"] != now["output"];
        for column in kept.iter().filter(|column| **column != "exit_code" || !is_other_output) {
            let is_whole = whole.get(id).is_some_and(|whole| whole[column] == now[*column]);
            let is_kept = row[column].is_null() || !now[column].is_null() || is_whole;
            prop_assert!(is_kept, "{id:?} lost {column}: {row}\n{now}");
        }
        // The totals of a session fall when records turn out to be another's.
        for column in GROWING.into_iter().filter(|_| id.0 != "sessions") {
            let is_whole = whole.get(id).is_some_and(|whole| whole[column] == now[column]);
            prop_assert!(
                is_whole || row[column].as_i64() <= now[column].as_i64(),
                "{column} of {id:?} fell: {row}\n{now}"
            );
        }
    }
    Ok(())
}

fn assert_keeps_all(case: &Case, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut changing = Changing::new(case);
    if changing.files.is_empty() {
        return Ok(());
    }
    let path = changing.home.beside("lake");
    let whole = {
        let lake = Built::new(&changing.home, "lake");
        lake.run();
        records(&lake.rows())
    };
    let mut known = whole.clone();
    for (events, is_full) in steps {
        for (pick, event) in events {
            changing.happen(pick, event);
        }
        changing.story.push(if *is_full { "full run" } else { "run" }.to_owned());
        let lake = Built::new(&changing.home, "lake");
        lake.run_with(|options| options.full = *is_full);
        let rows = lake.rows();
        assert_consistent(&rows, &case.name);
        let now = records(&rows);
        assert_none_is_lost_or_poorer(&known, &now, &whole).map_err(|error| {
            TestCaseError::fail(format!("{} {}, {:?}: {error}", case.agent, case.name, changing.story))
        })?;
        let problems = Lake::open(&path).unwrap().verify(true).unwrap();
        prop_assert!(problems.is_empty(), "{} {}, {:?}: {problems:?}", case.agent, case.name, changing.story);
        known = now;
    }
    let lake = Built::new(&changing.home, "lake");
    let before = records(&lake.rows());
    lake.run_with(|options| options.full = true);
    let after = records(&lake.rows());
    for (id, row) in &before {
        let now = after.get(id).unwrap_or(&Value::Null);
        prop_assert!(
            !is_poorer(row, now),
            "{} {}, {:?}: a full run changed {id:?}: {row}\n{now}",
            case.agent,
            case.name,
            changing.story
        );
    }
    Ok(())
}

/// Not of agents that only append, nor of forks of old Codex versions, whose records are named by their places in the
/// origin, nor of messages of Qwen Code of several lines with one id, of which the first has that id.
fn can_lose_records(case: &Case) -> bool {
    let only = std::env::var("LLREM_TEST_AGENT").ok();
    let only_appends = llrem::agents::by_id(case.agent).unwrap().only_appends();
    let is_named_by_place = only_appends || ["fork-without-turn-ids", "pieces"].contains(&&*case.name);
    !is_named_by_place && only.is_none_or(|agent| agent == case.agent)
}

/// Properties of random cases.
mod random {
    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { max_shrink_iters: 100, failure_persistence: None, ..ProptestConfig::with_cases(cases(24)) })]

        #[test]
        fn no_history_loses_a_record(pick in any::<Index>(), steps in steps()) {
            CASES.with(|cases| assert_keeps_all(pick.get(cases), &steps))?;
        }
    }
}

thread_local! {
    static CASES: Vec<Case> = Case::all().into_iter().filter(can_lose_records).collect();
}
