//! Usage that a shutdown adds to those before it. Until 1.0.67 each process counted for itself; from about 1.0.80 on, the
//! counts continue over resumes.

use super::ledger::Ledger;
use super::metrics::{Counters, Total, counters, of_shutdown};
use super::record::Shutdown;

const LAST_FOR_ITSELF: [u32; 3] = [1, 0, 67];
const FIRST_GOING_ON: [u32; 3] = [1, 0, 80];

impl Ledger {
    /// Returns the usage that a shutdown adds to those before it, by model.
    pub(super) fn totals(&mut self, shutdown: &Shutdown<'_>) -> Vec<Total> {
        let snapshot = shutdown.snapshot.0.as_ref().filter(|_| counters(&shutdown.metrics).is_empty());
        let metrics = of_shutdown(shutdown);
        let mut totals = Vec::new();
        let mut all_go_on = self.has_checkpoint;
        for (model, now) in metrics {
            let earlier = self.previous.insert(model.clone(), now);
            let goes_on = earlier
                .filter(|then| now.goes_on_from(then) && (snapshot.is_some() || self.counts_go_on(&model, &now, then)));
            // From the first checkpoint on, the cost continues over resumes, while the tokens may still restart.
            let cost_goes_on = goes_on.is_some() || self.has_checkpoint;
            all_go_on |= goes_on.is_some();
            let nano = now.nano.map(|nano| added(nano, earlier.filter(|_| cost_goes_on).and_then(|then| then.nano)));
            let counters = Counters { nano, ..goes_on.map_or(now, |earlier| now.minus(&earlier)) };
            if !counters.numbers().is_zero() {
                totals.push(Total { model, counters });
            }
        }
        let earlier = self.previous_nano;
        self.previous_nano = shutdown.nano.0.or(earlier);
        // The common cost of several models does not show the cost of each.
        if let [only] = totals.as_mut_slice()
            && only.counters.nano.is_none()
        {
            only.counters.nano = shutdown.nano.0.map(|nano| added(nano, earlier.filter(|_| all_go_on)));
        }
        totals
    }

    /// Returns true if counts that have not fallen continue those of the previous shutdown, judged by the output of
    /// replies.
    fn counts_go_on(&self, model: &str, now: &Counters, earlier: &Counters) -> bool {
        if let Some(reported) = self.output_since_shutdown.get(model) {
            let alone = now.output().abs_diff(*reported);
            let together = now.output().abs_diff(earlier.output().saturating_add(*reported));
            if alone != together {
                return alone > together;
            }
        }
        match self.version {
            Some(version) if version >= FIRST_GOING_ON => true,
            Some(version) if version <= LAST_FOR_ITSELF => false,
            Some(_) => self.has_checkpoint,
            // The log lost its start. Counts of separate processes rarely grow in all kinds of tokens.
            None => true,
        }
    }
}

/// Returns the increase of a running sum. A sum that has fallen has restarted.
fn added(now: f64, earlier: Option<f64>) -> f64 {
    earlier.filter(|earlier| *earlier <= now).map_or(now, |earlier| now - earlier)
}
