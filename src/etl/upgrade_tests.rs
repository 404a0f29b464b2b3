//! A lake that another llrem wrote, with fewer columns.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use parquet::arrow::ArrowWriter;

use super::{Options, Silent, run};
use crate::extract::{Kind, key};
use crate::identity::{Replica, ResponseCopy};
use crate::lake::claims::{self, StoredReplica};
use crate::lake::layout::Layout;
use crate::lake::ledger::Ledger;
use crate::lake::manifest::{FileEntry, Manifest};
use crate::lake::{Lake, part};
use crate::tables::{MESSAGES, SESSIONS, TOOL_CALLS, TableDef, USAGE};

const ADDED: [(&TableDef, &str); 3] =
    [(&MESSAGES, "text_sketch"), (&TOOL_CALLS, "input_shape"), (&SESSIONS, "is_subagent")];

struct OldLake {
    folder: tempfile::TempDir,
    options: Options,
    layout: Layout,
}

impl OldLake {
    fn new() -> Self {
        let without = |column: &'static str| move |batch: &RecordBatch| without(batch, column);
        Self::of("claude-code/worked-example", &ADDED.map(|(table, column)| (table, without(column))))
    }

    /// A lake made from a fixture, with tables changed to their earlier form.
    #[expect(clippy::disallowed_methods, reason = "files of the test's own")]
    fn of(fixture: &str, changes: &[(&'static TableDef, impl Fn(&RecordBatch) -> RecordBatch)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(fixture).join("home");
        for file in
            walkdir::WalkDir::new(&fixture).into_iter().map(Result::unwrap).filter(|it| it.file_type().is_file())
        {
            let copy = folder.path().join("home").join(file.path().strip_prefix(&fixture).unwrap());
            std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
            std::fs::copy(file.path(), copy).unwrap();
        }
        let options = Options {
            home: Some(folder.path().join("home")),
            jobs: Some(1),
            machine: Some("bench".to_owned()),
            ..Options::new(folder.path().join("lake"))
        };
        run(&options, &Silent).unwrap();
        let lake = Self { layout: Layout::new(&options.lake), folder, options };
        let mut manifest = lake.manifest();
        for (table, change) in changes {
            for path in lake.files(table) {
                let entry = rewrite(&path, table, change);
                let place = crate::tables::LAKE_TABLES.iter().position(|other| other.name == table.name).unwrap();
                let parts = manifest.parts.iter_mut();
                let mut named = parts.filter(|(name, _)| path.ends_with(Layout::part(table, "bench", name)));
                named.next().unwrap().1.files[place] = Some(entry);
            }
        }
        manifest.policy = manifest.policy.replace("tables", "tables_of_then");
        std::fs::write(lake.layout.manifest(), manifest.encode().unwrap()).unwrap();
        lake
    }

    fn manifest(&self) -> Manifest {
        Manifest::load(&self.layout).unwrap().unwrap()
    }

    fn files(&self, table: &TableDef) -> Vec<PathBuf> {
        let manifest = self.manifest();
        let names = manifest.parts.keys();
        names.map(|name| self.layout.root().join(Layout::part(table, "bench", name))).filter(|it| it.exists()).collect()
    }

    fn rows(&self, table: &TableDef) -> Vec<RecordBatch> {
        self.files(table).iter().flat_map(|path| part::read(path, table).unwrap()).map(Result::unwrap).collect()
    }

    fn problems(&self) -> Vec<String> {
        Lake::open(&self.options.lake).unwrap().verify(true).unwrap()
    }
}

fn without(batch: &RecordBatch, column: &str) -> RecordBatch {
    let kept: Vec<usize> = (0..batch.num_columns()).filter(|at| batch.schema().field(*at).name() != column).collect();
    batch.project(&kept).unwrap()
}

/// Earlier sums of tokens: 0 instead of null.
fn without_null_tokens(batch: &RecordBatch) -> RecordBatch {
    let told = batch.schema();
    let columns = told.fields().iter().zip(batch.columns()).map(|(field, column)| {
        let Some(sums) = column.as_primitive_opt::<Int64Type>().filter(|_| field.name() == "total_tokens") else {
            return (field.name(), Arc::clone(column), field.is_nullable());
        };
        let sums = Int64Array::from_iter_values(sums.iter().map(Option::unwrap_or_default));
        (field.name(), Arc::new(sums) as ArrayRef, false)
    });
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// Rewrites a file with changed rows.
#[expect(clippy::disallowed_methods, reason = "files of the test's own")]
fn rewrite(path: &Path, table: &TableDef, change: impl Fn(&RecordBatch) -> RecordBatch) -> FileEntry {
    let batches: Vec<RecordBatch> = part::read(path, table).unwrap().map(Result::unwrap).collect();
    let empty = RecordBatch::new_empty(table.schema());
    let schema = change(batches.first().unwrap_or(&empty)).schema();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), schema, None).unwrap();
    for batch in &batches {
        writer.write(&change(batch)).unwrap();
    }
    writer.close().unwrap();
    let bytes = std::fs::read(path).unwrap();
    let rows = batches.iter().map(|batch| batch.num_rows() as u64).sum();
    FileEntry { rows, bytes: bytes.len() as u64, hash: *blake3::hash(&bytes).as_bytes() }
}

#[test]
fn sources_that_are_still_there_are_read_again_for_the_new_columns() {
    let lake = OldLake::new();
    assert!(lake.problems().iter().any(|problem| problem.contains("schema")), "{:?}", lake.problems());
    run(&lake.options, &Silent).unwrap();
    assert_eq!(lake.problems(), Vec::<String>::new());
    let rows = lake.rows(&TOOL_CALLS);
    assert!(rows.iter().all(|batch| batch.column_by_name("input_shape").unwrap().null_count() == 0));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "files of the test's own")]
