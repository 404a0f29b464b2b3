//! The bundled table of models and their prices.

use std::borrow::Cow;
use std::sync::OnceLock;

use serde::Deserialize;

use super::dated::Change;
use super::rates::{ModelPrice, Period, RateCard, Rates, Tier};

pub(super) const BUNDLED: &str = include_str!("prices.json");

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

impl Rates {
    fn from_list([input, cache_read, five_minutes, hour, output]: RateList) -> Self {
        Self { input, cache_read, cache_write_5m: five_minutes, cache_write_1h: hour, output }
    }
}
