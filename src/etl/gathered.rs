//! Merges the rows of a session that come from several sources and from the lake. Beyond a bound, messages and tool calls
//! wait on disk, so that the memory of a run does not grow with its largest session.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fs::File;
use std::io::Seek;
use std::path::{Path, PathBuf};

use arrow::array::{AsArray, Int64Array, RecordBatch};
use arrow::compute::{concat_batches, sort_to_indices, take_record_batch};
use arrow::datatypes::Int64Type;
use arrow::error::ArrowError;
use arrow::ipc::reader::FileReader;
use arrow::ipc::writer::FileWriter;

use crate::error::{Error, Result};
use crate::tables::{MESSAGES, PerRecordTable, TOOL_CALLS, TableDef, bytes_of};

/// Size of a piece of rows that is read back at a time. Bytes.
const PIECE: usize = 256 << 10;
/// Most rows of a batch in order.
const BATCH_ROWS: usize = 1024;

/// Rows of a session, from numbered sources.
pub(super) struct Gathered {
    pub(super) messages: Runs,
    pub(super) tool_calls: Runs,
    /// Rows of usage have no texts, and stay in memory.
    pub(super) usage: Vec<(usize, RecordBatch)>,
    /// Most bytes of messages and tool calls in memory.
    most_held: usize,
}

impl Gathered {
    /// Creates an empty collection. Rows beyond `most_held` bytes wait in unnamed files in `folder`.
    pub(super) fn new(folder: &Path, most_held: usize) -> Self {
        let runs = |table| Runs::new(table, folder.to_owned());
        Self { messages: runs(&MESSAGES), tool_calls: runs(&TOOL_CALLS), usage: Vec::new(), most_held }
    }

    /// Adds rows of a source.
    pub(super) fn add(
        &mut self,
        source: usize,
        [messages, tool_calls, usage]: PerRecordTable<RecordBatch>,
    ) -> Result<()> {
        self.messages.add(source, messages)?;
        self.tool_calls.add(source, tool_calls)?;
        self.usage.push((source, usage));
        if self.messages.held_bytes + self.tool_calls.held_bytes > self.most_held {
            self.messages.store()?;
            self.tool_calls.store()?;
        }
        Ok(())
    }
}

/// Rows of one table, as sorted runs.
pub(super) struct Runs {
    table: &'static TableDef,
    folder: PathBuf,
    runs: Vec<Run>,
    /// Run, and index in that run, of each piece in memory.
    held: Vec<(usize, usize)>,
    held_bytes: usize,
    file: Option<FileWriter<File>>,
    stored: usize,
}

/// Rows of one source in the order of their places.
struct Run {
    source: usize,
    pieces: VecDeque<Piece>,
    last: i64,
}

struct Piece {
    first: i64,
    rows: Rows,
}

enum Rows {
    Held(RecordBatch),
    /// Number of the batch in the file.
    Stored(usize),
}

impl Runs {
    fn new(table: &'static TableDef, folder: PathBuf) -> Self {
        Self { table, folder, runs: Vec::new(), held: Vec::new(), held_bytes: 0, file: None, stored: 0 }
    }

    fn add(&mut self, source: usize, batch: RecordBatch) -> Result<()> {
        let batch = self.sorted(batch)?;
        let places = self.places(&batch);
        let (Some(first), Some(last)) = (places.first().copied(), places.last().copied()) else { return Ok(()) };
        match self.runs.last_mut().filter(|run| run.source == source && run.last <= first) {
            Some(run) => run.last = last,
            None => self.runs.push(Run { source, pieces: VecDeque::new(), last }),
        }
        let (rows, bytes) = (batch.num_rows(), bytes_of(&batch)?);
        self.held_bytes += bytes;
        let step = (rows * PIECE / bytes.max(1)).clamp(1, rows);
        let number = self.runs.len() - 1;
        let Some(run) = self.runs.last_mut() else { return Ok(()) };
        for from in (0..rows).step_by(step) {
            let first = places.get(from).copied().unwrap_or(first);
            self.held.push((number, run.pieces.len()));
            run.pieces.push_back(Piece { first, rows: Rows::Held(batch.slice(from, step.min(rows - from))) });
        }
        Ok(())
    }