fn rows_whose_sources_are_gone_stay_and_have_the_new_columns() {
    let lake = OldLake::new();
    let messages = |lake: &OldLake| lake.rows(&MESSAGES).iter().map(RecordBatch::num_rows).sum::<usize>();
    let before = messages(&lake);
    std::fs::remove_dir_all(lake.folder.path().join("home")).unwrap();
    std::fs::create_dir(lake.folder.path().join("home")).unwrap();
    run(&lake.options, &Silent).unwrap();
    assert_eq!(lake.problems(), Vec::<String>::new());
    assert_eq!(messages(&lake), before);
    let rows = lake.rows(&MESSAGES);
    assert!(rows.iter().all(|batch| batch.column_by_name("text_sketch").unwrap().null_count() == batch.num_rows()));
    assert!(run(&lake.options, &Silent).is_ok());
}

#[test]
#[expect(clippy::disallowed_methods, reason = "files of the test's own")]
fn sums_of_sessions_that_only_the_lake_has_are_made_anew() {
    let zeros: fn(&RecordBatch) -> RecordBatch = without_null_tokens;
    let lake = OldLake::of("amazon-q/worked-example", &[(&SESSIONS, zeros), (&USAGE, zeros)]);
    let totals = |table| -> Vec<Option<i64>> {
        let rows = lake.rows(table);
        let columns = rows.iter().map(|batch| batch.column_by_name("total_tokens").unwrap());
        columns.flat_map(|column| column.as_primitive::<Int64Type>().iter().collect::<Vec<_>>()).collect()
    };
    assert!(totals(&SESSIONS).iter().all(|total| *total == Some(0)), "{:?}", totals(&SESSIONS));
    std::fs::remove_dir_all(lake.folder.path().join("home")).unwrap();
    std::fs::create_dir(lake.folder.path().join("home")).unwrap();
    run(&lake.options, &Silent).unwrap();
    assert_eq!(lake.problems(), Vec::<String>::new());
    for table in [&SESSIONS, &USAGE] {
        assert!(totals(table).iter().all(Option::is_none), "{}: {:?}", table.name, totals(table));
    }
}

