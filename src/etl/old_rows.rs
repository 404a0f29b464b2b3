//! Rows of unchanged sessions, on their way from old data files into a new one. Unchanged row groups are copied byte by
//! byte, so the cost of a change does not grow with the file.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use arrow::array::cast::AsArray;
use arrow::array::{Array, RecordBatch};

use crate::error::{Error, Result};
use crate::lake::layout::{Layout, PartName};
use crate::lake::manifest::PartEntry;
use crate::lake::part::{self, PartReader, PartWriter};
use crate::lake::stored::StoredFile;
use crate::tables::{LAKE_TABLES, TableDef};

/// Row groups smaller than this are rewritten together with their neighbours, because readers set up every column of
/// each. Bytes as stored.
const COPIED_BYTES: i64 = 128 << 10;

const NOT_THEIRS: &str = "its rows are not those of the sessions that it should have";

/// A session of one of the parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Index of the part.
    pub(super) part: usize,
    /// Index of the session in the part.
    pub(super) session: usize,
}

/// The rows of some parts, read as needed.
pub(super) struct OldRows {
    parts: Vec<[Option<OldTable>; 3]>,
}

/// A data file that is read session by session.
struct OldTable {
    table: &'static TableDef,
    file: StoredFile,
    /// The first row of each session, and the end of the last.
    sessions: Vec<u64>,
    ids: Vec<Arc<str>>,
    groups: Vec<Group>,
    reading: Option<Reading>,
}

/// A row group.
struct Group {
    from: u64,
    to: u64,
    /// True if the whole group is copied into the new file.
    is_whole: bool,
}

/// A row group that is being read.
struct Reading {
    group: usize,
    reader: PartReader,
    /// First row of the next batch in the file.
    row: u64,
    /// The rest of the last batch.
    rest: Option<RecordBatch>,
}

impl OldRows {
    /// Opens the files of some parts. `order` is the order of sessions in the new part; it is `None` for sessions of
    /// other parts.
    pub(super) fn open(
        layout: &Layout,
        machine: &str,
        parts: &[(&PartName, &PartEntry)],
        order: &[Option<Place>],
    ) -> Result<Self> {
        Self::open_with(layout, machine, parts, order, COPIED_BYTES)
    }

    /// Like [`Self::open`], with the smallest size of row groups that are copied.
    fn open_with(
        layout: &Layout,
        machine: &str,
        parts: &[(&PartName, &PartEntry)],
        order: &[Option<Place>],
        smallest: i64,
    ) -> Result<Self> {
        let parts = parts.iter().enumerate().map(|(part, (name, entry))| {
            let mut tables = [const { None }; 3];
            for (number, slot) in tables.iter_mut().enumerate() {
                let table = LAKE_TABLES.get(number + 1).copied();
                let file = entry.files.get(number + 1).and_then(Option::as_ref);
                if let (Some(table), Some(written)) = (table, file) {
                    let file = StoredFile::open(&layout.root().join(Layout::part(table, machine, name)))?;
                    let mut old = OldTable::new(table, file, entry, number)?;
                    if old.mark_whole(part, order, smallest) {
                        old.file.check(written)?;
                    }
                    *slot = Some(old);
                }
            }
            Ok(tables)
        });
        Ok(Self { parts: parts.collect::<Result<_>>()? })
    }

    /// Copies a session's rows. Call it in the order of the new part.
    pub(super) fn copy(&mut self, place: Place, writer: &mut PartWriter<'_>) -> Result<()> {
        let tables = self.parts.get_mut(place.part).into_iter().flatten();
        for (number, table) in (1..).zip(tables) {
            if let Some(table) = table {
                table.copy(place.session, number, writer)?;
            }
        }
        Ok(())
    }
}

impl OldTable {
    fn new(table: &'static TableDef, file: StoredFile, part: &PartEntry, number: usize) -> Result<Self> {
        let mut end = 0;
        let mut sessions = vec![0];
        for session in &part.sessions {
            end += session.rows.get(number).copied().unwrap_or(0);
            sessions.push(end);
        }
        let mut from = 0;
        let groups = file.groups().iter().map(|group| {
            let begun = from;
            from += group.num_rows().unsigned_abs();
            Group { from: begun, to: from, is_whole: false }
        });
        let groups = groups.collect();
        if from != end {
            return Err(Error::damaged(file.path())(NOT_THEIRS));
        }
        let ids = part.sessions.iter().map(|session| session.id.clone()).collect();
        Ok(Self { table, file, sessions, ids, groups, reading: None })
    }

