//! Draws tables without boxes: text left, numbers right, two spaces between columns, fitted to a width.

use std::iter::repeat_n;

use super::cell::{Cell, Weight, tail};
use super::grid::{Grid, Role};
use super::layout::{GAP, Layout, Slot, fitting};
use super::look::Look;
use super::paint::Paint;
use crate::shown::width::{cut, cut_path, width, wrap_cell, wrap_name};

/// Fewest and most columns of a bar.
const BAR: std::ops::RangeInclusive<usize> = 8..=24;

/// A table as text, and what it leaves out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawn {
    /// The lines of the table.
    pub text: String,
    /// Sentences about columns that are missing or joined.
    pub notes: Vec<String>,
}

impl Grid {
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
            Role::Text => vec![cut_path(text, slot.width, look.signs)],
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