#[test]
fn a_run_over_some_of_the_sources_leaves_no_file_behind() {
    let lake = OldLake::new();
    run(&Options { agents: vec!["codex".to_owned()], ..lake.options.clone() }, &Silent).unwrap();
    assert_eq!(lake.problems(), Vec::<String>::new());
    run(&lake.options, &Silent).unwrap();
    let rows = lake.rows(&TOOL_CALLS);
    assert!(rows.iter().all(|batch| batch.column_by_name("input_shape").unwrap().null_count() == 0));
}

/// The same rows with the ids of a parser that named records by position.
fn named_by_place(batch: &RecordBatch) -> RecordBatch {
    let sessions = batch.column_by_name("session_id").unwrap().as_string::<i32>();
    let ids = |of: &str| {
        let ids = (0..batch.num_rows()).map(|row| format!("{}:{of}:{row}", sessions.value(row)));
        Arc::new(StringArray::from_iter_values(ids)) as ArrayRef
    };
    let mut columns = batch.columns().to_vec();
    columns[batch.schema().index_of(own_id(batch)).unwrap()] = ids(own_id(batch));
    RecordBatch::try_new(batch.schema(), columns).unwrap()
}

/// The column of a record's own id.
fn own_id(batch: &RecordBatch) -> &'static str {
    let has = |column: &str| batch.column_by_name(column).is_some();
    match (has("call_id"), has("request_id")) {
        (true, _) => "call_id",
        (false, true) => "response_id",
        (false, false) => "message_id",
    }
}

