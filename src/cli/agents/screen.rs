//! The agents that are found here, on a terminal.

use super::super::holdings::Holding;
use super::super::output::{self, Cell, Column, Grid, Role};
use super::super::settings::Settings;
use super::Seen;
use crate::Result;
use crate::agents::{About, Grain, Places, USUAL_ROOTS};
use crate::shown::value::plural;
use crate::shown::{in_home, one_line};

/// The agent whose files are in projects, so that it is easily not found.
const IN_PROJECTS: &str = "aider";

/// Content of the screen.
pub(super) struct Screen<'a> {
    pub(super) settings: &'a Settings,
    pub(super) places: &'a Places,
    pub(super) seen: &'a [Seen],
    /// Counts in the lake, if there is one.
    pub(super) held: Option<&'a [Holding]>,
    /// Files that will be deleted soon and that the lake lacks.
    pub(super) missing: usize,
}

impl Screen<'_> {
    /// Writes the table to stdout, and what should be known about it to stderr.
    pub(super) fn print(&self) -> Result<()> {
        let look = output::look_of_stdout(self.settings.printer);
        let mut grid = Grid::new(self.columns());
        let shown: Vec<&Seen> = self.seen.iter().filter(|seen| is_shown(seen)).collect();
        for seen in &shown {
            grid.push(self.row(seen));
        }
        let found = shown.iter().filter(|seen| seen.sources > 0).count();
        if found > 1 {
            grid.set_total(self.total(found));
        }
        let drawn = grid.draw(look);
        output::drawn(&self.settings.output, &drawn.text)?;
        self.settings.printer.notes(&self.notes(drawn.notes));
        Ok(())
    }

    fn columns(&self) -> Vec<Column> {
        let columns = [
            ("agent", Role::Whole),
            ("files", Role::Number),
            ("sessions", Role::Number),
            ("size", Role::Number),
            ("kept", Role::Whole),
            ("tools", Role::Whole),
            ("tokens", Role::Whole),
            ("cost", Role::Whole),
            ("times", Role::Whole),
            ("where", Role::Whole),
        ];
        let columns = columns.into_iter().filter(|(name, _)| *name != "sessions" || self.held.is_some());
        columns.map(|(name, role)| Column::new(name, role)).collect()
    }

    fn row(&self, seen: &Seen) -> Vec<Cell> {
        let records = &seen.about.records;
        let kept = seen.retention_days.map_or_else(|| "forever".to_owned(), |days| plural(days.into(), "day"));
        let recorded = |grain: Grain| match grain {
            Grain::Exact => Cell::text("yes"),
            Grain::Session => Cell::text("session"),
            Grain::Absent => Cell::unknown(),
        };
        let mut row = vec![Cell::text(seen.about.id), Cell::count(seen.sources)];
        row.extend(self.sessions(|held| held.agent == seen.about.id));
        row.extend([Cell::bytes(seen.bytes), Cell::text(kept)]);
        row.extend([
            recorded(records.tool_calls),
            recorded(records.tokens),
            cost(seen.about),
            recorded(records.durations),
        ]);
        row.push(if seen.sources > 0 { Cell::text(one_line(&seen.place())) } else { Cell::unknown() });
        row
    }

    fn sessions(&self, is_wanted: impl Fn(&Holding) -> bool) -> Option<Cell> {
        let wanted = self.held?.iter().filter(|held| is_wanted(held));
        Some(Cell::count(wanted.map(|held| held.sessions).sum()))
    }

    fn total(&self, found: usize) -> Vec<Cell> {
        let sum = |number: fn(&Seen) -> i64| self.seen.iter().map(number).sum();
        let agents = plural(u64::try_from(found).unwrap_or(u64::MAX), "agent");
        let mut total = vec![Cell::text(agents), Cell::count(sum(|seen| seen.sources))];
        let is_here = |held: &Holding| self.seen.iter().any(|seen| seen.sources > 0 && seen.about.id == held.agent);
        total.extend(self.sessions(is_here));
        total.push(Cell::bytes(sum(|seen| seen.bytes)));
        total.resize_with(self.columns().len(), Cell::empty);
        total
    }

    fn notes(&self, drawn: Vec<String>) -> Vec<String> {
        // The command below has the places.
        let mut notes: Vec<String> = drawn.into_iter().filter(|note| !note.starts_with("no room")).collect();
        let absent: Vec<&str> = self.seen.iter().filter(|seen| !is_shown(seen)).map(|seen| seen.about.id).collect();
        if !absent.is_empty() {
            notes.push(format!("Not found here: {}", absent.join(", ")));
        }
        notes.extend(self.where_nothing_was());
        notes.extend(soon(self.seen, self.missing));
        notes.push(
            "cost: recorded by the agent, or computed from tokens and prices; session: one sum a session".to_owned(),
        );
        notes.push(
            "kept: how long the agent keeps its files. Places and variables: llrem\u{a0}agents\u{a0}--all".to_owned(),
        );
        notes
    }

    /// Says where an agent's files were looked for that are in projects.
    fn where_nothing_was(&self) -> Option<String> {
        self.seen.iter().find(|seen| seen.about.id == IN_PROJECTS && seen.sources == 0)?;
        let roots: Vec<String> = if self.places.has_usual_roots {
            USUAL_ROOTS.map(|root| format!("~/{root}")).to_vec()
        } else {
            self.places.project_roots.iter().map(|root| one_line(&in_home(&root.to_string_lossy()))).collect()
        };
        let looked = format!("{IN_PROJECTS}: nothing below {}", roots.join(", "));
        Some(format!("{looked}; name the folders of your projects as project_roots in the config file"))
    }
}

fn cost(about: &About) -> Cell {
    match (about.records.cost, about.records.tokens) {
        (Grain::Exact, _) => Cell::text("recorded"),
        (Grain::Session, _) => Cell::text("session"),
        (Grain::Absent, Grain::Absent) => Cell::unknown(),
        (Grain::Absent, _) => Cell::text("computed"),
    }
}

/// Returns which transcripts agents will delete soon, and whether the lake has them.
pub(in crate::cli) fn soon(seen: &[Seen], missing: usize) -> Option<String> {
    let expiring = |seen: &Seen| seen.expiring.as_ref().map_or(0, Vec::len);
    let deleting: Vec<&Seen> = seen.iter().filter(|seen| expiring(seen) > 0).collect();
    let all: usize = deleting.iter().map(|seen| expiring(seen)).sum();
    let agents: Vec<String> = deleting
        .iter()
        .map(|seen| {
            let count = plural(u64::try_from(expiring(seen)).unwrap_or(u64::MAX), "transcript");
            format!("{} deletes {count}", seen.about.id)
        })
        .collect();
    let known = match missing {
        0 => "the lake has them".to_owned(),
        missing if missing == all => "the lake lacks them: llrem\u{a0}etl".to_owned(),
        missing => format!("the lake lacks {missing} of them: llrem\u{a0}etl"),
    };
    (all > 0).then(|| format!("{} within 7 days; {known}", agents.join(", ")))
}

fn is_shown(seen: &Seen) -> bool {
    seen.sources > 0 || seen.about.id == IN_PROJECTS
}
