//! Dated changes and corrections of prices, from `dated.toml` and the user's own file.

use std::collections::{BTreeMap, BTreeSet};

use chrono::NaiveDate;
use serde::Deserialize;
use toml::value::Datetime;

use super::PriceError;
use super::rates::{ModelPrice, Period, PricePeriod, RateCard, Rates, Tier};

/// A file of overrides; the format is in the documentation of [`super`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Overrides {
    #[serde(default)]
    pub(super) price: Vec<Change>,
    #[serde(default)]
    pub(super) aliases: BTreeMap<String, String>,
}

/// One `[[price]]` of an override file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Change {
    pub(super) models: Vec<String>,
    pub(super) provider: Option<String>,
    #[serde(default, deserialize_with = "day")]
    from: Option<NaiveDate>,
    #[serde(default, deserialize_with = "day")]
    until: Option<NaiveDate>,
    #[serde(rename = "note")]
    _note: Option<String>,
    #[serde(default)]
    unpriced: bool,
    /// Another model with the same price.
    pub(super) same_as: Option<String>,
    /// Price of that model in this period.
    #[serde(skip)]
    shared: Option<ModelPrice>,
    input: Option<f64>,
    cache_read: Option<f64>,
    cache_write_5m: Option<f64>,
    cache_write_1h: Option<f64>,
    output: Option<f64>,
    batch: Option<Rates>,
    flex: Option<Rates>,
    priority: Option<Rates>,
    ultrafast: Option<Rates>,
    long_context: Option<Vec<LongContext>>,
    fast: Option<f64>,
    us_inference: Option<f64>,
    /// USD per 1,000 searches, as providers advertise it.
    web_search: Option<f64>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LongContext {
    over: u64,
    input: f64,
    cache_read: Option<f64>,
    cache_write_5m: Option<f64>,
    cache_write_1h: Option<f64>,
    output: f64,
}

/// Parses an override file, and refuses invalid prices.
pub(super) fn parse(text: &str) -> Result<Overrides, PriceError> {
    let overrides: Overrides = toml::from_str(text)?;
    for change in &overrides.price {
        change.check()?;
    }
    Ok(overrides)
}

/// Returns the prices of a model over time: the base price with all changes, later ones over earlier ones.
pub(super) fn timeline(base: Option<&ModelPrice>, changes: &[Change]) -> Vec<Period> {
    let boundaries: BTreeSet<NaiveDate> =
        changes.iter().flat_map(|change| [change.from, change.until]).flatten().collect();
    let starts = std::iter::once(None).chain(boundaries.iter().copied().map(Some));
    let ends = boundaries.iter().copied().map(Some).chain(std::iter::once(None));

    let mut periods: Vec<Period> = Vec::new();
    for (from, until) in starts.zip(ends) {
        let holding = changes.iter().filter(|change| change.holds_throughout(from, until));
        let price = holding.fold(base.cloned(), |price, change| change.over(price));
        match periods.last_mut() {
            Some(last) if last.price == price => last.until = until,
            _ => periods.push(Period { from, until, price }),
        }
    }
    periods
}

impl Change {
    fn holds_throughout(&self, from: Option<NaiveDate>, until: Option<NaiveDate>) -> bool {
        let begun = self.from.is_none_or(|first| from.is_some_and(|from| first <= from));
        let not_ended = self.until.is_none_or(|end| until.is_some_and(|until| until <= end));
        begun && not_ended
    }

    /// Returns the change that gives these models the price of another model in one period, or `None` if this change is
    /// not valid in that period.
    pub(super) fn sharing(&self, (from, until, price): PricePeriod<'_>) -> Option<Self> {
        let from = self.from.max(from);
        let until = self.until.into_iter().chain(until).min();
        if from.zip(until).is_some_and(|(from, until)| until <= from) {
            return None;
        }
        let (models, shared, unpriced) = (self.models.clone(), price.cloned(), price.is_none());
        Some(Self { models, from, until, shared, unpriced, ..Self::default() })
    }

