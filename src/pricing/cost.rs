//! Computes the cost of a response.

use super::Price;
use super::rates::{RateCard, Rates, Tier};

/// The usage of one response. The five counts do not overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens<'a> {
    /// Prompt tokens outside any cache.
    pub input: u64,
    /// Prompt tokens read from a cache.
    pub cache_read: u64,
    /// Prompt tokens written to the 5-minute cache, or to a cache of unknown lifetime.
    pub cache_write_5m: u64,
    /// Prompt tokens written to the 1-hour cache.
    pub cache_write_1h: u64,
    /// Billed output, including reasoning.
    pub output: u64,
    /// Searches that the provider ran.
    pub web_searches: u64,
    /// The service tier as recorded (`standard`, `priority`, `flex`, `batch`), or `fast` for fast mode.
    pub tier: Option<&'a str>,
    /// Region of the inference, as recorded. Anthropic charges more for `us`.
    pub inference_geo: Option<&'a str>,
    /// True for a sum over several requests, if no request is known to have a long context.
    pub is_sum: bool,
}

impl Tokens<'_> {
    /// Returns the prompt tokens of the request, which decide whether the long-context rate applies; 0 for a sum of
    /// requests.
    pub fn prompt(&self) -> u64 {
        if self.is_sum {
            return 0;
        }
        [self.cache_read, self.cache_write_5m, self.cache_write_1h].into_iter().fold(self.input, u64::saturating_add)
    }
}

/// A computed cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost<'a> {
    /// US dollars.
    pub usd: f64,
    /// Name in the table of the priced model.
    pub model_key: &'a str,
}

/// USD per million tokens, with all rates filled in.
struct FullRates {
    input: f64,
    cache_read: f64,
    cache_write_5m: f64,
    cache_write_1h: f64,
    output: f64,
}

impl Price<'_> {
    /// Returns US dollars for these tokens, or `None` if the tier has no known price.
    ///
    /// A kind of token without a rate costs as much as input, as no lower price was published. In a tier or a long
    /// context, it costs its standard rate in proportion to input. Searches without a known price are left out.
    pub fn cost(&self, tokens: &Tokens) -> Option<f64> {
        let rates = self.rates_for(tokens.prompt(), Tier::from_recorded(tokens.tier)?)?;
        let millionths = tokens.input as f64 * rates.input
            + tokens.cache_read as f64 * rates.cache_read
            + tokens.cache_write_5m as f64 * rates.cache_write_5m
            + tokens.cache_write_1h as f64 * rates.cache_write_1h
            + tokens.output as f64 * rates.output;
        let searches = tokens.web_searches as f64 * self.price.web_search.unwrap_or(0.0);
        Some(millionths / 1e6 * self.geo_factor(tokens.inference_geo) + searches)
    }

    fn geo_factor(&self, inference_geo: Option<&str>) -> f64 {
        let us_only = inference_geo.is_some_and(|geo| geo.eq_ignore_ascii_case("us"));
        self.price.us_inference.filter(|_| us_only).unwrap_or(1.0)
    }

    fn rates_for(&self, prompt: u64, tier: Tier) -> Option<FullRates> {
        let usual = &self.price.card;
        let long = self.price.long_context.iter().rev().find(|(over, _)| prompt > *over).map(|(_, card)| card);
        let own = match (tier, self.price.fast) {
            (Tier::Fast, Some(factor)) => return fast(usual, long, factor),
            (Tier::Fast, None) => tier_rates(usual, long, Tier::Priority)?,
            _ => tier_rates(usual, long, tier)?,
        };
        filled(own, usual.standard)
    }
}

fn tier_rates(usual: &RateCard, long: Option<&RateCard>, tier: Tier) -> Option<Rates> {
    let Some(long) = long else { return usual.tier(tier) };
    long.tier(tier).or_else(|| match tier {
        Tier::Batch => Some(long.standard.scaled(batch_discount(usual)?)),
        _ => None,
    })
}

/// At Anthropic and `OpenAI`, batch discounts also apply to the long-context rate.
fn batch_discount(usual: &RateCard) -> Option<f64> {
    let standard = usual.standard.input.filter(|input| *input > 0.0)?;
    Some(usual.tier(Tier::Batch)?.input? / standard)
}

fn fast(usual: &RateCard, long: Option<&RateCard>, factor: f64) -> Option<FullRates> {
    let standard = long.map_or(usual.standard, |long| long.standard);
    filled(standard.scaled(factor), usual.standard)
}

fn filled(own: Rates, standard: Rates) -> Option<FullRates> {
    let input = own.input.or(standard.input)?;
    let proportion = standard.input.filter(|rate| *rate > 0.0).map_or(1.0, |rate| input / rate);
    let of_standard = |rate: Option<f64>| rate.map(|rate| rate * proportion);
    let cache_write_5m = own.cache_write_5m.or(of_standard(standard.cache_write_5m)).unwrap_or(input);
    Some(FullRates {
        input,
        cache_read: own.cache_read.or(of_standard(standard.cache_read)).unwrap_or(input),
        cache_write_5m,
        cache_write_1h: own.cache_write_1h.or(of_standard(standard.cache_write_1h)).unwrap_or(cache_write_5m),
        output: own.output.or(standard.output)?,
    })
}
