//! `llrem` alone before the first `etl`: which agents left sessions here, and the one command to run.

use super::super::agents;
use super::super::args::Etl;
use super::super::etl;
use super::super::output::{self, Cell, Column, Grid, Role};
use super::super::settings::Settings;
use crate::Result;
use crate::shown::one_line;
use crate::shown::value::plural;

/// Writes where no sessions were found.
pub(super) fn print_nothing(settings: &Settings) -> Result<()> {
    let options = settings.etl_options(Etl::default())?;
    output::drawn(&settings.output, &etl::nothing_found(&options, output::look_of_stdout(settings.printer)))
}

/// Writes the agents, and what to do.
pub(super) fn print(settings: &Settings) -> Result<()> {
    let look = output::look_of_stdout(settings.printer);
    let mut found = agents::found(settings)?;
    found.retain(|seen| seen.sources > 0);
    if found.is_empty() {
        return print_nothing(settings);
    }
    found.sort_by_key(|seen| std::cmp::Reverse(seen.bytes));
    let columns = [
        ("agent", Role::Whole),
        ("files", Role::Number),
        ("size", Role::Number),
        ("where", Role::Text),
        ("deleted", Role::Whole),
    ];
    let mut grid = Grid::new(columns.map(|(name, role)| Column::new(name, role)).to_vec());
    grid.set_indent(2);
    for seen in &found {
        let deleted = seen
            .retention_days
            .map_or_else(|| "never".to_owned(), |days| format!("after {}", plural(days.into(), "day")));
        grid.push(vec![
            Cell::text(seen.about.id),
            Cell::count(seen.sources),
            Cell::bytes(seen.bytes),
            Cell::text(one_line(&seen.place())),
            Cell::text(deleted),
        ]);
    }
    if found.len() > 1 {
        grid.set_total(vec![
            Cell::text(plural(found.len() as u64, "agent")),
            Cell::count(found.iter().map(|seen| seen.sources).sum()),
            Cell::bytes(found.iter().map(|seen| seen.bytes).sum()),
            Cell::empty(),
            Cell::empty(),
        ]);
    }
    let text = [
        look.prose("There is no lake yet. These agents left sessions on this machine:"),
        grid.draw(look).text,
        look.prose("Read them into a lake; nothing leaves this machine:"),
        format!("  {}\n", look.paint.bold("llrem etl")),
        look.prose("To look around first: llrem\u{a0}demo makes a lake of invented sessions."),
    ];
    output::drawn(&settings.output, &text.join("\n"))
}
