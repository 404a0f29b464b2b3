//! Sources of one JSON object a line: what can be read of each line, and what is wrong with the rest.

use serde::Deserialize;

use super::glued::Glued;
use super::records::read_into;
use super::{Line, Lines, repair};
use crate::extract::{Reject, Sink};

/// The shape of a record, for any lifetime of the line that it borrows from.
pub(crate) trait Shape {
    /// The record of one line.
    type Of<'l>: Deserialize<'l> + Default;
}

/// Takes the records of a source, line by line.
pub(crate) trait RecordReader<'s> {
    /// What a line holds.
    type Record: Shape;
    /// Starts of the objects that may stand on a line behind a torn one.
    const STARTS: &'static [&'static str];

    /// Where lines and problems are counted.
    fn sink(&mut self) -> &mut Sink<'s>;

    /// Takes the record of a line. Lines are counted from 1.
    fn take(&mut self, record: &<Self::Record as Shape>::Of<'_>, line: u64) -> Result<(), Reject>;

    /// Reads all lines. A line that cannot be read is a counted problem, and what can be saved of it is taken.
    fn read_all(&mut self, lines: &mut Lines<'_>) -> Result<(), Reject> {
        while let Some(line) = lines.next_line() {
            self.read_line(&line)?;
        }
        if lines.failed() {
            self.sink().remark("the file could not be read to its end");
        }
        Ok(())
    }

    /// Reads one line.
    fn read_line(&mut self, line: &Line<'_>) -> Result<(), Reject> {
        if line.is_too_long() {
            self.sink().line();
            let reason = format!("the line has {} bytes; longer than 64 MiB is not read", line.length);
            self.sink().problem(line.number, &reason);
            return Ok(());
        }
        if line.bytes.trim_ascii().is_empty() {
            return Ok(());
        }
        self.sink().line();
        if let Ok(text) = simdutf8::basic::from_utf8(line.bytes) {
            let mut record = <Self::Record as Shape>::Of::default();
            if read_into(text, &mut record).is_ok() {
                return self.take(&record, line.number);
            }
        }
        self.save(line)
    }

    /// Takes what can be saved of a line that is no sound JSON.
    fn save(&mut self, line: &Line<'_>) -> Result<(), Reject> {
        let repaired = repair(line.bytes);
        if repaired.trim().is_empty() {
            return Ok(());
        }
        let mut objects = Glued::new(&repaired, Self::STARTS, line.ended);
        let mut is_behind_torn = false;
        while let Some(record) = objects.next() {
            is_behind_torn |= objects.error().is_some();
            self.take(&record, line.number)?;
        }
        let Some(error) = objects.error() else { return Ok(()) };
        if is_behind_torn {
            self.sink().problem(line.number, "a torn record; the one behind it on the line was read");
            return Ok(());
        }
        let reason = if line.ended { format!("no JSON object: {error}") } else { "the last line is torn".to_owned() };
        self.sink().problem(line.number, &reason);
        Ok(())
    }
}
