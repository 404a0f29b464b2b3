//! Responses of several sources: one row, with the counts of the fullest copy.

use arrow::array::RecordBatch;

use crate::error::Result;
use crate::extract::Chunk;
use crate::identity::{Owners, ResponseCopy};
use crate::pricing::{Pricer, Recent, with_costs};
use crate::tables::{CostSource, Usage, UsageColumns, UsageGrain, UsageRow};

/// Prices rows that only the lake still has by the prices of this run.
pub(super) fn priced_anew(batch: &RecordBatch, pricer: &Pricer) -> Result<RecordBatch> {
    let mut rows = Usage::default();
    let columns = UsageColumns::of(batch);
    let mut recent = Recent::default();
    for row in (0..batch.num_rows()).map(|row| columns.row(row)) {
        let recorded = row.cost_usd.filter(|_| row.cost_source == Some(CostSource::Recorded));
        let row = UsageRow { cost_usd: recorded, cost_source: None, model_key: None, ..row };
        rows.push(pricer.priced(row, &mut recent));
    }
    Ok(rows.finish()?)
}

/// Writes the fullest copy's counts into rows whose response has other copies.
pub(super) fn with_fullest_copies(chunk: &Chunk, owners: &Owners, pricer: &Pricer) -> Result<RecordBatch> {
    let copies: Vec<Option<Vec<ResponseCopy>>> = chunk.keys.iter().map(|key| owners.copies(*key)).collect();
    if copies.iter().all(Option::is_none) {
        return Ok(chunk.batch.clone());
    }
    let mut rows = Usage::default();
    let columns = UsageColumns::of(&chunk.batch);
    for (row, copies) in copies.iter().enumerate() {
        let own = columns.row(row);
        match copies {
            Some(copies) => push_merged(&mut rows, own, copies, pricer),
            None => rows.push(own),
        }
    }
    Ok(rows.finish()?)
}

fn push_merged(rows: &mut Usage, own: UsageRow<'_>, copies: &[ResponseCopy], pricer: &Pricer) {
    let request =
        own.request_id.and_then(|_| copies.iter().find(|copy| !copy.is_sidechain).and_then(|copy| copy.request));
    // A side question repeats a response of its parent under another request. Its counts are not those of the response.
    let is_replay = |copy: &&ResponseCopy| {
        copy.is_sidechain && !own.is_sidechain && copy.request.is_some() && request.is_some() && copy.request != request
    };
    // All counts of a running total only grow. Of a response, only the output grows.
    let size = |copy: &&ResponseCopy| (if own.grain == UsageGrain::Session { copy.total() } else { None }, copy.output);
    let originals = copies.iter().filter(|copy| !is_replay(copy));
    let fullness = |copy: &&ResponseCopy| (size(copy), copy.stop_reason.is_some(), copy.known_counts());
    let Some(best) = originals.max_by_key(fullness) else {
        return rows.push(own);
    };
    // A recorded cost is always that of the whole response, even if the token counts next to it are those of its start.
    let recorded = best.recorded_cost.or(copies.iter().find_map(|copy| copy.recorded_cost));
    let repeats = copies.iter().map(|copy| copy.copies + 1).sum::<i64>() - 1;
    let merged = UsageRow {
        input_tokens: best.input.get(),
        cache_read_tokens: best.cache_read.get(),
        cache_write_5m_tokens: best.cache_write_5m.get(),
        cache_write_1h_tokens: best.cache_write_1h.get(),
        output_tokens: best.output.get(),
        reasoning_tokens: best.reasoning.get(),
        total_tokens: best.total(),
        web_searches: best.web_searches.get(),
        duration_ms: best.duration_ms.get().or(own.duration_ms),
        stop_reason: best.stop_reason.as_deref(),
        is_partial: best.is_partial,
        copies: repeats,
        ..own.shorten()
    };
    let computed = pricer.cost(&merged);
    let (list_cost_usd, model_key) = computed.unzip();
    let model_key = model_key.or(merged.model_key);
    rows.push(with_costs(UsageRow { cost_usd: recorded, list_cost_usd, model_key, ..merged.shorten() }));
}
