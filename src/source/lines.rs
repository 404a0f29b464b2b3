//! Lines of a file of any size, in one growing buffer. Lines over the limit are not kept.

use std::cell::Cell;
use std::io::Read;

use super::MAX_LINE;
use crate::interrupt::interrupted;

/// Bytes per read: many enough that calls cost nothing, few enough for the cache.
const CHUNK: usize = 256 << 10;

/// Largest buffer that is kept for the next file.
const KEPT: usize = 8 << 20;

thread_local! {
    /// The last file's buffer: most files are small, and fresh memory costs more than reading them.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Reads a file line by line.
pub struct Lines<'a> {
    file: Box<dyn Read>,
    left: u64,
    buffer: Vec<u8>,
    /// Bytes of the buffer with file content.
    filled: usize,
    /// Beginning of the next line in the buffer.
    start: usize,
    number: u64,
    failed: bool,
    /// Most bytes to decompress.
    most: Option<u64>,
    /// True if the file has more than that.
    is_cut: bool,
    /// True if the buffer no longer begins at the beginning of the file.
    has_moved: bool,
    progress: &'a dyn Fn(u64),
}

/// One line, without its end.
pub struct Line<'b> {
    /// Number in the file, from 1.
    pub number: u64,
    /// Its bytes; empty if it was too long.
    pub bytes: &'b [u8],
    /// Length in the file; larger than that of `bytes` if it was too long. Bytes.
    pub length: u64,
    /// True if a line end follows. The last line of a file may be torn.
    pub ended: bool,
}

impl<'b> Line<'b> {
    /// Creates a line that is not from a file of lines.
    pub fn of_text(text: &'b str, number: u64) -> Self {
        Self { number, bytes: text.as_bytes(), length: text.len() as u64, ended: true }
    }

    /// True if it was too long to be kept.
    pub fn is_too_long(&self) -> bool {
        self.length > self.bytes.len() as u64 + 1
    }
}

impl<'a> Lines<'a> {
    pub(super) fn new(file: Box<dyn Read>, bytes: u64, progress: &'a dyn Fn(u64)) -> Self {
        let buffer = SPARE.take();
        Self {
            file,
            left: bytes,
            buffer,
            filled: 0,
            start: 0,
            number: 0,
            failed: false,
            most: None,
            is_cut: false,
            has_moved: false,
            progress,
        }
    }

    /// Returns the lines of compressed data, of which no more than this many bytes are unpacked.
    pub(super) fn unpacked(file: Box<dyn Read>, most: u64) -> Self {
        let mut lines = Lines::new(file, most, &|_| ());
        lines.most = Some(most);
        lines
    }

    /// Returns the bound of decompression, if the file exceeds it. Bytes.
    pub(crate) fn cut_at(&self) -> Option<u64> {
        self.most.filter(|_| self.is_cut)
    }

    /// Returns the same lines again, after all were read, or `None` if they are not all in memory.
    pub(super) fn rewound(mut self) -> Option<Self> {
        (self.start, self.number) = (0, 0);
        (self.left == 0 && !self.has_moved && !self.failed).then_some(self)
    }

    /// Returns the number of lines so far.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// True if reading ended with an error of the file system.
    pub fn failed(&self) -> bool {
        self.failed
    }

