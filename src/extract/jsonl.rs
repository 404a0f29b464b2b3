//! Sources with one JSON object per line. Reads what can be read of each line, and reports the rest.

mod broken;
mod glued;

use super::Sink;
use crate::source::records::{Shape, read_into};
use crate::source::{Line, Lines, Reject, Source, TORN_END, repair};
pub(crate) use broken::Broken;
use broken::Joined;
use glued::Glued;

/// Receives the records of a source, line by line.
pub(crate) trait RecordReader<'s> {
    /// The record of a line.
    type Record: Shape;
    /// Beginnings of objects that may follow a torn one on a line.
    const STARTS: &'static [&'static str];

    /// Returns the sink that counts lines and problems.
    fn sink(&mut self) -> &mut Sink<'s>;

    /// Returns the buffer for lines that may form one record, if the program is known not to escape all line ends.
    fn broken(&mut self) -> Option<&mut Broken> {
        None
    }

    /// Receives the record of a line. Lines are counted from 1.
    fn take(&mut self, record: &<Self::Record as Shape>::Of<'_>, line: u64) -> Result<(), Reject>;

    /// Reads all lines. A damaged line is a counted problem, and what can be recovered of it is read.
    fn read_all(&mut self, lines: &mut Lines<'_>) -> Result<(), Reject> {
        while let Some(line) = lines.next_line() {
            self.read_line(&line)?;
            self.sink().note_out_of_range(line.number);
        }
        self.save_broken()?;
        if lines.failed() {
            self.sink().remark("the file could not be read to its end");
        }
        if let Some(most) = lines.cut_at() {
            let reason = format!("no more than {} MiB of a compressed file are read; it holds more", most >> 20);
            self.sink().problem(lines.number() + 1, &reason);
        }
        Ok(())
    }

    /// Reads one line.
    fn read_line(&mut self, line: &Line<'_>) -> Result<(), Reject> {
        if line.is_too_long() {
            self.save_broken()?;
            self.sink().line();
            let reason = format!("the line has {} bytes; longer than 64 MiB is not read", line.length);
            self.sink().problem(line.number, &reason);
            return Ok(());
        }
        if line.bytes.trim_ascii().is_empty() {
            return if self.is_broken() { self.hold(line) } else { Ok(()) };
        }
        self.sink().line();
        if let Ok(text) = simdutf8::basic::from_utf8(line.bytes) {
            let mut record = <Self::Record as Shape>::Of::default();
            if read_into(text, &mut record).is_ok() {
                self.save_broken()?;
                return self.take(&record, line.number);
            }
        }
        self.hold(line)
    }

    /// True if the previous lines are the beginning of a record.
    fn is_broken(&mut self) -> bool {
        self.broken().is_some_and(|broken| !broken.is_empty())
    }

    /// Reads a line that is no record by itself, if it ends a record of several lines.
    fn hold(&mut self, line: &Line<'_>) -> Result<(), Reject> {
        let Some(broken) = self.broken() else { return self.save(line) };
        let text = match broken.add(line) {
            Joined::Whole(text) => text,
            Joined::Beginning => return Ok(()),
            Joined::Nothing => return self.save_broken(),
        };
        let first = broken.take().first().map_or(line.number, |part| part.line().number);
        let mut record = <Self::Record as Shape>::Of::default();
        if read_into(&text, &mut record).is_err() {
            self.sink().problem(first, "no JSON object");
            return Ok(());
        }
        self.sink().remark(&format!("line {first}: a record on {} lines, which was read", line.number - first + 1));
        self.take(&record, first)
    }

    /// Recovers records from lines that form no record together.
    fn save_broken(&mut self) -> Result<(), Reject> {
        let parts = self.broken().map(Broken::take).unwrap_or_default();
        parts.iter().try_for_each(|part| self.save(&part.line()))
    }

    /// Recovers records from a line that is no valid JSON.
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
            self.sink().problem(line.number, "a torn record; the one after it on the line was read");
            return Ok(());
        }
        let reason = if line.ended { format!("no JSON object: {error}") } else { TORN_END.to_owned() };
        self.sink().problem(line.number, &reason);
        Ok(())
    }
}

/// Reads a small file of one JSON object per line. A line that is no object is a counted problem.
pub(crate) fn each_record<'s, S: Shape>(
    source: &mut Source<'_>,
    out: &mut Sink<'s>,
    mut take: impl for<'l> FnMut(&S::Of<'l>, u64, &mut Sink<'s>),
) -> Result<(), Reject> {
    let mut lines = source.lines()?;
    while let Some(line) = lines.next_line() {
        if line.bytes.trim_ascii().is_empty() {
            continue;
        }
        out.line();
        match serde_json::from_str(&repair(line.bytes)) {
            Ok(record) => take(&record, line.number, out),
            Err(_) => out.problem(line.number, if line.ended { "no JSON object" } else { TORN_END }),
        }
    }
    Ok(())
}
