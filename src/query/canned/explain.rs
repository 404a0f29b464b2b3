//! Describes a canned query in words.

use std::borrow::Cow;
use std::fmt::Write;

use super::{Canned, Purpose};
use crate::tables::FINDINGS;

/// Width of the names in front of descriptions.
const NAMES: usize = 30;
/// Column at which the descriptions of parameters and columns begin.
pub const DESCRIPTIONS: usize = NAMES + 3;

impl Canned {
    /// Returns title, description, note, what to do, parameters and columns as lines of text.
    pub fn explanation(&self) -> String {
        let mut text = format!("{}: {}\n\n{}\n", self.name, self.title, self.about);
        if !self.note.is_empty() {
            let _ = writeln!(text, "\nNote: {}", self.note);
        }
        if !self.todo.is_empty() {
            let _ = writeln!(text, "\nWhat to do: {}", self.todo);
        }
        if !self.parameters.is_empty() {
            text.push_str("\nParameters:\n");
            for parameter in &self.parameters {
                let default = parameter.default.as_ref().map_or_else(String::new, |default| format!(" = {default}"));
                let declared = format!("{} {}{default}", parameter.name, parameter.kind.name());
                let _ = writeln!(text, "  {declared:<NAMES$} {}", parameter.doc);
            }
        }
        text.push_str("\nColumns:\n");
        for (name, doc) in self.described_columns() {
            let _ = writeln!(text, "  {name:<NAMES$} {doc}");
        }
        text
    }

    fn described_columns(&self) -> Vec<(&str, Cow<'_, str>)> {
        let own = self.columns.iter().map(|(name, doc)| (name.as_str(), doc.as_str().into()));
        let of_findings = FINDINGS.columns.iter().map(|column| (column.name, column.described().into()));
        match self.purpose {
            Purpose::Detector if self.columns.is_empty() => of_findings.collect(),
            _ => own.collect(),
        }
    }
}
