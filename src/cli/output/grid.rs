//! Tables without boxes: text left, numbers right, two spaces between columns, fitted to a width.

use std::iter::{repeat, repeat_n};

use super::cell::{Cell, Weight, tail};
use super::layout::{Layout, Slot, fitting};
use super::paint::Paint;
use crate::shown::Signs;
use crate::shown::width::{PROSE, cut, width, wrap, wrap_cell, wrap_name};

/// Columns between two columns.
pub(super) const GAP: usize = 2;

/// Fewest columns of a text next to a head, however narrow the terminal is.
const LEAST_PROSE: usize = 20;

/// Fewest and most columns of a bar.
const BAR: std::ops::RangeInclusive<usize> = 8..=24;

/// Kind of content of a column. It decides on alignment and shortening.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Text that may be cut, or wrapped.
    Text,
    /// Text that is always whole: a time, an id, a command.
    Whole,
    /// A number.
    Number,
    /// An amount of dollars, aligned at the decimal point.
    Money,
    /// A number of tokens.
    Tokens,
    /// Tokens of one kind. A narrow table shows the kinds together.
    TokensOfKind,
}

impl Role {
    pub(super) fn is_left(self) -> bool {
        matches!(self, Self::Text | Self::Whole)
    }
}

/// A column of a table.
#[derive(Debug, Clone)]
pub struct Column {
    /// Name in the header.
    pub name: String,
    /// Kind of its content.
    pub role: Role,
}

impl Column {
    /// Creates a column.
    pub fn new(name: impl Into<String>, role: Role) -> Self {
        Self { name: name.into(), role }
    }
}

/// A table. Its columns are in the order of importance: the last ones leave first if the terminal is narrow.
#[derive(Debug, Clone, Default)]
pub struct Grid {
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Vec<Cell>>,
    pub(super) total: Option<Vec<Cell>>,
    pub(super) wraps: bool,
    bars: Option<usize>,
    indent: usize,
}

/// Appearance of a table on its terminal.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// Width of the terminal; `None` for a file or pipe.
    pub width: Option<usize>,
    /// Colours.
    pub paint: Paint,
    /// Signs.
    pub signs: Signs,
}

impl Look {
    /// Most columns of a line of prose.
    pub fn prose_columns(self) -> usize {
        self.width.unwrap_or(PROSE).min(PROSE)
    }

    /// Returns a sentence in lines that fit.
    pub fn prose(self, text: &str) -> String {
        wrap(text, self.prose_columns(), 0) + "\n"
    }

    /// Returns a head of some columns, and a text that wraps next to it.
    pub fn next_to(self, head: &str, columns: usize, text: &str) -> String {
        let text = wrap(text, self.prose_columns().saturating_sub(columns).max(LEAST_PROSE), 0);
        let indent = " ".repeat(columns);
        let heads = std::iter::once(head).chain(repeat(indent.as_str()));
        text.lines().zip(heads).flat_map(|(line, head)| [head, line, "\n"]).collect()
    }

    /// Returns commands, and what each is for, in two columns.
    pub fn commands(self, commands: &[(&str, &str)]) -> String {
        let widest = commands.iter().map(|(command, _)| width(command)).max().unwrap_or(0);
        let line = |(command, what): &(&str, &str)| {
            let gap = widest + 3 - width(command);
            format!("  {}{:gap$}{}\n", self.paint.bold(command), "", self.paint.dim(what))
        };
        commands.iter().map(line).collect()
    }
}

/// A table as text, and what it leaves out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawn {
    /// The lines of the table.
    pub text: String,
    /// Sentences about columns that are missing or joined.
    pub notes: Vec<String>,
}

impl Grid {
    /// Creates a table. The first column is its key.
    pub fn new(columns: Vec<Column>) -> Self {
        Self { columns, ..Self::default() }
    }

    /// Adds a row.
    pub fn push(&mut self, row: Vec<Cell>) {
        self.rows.push(row);
    }

    /// Sets the last row, below a rule.
    pub fn set_total(&mut self, row: Vec<Cell>) {
        self.total = Some(row);
    }

    /// Draws the amounts of a column as bars, if there is room.
    pub fn set_bars(&mut self, column: usize) {
        self.bars = Some(column);
    }

    /// Indents every line.
    pub fn set_indent(&mut self, columns: usize) {
        self.indent = columns;
    }

    /// Wraps long texts instead of cutting them.
    pub fn set_wrapping(&mut self) {
        self.wraps = true;
    }

