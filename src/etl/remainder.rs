//! Totals of a session next to rows of its responses. The lake stores only the part of the total that no other row of the
//! session counts. So each token is counted once, also after the agent dropped its responses one by one.

use arrow::array::RecordBatch;

use crate::agents::{self, total_id};
use crate::error::Result;
use crate::identity::{Kind, Replica, ResponseCopy, key};
use crate::pricing::{Pricer, with_costs};
use crate::tables::{Usage, UsageColumns, UsageGrain, UsageRow};

/// Subtracts from each total of a session what its other rows count. `replicas` have the totals as recorded.
pub(super) fn without_counted<'r>(
    usage: &RecordBatch,
    agent: &str,
    replicas: &(impl Iterator<Item = &'r Replica> + Clone),
    pricer: &Pricer,
) -> Result<RecordBatch> {
    let columns = UsageColumns::of(usage);
    let rows = || (0..usage.num_rows()).map(|row| columns.row(row));
    let has_totals = agents::by_id(agent).is_some_and(|agent| agent.about().has_totals);
    if !has_totals || !rows().any(|row| is_total(&row)) {
        return Ok(usage.clone());
    }
    let mut counted = Counted::default();
    for row in rows().filter(|row| !is_total(row) && !row.is_sidechain) {
        counted.add(&row);
    }
    if counted == Counted::default() {
        return Ok(usage.clone());
    }
    let mut left = Usage::default();
    for row in rows() {
        let total =
            if is_total(&row) { recorded(replicas.clone(), key(agent, Kind::Response, row.response_id)) } else { None };
        match total {
            Some(total) => left.push(counted.rest_of(&total, &row, pricer)),
            None => left.push(row),
        }
    }
    Ok(left.finish()?)
}

fn is_total(row: &UsageRow<'_>) -> bool {
    row.grain == UsageGrain::Session && row.response_id == total_id(row.session_id)
}

/// Returns the fullest copy of a total.
fn recorded<'r>(replicas: impl Iterator<Item = &'r Replica>, key: u64) -> Option<ResponseCopy> {
    let copies = replicas.flat_map(|replica| replica.responses.of(key));
    copies.max_by_key(|copy| (copy.total(), copy.output, copy.known_counts()))
}

/// Tokens that the other rows of a session count.
#[derive(Default, PartialEq)]
struct Counted {
    input: i64,
    cache_read: i64,
    cache_write_5m: i64,
    cache_write_1h: i64,
    output: i64,
    reasoning: i64,
}

impl Counted {
    fn add(&mut self, row: &UsageRow<'_>) {
        for (sum, tokens) in [
            (&mut self.input, row.input_tokens),
            (&mut self.cache_read, row.cache_read_tokens),
            (&mut self.cache_write_5m, row.cache_write_5m_tokens),
            (&mut self.cache_write_1h, row.cache_write_1h_tokens),
            (&mut self.output, row.output_tokens),
            (&mut self.reasoning, row.reasoning_tokens),
        ] {
            *sum = sum.saturating_add(tokens.unwrap_or(0));
        }
    }

    fn rest_of<'r>(&self, total: &ResponseCopy, row: &UsageRow<'r>, pricer: &'r Pricer) -> UsageRow<'r> {
        let rest = |total: Option<i64>, counted: i64| total.map(|total| total.saturating_sub(counted).max(0));
        let row = UsageRow {
            input_tokens: rest(total.input.get(), self.input),
            cache_read_tokens: rest(total.cache_read.get(), self.cache_read),
            cache_write_5m_tokens: rest(total.cache_write_5m.get(), self.cache_write_5m),
            cache_write_1h_tokens: rest(total.cache_write_1h.get(), self.cache_write_1h),
            output_tokens: rest(total.output.get(), self.output),
            reasoning_tokens: rest(total.reasoning.get(), self.reasoning),
            ..row.clone()
        };
        let counts = [
            row.input_tokens,
            row.cache_read_tokens,
            row.cache_write_5m_tokens,
            row.cache_write_1h_tokens,
            row.output_tokens,
        ];
        let total_tokens = counts.into_iter().flatten().reduce(i64::saturating_add);
        let (list_cost_usd, model_key) = pricer.cost(&row).unzip();
        let model_key = model_key.or(row.model_key);
        with_costs(UsageRow { total_tokens, cost_usd: None, list_cost_usd, model_key, ..row })
    }
}
