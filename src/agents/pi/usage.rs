//! Converts the tokens of a model call to the columns of `usage`.

use super::record::Usage;
use crate::source::records::TokenNumber;
use crate::tables::UsageRow;

/// Tokens as the tables count them: the kinds are disjoint, but for reasoning, which is part of the output.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Billed {
    pub(super) input: Option<i64>,
    pub(super) cache_read: Option<i64>,
    pub(super) cache_write_5m: Option<i64>,
    pub(super) cache_write_1h: Option<i64>,
    pub(super) output: Option<i64>,
    pub(super) reasoning: Option<i64>,
    /// By the agent's own price table. USD.
    pub(super) cost: Option<f64>,
}

/// Tokens as billed never are negative; what is, is damage.
fn tokens(number: TokenNumber) -> Option<i64> {
    number.0
}

impl Billed {
    /// None where nothing was billed: a failure before the reply, or a message that no model wrote.
    pub(super) fn of(usage: &Usage<'_>, api: Option<&str>, provider: Option<&str>) -> Option<Self> {
        let write = tokens(usage.cache_write);
        let write_1h = tokens(usage.cache_write_1h).map(|one_hour| one_hour.min(write.unwrap_or(one_hour)));
        let output = tokens(usage.output);
        let cost = usage.cost.0.as_ref().and_then(|cost| cost.total.0).filter(|usd| *usd >= 0.0);
        let billed = Self {
            input: disjoint_input(usage, api, provider),
            cache_read: tokens(usage.cache_read),
            cache_write_5m: write.map(|write| write - write_1h.unwrap_or(0)),
            cache_write_1h: write_1h,
            output,
            reasoning: tokens(usage.reasoning).filter(|reasoning| output.is_some_and(|output| *reasoning <= output)),
            cost,
        };
        let counts = [billed.input, billed.cache_read, billed.cache_write_5m, billed.cache_write_1h, billed.output];
        counts.into_iter().flatten().any(|count| count > 0).then_some(billed)
    }

    /// The row of a response.
    pub(super) fn row<'r>(&self, response_id: &'r str, turn: Option<i64>) -> UsageRow<'r> {
        UsageRow {
            response_id,
            turn,
            input_tokens: self.input,
            cache_read_tokens: self.cache_read,
            cache_write_5m_tokens: self.cache_write_5m,
            cache_write_1h_tokens: self.cache_write_1h,
            output_tokens: self.output,
            reasoning_tokens: self.reasoning,
            cost_usd: self.cost,
            ..UsageRow::default()
        }
    }
}

/// Google's adapters stored the whole prompt as input, and its cached part again as `cacheRead`; the total gives them
/// away.
fn disjoint_input(usage: &Usage<'_>, api: Option<&str>, provider: Option<&str>) -> Option<i64> {
    let input = tokens(usage.input)?;
    let is_google = match api {
        Some(api) => matches!(api, "google-generative-ai" | "google-vertex"),
        None => provider.is_some_and(|provider| provider.starts_with("google") && provider != "google-gemini-cli"),
    };
    let count = |number| tokens(number).unwrap_or(0);
    let (read, write, output) = (count(usage.cache_read), count(usage.cache_write), count(usage.output));
    let whole = input.saturating_add(output);
    let parts = whole.saturating_add(read).saturating_add(write);
    let counts_cached_twice = is_google && read > 0 && Some(whole) == usage.total.0 && Some(parts) != usage.total.0;
    Some(if counts_cached_twice { (input - read).max(0) } else { input })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn billed(json: &str, api: &str) -> Option<Billed> {
        Billed::of(&serde_json::from_str(json).unwrap(), Some(api), None)
    }

    #[test]
    fn only_google_counts_cached_input_twice() {
        let json = r#"{"input":900,"output":40,"cacheRead":600,"cacheWrite":0,"totalTokens":940}"#;
        assert_eq!(billed(json, "google-generative-ai").unwrap().input, Some(300));
        assert_eq!(billed(json, "anthropic-messages").unwrap().input, Some(900));
        let disjoint = r#"{"input":300,"output":40,"cacheRead":600,"cacheWrite":0,"totalTokens":940}"#;
        assert_eq!(billed(disjoint, "google-vertex").unwrap().input, Some(300));
    }

    #[test]
    fn odd_numbers() {
        let odd = billed(
            r#"{"input":-5,"output":10,"reasoning":20,"cacheWrite":50,"cacheWrite1h":80,"cost":{"total":-1}}"#,
            "x",
        );
        let odd = odd.unwrap();
        assert_eq!((odd.input, odd.output, odd.reasoning, odd.cost), (None, Some(10), None, None));
        assert_eq!((odd.cache_write_5m, odd.cache_write_1h, odd.cache_read), (Some(0), Some(50), None));
        assert_eq!(billed(r#"{"input":0,"output":0,"cost":{"total":0}}"#, "x"), None);
    }
}