    /// Moves the rows that are in memory to disk.
    fn store(&mut self) -> Result<()> {
        for (run, piece) in std::mem::take(&mut self.held) {
            let piece = self.runs.get_mut(run).and_then(|run| run.pieces.get_mut(piece));
            if let Some(Piece { rows, .. }) = piece
                && let Rows::Held(batch) = rows
            {
                let file = match &mut self.file {
                    Some(file) => file,
                    None => {
                        let file = tempfile::tempfile_in(&self.folder).map_err(Error::io("write", &self.folder))?;
                        let file = FileWriter::try_new(file, &self.table.schema());
                        self.file.insert(file.map_err(failed("write", &self.folder))?)
                    }
                };
                file.write(batch).map_err(failed("write", &self.folder))?;
                *rows = Rows::Stored(self.stored);
                self.stored += 1;
            }
        }
        self.held_bytes = 0;
        Ok(())
    }

    /// Passes all rows to `take`, in the order of their places. `prepare` first changes the rows of each source.
    pub(super) fn each(
        mut self,
        mut prepare: impl FnMut(usize, RecordBatch) -> Result<RecordBatch>,
        mut take: impl FnMut(RecordBatch) -> Result<()>,
    ) -> Result<()> {
        let mut file = self.file.take().map(|file| reader(file, &self.folder)).transpose()?;
        let mut runs: Vec<OpenRun> =
            std::mem::take(&mut self.runs).into_iter().map(|run| OpenRun::new(self.table, run)).collect();
        let place = |(number, run): (usize, &OpenRun)| Some(Reverse((self.next_place(run)?, number)));
        let mut next: BinaryHeap<Reverse<(i64, usize)>> = runs.iter().enumerate().filter_map(place).collect();
        let (mut ready, mut ready_rows) = (Vec::new(), 0);
        while let Some(Reverse((_, number))) = next.pop() {
            let Some(run) = runs.get_mut(number) else { break };
            if run.rows.num_rows() == 0
                && let Some(piece) = run.pieces.pop_front()
            {
                let rows = match piece.rows {
                    Rows::Held(batch) => batch,
                    Rows::Stored(number) => self.read_back(file.as_mut(), number)?,
                };
                run.rows = prepare(run.source, rows)?;
            }
            let other = next.peek().map_or((i64::MAX, usize::MAX), |Reverse(other)| *other);
            let rows = self.places(&run.rows).partition_point(|place| (*place, number) < other);
            // At least one, so that a damaged file cannot keep the loop going.
            let rows = rows.max(1).min(run.rows.num_rows());
            ready.push(run.rows.slice(0, rows));
            ready_rows += rows;
            run.rows = run.rows.slice(rows, run.rows.num_rows() - rows);
            if run.rows.num_rows() == 0 || ready_rows >= BATCH_ROWS {
                take(concat_batches(&self.table.schema(), &ready)?)?;
                ready.clear();
                ready_rows = 0;
            }
            next.extend(self.next_place(run).map(|place| Reverse((place, number))));
        }
        if ready.is_empty() { Ok(()) } else { take(concat_batches(&self.table.schema(), &ready)?) }
    }

    fn read_back(&self, file: Option<&mut FileReader<File>>, number: usize) -> Result<RecordBatch> {
        let read = |file: &mut FileReader<File>| {
            file.set_index(number)?;
            file.next().transpose()
        };
        let batch = file.map(read).transpose().map_err(failed("read", &self.folder))?;
        Ok(batch.flatten().unwrap_or_else(|| RecordBatch::new_empty(self.table.schema())))
    }

    fn next_place(&self, run: &OpenRun) -> Option<i64> {
        let of_rows = self.places(&run.rows).first().copied();
        of_rows.or_else(|| run.pieces.front().map(|piece| piece.first))
    }

