//! The list of canned queries.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};

use super::super::output::{self, Format, Output, OutputSettings, Printer};
use crate::Result;
use crate::query::canned::{Canned, Library, Parameter};
use crate::shown::width::{PROSE, width, wrap};

/// Groups of queries, in the order of questions.
const GROUPS: [&str; 6] = ["Cost", "Caches", "Time", "Limits", "Tools", "Data"];
/// Queries that come first in their group.
const FIRST: [&str; 3] = ["totals", "cost_by_day", "cost_by_agent"];
/// Group of the user's queries that name none.
const OWN: &str = "Own";

/// Prints the list: by group on a terminal, else with titles and parameters.
pub(in crate::cli) fn list(output: &OutputSettings, printer: Printer, library: &Library) -> Result<()> {
    for (path, reason) in &library.problems {
        printer.warn(&format!("`{}` is no query: {reason}", path.display()));
    }
    let rows = Output::new(output, Format::Csv)?;
    if !rows.is_on_terminal() {
        return rows.wrapping().print(&table(&library.reports().chain(library.detectors()).collect::<Vec<_>>())?);
    }
    output::drawn(output, &screen(library, output::look_of_stdout(printer)))?;
    printer.notes(&[
        "llrem query cost_by_day --since 7d    run one".to_owned(),
        "llrem query cost_by_day --explain     parameters and columns".to_owned(),
    ]);
    Ok(())
}

/// Prints the list of detectors.
pub(in crate::cli) fn detectors(output: &OutputSettings, printer: Printer, library: &Library) -> Result<()> {
    let rows = Output::new(output, Format::Csv)?;
    if !rows.is_on_terminal() {
        return rows.wrapping().print(&table(&library.detectors().collect::<Vec<_>>())?);
    }
    let title = |canned: &Canned| format!("{}{}", canned.title, if canned.is_off { " (off)" } else { "" });
    let lines = library.detectors().map(|canned| Line { name: &canned.name, text: title(canned) }).collect();
    output::drawn(output, &drawn(&[("", lines)], output::look_of_stdout(printer)))?;
    printer.notes(&["llrem detect --explain cache_misses    what it finds, parameters and columns".to_owned()]);
    Ok(())
}

fn table(queries: &[&Canned]) -> Result<RecordBatch> {
    let column = |text: fn(&Canned) -> String| -> ArrayRef {
        Arc::new(queries.iter().map(|canned| Some(text(canned))).collect::<StringArray>())
    };
    Ok(RecordBatch::try_from_iter([
        ("name", column(|canned| canned.name.clone())),
        ("title", column(|canned| canned.title.clone())),
        ("kind", column(kind)),
        ("parameters", column(|canned| parameters(&canned.parameters))),
    ])?)
}

fn kind(canned: &Canned) -> String {
    format!("{}{}", canned.purpose.name(), if canned.is_off { " (off)" } else { "" })
}

fn parameters(parameters: &[Parameter]) -> String {
    let shown = parameters.iter().map(|parameter| match parameter.default.as_deref() {
        None => format!("{} (needed)", parameter.name),
        Some("null" | "") => parameter.name.clone(),
        Some(default) => format!("{}={default}", parameter.name),
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// One line for each question.
struct Line<'l> {
    name: &'l str,
    text: String,
}

fn screen(library: &Library, look: output::Look) -> String {
    let named = library.reports().map(|canned| canned.group.name.as_str()).filter(|name| !name.is_empty());
    let others = named.filter(|name| !GROUPS.contains(name)).chain([OWN]);
    let mut groups: Vec<&str> = Vec::new();
    for name in GROUPS.into_iter().chain(others) {
        if !groups.contains(&name) {
            groups.push(name);
        }
    }
    let mut blocks: Vec<(&str, Vec<Line<'_>>)> =
        groups.into_iter().map(|group| (group, lines(library, group))).filter(|(_, lines)| !lines.is_empty()).collect();
    let detectors = library.detectors().count();
    blocks.push((
        "Waste",
        vec![Line { name: "", text: format!("{detectors} detectors; llrem\u{a0}detect\u{a0}--explain lists them") }],
    ));
    drawn(&blocks, look)
}

/// Returns the lines of a group. Queries that belong to another one share its line.
fn lines<'l>(library: &'l Library, group: &str) -> Vec<Line<'l>> {
    let is_here = |canned: &&Canned| match canned.group.name.as_str() {
        "" => group == OWN,
        name => name == group,
    };
    let members: Vec<&Canned> = library.reports().filter(is_here).collect();
    let is_head =
        |canned: &&&Canned| canned.group.head().is_none_or(|head| !members.iter().any(|other| other.name == head));
    let mut heads: Vec<&Canned> = members.iter().filter(is_head).copied().collect();
    heads.sort_by_key(|head| {
        (FIRST.iter().position(|first| *first == head.name).unwrap_or(FIRST.len()), head.name.as_str())
    });
    let line = |head: &&'l Canned| {
        let text = if head.group.text.is_empty() { head.title.as_str() } else { &head.group.text };
        let family = members.iter().filter(|canned| canned.group.head() == Some(&head.name));
        let also: Vec<String> = family.map(|canned| ending(&head.name, &canned.name)).collect();
        let also = if also.is_empty() { String::new() } else { format!("; also {}", also.join(", ")) };
        Line { name: &head.name, text: format!("{text}{also}") }
    };
    heads.iter().map(line).collect()
}

/// Returns the end of a name in which it differs from another one: `_week` for `cost_by_week`.
fn ending(head: &str, name: &str) -> String {
    let stem = head.rfind('_').and_then(|at| head.get(..at)).unwrap_or(head);
    let rest = name.strip_prefix(head).or_else(|| name.strip_prefix(stem));
    rest.filter(|rest| rest.starts_with('_')).unwrap_or(name).to_owned()
}

fn drawn(blocks: &[(&str, Vec<Line<'_>>)], look: output::Look) -> String {
    let names = blocks.iter().flat_map(|(_, lines)| lines.iter().map(|line| width(line.name)));
    let (group_width, name_width) =
        (blocks.iter().map(|(group, _)| width(group)).max().unwrap_or(0), names.max().unwrap_or(0));
    let hang = group_width + name_width + 4;
    let mut text = String::new();
    for (group, lines) in blocks {
        for (at, line) in lines.iter().enumerate() {
            let group = if at == 0 { group } else { "" };
            let name_width = if line.name.is_empty() { 0 } else { name_width + 2 };
            let line = format!("{group:group_width$}  {:name_width$}{}", line.name, line.text);
            let line = wrap(&line, look.width.unwrap_or(usize::MAX).min(PROSE), hang);
            text.push_str(&line.replacen(group, &look.paint.bold(group), usize::from(!group.is_empty())));
            text.push('\n');
        }
    }
    text
}