    fn over(&self, price: Option<ModelPrice>) -> Option<ModelPrice> {
        if self.unpriced || self.shared.is_some() {
            return self.shared.clone();
        }
        if self.input.is_some() {
            let web_search = price.and_then(|price| price.web_search);
            let whole = ModelPrice {
                card: RateCard { standard: self.standard(), tiers: Vec::new() },
                web_search,
                ..ModelPrice::default()
            };
            return Some(self.amend(whole));
        }
        price.map(|price| self.amend(price))
    }

    fn amend(&self, mut price: ModelPrice) -> ModelPrice {
        let standard = &mut price.card.standard;
        standard.cache_read = self.cache_read.or(standard.cache_read);
        standard.cache_write_5m = self.cache_write_5m.or(standard.cache_write_5m);
        standard.cache_write_1h = self.cache_write_1h.or(standard.cache_write_1h);
        for (tier, rates) in self.tiers() {
            price.card.tiers.retain(|(own, _)| *own != tier);
            price.card.tiers.push((tier, rates));
        }
        if let Some(steps) = &self.long_context {
            price.long_context = steps.iter().map(LongContext::card).collect();
            price.long_context.sort_by_key(|(over, _)| *over);
        }
        price.fast = self.fast.or(price.fast);
        price.us_inference = self.us_inference.or(price.us_inference);
        price.web_search = self.web_search.map(|thousand| thousand / 1000.0).or(price.web_search);
        price
    }

    fn standard(&self) -> Rates {
        Rates {
            input: self.input,
            cache_read: self.cache_read,
            cache_write_5m: self.cache_write_5m,
            cache_write_1h: self.cache_write_1h,
            output: self.output,
        }
    }

    fn tiers(&self) -> impl Iterator<Item = (Tier, Rates)> + use<> {
        [
            (Tier::Batch, self.batch),
            (Tier::Flex, self.flex),
            (Tier::Priority, self.priority),
            (Tier::Ultrafast, self.ultrafast),
        ]
        .into_iter()
        .filter_map(|(tier, rates)| Some((tier, rates?)))
    }

    fn check(&self) -> Result<(), PriceError> {
        let refuse = |why: &str| Err(PriceError::Entry { model: self.models.join(", "), why: why.to_owned() });
        if self.models.is_empty() {
            return refuse("`models` names no model");
        }
        if self.same_as.is_some() && (self.unpriced || self.numbers().next().is_some()) {
            return refuse("`same_as` takes the whole price of another model");
        }
        if self.input.is_some() != self.output.is_some() {
            return refuse("`input` and `output` belong together");
        }
        if let (Some(from), Some(until)) = (self.from, self.until)
            && until <= from
        {
            return refuse("`until` must be later than `from`");
        }
        if self.tiers().any(|(_, rates)| rates.input.is_none() || rates.output.is_none()) {
            return refuse("a tier needs `input` and `output`");
        }
        if self.numbers().any(|number| !number.is_finite() || number < 0.0) {
            return refuse("a price must be 0 or more");
        }
        Ok(())
    }

    fn numbers(&self) -> impl Iterator<Item = f64> + '_ {
        let factors = self.fast.into_iter().chain(self.us_inference);
        let own = self.standard().kinds().map(|(_, rate)| rate).chain(factors).chain(self.web_search);
        let tiers = self.tiers().flat_map(|(_, rates)| rates.kinds().map(|(_, rate)| rate));
        let steps = self.long_context.iter().flatten();
        let long = steps.flat_map(|step| step.card().1.standard.kinds().map(|(_, rate)| rate));
        own.chain(tiers).chain(long)
    }
}

impl LongContext {
    fn card(&self) -> (u64, RateCard) {
        let standard = Rates {
            input: Some(self.input),
            cache_read: self.cache_read,
            cache_write_5m: self.cache_write_5m,
            cache_write_1h: self.cache_write_1h,
            output: Some(self.output),
        };
        (self.over, RateCard { standard, tiers: Vec::new() })
    }
}

fn day<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<NaiveDate>, D::Error> {
    let value = Datetime::deserialize(deserializer)?;
    let date =
        value.date.and_then(|date| NaiveDate::from_ymd_opt(date.year.into(), date.month.into(), date.day.into()));
    date.map(Some).ok_or_else(|| serde::de::Error::custom("a day like 2025-06-10 is expected"))
}
