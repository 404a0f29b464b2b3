//! Recognises the last lines of test runners.

use std::borrow::Cow;

use super::evidence::lines;

/// Result of the last test run in an output.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Closing {
    /// True if tests failed or broke.
    pub(super) is_failed: Option<bool>,
    /// Tests that passed.
    pub(super) passed: Option<i64>,
    /// Tests that failed or broke.
    pub(super) failed: Option<i64>,
    /// Tests that unittest ran.
    ran: Option<i64>,
}

impl Closing {
    /// Reads an output.
    pub(super) fn of(output: &str) -> Self {
        let mut closing = Self::default();
        for line in lines(output) {
            closing.add(plain(line).trim());
        }
        closing
    }

    fn add(&mut self, line: &str) {
        let line =
            ["[INFO] ", "[ERROR] ", "[WARNING] "].iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line);
        if !line.starts_with(may_begin) {
            return;
        }
        let (first, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        if begins_run(line) {
            *self = Self::default();
        } else if let Some(result) = line.strip_prefix("test result: ") {
            // One line for each crate.
            let counts = Counts::after_numbers(result);
            self.passed = Some(self.passed.unwrap_or(0).saturating_add(counts.passed.unwrap_or(0)));
            self.failed = Some(self.failed.unwrap_or(0).saturating_add(counts.failed));
            self.is_failed = Some(self.is_failed == Some(true) || result.starts_with("FAILED"));
        } else if is_of_pytest(line.trim_matches(['=', ' '])) {
            self.set(&Counts::after_numbers(line));
        } else if let Some((_, counts)) = line.strip_prefix("Summary [").and_then(|line| line.split_once(']')) {
            self.set(&Counts::after_numbers(counts));
        } else if first == "Tests:" && rest.contains("Assertions:") || line.starts_with("Tests run:") {
            let is_part = line.contains("Time elapsed");
            self.set_if(!is_part, &Counts::before_numbers(line));
        } else if matches!(first, "Tests:" | "Tests")
            && rest.trim_start().starts_with(|letter: char| letter.is_ascii_digit())
        {
            self.set(&Counts::after_numbers(rest));
        } else if line.starts_with("Test Files ") || line.starts_with("Test Suites:") {
            let is_failed = line.contains(" failed");
            self.is_failed = Some(is_failed || self.is_failed == Some(true) && first != "Test");
        } else if matches!(first, "Passed!" | "Failed!") {
            self.set(&Counts::before_numbers(line));
        } else if matches!(first, "ok" | "FAILED") && rest.starts_with("| ") {
            self.set(&Counts::after_numbers(rest));
        } else if let Some(counts) = rest.strip_prefix("tests passed, ").filter(|_| first.ends_with('%')) {
            self.set(&Counts::after_numbers(counts));
            (self.passed, self.failed) = (None, self.failed);
        } else if first == "Executed" && line.contains(" test") {
            self.set(&Counts::after_numbers(line));
        } else if first == "Ran" {
            if let Some(ran) = ran_in_time(rest) {
                *self = Self { ran: Some(ran), ..Self::default() };
            }
        } else if let Some(ran) = self.ran.filter(|_| first == "OK" || first == "FAILED") {
            let counts = Counts { total: Some(ran), ..Counts::before_numbers(rest) };
            *self = Self::default();
            self.set(&counts);
        } else if first == "OK" && rest.starts_with('(') && rest.contains(" assertion") {
            self.set(&Counts::after_numbers(rest));
        } else if is_sum(line) {
            self.set(&Counts::after_numbers(line));
        } else if first == "ok" && line.contains('\t') {
            self.is_failed = Some(self.is_failed == Some(true));
        } else if line == "FAIL" || line.starts_with("FAIL\t") || line.starts_with("--- FAIL:") {
            self.is_failed = Some(true);
        } else {
            self.add_single(line);
        }
    }

    /// Reads a line with one count: `12 pass`, `1 failing`, `3 passed (2.1s)`, `# fail 0`.
    fn add_single(&mut self, line: &str) {
        let mut words = line.trim_start_matches(['#', 'ℹ', ' ']).split_whitespace();
        let (Some(first), Some(second)) = (words.next(), words.next()) else { return };
        if words.next().is_some_and(|word| !word.starts_with('(')) {
            return;
        }
        let (number, word) = if line.starts_with(['#', 'ℹ']) { (second, first) } else { (first, second) };
        let Ok(number) = number.parse::<i64>() else { return };
        match word {
            "pass" | "passing" => *self = Self { is_failed: Some(false), passed: Some(number), ..Self::default() },
            "passed" => {
                (self.passed, self.is_failed) = (Some(number), Some(self.is_failed == Some(true)));
            }
            "fail" | "failing" => {
                (self.failed, self.is_failed) = (Some(number), Some(number > 0));
            }
            "failed" => *self = Self { is_failed: Some(number > 0), failed: Some(number), ..Self::default() },
            "errors" | "error" if self.is_failed.is_some() => {
                self.is_failed = Some(number > 0 || self.is_failed == Some(true));
            }
            _ => {}
        }
    }

