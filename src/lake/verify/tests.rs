//! Files that are readable and in the manifest, but wrong. The manifest is changed to agree with each.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, ListArray, RecordBatch, StringArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Int64Type};

use super::State;
use crate::etl::{Options, Silent};
use crate::extract::Facts;
use crate::lake::layout::Layout;
use crate::lake::manifest::{Manifest, Marks, SessionEntry};
use crate::lake::part::{self, PartWriter};
use crate::lake::syncer::Syncer;
use crate::tables::LAKE_TABLES;

struct Subject {
    _folder: tempfile::TempDir,
    layout: Layout,
    manifest: Manifest,
}

impl Subject {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/claude-code/worked-example/home");
        let options = Options {
            home: Some(home),
            jobs: Some(1),
            machine: Some("bench".to_owned()),
            ..Options::new(folder.path().join("lake"))
        };
        crate::etl::run(&options, &Silent).unwrap();
        let layout = Layout::new(&options.lake);
        let manifest = Manifest::load(&layout).unwrap().unwrap();
        Self { _folder: folder, layout, manifest }
    }

    fn problems(self) -> Vec<String> {
        State::of(&self.layout, self.manifest).problems(&self.layout, true).unwrap()
    }

    /// Rewrites the first part's file of a table, and updates the manifest.
    fn rewrite(mut self, table: &str, change: impl Fn(RecordBatch) -> RecordBatch) -> Self {
        let place = LAKE_TABLES.iter().position(|other| other.name == table).unwrap();
        let (name, entry) = self.manifest.parts.iter_mut().next().unwrap();
        let path = self.layout.root().join(Layout::part(LAKE_TABLES[place], &self.manifest.machine, name));
        let syncer = Syncer::start();
        let mut writer = PartWriter::new(&self.layout.state(), "changed", &syncer);
        for batch in part::read(&path, LAKE_TABLES[place]).unwrap() {
            writer.write(place, &change(batch.unwrap())).unwrap();
        }
        let staged = writer.finish().unwrap().into_iter().flatten().next();
        match &staged {
            Some(staged) => crate::lake::fs::rename(&staged.path, &path).unwrap(),
            None => crate::lake::fs::remove(&path).unwrap(),
        }
        entry.files[place] = staged.map(|staged| staged.entry);
        self
    }
}

fn with_column(batch: &RecordBatch, column: &str, change: impl Fn(&ArrayRef) -> ArrayRef) -> RecordBatch {
    let place = batch.schema().index_of(column).unwrap();
    let mut columns = batch.columns().to_vec();
    columns[place] = change(&columns[place]);
    RecordBatch::try_new(batch.schema(), columns).unwrap()
}

fn raised(batch: &RecordBatch, column: &str) -> RecordBatch {
    with_column(batch, column, |numbers| {
        let numbers = numbers.as_primitive::<Int64Type>().iter();
        Arc::new(numbers.map(|number| number.map(|number| number + 1)).collect::<Int64Array>())
    })
}

fn all_the_same(batch: &RecordBatch, column: &str, text: &str) -> RecordBatch {
    with_column(batch, column, |values| {
        let texts = Arc::new(StringArray::from(vec![text; values.len()]));
        match values.data_type() {
            DataType::List(item) => {
                let one_each = OffsetBuffer::from_lengths(vec![1; values.len()]);
                Arc::new(ListArray::new(Arc::clone(item), one_each, texts, None))
            }
            _ => texts,
        }
    })
}

fn assert_found(problems: &[String], part: &str) {
    assert!(problems.iter().any(|problem| problem.contains(part)), "{part} not in {problems:#?}");
}

#[test]
fn a_right_lake_has_no_problems() {
    assert_eq!(Subject::new().problems(), Vec::<String>::new());
}

#[test]
fn each_counter_of_a_session_is_held_against_its_rows() {
    for column in
        ["prompts", "messages", "tool_calls", "output_tokens", "total_tokens", "turns", "active_ms", "tool_errors"]
    {
        let problems = Subject::new().rewrite("sessions", |batch| raised(&batch, column)).problems();
        assert_found(&problems, &format!(": {column} "));
    }
    let problems = Subject::new().rewrite("usage", |batch| raised(&batch, "output_tokens")).problems();
    assert_found(&problems, ": output_tokens ");
}

#[test]
fn a_value_that_its_column_may_not_take_is_found() {
    for table in LAKE_TABLES {
        for column in table.columns.iter().filter(|column| !column.values.is_empty()) {
            let changed = Subject::new().rewrite(table.name, |batch| all_the_same(&batch, column.name, "novel"));
            let problems = changed.problems();
            assert_found(&problems, &format!("has {} `novel`, which this llrem does not know", column.name));
        }
    }
}

#[test]
fn rows_belong_to_sessions_and_are_told_apart() {
    for (table, column) in [("messages", "message_id"), ("usage", "response_id"), ("tool_calls", "call_id")] {
        let problems = Subject::new().rewrite(table, |batch| {
            let twice = arrow::compute::concat_batches(&batch.schema(), [&batch, &batch]).unwrap();
            all_the_same(&twice, column, "same")
        });
        assert_found(&problems.problems(), &format!("has {column} `same`, which the lake has already"));
    }
    let problems =
        Subject::new().rewrite("messages", |batch| all_the_same(&batch, "session_id", "stranger")).problems();
    assert_found(&problems, "session `stranger`");
    let problems = Subject::new().rewrite("sessions", |batch| batch.slice(0, 0)).problems();
    assert!(!problems.is_empty());
}

#[test]
fn the_manifest_itself_is_held_against_the_lake() {
    let mut subject = Subject::new();
    subject.manifest.parts.values_mut().next().unwrap().sessions[0].rows[0] += 1;
    assert_found(&subject.problems(), "the manifest says");
    let mut subject = Subject::new();
    subject.manifest.parts.values_mut().next().unwrap().sessions[0].sources.push("/nowhere.jsonl".into());
    assert_found(&subject.problems(), "/nowhere.jsonl");
    let mut subject = Subject::new();
    subject.manifest.parts.values_mut().next().unwrap().sessions[0].started_at = Some(0);
    assert_found(&subject.problems(), "began in 1970-01");
}

#[test]
fn a_session_without_rows_has_its_own_all_the_same() {
    let mut subject = Subject::new();
    let part = subject.manifest.parts.values_mut().next().unwrap();
    let begun = Facts { is_one_when_empty: true, ..Facts::default() };
    let empty = SessionEntry { id: "empty".into(), marks: Marks::of(&begun), rows: [0; 3], ..part.sessions[0].clone() };
    part.sessions.push(empty);
    assert_found(&subject.problems(), "`sessions` lacks it");
}
