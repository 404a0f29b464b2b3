//! Prices rows of `usage`.

use arrow::array::RecordBatch;

use super::{ModelId, Price, PriceTable, Tokens, utc_day};
use crate::error::Result;
use crate::tables::{CostSource, PriceTableRow, Prices, UsageGrain, UsageRow};

/// True if the row has any count. Otherwise a cost of 0 would be made up.
fn has_usage(row: &UsageRow<'_>) -> bool {
    let tokens = [row.input_tokens, row.cache_read_tokens, row.cache_write_5m_tokens, row.cache_write_1h_tokens];
    tokens.into_iter().chain([row.output_tokens, row.web_searches]).any(|count| count.is_some())
}

/// Computes the cost of billed responses.
pub struct Pricer {
    table: PriceTable,
}

/// The last model looked up. A session has few models, and a lookup by name costs more than the rest of a row.
#[derive(Debug, Default)]
pub struct Recent {
    model: String,
    provider: Option<String>,
    found: Option<ModelId>,
}

impl Recent {
    fn find(&mut self, table: &PriceTable, model: &str, provider: Option<&str>) -> Option<ModelId> {
        if self.model != model || self.provider.as_deref() != provider {
            self.found = table.resolve(model, provider);
            model.clone_into(&mut self.model);
            self.provider = provider.map(str::to_owned);
        }
        self.found
    }
}

impl Pricer {
    /// Creates a pricer with a price table.
    pub fn new(table: PriceTable) -> Self {
        Self { table }
    }

    /// Adds total and cost to a row: the recorded cost, or else the one by the prices of its day.
    pub fn priced<'r>(&'r self, row: UsageRow<'r>, recent: &mut Recent) -> UsageRow<'r> {
        let row = UsageRow { total_tokens: total_of(&row), ..row };
        let model = row.model.and_then(|model| recent.find(&self.table, model, row.provider));
        let price = model.and_then(|model| self.table.price_of(model, row.timestamp.and_then(utc_day)));
        let list_cost_usd = price.filter(|_| has_usage(&row)).and_then(|price| price.cost(&tokens_of(&row)));
        let is_named = row.cost_usd.is_some() || list_cost_usd.is_some() || !has_usage(&row);
        let model_key = price.filter(|_| is_named).map(|price| price.model_key);
        with_costs(UsageRow { list_cost_usd, model_key, ..row })
    }

    /// Returns the cost of a response in USD, and the model as priced; `None` if the model or all its counts are
    /// unknown.
    pub fn cost(&self, row: &UsageRow<'_>) -> Option<(f64, &str)> {
        let price = self.price(row).filter(|_| has_usage(row))?;
        Some((price.cost(&tokens_of(row))?, price.model_key))
    }

    /// Returns the model as priced, or `None` if it is unknown.
    pub fn model_key(&self, row: &UsageRow<'_>) -> Option<&str> {
        self.price(row).map(|price| price.model_key)
    }

    fn price(&self, row: &UsageRow<'_>) -> Option<Price<'_>> {
        self.table.price(row.model?, row.provider, row.timestamp.and_then(utc_day))
    }

    /// Returns all prices as rows.
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

/// Adds the cost to a row: the recorded one, or else the list price.
pub fn with_costs(row: UsageRow<'_>) -> UsageRow<'_> {
    let cost_source = match (row.cost_usd, row.list_cost_usd) {
        (Some(_), _) => Some(CostSource::Recorded),
        (None, Some(_)) => Some(CostSource::Computed),
        (None, None) => None,
    };
    UsageRow { cost_usd: row.cost_usd.or(row.list_cost_usd), cost_source, ..row }
}

fn tokens_of<'r>(row: &UsageRow<'r>) -> Tokens<'r> {
    let count = |tokens: Option<i64>| u64::try_from(tokens.unwrap_or(0)).unwrap_or(0);
    Tokens {
        input: count(row.input_tokens),
        cache_read: count(row.cache_read_tokens),
        cache_write_5m: count(row.cache_write_5m_tokens),
        cache_write_1h: count(row.cache_write_1h_tokens),
        output: count(row.output_tokens),
        web_searches: count(row.web_searches),
        tier: row.service_tier,
        inference_geo: row.inference_geo,
        is_sum: row.grain != UsageGrain::Response,
    }
}

fn total_of(row: &UsageRow<'_>) -> Option<i64> {
    [row.input_tokens, row.cache_read_tokens, row.cache_write_5m_tokens, row.cache_write_1h_tokens, row.output_tokens]
        .into_iter()
        .flatten()
        .reduce(i64::saturating_add)
}
