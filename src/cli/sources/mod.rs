//! `llrem sources`: lists every known source, with its state, bad lines and number of rows.

mod unknown;

use std::fmt::Write as _;

use arrow::array::BooleanArray;
use arrow::compute::filter_record_batch;

use super::args::Sources;
use super::freshness;
use super::output::{self, Look};
use super::query;
use super::settings::Settings;
use crate::Result;
use crate::shown::value::{plural, size};
use crate::shown::width::wrap;
use crate::shown::{in_home, one_line};
use crate::tables::{SourceColumns, SourceRow, SourceState, Vocabulary};
pub(super) use unknown::of_newer_versions;

/// States of sources that could not be read in full.
const BAD_STATES: [SourceState; 3] = [SourceState::Partial, SourceState::Unreadable, SourceState::Encrypted];

/// Most bad lines of a source that are shown.
const MOST: usize = 10;

/// Runs the command.
pub(super) fn run(settings: &Settings, typed: &Sources) -> Result<()> {
    let lake = settings.open_lake()?;
    let output = query::destination(settings, typed.limit)?;
    freshness::warn(settings, &lake);
    if typed.unknown {
        let rows = unknown::rows(settings, &lake)?;
        if rows.num_rows() == 0 {
            settings.printer.say("llrem knows every record type and field of these sources");
        }
        return output.print(&rows);
    }
    let mut rows = lake.sources()?;
    if !typed.bad {
        return output.print(&rows);
    }
    let all = rows.num_rows();
    let columns = SourceColumns::of(&rows);
    let is_bad = |row| Some(BAD_STATES.contains(&columns.state(row)));
    let bad: BooleanArray = (0..all).map(is_bad).collect();
    rows = filter_record_batch(&rows, &bad)?;
    if !output.is_table() {
        return output.print(&rows);
    }
    let columns = SourceColumns::of(&rows);
    let bad: Vec<SourceRow<'_>> = (0..rows.num_rows()).map(|row| columns.row(row)).collect();
    output::drawn(&settings.output, &screen(&bad, all, output.most(), output::look_of_stdout(settings.printer)))
}

/// Lists what could not be read. A problem is never cut.
fn screen(bad: &[SourceRow<'_>], all: usize, most: usize, look: Look) -> String {
    let columns = look.prose_columns();
    let files = |count: usize| plural(u64::try_from(count).unwrap_or(u64::MAX), "file");
    if bad.is_empty() {
        return format!("All {} were read in full.\n", files(all));
    }
    let rest = if bad.len() == 1 { "it" } else { "them" };
    let head = format!("{} of {} could not be read in full. The rest of {rest} is in the lake.", bad.len(), files(all));
    let mut text = wrap(&head, columns, 0) + "\n";
    for source in bad.iter().take(most) {
        text.push('\n');
        add_source(&mut text, source, columns, look);
    }
    let more = u64::try_from(bad.len().saturating_sub(most)).unwrap_or(u64::MAX);
    if more > 0 {
        let line = format!("{} ({})", plural(more, "more file"), query::REMEDY);
        let _ = writeln!(text, "\n{}", look.paint.dim(&line));
    }
    let notes = [
        "An agent writes a line in parts, so the last line of an open session may be bad until the next etl.",
        "A file that stays bad is reported by etl once, and counted afterwards.",
    ];
    text.push('\n');
    for line in notes.iter().flat_map(|note| wrap(note, columns, 0).lines().map(str::to_owned).collect::<Vec<_>>()) {
        let _ = writeln!(text, "{}", look.paint.dim(&line));
    }
    text
}

fn add_source(text: &mut String, source: &SourceRow<'_>, columns: usize, look: Look) {
    let paint = look.paint;
    let _ = writeln!(text, "{}", paint.bold(&one_line(&in_home(source.path))));
    let count = |number: i64, noun: &str| plural(number.unsigned_abs(), noun);
    let state = match source.state {
        SourceState::Partial => format!("{} of {} bad", source.bad_lines, count(source.lines, "line")),
        other => other.as_str().to_owned(),
    };
    let read = [(source.sessions, "session"), (source.messages, "message")];
    let read: Vec<String> = read.into_iter().filter(|(all, _)| *all > 0).map(|(all, noun)| count(all, noun)).collect();
    let read = if read.is_empty() { "nothing read".to_owned() } else { read.join(", ") + " read" };
    let facts = [source.agent.to_owned(), size(source.bytes), state, read].join(" · ");
    let facts = format!("  {}", wrap(&facts, columns.saturating_sub(2), 2));
    for line in facts.lines() {
        let line = if source.state == SourceState::Partial { paint.dim(line) } else { paint.red(line) };
        let _ = writeln!(text, "{line}");
    }
    let problems = problems(source.problem.unwrap_or_default());
    let widest = problems.iter().filter_map(|(place, _)| *place).map(str::len).max().unwrap_or(0);
    for (place, reason) in problems.iter().take(MOST) {
        let hang = if widest > 0 { widest + 4 } else { 2 };
        let reason = wrap(&one_line(&in_words(reason)), columns.saturating_sub(hang), 0)
            .replace('\n', &format!("\n{:hang$}", ""));
        let place = place.unwrap_or_default();
        let gap = if widest > 0 { widest - place.len() + 2 } else { 0 };
        let _ = writeln!(text, "  {}{:gap$}{reason}", paint.yellow(place), "");
    }
    let shown = problems.iter().take(MOST).filter(|(place, _)| place.is_some()).count();
    let more = source.bad_lines.unsigned_abs().saturating_sub(u64::try_from(shown).unwrap_or(0));
    if more > 0 && shown > 0 {
        let _ = writeln!(text, "  {}", paint.dim(&format!("{more} more")));
    }
    if let Some(unknown) = source.unknown {
        let named: Vec<&str> = unknown.split(", ").map(|item| item.trim_end_matches(": 1").trim_end()).collect();
        let line = format!("  unknown: {}", one_line(&named.join(", ")));
        let _ = writeln!(text, "{}", wrap(&line, columns, 4));
    }
}

/// Splits the problems of a source into places, such as `line 13`, and reasons.
fn problems(text: &str) -> Vec<(Option<&str>, &str)> {
    let mut problems: Vec<(Option<&str>, &str)> = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        // A reason may contain `; ` itself.
        let end = rest.match_indices("; ").map(|(at, _)| at).find(|at| {
            let next = rest.get(at + 2..).unwrap_or_default();
            place(next).is_some() || next.starts_with("the file ")
        });
        let (one, others) = end.and_then(|at| rest.split_at_checked(at)).unwrap_or((rest, ""));
        problems.push(place(one).map_or((None, one), |(place, reason)| (Some(place), reason)));
        rest = others.strip_prefix("; ").unwrap_or_default();
    }
    problems
}

