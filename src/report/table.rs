//! Tables: no wider than the page, with a sum where sums mean something.

use maud::{Markup, html};

/// Column of numbers.
pub(super) const NUMBER: &str = "n";
/// Column of numbers that a phone leaves out.
pub(super) const NUMBER_M: &str = "n M";
/// Column of numbers that only a wide page has.
pub(super) const NUMBER_L: &str = "n L";

/// A table. The first cell of each row is its head. A column without a value is left out.
pub(super) struct Table<'a> {
    pub(super) caption: &'a str,
    /// True if the caption is seen, and not only read aloud.
    pub(super) is_captioned: bool,
    pub(super) class: Option<&'static str>,
    /// Names and classes of the columns.
    pub(super) heads: &'a [(&'a str, &'static str)],
    pub(super) rows: Vec<Vec<Markup>>,
    pub(super) sum: Option<Vec<Markup>>,
}

impl Table<'_> {
    pub(super) fn markup(&self) -> Markup {
        let has_value = |at: usize| self.rows.iter().any(|row| row.get(at).is_some_and(|cell| !cell.0.is_empty()));
        let shown: Vec<(usize, &str, &str)> = self
            .heads
            .iter()
            .enumerate()
            .filter(|(at, _)| *at == 0 || has_value(*at))
            .map(|(at, (name, class))| (at, *name, *class))
            .collect();
        let cell = |row: &[Markup], at: usize| row.get(at).cloned().unwrap_or_default();
        html! {
            table class=[self.class] {
                caption class=[(!self.is_captioned).then_some("vh")] { (self.caption) }
                thead { tr { @for (_, name, of) in &shown { th scope="col" class=[class_of(of)] { (name) } } } }
                tbody { @for row in &self.rows { tr {
                    @for (at, _, of) in &shown {
                        @if *at == 0 { th scope="row" class=[class_of(of)] { (cell(row, 0)) } }
                        @else { td class=[class_of(of)] { (cell(row, *at)) } }
                    }
                } } }
                @if let Some(sum) = &self.sum {
                    tfoot { tr { @for (at, _, of) in &shown {
                        @if *at == 0 { th scope="row" { (cell(sum, 0)) } }
                        @else { td class=[class_of(of)] { (cell(sum, *at)) } }
                    } } }
                }
            }
        }
    }
}

fn class_of(class: &str) -> Option<&str> {
    (!class.is_empty()).then_some(class)
}

/// Returns a cell with a text.
pub(super) fn cell(text: impl AsRef<str>) -> Markup {
    html! { (text.as_ref()) }
}

/// Returns a cell with a value, or an empty one.
pub(super) fn known(value: Option<String>) -> Markup {
    value.map(cell).unwrap_or_default()
}