    fn set(&mut self, counts: &Counts) {
        let passed = counts.passed.or_else(|| Some((counts.total? - counts.failed - counts.skipped).max(0)));
        if passed.is_some() || counts.failed > 0 {
            *self = Self {
                is_failed: Some(counts.failed > 0),
                passed: passed.or(Some(0)),
                failed: Some(counts.failed),
                ran: None,
            };
        }
    }

    fn set_if(&mut self, is_whole: bool, counts: &Counts) {
        if is_whole {
            self.set(counts);
        }
    }
}

/// True for the first character of a line that may count. Most lines of an output begin with another one.
fn may_begin(first: char) -> bool {
    matches!(first, '0'..='9' | ' ' | '#' | '-' | '=' | 'E' | 'F' | 'O' | 'P' | 'R' | 'S' | 'T' | 'o' | 't' | 'ℹ')
}

fn begins_run(line: &str) -> bool {
    line.starts_with("Finished `test`")
        || line.starts_with("Finished test")
        || line.starts_with('=') && line.contains("test session starts")
}

/// Returns the count of `12 tests in 0.3s`.
fn ran_in_time(rest: &str) -> Option<i64> {
    let (ran, time) = rest.split_once(" test")?;
    ran.parse().ok().filter(|_| time.contains(" in "))
}

/// True for `2 failed, 40 passed in 1.2s`.
fn is_of_pytest(line: &str) -> bool {
    let is_count = |item: &str| {
        let (number, word) = item.split_once(' ').unwrap_or_default();
        number.parse::<i64>().is_ok() && !word.contains(' ')
    };
    let has_outcome = |line: &str| ["passed", "failed", "error"].iter().any(|word| line.contains(word));
    starts_with_number(line)
        && line.split_once(" in ").is_some_and(|(counts, time)| {
            has_outcome(counts) && starts_with_number(time) && counts.split(", ").all(is_count)
        })
}

fn starts_with_number(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_digit())
}

/// True for `10 examples, 2 failures`, `10 tests completed, 2 failed` and `10 runs, 20 assertions, 1 failures`.
fn is_sum(line: &str) -> bool {
    if !starts_with_number(line) {
        return false;
    }
    let Some((total, rest)) = line.split_once(", ") else { return false };
    let (number, what) = total.split_once(' ').unwrap_or_default();
    let is_total =
        matches!(what, "examples" | "example" | "tests" | "test" | "runs" | "tests completed" | "test completed");
    number.parse::<i64>().is_ok() && is_total && (rest.contains("fail") || rest.contains("error"))
}

/// Counts that a line names.
#[derive(Debug, Default)]
struct Counts {
    passed: Option<i64>,
    failed: i64,
    skipped: i64,
    total: Option<i64>,
}

impl Counts {
    /// Reads `1 failed, 8 passed`.
    fn after_numbers(line: &str) -> Self {
        let (mut counts, mut number) = (Self::default(), None);
        for word in words(line) {
            match (word.parse::<i64>(), number.take()) {
                (Ok(next), _) => number = Some(next),
                (Err(_), Some(number)) => counts.add(word, number),
                (Err(_), None) => {}
            }
        }
        counts
    }

    /// Reads `Failed: 1, Passed: 8`.
    fn before_numbers(line: &str) -> Self {
        let (mut counts, mut name) = (Self::default(), "");
        for word in words(line) {
            match word.parse::<i64>() {
                Ok(number) => counts.add(std::mem::take(&mut name), number),
                Err(_) => name = word,
            }
        }
        counts
    }

    fn add(&mut self, word: &str, number: i64) {
        match word.to_ascii_lowercase().as_str() {
            "passed" | "pass" | "succeeded" => self.passed = Some(number),
            "failed" | "failures" | "failure" | "errors" | "error" | "timed" => {
                self.failed = self.failed.saturating_add(number);
            }
            "skipped" | "ignored" | "skips" | "pending" | "todo" => self.skipped = self.skipped.saturating_add(number),
            "tests" | "test" | "examples" | "example" | "run" | "runs" | "total" => {
                self.total.get_or_insert(number);
            }
            _ => {}
        }
    }
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|letter: char| letter.is_whitespace() || ",|();:=.[]".contains(letter)).filter(|word| !word.is_empty())
}

/// Returns a line without the sequences that color it.
fn plain(line: &str) -> Cow<'_, str> {
    if !line.contains('\u{1b}') {
        return Cow::Borrowed(line);
    }
    let mut pieces = line.split('\u{1b}');
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find(|letter: char| letter.is_ascii_alphabetic()).map_or(piece.len(), |at| at + 1);
        plain.push_str(piece.get(end..).unwrap_or_default());
    }
    Cow::Owned(plain)
}
