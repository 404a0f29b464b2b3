//! The `prices` table.

use chrono::NaiveDate;

use super::PriceTable;
use super::rates::{ModelPrice, RateCard, Rates};
use super::table::Model;
use crate::tables::{PriceKind, PriceTier};

/// One rate of one model in a period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PriceRow<'a> {
    /// The table's name of the model, as in `usage.model_key`.
    pub model: &'a str,
    /// The provider.
    pub provider: &'a str,
    /// First day (UTC) of this rate; `None` if no earlier rate is known.
    pub valid_from: Option<NaiveDate>,
    /// First day (UTC) after this rate; `None` if it is still valid.
    pub valid_until: Option<NaiveDate>,
    /// Kind of price.
    pub kind: PriceKind,
    /// Tier of the requests.
    pub tier: PriceTier,
    /// The rate applies to the whole request if its prompt has more tokens than this.
    pub threshold: Option<u64>,
    /// USD per million tokens, or per million searches.
    pub usd_per_million: f64,
}

impl PriceTable {
    /// Returns every known rate, by model, time, threshold and tier.
    pub fn rows(&self) -> impl Iterator<Item = PriceRow<'_>> {
        self.models().iter().flat_map(rows_of_model)
    }
}

fn rows_of_model(model: &Model) -> Vec<PriceRow<'_>> {
    let mut rows = Vec::new();
    for (valid_from, valid_until, price) in model.price_periods() {
        for (kind, tier, threshold, usd_per_million) in price.map(rates_of).unwrap_or_default() {
            let (model, provider) = (&*model.key, model.provider());
            rows.push(PriceRow { model, provider, valid_from, valid_until, kind, tier, threshold, usd_per_million });
        }
    }
    rows
}

type Rate = (PriceKind, PriceTier, Option<u64>, f64);

fn rates_of(price: &ModelPrice) -> Vec<Rate> {
    let mut rates = Vec::new();
    push_card(&mut rates, price, &price.card, None);
    for (over, card) in &price.long_context {
        push_card(&mut rates, price, card, Some(*over));
    }
    rates.extend(price.web_search.map(|usd| (PriceKind::WebSearch, PriceTier::Standard, None, usd * 1e6)));
    rates
}

fn push_card(rates: &mut Vec<Rate>, price: &ModelPrice, card: &RateCard, over: Option<u64>) {
    let standard = if over.is_some() { PriceTier::LongContext } else { PriceTier::Standard };
    let mut push = |tier: PriceTier, of_tier: Rates| {
        rates.extend(of_tier.kinds().map(|(kind, rate)| (kind, tier, over, rate)));
    };
    push(standard, card.standard);
    for (tier, of_tier) in &card.tiers {
        push(tier.name(), *of_tier);
    }
    if let Some(factor) = price.fast {
        push(PriceTier::Fast, card.standard.scaled(factor));
    }
}