    fn places<'b>(&self, batch: &'b RecordBatch) -> &'b [i64] {
        let column = self.table.index_of("seq").and_then(|index| batch.columns().get(index));
        let places = column.and_then(|column| column.as_primitive_opt::<Int64Type>());
        places.map(|places| &**Int64Array::values(places)).unwrap_or_default()
    }

    fn sorted(&self, batch: RecordBatch) -> Result<RecordBatch> {
        if self.places(&batch).is_sorted() { Ok(batch) } else { in_order_of("seq", &batch) }
    }
}

/// A run that is being read.
struct OpenRun {
    source: usize,
    rows: RecordBatch,
    pieces: VecDeque<Piece>,
}

impl OpenRun {
    fn new(table: &TableDef, run: Run) -> Self {
        Self { source: run.source, rows: RecordBatch::new_empty(table.schema()), pieces: run.pieces }
    }
}

/// Returns the rows of a batch in the order of a column.
pub(super) fn in_order_of(column: &str, batch: &RecordBatch) -> Result<RecordBatch> {
    let Some(column) = batch.column_by_name(column) else { return Ok(batch.clone()) };
    let order = sort_to_indices(column, None, None)?;
    Ok(take_record_batch(batch, &order)?)
}

fn reader(mut file: FileWriter<File>, folder: &Path) -> Result<FileReader<File>> {
    file.finish().map_err(failed("write", folder))?;
    let mut file = file.into_inner().map_err(failed("write", folder))?;
    file.rewind().map_err(Error::io("read", folder))?;
    FileReader::try_new(file, None).map_err(failed("read", folder))
}

fn failed(action: &'static str, folder: &Path) -> impl FnOnce(ArrowError) -> Error {
    move |error| match error {
        ArrowError::IoError(_, source) => Error::io(action, folder)(source),
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tables::{MessageRow, Messages, ToolCalls, Usage};

    fn messages(source: usize, places: &[i64]) -> RecordBatch {
        let mut rows = Messages::default();
        for place in places {
            let text = format!("{source}:{place}");
            rows.push(MessageRow { seq: *place, text: Some(&text), ..MessageRow::default() });
        }
        rows.finish().unwrap()
    }

    /// The texts of all rows in the order that they come in. Each source marks its rows.
    fn texts(sources: &[Vec<Vec<i64>>], most_held: usize) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let mut gathered = Gathered::new(folder.path(), most_held);
        for (source, batches) in sources.iter().enumerate() {
            for places in batches {
                let others = [ToolCalls::default().finish().unwrap(), Usage::default().finish().unwrap()];
                let [tool_calls, usage] = others;
                gathered.add(source, [messages(source, places), tool_calls, usage]).unwrap();
            }
        }
        let mut texts = Vec::new();
        let prepare = |source: usize, batch: RecordBatch| {
            let rows = MESSAGES.schema().index_of("text").map(|column| batch.column(column).clone())?;
            assert!(rows.as_string::<i32>().iter().flatten().all(|text| text.starts_with(&format!("{source}:"))));
            Ok(batch)
        };
        let take = |batch: RecordBatch| {
            let column = batch.column_by_name("text").unwrap().as_string::<i32>();
            texts.extend(column.iter().flatten().map(str::to_owned));
            Ok(())
        };
        gathered.messages.each(prepare, take).unwrap();
        assert!(folder.path().read_dir().unwrap().next().is_none(), "no file stays");
        texts
    }

    proptest! {
        #[test]
        fn rows_come_in_order_whether_they_wait_in_memory_or_on_disk(
            sources in prop::collection::vec(prop::collection::vec(prop::collection::vec(0_i64..500, 0..30), 0..6), 0..5)
        ) {
            let held = texts(&sources, usize::MAX);
            let rows = sources.iter().enumerate().flat_map(|(source, batches)| {
                batches.iter().flatten().map(move |place| (*place, format!("{source}:{place}")))
            });
            let mut expected: Vec<(i64, String)> = rows.collect();
            expected.sort();
            let expected: Vec<String> = expected.into_iter().map(|(_, text)| text).collect();
            prop_assert_eq!(&held, &expected);
            for most_held in [0, 2000] {
                prop_assert_eq!(&texts(&sources, most_held), &expected);
            }
        }
    }
}