    /// Returns the next line, or `None` at the end.
    pub fn next_line(&mut self) -> Option<Line<'_>> {
        let mut searched = self.start;
        let mut dropped = 0_u64;
        loop {
            let unsearched = self.buffer.get(searched..self.filled).unwrap_or_default();
            if let Some(found) = memchr::memchr(b'\n', unsearched) {
                let end = searched + found;
                let begin = std::mem::replace(&mut self.start, end + 1);
                return Some(self.line(begin, end, dropped, true));
            }
            searched = self.filled;
            if self.filled - self.start > MAX_LINE {
                dropped += (self.filled - self.start) as u64;
                self.start = self.filled;
            }
            if !self.fill(&mut searched) {
                let begin = std::mem::replace(&mut self.start, self.filled);
                self.is_cut =
                    self.most.is_some() && self.left == 0 && self.file.read(&mut [0]).is_ok_and(|read| read > 0);
                if self.is_cut {
                    return None;
                }
                return (begin < self.filled || dropped > 0).then(|| self.line(begin, self.filled, dropped, false));
            }
        }
    }

    fn line(&mut self, begin: usize, end: usize, dropped: u64, ended: bool) -> Line<'_> {
        self.number += 1;
        let bytes = self.buffer.get(begin..end).unwrap_or_default();
        let length = dropped + bytes.len() as u64;
        let bytes = if length > MAX_LINE as u64 { &[] } else { bytes.strip_suffix(b"\r").unwrap_or(bytes) };
        Line { number: self.number, bytes, length, ended }
    }

    /// Reads more. Returns false at the end.
    fn fill(&mut self, searched: &mut usize) -> bool {
        if self.left == 0 || self.failed {
            return false;
        }
        if interrupted() {
            self.failed = true;
            return false;
        }
        self.make_room();
        *searched = self.filled;
        let want = usize::try_from(self.left).unwrap_or(usize::MAX).min(self.buffer.len() - self.filled).min(CHUNK);
        let Some(free) = self.buffer.get_mut(self.filled..self.filled + want) else { return false };
        match self.file.read(free) {
            Ok(0) => self.left = 0,
            Ok(read) => {
                self.filled += read;
                self.left -= read as u64;
                (self.progress)(read as u64);
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => self.failed = true,
        }
        self.left > 0 || self.filled > *searched
    }

    fn make_room(&mut self) {
        if self.start > 0 {
            self.has_moved = true;
            self.buffer.copy_within(self.start..self.filled, 0);
            self.filled -= self.start;
            self.start = 0;
        }
        if self.buffer.len() - self.filled < CHUNK / 2 {
            let grown = (self.buffer.len() * 2).max(CHUNK);
            self.buffer.resize(grown, 0);
        }
    }
}

impl Drop for Lines<'_> {
    fn drop(&mut self) {
        if self.buffer.len() <= KEPT {
            SPARE.set(std::mem::take(&mut self.buffer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::lines_of_blob;

    fn all(lines: &mut Lines<'_>) -> Vec<(u64, Vec<u8>, bool)> {
        std::iter::from_fn(|| lines.next_line().map(|line| (line.number, line.bytes.to_vec(), line.ended))).collect()
    }

    fn lines_of(text: &[u8]) -> Lines<'static> {
        Lines::new(Box::new(std::io::Cursor::new(text.to_vec())), text.len() as u64, &|_| ())
    }

    #[test]
    fn lines_that_are_still_held_are_the_same_once_more() {
        for text in [&b""[..], b"a", b"a\n", b"a\r\n\nb\n", b"a\nb"] {
            let mut lines = lines_of(text);
            let first = all(&mut lines);
            assert_eq!(all(&mut lines.rewound().unwrap()), first);
        }
    }

    #[test]
    fn what_is_beyond_the_bound_is_not_unpacked() {
        let line = [vec![b' '; (1 << 20) - 1], vec![b'\n']].concat();
        let mut packed = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        (0..257).for_each(|_| std::io::Write::write_all(&mut packed, &line).unwrap());
        let packed = packed.finish().unwrap();
        let mut lines = lines_of_blob(packed, true).unwrap();
        let mut count = 0;
        while lines.next_line().is_some() {
            count += 1;
        }
        assert_eq!((count, lines.cut_at()), (256, Some(256 << 20)));
    }

    #[test]
    fn lines_of_a_larger_file_are_not_held() {
        let text = b"0123456789abcdef\n".repeat(CHUNK / 8);
        let mut lines = lines_of(&text);
        assert_eq!(all(&mut lines).len(), CHUNK / 8);
        assert!(lines.rewound().is_none());
    }
}