    fn rows_of(&self, session: usize) -> (u64, u64) {
        let at = |place: usize| self.sessions.get(place).copied().unwrap_or_default();
        (at(session), at(session + 1).max(at(session)))
    }

    fn is_without_rows(&self, session: usize) -> bool {
        let (from, to) = self.rows_of(session);
        from == to
    }

    /// Finds the row groups that can be copied whole. Returns true if there are any.
    fn mark_whole(&mut self, part: usize, order: &[Option<Place>], smallest: i64) -> bool {
        if !part::has_columns_of(&self.file, self.table) {
            return false;
        }
        for number in 0..self.groups.len() {
            let is_large = self.file.groups().get(number).is_some_and(|group| group.compressed_size() >= smallest);
            let is_whole =
                is_large && self.groups.get(number).is_some_and(|group| self.stays_together(group, part, order));
            if let Some(group) = self.groups.get_mut(number) {
                group.is_whole = is_whole;
            }
        }
        self.groups.iter().any(|group| group.is_whole)
    }

    /// True if the sessions of a row group have the same order in the new part.
    fn stays_together(&self, group: &Group, part: usize, order: &[Option<Place>]) -> bool {
        let overlaps = |session: &usize| {
            let (from, to) = self.rows_of(*session);
            from < to && from < group.to && group.from < to
        };
        let mut theirs = (0..self.ids.len()).filter(overlaps).peekable();
        let Some(first) = theirs.peek().map(|session| Place { part, session: *session }) else { return false };
        for place in order.iter().skip_while(|place| **place != Some(first)) {
            let own = place.filter(|place| place.part == part).map(|place| place.session);
            match own {
                Some(session) if theirs.peek() == Some(&session) => theirs.next(),
                Some(session) if self.is_without_rows(session) => continue,
                _ => break,
            };
            if theirs.peek().is_none() {
                return true;
            }
        }
        false
    }

    fn copy(&mut self, session: usize, number: usize, writer: &mut PartWriter<'_>) -> Result<()> {
        let (from, to) = self.rows_of(session);
        for place in 0..self.groups.len() {
            let Some(group) = self.groups.get(place).filter(|group| group.from < to && from < group.to) else {
                continue;
            };
            let (begin, end) = (from.max(group.from), to.min(group.to));
            if !group.is_whole {
                self.read(place, begin, end, session, |batch| writer.write(number, batch))?;
            } else if begin == group.from {
                // The rows of the following sessions are copied with these.
                writer.copy_group(number, &self.file, place)?;
            }
        }
        Ok(())
    }

    /// Reads rows of a group that were not read before.
    fn read(
        &mut self,
        group: usize,
        from: u64,
        to: u64,
        session: usize,
        mut take: impl FnMut(&RecordBatch) -> Result<()>,
    ) -> Result<()> {
        let begun = self.groups.get(group).map_or(0, |group| group.from);
        let mut reading = match self.reading.take().filter(|reading| reading.group == group) {
            Some(reading) => reading,
            None => {
                let reader = part::read_group(&self.file, group, self.table)?;
                Reading { group, reader, row: begun, rest: None }
            }
        };
        while reading.row < to {
            let batch = reading.rest.take().map(Ok).or_else(|| reading.reader.next());
            let Some(batch) = batch.transpose().map_err(Error::damaged(self.file.path()))? else {
                return Err(Error::damaged(self.file.path())("a row group has fewer rows than its footer says"));
            };
            let rows = batch.num_rows() as u64;
            let wanted = from.saturating_sub(reading.row).min(rows)..(to - reading.row).min(rows);
            let (begin, end) = (index(wanted.start), index(wanted.end));
            if begin < end {
                let wanted = batch.slice(begin, end - begin);
                self.check(&wanted, session)?;
                take(&wanted)?;
            }
            if end < batch.num_rows() {
                reading.rest = Some(batch.slice(end, batch.num_rows() - end));
            }
            reading.row += wanted.end;
        }
        self.reading = Some(reading);
        Ok(())
    }

    /// Checks that the rows of a file are where the manifest says.
    fn check(&self, rows: &RecordBatch, session: usize) -> Result<()> {
        let ids = rows.columns().first().and_then(|column| column.as_string_opt::<i32>());
        let id = self.ids.get(session).map(|id| &**id);
        if ids.is_some_and(|ids| (0..ids.len()).all(|row| Some(ids.value(row)) == id)) {
            return Ok(());
        }
        Err(Error::damaged(self.file.path())(NOT_THEIRS))
    }
}

fn index(row: u64) -> usize {
    usize::try_from(row).unwrap_or(usize::MAX)
}
