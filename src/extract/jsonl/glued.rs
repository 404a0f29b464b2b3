//! Several objects on one line, some of them torn: a program was killed while it wrote, and later continued on the same
//! line.

use std::ops::ControlFlow;

use serde::Deserialize;

/// Most times, on average, that a byte of a line is read again in search of the next object. Real lines, with objects a
/// few levels deep, need less. It limits the cost of hostile lines.
const LOOKS: usize = 8;

/// Smallest cost of an attempt. Bytes.
const ATTEMPT: usize = 64;

/// The valid objects of a line, from left to right.
pub(super) struct Glued<'t> {
    text: &'t str,
    starts: &'t [&'t str],
    /// True if the line is complete. Otherwise its last object may be a part of a torn one.
    ended: bool,
    at: usize,
    /// Beginning of the last torn object.
    torn: Option<usize>,
    error: Option<serde_json::Error>,
    /// Bytes that may still be read without a result.
    left: usize,
}

impl<'t> Glued<'t> {
    /// Reads the objects of a line. After a torn one, the next begins with one of `starts`.
    pub(super) fn new(text: &'t str, starts: &'t [&'t str], ended: bool) -> Self {
        Self { text, starts, ended, at: 0, torn: None, error: None, left: text.len().saturating_mul(LOOKS) }
    }

    /// Returns the error of the first torn object, or `None` if there was none.
    pub(super) fn error(&self) -> Option<&serde_json::Error> {
        self.error.as_ref()
    }

    /// Returns the next valid object.
    pub(super) fn next<T: Deserialize<'t>>(&mut self) -> Option<T> {
        self.skip_space();
        if self.at == self.text.len() {
            return None;
        }
        match self.read(self.at) {
            Ok((object, end)) => {
                self.at = end;
                Some(object)
            }
            Err(error) => {
                self.error.get_or_insert(error);
                self.torn = Some(self.at);
                self.next_behind()
            }
        }
    }

    /// Returns the first valid object after a torn one.
    fn next_behind<T: Deserialize<'t>>(&mut self) -> Option<T> {
        let mut from = self.at + 1;
        self.at = self.text.len();
        while let Some((place, start)) = self.start_at_or_behind(from) {
            match self.try_at(place, start) {
                ControlFlow::Break(object) => return object,
                ControlFlow::Continue(next) => from = next,
            }
        }
        None
    }

    /// Reads an object, if it is one of the line and no part of the torn one; otherwise returns where to continue.
    fn try_at<T: Deserialize<'t>>(&mut self, place: usize, start: &str) -> ControlFlow<Option<T>, usize> {
        let (object, end) = match self.read(place) {
            Ok(read) => read,
            Err(error) => {
                let looked_at = if error.line() > 1 { self.text.len() - place } else { error.column() };
                return self.pay(looked_at, place + 1);
            }
        };
        if self.is_part_of_torn(place, start) || !self.may_end(end) {
            return self.pay(end - place, end);
        }
        self.at = end;
        ControlFlow::Break(Some(object))
    }

    fn pay<T>(&mut self, bytes: usize, next: usize) -> ControlFlow<Option<T>, usize> {
        match self.left.checked_sub(bytes.max(ATTEMPT)) {
            Some(left) => {
                self.left = left;
                ControlFlow::Continue(next)
            }
            None => ControlFlow::Break(None),
        }
    }

    fn read<T: Deserialize<'t>>(&self, place: usize) -> serde_json::Result<(T, usize)> {
        let text = self.text.get(place..).unwrap_or_default();
        let mut objects = serde_json::Deserializer::from_str(text).into_iter();
        let object = objects.next().unwrap_or_else(|| serde_json::from_str(""))?;
        Ok((object, place + objects.byte_offset()))
    }

    /// If a value is expected, an object is a value of the torn object, unless it begins as the torn one itself does.
    fn is_part_of_torn(&self, place: usize, start: &str) -> bool {
        let before = self.text.get(..place).unwrap_or_default().trim_end();
        let torn = self.torn.and_then(|torn| self.text.get(torn..)).unwrap_or_default();
        before.ends_with([':', ',', '[']) && !torn.starts_with(start)
    }

    /// True if an object of the line may end here: another one or the line's end follows.
    fn may_end(&self, end: usize) -> bool {
        let rest = self.text.get(end..).unwrap_or_default().trim_start();
        rest.starts_with('{') || self.ended && rest.is_empty()
    }

    fn start_at_or_behind(&self, from: usize) -> Option<(usize, &'t str)> {
        let rest = self.text.as_bytes().get(from..)?;
        memchr::memchr_iter(b'{', rest).find_map(|found| {
            let text = self.text.get(from + found..)?;
            self.starts.iter().find(|start| text.starts_with(**start)).map(|start| (from + found, *start))
        })
    }

    fn skip_space(&mut self) {
        let rest = self.text.get(self.at..).unwrap_or_default();
        self.at = self.text.len() - rest.trim_start().len();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const STARTS: &[&str] = &["{\"id\"", "{\"type\""];

    fn ids(text: &str, ended: bool) -> Vec<Value> {
        let mut glued = Glued::new(text, STARTS, ended);
        std::iter::from_fn(|| glued.next::<Value>()).map(|object| object["id"].clone()).collect()
    }

    fn object(id: u64) -> String {
        format!(
            "{{\"id\":{id},\"of\":{{\"type\":\"a\",\"n\":[{{\"type\":\"t\",\"text\":\"{{\\\"id\\\":7}}, é\"}},1]}},\"x\":[{{\"type\":\"u\"}}]}}"
        )
    }

    #[test]
    fn whole_objects_are_all_read_wherever_another_is_torn() {
        let (one, two, torn) = (object(1), object(2), object(9));
        for (cut, _) in torn.char_indices().skip(1) {
            let torn = torn.get(..cut).unwrap();
            for (line, expected) in [
                (format!("{torn}{one}{two}"), vec![1, 2]),
                (format!("{one}{torn}{two}"), vec![1, 2]),
                (format!("{one}{two}{torn}"), vec![1, 2]),
                (format!("{torn}{one}{torn}{two}"), vec![1, 2]),
                (format!("{torn}{torn}{one} {two}"), vec![1, 2]),
                (torn.to_owned(), vec![]),
            ] {
                assert_eq!(ids(&line, true), expected, "{line}");
            }
        }
    }

    #[test]
    fn what_ends_an_open_line_may_be_a_part() {
        let line = format!("{{\"id\":9,\"x\":\"{}{}", object(1), object(2));
        assert_eq!(ids(&line, false), [1, 2]);
        let line = format!("{{\"id\":9,\"x\":\"{}", object(1));
        assert_eq!(ids(&line, false), [0; 0]);
        assert_eq!(ids(&line, true), [1]);
    }

    #[test]
    fn lines_made_to_cost_much_are_given_up() {
        let pieces = ["{\"type\":\"", "{\"type\":[", "{\"type\":", "{\"type\":[{\"type\":1},", "{\"id\":[{\"id\":["];
        for piece in pieces {
            let line = piece.repeat((1 << 20) / piece.len());
            assert_eq!(ids(&line, true), [0; 0], "{piece}");
        }
    }
}