    /// Removes columns whose rows are all zero or unknown, apart from the key, and says which.
    pub fn leave_out_empty(&mut self) -> Vec<String> {
        let is_empty = |at: &usize| {
            let mut cells = self.rows.iter().filter_map(|row| row.get(*at));
            *at > 0 && !self.rows.is_empty() && cells.all(Cell::is_nothing)
        };
        let gone: Vec<usize> = (0..self.columns.len()).filter(is_empty).collect();
        let has = |at: usize, weight| self.rows.iter().any(|row| row.get(at).is_some_and(|cell| cell.weight == weight));
        let reason = |at: usize| match () {
            () if has(at, Weight::Zero) => "all zero",
            () if has(at, Weight::No) => "never true",
            () => "all unknown",
        };
        let notes = ["all zero", "never true", "all unknown"].into_iter().filter_map(|wanted| {
            let columns = gone.iter().filter(|at| reason(**at) == wanted).filter_map(|at| self.columns.get(*at));
            let names: Vec<&str> = columns.map(|column| column.name.as_str()).collect();
            (!names.is_empty()).then(|| format!("left out, {wanted}: {}", names.join(", ")))
        });
        let notes = notes.collect();
        self.bars = self.bars.filter(|at| !gone.contains(at)).map(|at| at - gone.iter().filter(|it| **it < at).count());
        retain(&mut self.columns, &gone);
        self.rows.iter_mut().chain(&mut self.total).for_each(|row| retain(row, &gone));
        notes
    }

    /// Draws the table.
    pub fn draw(&self, look: Look) -> Drawn {
        let within = look.width.map(|width| width.saturating_sub(self.indent));
        let layout = fitting(self, within, look.signs);
        let look = Look { width: within, ..look };
        let mut lines = header(&layout, look.paint);
        let bars = self.bar_room(&layout, look).map(|room| self.bars_of(room, look));
        for row in 0..self.rows.len() {
            let bar = bars.as_ref().and_then(|bars| bars.get(row)).map_or("", String::as_str);
            self.draw_row(row, &layout, look, bar, &mut lines);
        }
        if self.total.is_some() {
            lines.push(look.paint.dim(&look.signs.rule.repeat(layout.width())));
            let total = layout.slots.iter().map(|slot| look.paint.bold(&slot.padded(slot.total.as_ref())));
            lines.push(joined(total));
        }
        let indent = " ".repeat(self.indent);
        let text = lines.iter().flat_map(|line| [indent.as_str(), line.trim_end(), "\n"]).collect();
        Drawn { text, notes: layout.notes }
    }

    fn draw_row(&self, row: usize, layout: &Layout, look: Look, bar: &str, lines: &mut Vec<String>) {
        let cells: Vec<Vec<String>> = layout.slots.iter().map(|slot| self.lines_of(slot, row, look)).collect();
        let has_own_line = layout.slots.len() > 1
            && layout.slots.first().is_some_and(|key| key.cells.get(row).is_some_and(|it| width(it) > key.width));
        if has_own_line {
            lines.push(cells.first().map(|key| key.join(" ")).unwrap_or_default());
        }
        let most = cells.iter().skip(usize::from(has_own_line)).map(Vec::len).max().unwrap_or(0);
        for at in 0..most {
            let line = layout.slots.iter().zip(&cells).enumerate().map(|(place, (slot, cell))| {
                let text = cell.get(at).filter(|_| place > 0 || !has_own_line);
                let is_faint = slot.weights.get(row).is_some_and(|weight| *weight != Weight::Something);
                let padded = slot.padded(text);
                if is_faint { look.paint.dim(&padded) } else { padded }
            });
            let line = joined(line);
            lines.push(if at == 0 && !bar.is_empty() { format!("{line}{:GAP$}{bar}", "") } else { line });
        }
    }

    /// Returns the lines of a cell: one, unless the table wraps texts.
    fn lines_of(&self, slot: &Slot, row: usize, look: Look) -> Vec<String> {
        let text = slot.cells.get(row).map_or("", String::as_str);
        if slot.is_key && slot.role == Role::Text {
            return vec![cut(text, look.width.unwrap_or(usize::MAX), look.signs)];
        }
        match slot.role {
            Role::Text if width(text) <= slot.width => vec![text.to_owned()],
            Role::Text if self.wraps => wrap_cell(text, slot.width).lines().map(str::to_owned).collect(),
            Role::Text => vec![cut(text, slot.width, look.signs)],
            _ => vec![text.to_owned()],
        }
    }

