//! A table before it is drawn: its columns, rows and total.

use super::cell::{Cell, Weight};

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
    pub(super) bars: Option<usize>,
    pub(super) indent: usize,
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

    /// Removes columns that are all zero or unknown, apart from the key, and says which.
    pub fn leave_out_empty(&mut self) -> Vec<String> {
        let is_empty = |at: &usize| {
            let mut cells = self.rows.iter().filter_map(|row| row.get(*at));
            // A limit leaves out rows that the total has.
            let total = self.total.as_ref().and_then(|row| row.get(*at));
            let has_total = total.is_some_and(|cell| cell.weight == Weight::Something);
            *at > 0 && !self.rows.is_empty() && cells.all(Cell::is_nothing) && !has_total
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
}

fn retain<T>(items: &mut Vec<T>, gone: &[usize]) {
    let mut at = 0;
    items.retain(|_| {
        at += 1;
        !gone.contains(&(at - 1))
    });
}
