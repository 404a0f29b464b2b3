//! Token counts stored with a reply.

use super::record::Metrics;
use super::rows::Rows;
use super::split::{RecordedInput, Split};
use crate::extract::{Kind, Reject};
use crate::tables::{UsageGrain, UsageRow};

/// A reply's own numbers.
pub(super) struct Numbers {
    pub(super) split: Split,
    pub(super) output: Option<i64>,
    pub(super) cost: Option<f64>,
}

impl Numbers {
    /// Returns `None` if there is no number.
    pub(super) fn of(metrics: &Metrics<'_>) -> Option<Self> {
        let cost = metrics.cost.0.filter(|cost| *cost >= 0.0);
        let (recorded, output) = match &metrics.tokens.0 {
            Some(tokens) => {
                let recorded = RecordedInput { input: tokens.prompt.0, cache_read: tokens.cached.0, cache_write: None };
                (recorded, tokens.completion.0)
            }
            None => {
                let (cache_read, cache_write) = (metrics.cache_read.0, metrics.cache_write.0);
                (RecordedInput { input: metrics.input.0, cache_read, cache_write }, metrics.output.0)
            }
        };
        let is_recorded = recorded != RecordedInput::default() || output.is_some() || cost.is_some();
        is_recorded.then(|| Self { split: recorded.split_whole(), output, cost })
    }
}

/// Usage that a reply itself records.
pub(super) struct OwnBill<'m> {
    pub(super) id: &'m str,
    pub(super) model: Option<String>,
    pub(super) provider: Option<String>,
    pub(super) at: Option<i64>,
    pub(super) numbers: Numbers,
    pub(super) grain: UsageGrain,
    /// Key of the finer rows that supersede it.
    pub(super) superseded_by: Option<u64>,
    pub(super) is_copy: bool,
}

impl OwnBill<'_> {
    /// Emits the row.
    pub(super) fn push(self, rows: &mut Rows<'_, '_>, seq: i64) -> Result<(), Reject> {
        rows.has_own_bills = true;
        let row = UsageRow {
            response_id: self.id,
            message_id: Some(self.id),
            timestamp: self.at,
            model: self.model.as_deref(),
            provider: self.provider.as_deref(),
            grain: self.grain,
            ..self.numbers.split.row(self.numbers.output, self.numbers.cost)
        };
        rows.bill(row, Some(seq), self.is_copy)?;
        if let Some(finer) = self.superseded_by {
            rows.out.yields_to(Kind::Response, self.id, finer, None);
        }
        Ok(())
    }
}
