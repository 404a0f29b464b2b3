//! `detect --new`: leaves out what an earlier one has reported.

use std::collections::HashMap;

use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use xxhash_rust::xxh3::xxh3_128;

use super::super::settings::Settings;
use super::rows;
use crate::lake::{AnyLake, Reported};
use crate::tables::{FindingRow, Severity};
use crate::{Error, Result};

/// The findings that were reported, and those that are new.
pub(super) struct Fresh {
    reported: Reported,
    /// The new ones, in their order: what each is known by, and its severity.
    new: Vec<(u128, u8)>,
}

impl Fresh {
    /// Reads which findings of a lake were reported.
    pub(super) fn of(settings: &Settings, lake: &AnyLake) -> Result<Self> {
        let AnyLake::Local(lake) = lake else {
            return Err(Error::Usage("--new needs a lake on a local disk, which keeps what was reported".to_owned()));
        };
        let reported = lake.reported()?;
        if reported.is_damaged {
            settings.printer.warn("the list of reported findings is damaged; all findings count as new");
        }
        Ok(Self { reported, new: Vec::new() })
    }

    /// Returns the findings that were not reported.
    pub(super) fn only_new(&mut self, findings: &RecordBatch) -> Result<RecordBatch> {
        let keys = keyed(rows(findings));
        let is_new = |(key, severity): &(u128, u8)| self.reported.is_new(*key, *severity);
        let mask: BooleanArray = keys.iter().map(|finding| Some(is_new(finding))).collect();
        self.new = keys.into_iter().filter(is_new).collect();
        Ok(filter_record_batch(findings, &mask)?)
    }

    /// Notes that the first of the new findings were printed.
    pub(super) fn note(&mut self, printed: usize) -> Result<()> {
        self.reported.add(self.new.iter().take(printed).copied())
    }
}

/// Returns what a finding is known by, and its severity. Positions in a session may shift, so the time of the first
/// evidence counts, if there is one.
fn keyed<'f>(found: impl Iterator<Item = FindingRow<'f>>) -> Vec<(u128, u8)> {
    let key = |finding: &FindingRow<'_>| {
        let place = match (finding.first_at, finding.first_seq) {
            (Some(moment), _) => format!("at {moment}"),
            (None, Some(seq)) => format!("seq {seq}"),
            (None, None) => String::new(),
        };
        let parts = [finding.detector, finding.machine, finding.agent, finding.session_id, &place];
        let parts: Vec<u8> = parts.iter().flat_map(|part| part.as_bytes().iter().copied().chain([0])).collect();
        xxh3_128(&parts)
    };
    let severity = |finding: &FindingRow<'_>| {
        let place = Severity::ALL.iter().position(|severity| *severity == finding.severity);
        place.and_then(|place| u8::try_from(place).ok()).unwrap_or(0)
    };
    // Several findings may begin at one moment.
    let mut counts: HashMap<u128, u128> = HashMap::new();
    let mut numbered = |finding: &FindingRow<'_>| {
        let key = key(finding);
        let count = counts.entry(key).or_default();
        *count += 1;
        key.wrapping_add(*count - 1)
    };
    found.map(|finding| (numbered(&finding), severity(&finding))).collect()
}
