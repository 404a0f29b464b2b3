//! A lake that another llrem wrote, whose tables had fewer columns.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::datatypes::Int64Type;
use parquet::arrow::ArrowWriter;

use super::{Options, Silent, run};
use crate::lake::layout::Layout;
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

    /// A lake made of a fixture, whose tables were changed to what they were.
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

/// Sums of tokens as they were: 0 where none was said.
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

/// Writes a file anew with changed rows.
#[expect(clippy::disallowed_methods, reason = "files of the test's own")]
fn rewrite(path: &Path, table: &TableDef, change: impl Fn(&RecordBatch) -> RecordBatch) -> FileEntry {
    let batches: Vec<RecordBatch> = part::read(path, table).unwrap().map(Result::unwrap).collect();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), change(&batches[0]).schema(), None).unwrap();
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