impl OldLake {
    /// A lake that such a parser made from a fixture.
    #[expect(clippy::disallowed_methods, reason = "files of the test's own")]
    fn of_places(fixture: &str) -> Self {
        let kinds = [(&MESSAGES, Kind::Message), (&TOOL_CALLS, Kind::ToolCall), (&USAGE, Kind::Response)];
        let lake = Self::of(fixture, &[] as &[(&'static TableDef, fn(&RecordBatch) -> RecordBatch)]);
        let agent = lake.manifest().parts.keys().next().unwrap().agent.clone();
        let mut renamed: HashMap<u64, u64> = HashMap::new();
        for (table, kind) in kinds {
            for batch in lake.rows(table) {
                let keys = |batch: &RecordBatch| -> Vec<u64> {
                    let ids = batch.column_by_name(own_id(batch)).unwrap().as_string::<i32>();
                    ids.iter().map(|id| key(&agent, kind, id.unwrap())).collect()
                };
                renamed.extend(keys(&batch).into_iter().zip(keys(&named_by_place(&batch))));
            }
        }
        let changes = kinds.map(|(table, _)| (table, named_by_place as fn(&RecordBatch) -> RecordBatch));
        let lake = Self::of(fixture, &changes);
        let mut manifest = lake.manifest();
        for name in manifest.parts.keys() {
            let path = lake.layout.root().join(Layout::claims(name));
            let mut replicas: Vec<Replica> = claims::open(&path).unwrap().iter().map(StoredReplica::unpack).collect();
            for replica in &mut replicas {
                let name = |key: u64| renamed.get(&key).copied().unwrap_or(key);
                replica.records.iter_mut().for_each(|record| record.key = name(record.key));
                replica.yields.iter_mut().for_each(|it| it.record = name(it.record));
                let renamed = replica.responses.iter().map(|copy| ResponseCopy { key: name(copy.key), ..copy });
                replica.responses = renamed.collect();
            }
            let replicas: Vec<StoredReplica> = replicas.into_iter().map(StoredReplica::whole).collect();
            std::fs::write(path, claims::encode(&replicas).unwrap()).unwrap();
        }
        manifest.sources.values_mut().for_each(|source| source.parser_version = 0);
        manifest.ledger = Ledger::default();
        std::fs::write(lake.layout.manifest(), manifest.encode().unwrap()).unwrap();
        lake
    }

    /// Returns texts of a session's messages, inputs of its calls, or output tokens of its responses, with a mark if
    /// they are gone.
    fn told(&self, table: &TableDef, session: &str, column: &str) -> Vec<String> {
        let mut told = Vec::new();
        for batch in self.rows(table) {
            let sessions = batch.column_by_name("session_id").unwrap().as_string::<i32>();
            let gone = batch.column_by_name("gone_at").unwrap();
            let texts = cast(batch.column_by_name(column).unwrap(), &DataType::Utf8).unwrap();
            for row in (0..batch.num_rows()).filter(|row| sessions.value(*row) == session) {
                let mark = if gone.is_valid(row) { " (gone)" } else { "" };
                told.push(format!("{}{mark}", texts.as_string::<i32>().value(row)));
            }
        }
        told.sort();
        told
    }

    #[expect(clippy::disallowed_methods, reason = "files of the test's own")]
    fn edit(&self, file: &str, from: &str, to: &str) {
        let files = walkdir::WalkDir::new(self.folder.path().join("home")).into_iter().map(Result::unwrap);
        let path = files.map(walkdir::DirEntry::into_path).find(|path| path.ends_with(file)).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        std::fs::write(path, text.replacen(from, to, 1)).unwrap();
    }
}

#[test]
fn records_that_places_named_are_known_again() {
    for fixture in ["cline/history-only", "cline/xml-tools", "kiro-ide/chats"] {
        let lake = OldLake::of_places(fixture);
        let count = |lake: &OldLake| {
            [&MESSAGES, &TOOL_CALLS, &USAGE]
                .map(|table| lake.rows(table).iter().map(RecordBatch::num_rows).sum::<usize>())
        };
        let before = count(&lake);
        run(&lake.options, &Silent).unwrap();
        assert_eq!((count(&lake), lake.problems()), (before, Vec::new()), "{fixture}");
    }
}

/// The task was rewound before its last answer, and continued differently.
#[test]
fn records_that_places_named_are_known_again_in_a_changed_file() {
    let lake = OldLake::of_places("cline/history-only");
    lake.edit("tasks/1760700000000/api_conversation_history.json", "Two files.", "No file.");
    lake.edit("tasks/1760700000000/api_conversation_history.json", "1760700006000", "1760700009000");
    lake.edit("tasks/1760700000000/api_conversation_history.json", "\"pwd\"", "\"date\"");
    lake.edit("tasks/1760700000000/api_conversation_history.json", "\"completion\":50", "\"completion\":60");
    run(&lake.options, &Silent).unwrap();
    let told = |table, column| lake.told(table, "1760700000000", column);
    assert_eq!(told(&MESSAGES, "text"), ["", "A cat.", "No file.", "Two files. (gone)", "look"]);
    assert_eq!(told(&TOOL_CALLS, "command"), ["date", "ls", "pwd (gone)"]);
    assert_eq!(told(&USAGE, "output_tokens"), ["40", "50 (gone)", "60"]);
    assert_eq!(lake.problems(), Vec::<String>::new());
    run(&Options { full: true, ..lake.options.clone() }, &Silent).unwrap();
    assert_eq!(told(&MESSAGES, "text"), ["", "A cat.", "No file.", "Two files. (gone)", "look"]);
}

#[test]
fn records_without_a_moment_that_places_named_are_known_again_in_a_changed_file() {
    let lake = OldLake::of_places("kiro-ide/chats");
    lake.edit("aaa4.chat", "Yes.", "No.");
    run(&lake.options, &Silent).unwrap();
    assert_eq!(lake.told(&MESSAGES, "ex-4", "text"), ["No.", "Yes. (gone)", "alone", "in parts"]);
    assert_eq!(lake.problems(), Vec::<String>::new());
}
