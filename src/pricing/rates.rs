//! Structure of a price: rates by kind of token, tier, context length and period.

use chrono::NaiveDate;
use serde::Deserialize;

use crate::tables::{PriceKind, PriceTier};

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

/// The price between two days: `from` is the first day, `until` the day after the last.
#[derive(Clone, Debug)]
pub(super) struct Period {
    pub(super) from: Option<NaiveDate>,
    pub(super) until: Option<NaiveDate>,
    pub(super) price: Option<ModelPrice>,
}

/// A [`Period`], or all time: first day, day after the last, price.
pub(super) type PricePeriod<'a> = (Option<NaiveDate>, Option<NaiveDate>, Option<&'a ModelPrice>);
