//! `llrem doctor`: checks everything that has to be right so that no session is lost and the figures are current.

mod checks;

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};

use super::output::{self, Format, Look, Output};
use super::settings::Settings;
use crate::shown::value::plural;
use crate::{Error, Result};

/// Runs the command.
pub(super) fn run(settings: &Settings) -> Result<()> {
    let output = Output::new(&settings.output, Format::Table)?;
    let checks = checks::all(settings)?;
    if output.is_table() {
        output::drawn(&settings.output, &text(&checks, output::look_of_stdout(settings.printer)))?;
    } else {
        output.print(&rows(&checks)?)?;
    }
    let count = count(&checks, Level::Problem);
    if count > 0 { Err(Error::Unwell { count }) } else { Ok(()) }
}

/// Outcome of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Ok,
    /// Somebody should look at it.
    Warning,
    /// Sessions or figures are lost, or will be.
    Problem,
}

impl Level {
    fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }

    fn sign(self, look: Look) -> String {
        match self {
            Self::Ok => look.paint.green(look.signs.good),
            Self::Warning => look.paint.yellow("!"),
            Self::Problem => look.paint.red(look.signs.bad),
        }
    }
}

/// A check and its result.
#[derive(Debug, Clone)]
struct Check {
    name: &'static str,
    level: Level,
    /// The result, and the next step if there is one.
    text: String,
}

impl Check {
    fn new(name: &'static str, level: Level, text: impl Into<String>) -> Self {
        Self { name, level, text: text.into() }
    }

    fn ok(name: &'static str, text: impl Into<String>) -> Self {
        Self::new(name, Level::Ok, text)
    }

    fn warning(name: &'static str, text: impl Into<String>) -> Self {
        Self::new(name, Level::Warning, text)
    }

    fn problem(name: &'static str, text: impl Into<String>) -> Self {
        Self::new(name, Level::Problem, text)
    }
}

fn count(checks: &[Check], level: Level) -> usize {
    checks.iter().filter(|check| check.level == level).count()
}

fn text(checks: &[Check], look: Look) -> String {
    let names = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    let signs = [look.signs.good, look.signs.bad].map(|sign| sign.chars().count()).into_iter().max().unwrap_or(1);
    let indent = signs + 1 + names + 2;
    let line = |check: &Check| {
        let sign = check.level.sign(look);
        let plain = check.level.sign(Look { paint: output::Paint(false), ..look });
        let pad = signs - plain.chars().count().min(signs);
        look.next_to(&format!("{sign}{:pad$} {:names$}  ", "", check.name), indent, &check.text)
    };
    let lines: String = checks.iter().map(line).collect();
    let end = match (count(checks, Level::Problem), count(checks, Level::Warning)) {
        (0, 0) => "Everything is in order".to_owned(),
        (problems, warnings) => {
            let parts = [(problems, "problem"), (warnings, "warning")].into_iter().filter(|(count, _)| *count > 0);
            parts.map(|(count, what)| plural(count as u64, what)).collect::<Vec<_>>().join(", ")
        }
    };
    format!("{lines}\n{}\n", look.paint.bold(&end))
}

fn rows(checks: &[Check]) -> Result<RecordBatch> {
    let texts = |text: &dyn Fn(&Check) -> String| -> ArrayRef {
        Arc::new(checks.iter().map(|check| Some(text(check))).collect::<StringArray>())
    };
    Ok(RecordBatch::try_from_iter([
        ("check", texts(&|check| check.name.to_owned())),
        ("level", texts(&|check| check.level.name().to_owned())),
        // Spaces that hold a command together are for screens.
        ("text", texts(&|check| check.text.replace('\u{a0}', " "))),
    ])?)
}
