//! The appearance of output on its terminal, and prose that fits it.

use std::iter::repeat;

use super::paint::Paint;
use crate::shown::Signs;
use crate::shown::width::{PROSE, width, wrap};

/// Fewest columns of a text next to a head, however narrow the terminal is.
const LEAST_PROSE: usize = 20;

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
