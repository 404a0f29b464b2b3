//! Joins a record that spans several lines, because the program did not escape the line ends in one of its texts.

use serde::de::IgnoredAny;

use crate::source::{Line, repair};

/// Most lines of one record.
const LINES: usize = 16;

/// Most bytes of one record.
const BYTES: usize = 4 << 20;

/// The lines so far of what may be one record.
#[derive(Default)]
pub(crate) struct Broken {
    lines: Vec<Part>,
    bytes: usize,
}

/// A stored line.
pub(super) struct Part {
    number: u64,
    bytes: Vec<u8>,
    ended: bool,
}

impl Part {
    pub(super) fn line(&self) -> Line<'_> {
        Line { number: self.number, bytes: &self.bytes, length: self.bytes.len() as u64, ended: self.ended }
    }
}

/// The result of joining lines.
pub(super) enum Joined {
    /// A whole record.
    Whole(String),
    /// The beginning of one.
    Beginning,
    /// Nothing readable.
    Nothing,
}

impl Broken {
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Adds a line that is no record by itself.
    pub(super) fn add(&mut self, line: &Line<'_>) -> Joined {
        self.bytes += line.bytes.len();
        self.lines.push(Part { number: line.number, bytes: line.bytes.to_vec(), ended: line.ended });
        if self.bytes > BYTES {
            return Joined::Nothing;
        }
        let joined = self.lines.iter().map(|part| repair(&part.bytes)).collect::<Vec<_>>().join("\\n");
        match serde_json::from_str::<IgnoredAny>(&joined) {
            Ok(_) if self.lines.len() > 1 => Joined::Whole(joined),
            Err(error) if error.is_eof() && self.lines.len() < LINES => Joined::Beginning,
            _ => Joined::Nothing,
        }
    }

    /// Takes the stored lines.
    pub(super) fn take(&mut self) -> Vec<Part> {
        self.bytes = 0;
        std::mem::take(&mut self.lines)
    }
}