/// Splits `line 13: reason`.
fn place(text: &str) -> Option<(&str, &str)> {
    let (place, reason) = text.split_once(": ")?;
    let number = place.strip_prefix("line ")?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some((place, reason))
}

/// Says in words what the parser of JSON found.
fn in_words(reason: &str) -> String {
    let is_position =
        |text: &str| text.split(" column ").all(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    let reason = match reason.rsplit_once(" at line ") {
        Some((found, position)) if is_position(position) => found,
        _ => reason,
    };
    let Some((before, after)) = reason.split_once("no JSON object") else { return reason.to_owned() };
    let what = format!("{before}not a JSON object");
    let Some(found) = after.strip_prefix(": ") else { return what + after };
    let found = found.strip_suffix(", expected an object").unwrap_or(found);
    let kinds = [
        ("invalid type: string ", "a string: "),
        ("invalid type: integer ", "a number: "),
        ("invalid type: floating point ", "a number: "),
        ("invalid type: boolean ", ""),
        ("invalid type: sequence", "a list"),
        ("invalid type: null", "null"),
    ];
    let named = kinds.into_iter().find_map(|(parsers, ours)| Some(ours.to_owned() + found.strip_prefix(parsers)?));
    match (named, found.strip_prefix("EOF while parsing ")) {
        (Some(named), _) => format!("{what}, but {}", named.replace('`', "")),
        (None, Some(within)) => format!("{what}: it ends within {within}"),
        (None, None) => what,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_are_said_in_words() {
        let text = "line 13: no JSON object: invalid type: string \"massive; error\", expected an object at line 1 column 15; \
                    line 15: no JSON object: invalid type: integer `42`, expected an object at line 1 column 2; \
                    line 16: no JSON object: EOF while parsing a string at line 1 column 0; \
                    line 17: a torn record; the one after it on the line was read; line 18: prt_1: no JSON object: expected ident \
                    at line 1 column 2; the file could not be read to its end";
        let shown =
            problems(text).into_iter().map(|(place, reason)| format!("{}: {}", place.unwrap_or("–"), in_words(reason)));
        insta::assert_snapshot!(shown.collect::<Vec<_>>().join("\n"), @r#"
        line 13: not a JSON object, but a string: "massive; error"
        line 15: not a JSON object, but a number: 42
        line 16: not a JSON object: it ends within a string
        line 17: a torn record; the one after it on the line was read
        line 18: prt_1: not a JSON object
        –: the file could not be read to its end
        "#);
    }
}
