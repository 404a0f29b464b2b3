//! Prices of models, by day.
//!
//! Prices come from three places; later ones override earlier ones: `prices.json`, which `refresh.py` takes from the
//! package `litellm` on `PyPI`; `dated.toml`, with dated changes and corrections; and the user's own file in the same
//! form:
//!
//! ```toml
//! [[price]]
//! models = ["o3", "o3-2025-04-16"]   # as `model_key` and the `prices` table show them; new names are added
//! from = 2025-04-16                  # first day (UTC); without it: since ever
//! until = 2025-06-10                 # first day that it no longer holds; without it: for ever
//! input = 10.0                       # USD per million tokens
//! cache_read = 2.5                   # optional, as are cache_write_5m and cache_write_1h
//! output = 40.0
//! note = "where the numbers are from"
//!
//! [[price]]
//! models = ["claude-sonnet-4-6"]
//! until = 2026-03-13
//! long_context = [{ over = 200_000, input = 6.0, cache_read = 0.6, output = 22.5 }]   # [] takes it away
//! batch = { input = 1.5, output = 7.5 }   # likewise flex, priority, ultrafast
//! fast = 6.0                              # factor on all rates in fast mode
//! us_inference = 1.1                      # factor on all rates if inference runs in the US only
//! web_search = 10.0                       # USD per 1,000 searches
//!
//! [[price]]
//! models = ["some-model-latest"]
//! until = 2026-01-21
//! same_as = "gpt-5.4"                # the price of another model, as the entries above leave it
//!
//! [[price]]
//! models = ["some-model"]
//! unpriced = true                    # its cost stays unknown
//!
//! [aliases]
//! "our-deployment" = "gpt-5.5"
//! ```
//!
//! An entry with `input` and `output` replaces the whole price, except the price of web searches. An entry without them
//! changes parts of the price of that day. Of two entries for one day, the later one wins.

mod cost;
mod dated;
mod lookup;
mod pricer;
mod rates;
mod rows;
mod table;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::LazyLock;

use chrono::{DateTime, NaiveDate};

pub use cost::{Cost, Tokens};
pub use pricer::{Pricer, Recent, with_costs};
pub use rates::{ModelPrice, RateCard, Rates, Tier};
pub use rows::PriceRow;

use dated::{Change, Overrides};
use lookup::Index;
use rates::PricePeriod;
use table::{Listing, Model};

const DATED: &str = include_str!("dated.toml");

/// The reason why prices could not be read.
#[derive(Debug, thiserror::Error)]
pub enum PriceError {
    /// The override file is not TOML, or not of the form described in [the module](self).
    #[error("not a price file: {0}")]
    Toml(#[from] toml::de::Error),
    /// An entry that is no valid price.
    #[error("price of {model}: {why}")]
    Entry {
        /// The models that the entry names.
        model: String,
        /// The reason.
        why: String,
    },
}

/// All known prices. Lookups are cheap and need no network.
#[derive(Clone, Debug, Default)]
pub struct PriceTable {
    models: Vec<Model>,
    index: Index,
}

/// The result of a lookup by name in one [`PriceTable`], to be kept for later rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModelId(usize);

/// The price of a model on a given day.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price<'a> {
    /// The model's name in the table.
    pub model_key: &'a str,
    /// The provider with this price, as named by `litellm`; empty if unknown.
    pub provider: &'a str,
    /// The endpoint with this price: `chat`, `completion` or `responses`; empty if unknown.
    pub mode: &'a str,
    /// First day (UTC) of this price, if an earlier one is known.
    pub valid_from: Option<NaiveDate>,
    /// First day (UTC) after this price.
    pub valid_until: Option<NaiveDate>,
    /// The numbers.
    pub price: &'a ModelPrice,
}

/// Returns a fingerprint of the bundled prices and the user's own.
pub(crate) fn fingerprint(own: Option<&str>) -> String {
    let mut hasher = xxhash_rust::xxh3::Xxh3::new();
    for text in [table::BUNDLED, DATED, own.unwrap_or_default()] {
        hasher.update(text.as_bytes());
        hasher.update(&[0]);
    }
    format!("{:016x}", hasher.digest())
}

/// Returns the day of the bundled prices.
pub fn bundled_day() -> Option<NaiveDate> {
    let head = table::BUNDLED.lines().next()?;
    head.split_once("\"date\":\"")?.1.split_once('"')?.0.parse().ok()
}

impl PriceTable {
    /// Returns the bundled table. It is indexed once; every further call copies it.
    pub fn bundled() -> Self {
        static TABLE: LazyLock<PriceTable> = LazyLock::new(|| PriceTable::read_bundled().unwrap_or_default());
        TABLE.clone()
    }

    fn read_bundled() -> Result<Self, PriceError> {
        let models = table::bundled();
        let index = Index::of(&models);
        Self { models, index }.with_overrides(DATED)
    }

