//! Prices rows of `usage`.

use arrow::array::RecordBatch;

use super::{PriceTable, Tokens, utc_day};
use crate::error::Result;
use crate::tables::{PriceTableRow, Prices, UsageRow};

/// Whether anything was counted: where an agent counts nothing, a cost of 0 would be made up.
pub fn tells_use(row: &UsageRow<'_>) -> bool {
    let tokens = [row.input_tokens, row.cache_read_tokens, row.cache_write_5m_tokens, row.cache_write_1h_tokens];
    tokens.into_iter().chain([row.output_tokens, row.web_searches]).any(|count| count.is_some())
}

/// Knows what a billed response cost.
pub struct Pricer {
    table: PriceTable,
}

impl Pricer {
    /// Prices by the given table.
    pub fn new(table: PriceTable) -> Self {
        Self { table }
    }

    /// Cost of a response in USD, and the model as priced; none when the model is unknown, or nothing of what it used.
    pub fn cost(&self, row: &UsageRow<'_>) -> Option<(f64, &str)> {
        if !tells_use(row) {
            return None;
        }
        let count = |tokens: Option<i64>| u64::try_from(tokens.unwrap_or(0)).unwrap_or(0);
        let tokens = Tokens {
            input: count(row.input_tokens),
            cache_read: count(row.cache_read_tokens),
            cache_write_5m: count(row.cache_write_5m_tokens),
            cache_write_1h: count(row.cache_write_1h_tokens),
            output: count(row.output_tokens),
            web_searches: count(row.web_searches),
            tier: row.service_tier,
            is_sum: row.grain != "response",
        };
        let cost = self.table.cost(&tokens, row.model?, row.provider, row.timestamp.and_then(utc_day))?;
        Some((cost.usd, cost.model_key))
    }

    /// The model as priced; none when it is unknown.
    pub fn model_key(&self, row: &UsageRow<'_>) -> Option<&str> {
        let day = row.timestamp.and_then(utc_day);
        self.table.price(row.model?, row.provider, day).map(|price| price.model_key)
    }

    /// All prices as rows.
    pub fn rows(&self) -> Result<RecordBatch> {
        let mut rows = Prices::default();
        let text = |day: Option<chrono::NaiveDate>| day.map(|day| day.to_string());
        for row in self.table.rows() {
            rows.push(PriceTableRow {
                model: row.model,
                provider: Some(row.provider).filter(|provider| !provider.is_empty()),
                valid_from: text(row.valid_from).as_deref(),
                valid_until: text(row.valid_until).as_deref(),
                kind: row.kind,
                tier: row.tier,
                threshold: row.threshold.and_then(|tokens| i64::try_from(tokens).ok()),
                usd_per_million: row.usd_per_million,
            });
        }
        Ok(rows.finish()?)
    }
}
