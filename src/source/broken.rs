//! A record that lies on several lines, because the program did not escape the line ends in one of its texts.

use serde::de::IgnoredAny;

use super::{Line, repair};

/// Lines that one record may lie on.
const LINES: usize = 16;

/// Bytes that it may have.
const BYTES: usize = 4 << 20;

/// The lines so far of what may be one record.
#[derive(Default)]
pub(crate) struct Broken {
    lines: Vec<Part>,
    bytes: usize,
}

/// A line that is held.
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

/// What the lines are together.
pub(super) enum Joined {
    /// A whole record.
    Whole(String),
    /// The beginning of one.
    Beginning,
    /// Nothing that can be read.
    Nothing,
}

impl Broken {
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Adds a line that is none by itself.
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

    /// The lines that are held; they are held no longer.
    pub(super) fn take(&mut self) -> Vec<Part> {
        self.bytes = 0;
        std::mem::take(&mut self.lines)
    }
}
