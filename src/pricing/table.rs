//! Structure of a price, and the bundled table.

use std::borrow::Cow;
use std::sync::OnceLock;

use chrono::NaiveDate;
use serde::Deserialize;

use super::dated::Change;
use crate::tables::{PriceKind, PriceTier};

pub(super) const BUNDLED: &str = include_str!("prices.json");

/// USD per million tokens; `None` if unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rates {
    /// Prompt tokens that were neither read from nor written to a cache.
    pub input: Option<f64>,
    /// Prompt tokens read from a cache.
    pub cache_read: Option<f64>,
    /// Prompt tokens written to a cache that lives 5 minutes (or to a provider's only kind of cache).
    pub cache_write_5m: Option<f64>,
    /// Prompt tokens written to a cache that lives an hour.
    pub cache_write_1h: Option<f64>,
    /// Generated tokens, including reasoning.
    pub output: Option<f64>,
}

impl Rates {
    fn from_list([input, cache_read, five_minutes, hour, output]: RateList) -> Self {
        Self { input, cache_read, cache_write_5m: five_minutes, cache_write_1h: hour, output }
    }

    /// Returns the rates times a factor.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        let scale = |rate: Option<f64>| rate.map(|rate| rate * factor);
        Self {
            input: scale(self.input),
            cache_read: scale(self.cache_read),
            cache_write_5m: scale(self.cache_write_5m),
            cache_write_1h: scale(self.cache_write_1h),
            output: scale(self.output),
        }
    }

    /// Returns every known rate, with its kind of token.
    pub fn kinds(&self) -> impl Iterator<Item = (PriceKind, f64)> + use<> {
        [
            (PriceKind::Input, self.input),
            (PriceKind::CacheRead, self.cache_read),
            (PriceKind::CacheWrite5m, self.cache_write_5m),
            (PriceKind::CacheWrite1h, self.cache_write_1h),
            (PriceKind::Output, self.output),
        ]
        .into_iter()
        .filter_map(|(kind, rate)| Some((kind, rate?)))
    }
}

/// Service tier of a request, if it affects the price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// The list price.
    Standard,
    /// Asynchronous batches, usually at half the price.
    Batch,
    /// The slow tier of `OpenAI` and Google.
    Flex,
    /// The paid fast tier.
    Priority,
    /// `OpenAI`'s fastest tier.
    Ultrafast,
    /// Anthropic's fast mode; for models without one, the same as [`Tier::Priority`].
    Fast,
}

impl Tier {
    /// Parses a recorded service tier. Returns `None` for a tier without a known price.
    pub fn from_recorded(name: Option<&str>) -> Option<Self> {
        let name = name.unwrap_or_default().trim().to_ascii_lowercase();
        Some(match name.as_str() {
            "" | "standard" | "standard_only" | "default" | "auto" | "on_demand" => Self::Standard,
            "batch" | "batches" => Self::Batch,
            "flex" => Self::Flex,
            "priority" => Self::Priority,
            "ultrafast" => Self::Ultrafast,
            "fast" => Self::Fast,
            _ => return None,
        })
    }

    /// Returns the name in the `prices` table.
    pub fn name(self) -> PriceTier {
        match self {
            Self::Standard => PriceTier::Standard,
            Self::Batch => PriceTier::Batch,
            Self::Flex => PriceTier::Flex,
            Self::Priority => PriceTier::Priority,
            Self::Ultrafast => PriceTier::Ultrafast,
            Self::Fast => PriceTier::Fast,
        }
    }
}

/// The rates of one context length: standard rates and those of other tiers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RateCard {
    /// The list price.
    pub standard: Rates,
    /// Tiers with rates of their own.
    pub tiers: Vec<(Tier, Rates)>,
}

impl RateCard {
    /// Returns the rates of a tier, if it has its own.
    pub fn tier(&self, tier: Tier) -> Option<Rates> {
        if tier == Tier::Standard {
            return Some(self.standard);
        }
        self.tiers.iter().find(|(own, _)| *own == tier).map(|(_, rates)| *rates)
    }
}

/// All rates of one model on a given day.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelPrice {
    /// Rates of requests with an ordinary prompt.
    pub card: RateCard,
    /// Rates of requests with a long prompt, by rising threshold in tokens of the whole prompt.
    pub long_context: Vec<(u64, RateCard)>,
    /// Factor on all rates in Anthropic's fast mode.
    pub fast: Option<f64>,
    /// Factor on all rates if Anthropic runs the inference in the US only.
    pub us_inference: Option<f64>,
    /// USD per web search.
    pub web_search: Option<f64>,
}