    fn bar_room(&self, layout: &Layout, look: Look) -> Option<usize> {
        let room = look.width?.checked_sub(layout.width() + GAP)?;
        (self.rows.len() > 1 && room >= *BAR.start()).then(|| room.min(*BAR.end()))
    }

    fn bars_of(&self, room: usize, look: Look) -> Vec<String> {
        let amount = |row: &Vec<Cell>| self.bars.and_then(|at| row.get(at)?.amount).unwrap_or(0.0);
        let most = self.rows.iter().map(amount).fold(0.0, f64::max);
        let bar = |row| {
            let parts = if most > 0.0 { (amount(row) / most * (room * 8) as f64).round() } else { 0.0 };
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "between 0 and eight times the room"
            )]
            let parts = (parts as usize).max(usize::from(amount(row) > 0.0));
            let [whole, rest @ ..] = look.signs.bar;
            let rest = (8 - parts % 8).checked_sub(1).and_then(|at| rest.get(at)).unwrap_or(&"");
            look.paint.dim(&(whole.repeat(parts / 8) + rest))
        };
        self.rows.iter().map(bar).collect()
    }

    /// Draws the only row vertically: names left, values right.
    pub fn draw_vertically(&self, look: Look) -> String {
        let Some(row) = self.rows.first() else { return String::new() };
        let names = self.columns.iter().map(|column| column.name.as_str());
        let cells: Vec<String> = row.iter().map(|cell| cell.shown(false, look.signs.unknown)).collect();
        let widest = names.clone().map(width).max().unwrap_or(0);
        let room = look.width.map_or(usize::MAX, |width| width.saturating_sub(widest + GAP).max(1));
        let figures = cells.iter().map(|cell| width(cell)).filter(|taken| *taken <= room).max().unwrap_or(0);
        let mut text = String::new();
        for ((name, cell), weight) in names.zip(&cells).zip(row.iter().map(|cell| cell.weight)) {
            for (at, line) in wrap_cell(cell, room).split('\n').enumerate() {
                let name = if at == 0 { name } else { "" };
                let name = format!("{name}{:pad$}", "", pad = widest + GAP - width(name));
                let line = format!("{:pad$}{line}", "", pad = figures.saturating_sub(width(line)));
                let line = if weight == Weight::Something { line } else { look.paint.dim(&line) };
                let name = if line.trim().is_empty() { name.trim_end() } else { &name };
                text.extend([look.paint.dim(name).as_str(), line.trim_end(), "\n"]);
            }
        }
        text
    }
}

fn retain<T>(items: &mut Vec<T>, gone: &[usize]) {
    let mut at = 0;
    items.retain(|_| {
        at += 1;
        !gone.contains(&(at - 1))
    });
}

fn joined(cells: impl Iterator<Item = String>) -> String {
    cells.collect::<Vec<_>>().join(&" ".repeat(GAP))
}

/// Returns the lines of the header. Names that are wrapped end at the same line.
fn header(layout: &Layout, paint: Paint) -> Vec<String> {
    let names = layout.slots.iter().map(|slot| wrap_name(&slot.name, slot.width).lines().map(str::to_owned).collect());
    let names: Vec<Vec<String>> = names.collect();
    let most = names.iter().map(Vec::len).max().unwrap_or(0);
    let line = |at: usize| {
        let cells = layout.slots.iter().zip(&names).map(|(slot, name)| {
            let text =
                (at + name.len()).checked_sub(most).and_then(|at| name.get(at)).map_or("", |text| text.trim_end());
            slot.aligned(text)
        });
        paint.dim(joined(cells).trim_end())
    };
    (0..most).map(line).collect()
}

impl Slot {
    /// Pads the text of a cell, whose decimal point may have to be aligned.
    fn padded(&self, text: Option<&String>) -> String {
        let text = text.map_or("", String::as_str);
        match self.role {
            Role::Money if !text.is_empty() => {
                let after: String = repeat_n(' ', self.tail - tail(text).min(self.tail)).collect();
                self.aligned(&(text.to_owned() + &after))
            }
            _ => self.aligned(text),
        }
    }

    fn aligned(&self, text: &str) -> String {
        let room = " ".repeat(self.width.saturating_sub(width(text)));
        if self.role.is_left() { text.to_owned() + &room } else { room + text }
    }
}

#[cfg(test)]
mod tests;