    /// Returns this table with a user's own prices and aliases, in the form described in [the module](self).
    pub fn with_overrides(mut self, toml_text: &str) -> Result<Self, PriceError> {
        let Overrides { price, aliases } = dated::parse(toml_text)?;
        for change in price {
            self.lay_over(&change)?;
        }
        for (name, target) in aliases {
            self.index.alias(&name, &target)?;
        }
        Ok(self)
    }

    fn lay_over(&mut self, change: &Change) -> Result<(), PriceError> {
        let changes = match &change.same_as {
            Some(other) => self.sharing(change, other)?,
            None => vec![change.clone()],
        };
        for name in &change.models {
            let at = self.index.exact(name).unwrap_or_else(|| self.add(name));
            let Some(model) = self.models.get_mut(at) else { continue };
            if let Some(provider) = &change.provider {
                model.seller = Some(provider.clone());
            }
            model.changes.extend_from_slice(&changes);
            model.periods = dated::timeline(model.listed_price(), &model.changes);
        }
        Ok(())
    }

    /// Returns one change for each price period of the other model.
    fn sharing(&self, change: &Change, other: &str) -> Result<Vec<Change>, PriceError> {
        let Some(model) = self.index.exact(other).and_then(|at| self.models.get(at)) else {
            let why = format!("it is to cost the same as {other}, which is in no table");
            return Err(PriceError::Entry { model: change.models.join(", "), why });
        };
        Ok(model.price_periods().filter_map(|period| change.sharing(period)).collect())
    }

    fn add(&mut self, name: &str) -> usize {
        let at = self.models.len();
        let (key, listing) = (Cow::Owned(name.to_owned()), Listing::default());
        self.models.push(Model { key, seller: None, listing, changes: Vec::new(), periods: Vec::new() });
        self.index.insert(name, at);
        at
    }

    /// Looks up a model name as an agent records it, with any prefix, date or suffix.
    ///
    /// `provider` served the request, if the agent records it: its own price overrides the maker's.
    pub fn resolve(&self, model: &str, provider: Option<&str>) -> Option<ModelId> {
        let priced = |at: usize| self.models.get(at).is_some_and(Model::has_price);
        self.index.resolve(model, provider, priced).map(ModelId)
    }

    /// Returns the price of a model on a day (UTC), or the newest price without a day.
    ///
    /// Returns `None` for a model without a price on that day.
    pub fn price_of(&self, ModelId(at): ModelId, day: Option<NaiveDate>) -> Option<Price<'_>> {
        let model = self.models.get(at)?;
        let (valid_from, valid_until, price) = model.on(day)?;
        let mode = model.listing.get().map_or("", |listed| listed.mode);
        Some(Price { model_key: &model.key, provider: model.provider(), mode, valid_from, valid_until, price })
    }

    /// Combines [`resolve`](Self::resolve) and [`price_of`](Self::price_of).
    pub fn price(&self, model: &str, provider: Option<&str>, day: Option<NaiveDate>) -> Option<Price<'_>> {
        self.price_of(self.resolve(model, provider)?, day)
    }

    /// Returns the cost of a response, or `None`, never 0, if no price is known.
    pub fn cost(
        &self,
        tokens: &Tokens,
        model: &str,
        provider: Option<&str>,
        day: Option<NaiveDate>,
    ) -> Option<Cost<'_>> {
        let price = self.price(model, provider, day)?;
        Some(Cost { usd: price.cost(tokens)?, model_key: price.model_key })
    }

    fn models(&self) -> &[Model] {
        &self.models
    }
}

impl Model {
    fn has_price(&self) -> bool {
        self.listing.is_priced() || self.periods.iter().any(|period| period.price.is_some())
    }

    fn listed_price(&self) -> Option<&ModelPrice> {
        self.listing.get().map(|listed| &listed.price)
    }

    fn price_periods(&self) -> impl Iterator<Item = PricePeriod<'_>> {
        let always = self.periods.is_empty().then_some((None, None, self.listed_price()));
        let dated = self.periods.iter().map(|period| (period.from, period.until, period.price.as_ref()));
        always.into_iter().chain(dated)
    }

    fn provider(&self) -> &str {
        let listed = || self.listing.get().map_or("", |listed| listed.provider);
        self.seller.as_deref().unwrap_or_else(listed)
    }

    fn on(&self, day: Option<NaiveDate>) -> Option<(Option<NaiveDate>, Option<NaiveDate>, &ModelPrice)> {
        if self.periods.is_empty() {
            return Some((None, None, self.listed_price()?));
        }
        let period = match day {
            Some(day) => self.periods.iter().find(|period| period.until.is_none_or(|until| day < until)),
            None => self.periods.last(),
        }?;
        Some((period.from, period.until, period.price.as_ref()?))
    }
}

/// Returns the UTC day of a timestamp in microseconds.
pub fn utc_day(micros: i64) -> Option<NaiveDate> {
    DateTime::from_timestamp_micros(micros).map(|time| time.date_naive())
}