/// A model with its prices: the bundled price with dated changes.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) key: Cow<'static, str>,
    /// The provider, if an override names it.
    pub(super) seller: Option<String>,
    pub(super) listing: Listing,
    pub(super) changes: Vec<Change>,
    /// Periods without gaps, in order; empty if the bundled price is always valid.
    pub(super) periods: Vec<Period>,
}

/// A model's line of the bundled table. A run needs few of its thousands of models, so each is parsed on first use.
#[derive(Clone, Debug, Default)]
pub(super) struct Listing {
    json: &'static str,
    listed: OnceLock<Option<Listed>>,
}

/// A model's data in the bundled table.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    pub(super) provider: &'static str,
    pub(super) mode: &'static str,
    pub(super) price: ModelPrice,
}

/// The price between two days: `from` is the first day, `until` the day after the last.
#[derive(Clone, Debug)]
pub(super) struct Period {
    pub(super) from: Option<NaiveDate>,
    pub(super) until: Option<NaiveDate>,
    pub(super) price: Option<ModelPrice>,
}

/// A [`Period`], or all time: first day, day after the last, price.
pub(super) type PricePeriod<'a> = (Option<NaiveDate>, Option<NaiveDate>, Option<&'a ModelPrice>);

type RateList = [Option<f64>; 5];

#[derive(Deserialize)]
struct Entry {
    provider: &'static str,
    mode: &'static str,
    std: RateList,
    batch: Option<RateList>,
    flex: Option<RateList>,
    priority: Option<RateList>,
    ultrafast: Option<RateList>,
    #[serde(default)]
    long: Vec<LongEntry>,
    fast: Option<f64>,
    us: Option<f64>,
    search: Option<f64>,
}

#[derive(Deserialize)]
struct LongEntry {
    over: u64,
    std: Option<RateList>,
    batch: Option<RateList>,
    flex: Option<RateList>,
    priority: Option<RateList>,
    ultrafast: Option<RateList>,
}

/// The bundled table: a header, then one model per line.
pub(super) fn bundled() -> Vec<Model> {
    BUNDLED.lines().skip(1).filter_map(model).collect()
}

fn model(line: &'static str) -> Option<Model> {
    let (key, json) = line.strip_prefix('"')?.split_once("\":")?;
    let listing = Listing { json: json.trim_end_matches(','), listed: OnceLock::new() };
    Some(Model { key: Cow::Borrowed(key), seller: None, listing, changes: Vec::new(), periods: Vec::new() })
}

impl Listing {
    /// True if the table has a price. Does not parse it.
    pub(super) fn is_priced(&self) -> bool {
        self.json.starts_with('{')
    }

    pub(super) fn get(&self) -> Option<&Listed> {
        self.listed.get_or_init(|| self.read().ok().flatten()).as_ref()
    }

    pub(super) fn read(&self) -> Result<Option<Listed>, serde_json::Error> {
        let entry: Option<Entry> = if self.json.is_empty() { None } else { serde_json::from_str(self.json)? };
        Ok(entry.map(|entry| Listed { provider: entry.provider, mode: entry.mode, price: price(entry) }))
    }
}

fn price(entry: Entry) -> ModelPrice {
    let tiers = [entry.batch, entry.flex, entry.priority, entry.ultrafast];
    let long_context = entry.long.into_iter().map(|long| {
        let tiers = [long.batch, long.flex, long.priority, long.ultrafast];
        (long.over, card(long.std.unwrap_or_default(), tiers))
    });
    ModelPrice {
        card: card(entry.std, tiers),
        long_context: long_context.collect(),
        fast: entry.fast,
        us_inference: entry.us,
        web_search: entry.search,
    }
}

fn card(standard: RateList, [batch, flex, priority, ultrafast]: [Option<RateList>; 4]) -> RateCard {
    let named = [(Tier::Batch, batch), (Tier::Flex, flex), (Tier::Priority, priority), (Tier::Ultrafast, ultrafast)];
    let tiers = named.into_iter().filter_map(|(tier, list)| Some((tier, Rates::from_list(list?))));
    RateCard { standard: Rates::from_list(standard), tiers: tiers.collect() }
}
