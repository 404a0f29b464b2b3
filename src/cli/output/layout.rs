//! Finds the columns and widths with which a table fits into a terminal.

use super::cell::{Cell, Weight, tail};
use super::grid::{Column, Grid, Role};
use crate::shown::Signs;
use crate::shown::width::width;

/// Columns between two columns.
pub(super) const GAP: usize = 2;

/// Fewest columns to which a text is cut or wrapped.
const NARROWEST: usize = 20;

/// Most of the width that the key takes, in per cent. A longer key has a line of its own.
const KEY_PERCENT: usize = 40;

/// The columns of a table as they are drawn.
pub(super) struct Layout {
    pub(super) slots: Vec<Slot>,
    pub(super) notes: Vec<String>,
}

/// A column as it is drawn.
pub(super) struct Slot {
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) is_key: bool,
    pub(super) width: usize,
    /// Columns after the decimal point.
    pub(super) tail: usize,
    pub(super) cells: Vec<String>,
    pub(super) weights: Vec<Weight>,
    pub(super) total: Option<String>,
}

/// Step that makes a table narrower.
#[derive(Clone, Copy)]
struct Variant {
    /// Tokens have three digits.
    is_short: bool,
    /// The kinds of tokens are one column.
    is_merged: bool,
    /// Long names of columns take several lines.
    folds: bool,
    /// Columns that leave.
    dropped: usize,
}

/// Variants of a table with all its columns, the best first.
const VARIANTS: [(bool, bool, bool); 8] = [
    (false, false, false),
    (true, false, false),
    (false, true, false),
    (true, true, false),
    (false, false, true),
    (true, false, true),
    (false, true, true),
    (true, true, true),
];

/// Returns the first variant that fits, or else the narrowest.
pub(super) fn fitting(grid: &Grid, available: Option<usize>, signs: Signs) -> Layout {
    let variants = VARIANTS.map(|(is_short, is_merged, folds)| Variant { is_short, is_merged, folds, dropped: 0 });
    let narrower = (1..grid.columns.len())
        .flat_map(|dropped| [false, true].map(|folds| Variant { is_short: true, is_merged: true, folds, dropped }));
    let mut last = None;
    for variant in variants.into_iter().chain(narrower) {
        let (mut layout, is_complete) = Layout::of(grid, variant, available, signs);
        let Some(available) = available else { return layout };
        if layout.shrink(variant, available) {
            return layout;
        }
        if !is_complete {
            break;
        }
        last = Some(layout);
    }
    last.unwrap_or_else(|| Layout { slots: Vec::new(), notes: Vec::new() })
}

impl Layout {
    /// Returns the columns of a variant, and false if it leaves only the key.
    fn of(grid: &Grid, variant: Variant, available: Option<usize>, signs: Signs) -> (Self, bool) {
        let mut slots = Vec::new();
        let mut notes = Vec::new();
        let kinds: Vec<usize> = places(grid, Role::TokensOfKind);
        let is_merged = variant.is_merged && kinds.len() > 1;
        for (at, column) in grid.columns.iter().enumerate() {
            let is_kind = is_merged && kinds.contains(&at);
            if is_kind && kinds.first() != Some(&at) {
                continue;
            }
            let merged = Column::new("tokens", Role::Tokens);
            let from = if is_kind { kinds.as_slice() } else { &[at] };
            let mut slot = Slot::of(grid, if is_kind { &merged } else { column }, from, variant.is_short, signs);
            slot.is_key = at == 0 && column.role.is_left();
            slots.push(slot);
        }
        let kept = slots.len().saturating_sub(variant.dropped).max(1);
        let gone: Vec<String> = slots.drain(kept..).map(|slot| slot.name).collect();
        if is_merged && slots.iter().any(|slot| slot.name == "tokens") {
            let names: Vec<&str> =
                kinds.iter().filter_map(|at| grid.columns.get(*at)).map(|it| it.name.as_str()).collect();
            notes.push(format!("tokens: {} together", names.join(", ")));
        }
        if !gone.is_empty() {
            notes.push(format!("no room for {}", gone.join(", ")));
        }
        if let (Some(available), [key, _, ..]) = (available, slots.as_mut_slice()) {
            key.limit(available * KEY_PERCENT / 100);
        }
        let is_complete = slots.len() > 1;
        (Self { slots, notes }, is_complete)
    }

    /// Returns the width of the table.
    pub(super) fn width(&self) -> usize {
        let widths: usize = self.slots.iter().map(|slot| slot.width).sum();
        widths + GAP * self.slots.len().saturating_sub(1)
    }

    /// Narrows texts, and names if the variant folds them, the widest first. False if the table does not fit.
    fn shrink(&mut self, variant: Variant, available: usize) -> bool {
        let floors: Vec<usize> = self.slots.iter().map(|slot| slot.floor(variant.folds)).collect();
        let mut excess = self.width().saturating_sub(available);
        while excess > 0 {
            let reducible = self.slots.iter_mut().zip(&floors).filter(|(slot, floor)| slot.width > **floor);
            let Some((widest, _)) = reducible.max_by_key(|(slot, _)| slot.width) else { return false };
            widest.width -= 1;
            excess -= 1;
        }
        true
    }
}

fn places(grid: &Grid, role: Role) -> Vec<usize> {
    grid.columns.iter().enumerate().filter(|(_, column)| column.role == role).map(|(at, _)| at).collect()
}

impl Slot {
    fn of(grid: &Grid, column: &Column, from: &[usize], is_short: bool, signs: Signs) -> Self {
        let cell = |row: &Vec<Cell>| match from {
            [at] => row.get(*at).cloned().unwrap_or_default(),
            kinds => Cell::sum(kinds.iter().filter_map(|at| row.get(*at))),
        };
        let shown = |cell: &Cell| cell.shown(is_short, signs.unknown);
        let rows: Vec<Cell> = grid.rows.iter().map(cell).collect();
        let cells: Vec<String> = rows.iter().map(shown).collect();
        let total = grid.total.as_ref().map(|row| shown(&cell(row)));
        let mut slot = Self {
            name: column.name.clone(),
            role: column.role,
            is_key: false,
            width: 0,
            tail: 0,
            weights: rows.iter().map(|cell| cell.weight).collect(),
            cells,
            total,
        };
        slot.tail = slot.texts().map(tail).max().unwrap_or(0);
        slot.width = slot.content().max(width(&slot.name));
        slot
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        self.cells.iter().chain(&self.total).map(String::as_str)
    }

    /// Returns the widest cell, with decimal points aligned.
    fn content(&self) -> usize {
        let aligned = |text: &str| match self.role {
            Role::Money => width(text) + self.tail - tail(text).min(self.tail),
            _ => width(text),
        };
        self.texts().map(aligned).max().unwrap_or(0)
    }

    /// Makes the key as wide as its longest value within the limit.
    fn limit(&mut self, most: usize) {
        if self.is_key && self.role == Role::Text && self.width > most {
            let fitting = self.texts().map(width).filter(|taken| *taken <= most).max().unwrap_or(0);
            self.width = fitting.max(width(&self.name));
        }
    }

    /// Returns the smallest width.
    fn floor(&self, folds: bool) -> usize {
        if self.is_key {
            return self.width;
        }
        let word = self.name.split_inclusive(['_', ' ']).map(|word| width(word.trim_end())).max().unwrap_or(0);
        let name = if folds { word } else { width(&self.name) };
        let content = self.content();
        name.max(if self.role == Role::Text { content.min(NARROWEST) } else { content }).min(self.width)
    }
}
