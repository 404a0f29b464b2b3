//! The files that a session reads and edits: sequences of spans of the code pool, so that a file that is read, edited
//! and shown again repeats its text with small changes.

use super::identity::Identity;
use super::json::Put;
use super::rng::Rng;
use super::text::{EXTENSIONS, Pool, Pools, Span};

pub struct Doc {
    /// Absolute and relative, escaped for JSON.
    pub path: String,
    pub relative: String,
    pub lines: usize,
    spans: Vec<Span>,
}

impl Doc {
    /// A file of about `lines` lines that begins like a source file.
    pub fn invent(pools: &Pools, rng: &mut Rng, identity: &Identity, lines: usize) -> Self {
        let (start, language) = pools.modules[rng.below(pools.modules.len())];
        let mut spans = vec![pools.code.pieces_from(start, lines)];
        let mut reached = spans[0].len();
        while reached < lines {
            let (start, _) = pools.modules[rng.below(pools.modules.len())];
            let more = pools.code.pieces_from(start, (lines - reached).min(4000));
            reached += more.len();
            spans.push(more);
        }
        let separator = identity.separator;
        let mut name = || pools.names[rng.below(pools.names.len())].as_str();
        let (top, file) = (name(), name());
        let relative = format!("src{separator}{top}{separator}{file}.{}", EXTENSIONS[language]);
        Self { path: format!("{}{separator}{relative}", identity.cwd), relative, lines: reached, spans }
    }

    pub fn write(&self, pool: &Pool, out: &mut Vec<u8>) {
        for span in &self.spans {
            out.raw(pool.bytes(span));
        }
    }

    /// As the Read tool shows a file: each line after its number.
    pub fn write_numbered(&self, pool: &Pool, range: &Span, out: &mut Vec<u8>) {
        for (number, index) in (range.start + 1..).zip(self.indices(range)) {
            out.put(&"      "[(number.ilog10() as usize + 1).min(6)..])
                .num(number as u64)
                .put("→")
                .raw(pool.line(index))
                .put("\\n");
        }
    }

    pub fn write_lines(&self, pool: &Pool, range: &Span, out: &mut Vec<u8>) {
        for (place, index) in self.indices(range).enumerate() {
            out.put(if place > 0 { "\\n" } else { "" }).raw(pool.line(index));
        }
    }

    /// The lines as elements of a patch: quoted, each after `mark`.
    pub fn write_patch_lines(&self, pool: &Pool, range: &Span, mark: &str, out: &mut Vec<u8>) {
        self.indices(range).for_each(|index| patch_line(pool, index, mark, out));
    }

    /// Puts `new` in the place of the lines `old`.
    pub fn replace(&mut self, old: &Span, new: Span) {
        let mut spans = Vec::with_capacity(self.spans.len() + 2);
        let mut at = 0;
        let mut new = Some(new);
        for span in &self.spans {
            let (from, to) = (at, at + span.len());
            let kept_before = from..to.min(old.start).max(from);
            if !kept_before.is_empty() {
                spans.push(span.start..span.start + kept_before.len());
            }
            if to > old.start {
                spans.extend(new.take());
            }
            let dropped = old.end.clamp(from, to) - from;
            if old.end < to {
                spans.push(span.start + dropped.max(kept_before.len())..span.end);
            }
            at = to;
        }
        spans.retain(|span| !span.is_empty());
        self.lines = spans.iter().map(Span::len).sum();
        self.spans = spans;
    }

    /// Returns the positions of the lines `range` in the pool.
    fn indices(&self, range: &Span) -> impl Iterator<Item = usize> {
        let mut at = 0;
        self.spans.iter().flat_map(move |span| {
            let (from, to) = (range.start.clamp(at, at + span.len()) - at, range.end.clamp(at, at + span.len()) - at);
            at += span.len();
            span.start + from..span.start + to
        })
    }
}

impl Pool {
    /// Up to `count` lines from `start`.
    fn pieces_from(&self, start: usize, count: usize) -> Span {
        start..(start + count.max(1)).min(self.end())
    }
}

pub fn patch_line(pool: &Pool, index: usize, mark: &str, out: &mut Vec<u8>) {
    if out.last() != Some(&b'[') {
        out.push(b',');
    }
    out.put("\"").put(mark).raw(pool.line(index)).put("\"");
}
