//! Converts the tokens of an API call to the columns of `usage`.

use super::record::Tokens;
use crate::source::records::TokenNumber;

/// Tokens of one API call; none where they are not recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Billed {
    /// Cached input, not included.
    pub(super) input: Option<i64>,
    pub(super) cache_read: Option<i64>,
    pub(super) cache_write: Option<i64>,
    /// Reasoning within.
    pub(super) output: Option<i64>,
    pub(super) reasoning: Option<i64>,
}

/// The program that counted the tokens.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counter<'c> {
    pub(super) provider: Option<&'c str>,
    /// Version of the program.
    pub(super) version: Option<&'c str>,
    /// True if it always excludes reasoning from the output, and never writes a total: so do the events of 2.x.
    pub(super) counts_apart: bool,
    /// True if an earlier call of the session to this provider wrote to a cache.
    pub(super) writes_cache: bool,
}

impl Billed {
    /// The counts of a record. Reasoning was part of `output` until early 2026, and is excluded since; a total shows
    /// which.
    pub(super) fn of(tokens: &Tokens<'_>, counter: Counter<'_>) -> Self {
        let count = |number: TokenNumber| number.0;
        let cache = tokens.cache.0.as_ref();
        let input = count(tokens.input);
        let cache_read = cache.and_then(|cache| count(cache.read));
        let cache_write = cache.and_then(|cache| count(cache.write));
        let (output, reasoning) = (count(tokens.output), count(tokens.reasoning));
        let total = count(tokens.total);
        let known = |part: Option<i64>| part.unwrap_or(0);
        let without_reasoning =
            [input, cache_read, cache_write, output].into_iter().map(known).fold(0, i64::saturating_add);
        let is_within = match total {
            Some(total) if total == without_reasoning.saturating_add(known(reasoning)) => false,
            Some(total) => total == without_reasoning,
            None => !counter.counts_apart && !counter.counts_like_anthropic() && known(reasoning) <= known(output),
        };
        let within = if is_within { reasoning.map(|reasoning| reasoning.min(known(output))) } else { reasoning };
        let beside = if is_within { 0 } else { known(reasoning) };
        let holds_cached = total.is_none()
            && counter.holds_cached_input()
            && known(cache_write) == 0
            && known(cache_read) <= known(input);
        Self {
            input: input.map(|input| if holds_cached { input - known(cache_read) } else { input }),
            cache_read,
            cache_write,
            output: output.map(|output| output.saturating_add(beside)).or(reasoning),
            reasoning: within,
        }
    }

    /// Returns true if nothing was counted.
    pub(super) fn is_zero(&self) -> bool {
        [self.input, self.cache_read, self.cache_write, self.output].into_iter().flatten().all(|count| count == 0)
    }
}

impl Counter<'_> {
    /// Returns true if the provider itself excludes cached input and reasoning from the rest.
    fn counts_like_anthropic(self) -> bool {
        self.provider.is_some_and(|provider| provider.contains("anthropic") || provider.contains("bedrock"))
    }

    /// Returns true if `input` holds what was read from the cache: so it was until 0.5 with providers other than
    /// Anthropic. Of a provider that the user named, writes to the cache prove that it speaks Anthropic's protocol: no
    /// other counts them.
    fn holds_cached_input(self) -> bool {
        let mut parts = self.version.unwrap_or_default().split('.');
        let is_old = parts.next() == Some("0") && parts.next().and_then(|minor| minor.parse().ok()) <= Some(5_u32);
        is_old && self.version.is_some() && !self.counts_like_anthropic() && !self.writes_cache
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(json: &str, provider: &str, version: &str) -> [Option<i64>; 5] {
        let counter =
            Counter { provider: Some(provider), version: Some(version), counts_apart: false, writes_cache: false };
        let billed = Billed::of(&serde_json::from_str(json).unwrap(), counter);
        [billed.input, billed.cache_read, billed.cache_write, billed.output, billed.reasoning]
    }

    #[test]
    fn a_total_tells_where_reasoning_is() {
        let beside = r#"{"total":900,"input":700,"output":150,"reasoning":50,"cache":{"read":0,"write":0}}"#;
        assert_eq!(of(beside, "openai", "1.18.0"), [Some(700), Some(0), Some(0), Some(200), Some(50)]);
        let within = r#"{"total":850,"input":700,"output":150,"reasoning":50,"cache":{"read":0,"write":0}}"#;
        assert_eq!(of(within, "openai", "1.2.6"), [Some(700), Some(0), Some(0), Some(150), Some(50)]);
        let neither = r#"{"total":1,"input":700,"output":150,"reasoning":50}"#;
        assert_eq!(of(neither, "openai", "1.2.6"), [Some(700), None, None, Some(200), Some(50)]);
    }

    #[test]
    fn without_a_total_the_provider_tells() {
        let json = r#"{"input":700,"output":150,"reasoning":50,"cache":{"read":10,"write":3}}"#;
        assert_eq!(of(json, "openai", "1.0.1"), [Some(700), Some(10), Some(3), Some(150), Some(50)]);
        assert_eq!(of(json, "amazon-bedrock", "1.0.1"), [Some(700), Some(10), Some(3), Some(200), Some(50)]);
        let more = r#"{"input":7,"output":5,"reasoning":50}"#;
        assert_eq!(of(more, "openai", "1.0.1"), [Some(7), None, None, Some(55), Some(50)]);
    }

    #[test]
    fn events_count_reasoning_apart_whoever_the_provider_is() {
        let json = r#"{"input":100,"output":20,"reasoning":15,"cache":{"read":50,"write":7}}"#;
        for provider in ["openai", "anthropic"] {
            let counter =
                Counter { provider: Some(provider), version: Some("2.0.1"), counts_apart: true, writes_cache: false };
            let billed = Billed::of(&serde_json::from_str(json).unwrap(), counter);
            assert_eq!((billed.output, billed.reasoning), (Some(35), Some(15)), "{provider}");
            assert_eq!((billed.input, billed.cache_read, billed.cache_write), (Some(100), Some(50), Some(7)));
        }
    }

    #[test]
    fn old_versions_counted_cached_input_twice() {
        let json = r#"{"input":700,"output":1,"reasoning":0,"cache":{"read":600,"write":0}}"#;
        assert_eq!(of(json, "openai", "0.5.29"), [Some(100), Some(600), Some(0), Some(1), Some(0)]);
        assert_eq!(of(json, "anthropic", "0.5.29"), [Some(700), Some(600), Some(0), Some(1), Some(0)]);
        assert_eq!(of(json, "openai", "1.1.65"), [Some(700), Some(600), Some(0), Some(1), Some(0)]);
    }

    #[test]
    fn who_writes_to_a_cache_counts_cached_input_apart() {
        let writes = r#"{"input":700,"output":1,"reasoning":0,"cache":{"read":600,"write":9}}"#;
        assert_eq!(of(writes, "mine", "0.5.29"), [Some(700), Some(600), Some(9), Some(1), Some(0)]);
        let reads = r#"{"input":700,"output":1,"reasoning":0,"cache":{"read":600,"write":0}}"#;
        let counter =
            Counter { provider: Some("mine"), version: Some("0.5.29"), counts_apart: false, writes_cache: true };
        assert_eq!(Billed::of(&serde_json::from_str(reads).unwrap(), counter).input, Some(700));
    }

    #[test]
    fn odd_counts() {
        assert_eq!(of(r#"{"input":-5,"output":"7","reasoning":null}"#, "x", ""), [None, None, None, Some(7), None]);
        assert_eq!(of("{}", "x", "local"), [None; 5]);
    }
}
