//! Reads the items of a document one at a time, and its defects.

use crate::agents::document::{self, Ending, Found};
use crate::extract::{Reject, Sink};
use crate::source::records::Shape;
use crate::source::{Source, repair};

/// Counts and defects of a document.
#[derive(Default)]
pub(super) struct Tally {
    /// Items read.
    pub(super) items: u64,
    /// Items that could not be read, plus 1 if the document is torn.
    bad: u64,
    first_bad: Option<(u64, String)>,
    /// True if the document was read to its end; false if it was empty.
    pub(super) is_whole: bool,
}

impl Tally {
    fn problem(&mut self, item: u64, reason: String) {
        self.bad += 1;
        self.first_bad.get_or_insert((item, reason));
    }

    /// Adds the counts to a report.
    pub(super) fn report(&self, out: &mut Sink<'_>) {
        (0..self.items).for_each(|_| out.line());
        if let Some((item, reason)) = &self.first_bad {
            (0..self.bad).for_each(|_| out.problem(*item, reason));
        }
    }
}

/// Takes an item, with its place from 0.
pub(super) type Take<'t, S> = dyn FnMut(&<S as Shape>::Of<'_>, u64) -> Result<(), Reject> + 't;

/// Reads a document that is a list, or an object with a list under the given name.
pub(super) fn read<S: Shape + 'static>(
    source: &mut Source<'_>,
    list: &str,
    take: &mut Take<'_, S>,
) -> Result<Tally, Reject> {
    let mut tally = Tally::default();
    let ending = document::read(source, list, &mut |found| {
        let Found::Item(json) = found else { return Ok(()) };
        let place = tally.items;
        tally.items += 1;
        if let Ok(item) = serde_json::from_str::<S::Of<'_>>(json) {
            return take(&item, place);
        }
        let repaired = repair(json.as_bytes());
        match serde_json::from_str::<S::Of<'_>>(&repaired) {
            Ok(item) => take(&item, place),
            Err(error) => {
                tally.problem(place + 1, format!("an item that cannot be read: {error}"));
                Ok(())
            }
        }
    })?;
    tally.is_whole = matches!(ending, Ending::Whole);
    if let Ending::Torn(_, error) = ending {
        let place = tally.items + 1;
        tally.items += 1;
        tally.problem(place, format!("a torn list; the items before the tear were read: {error}"));
    }
    Ok(tally)
}
