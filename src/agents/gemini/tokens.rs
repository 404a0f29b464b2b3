//! Converts the tokens of a request to the columns of `usage`.

use super::record::Tokens;
use crate::source::records::TokenNumber;

/// Tokens of one response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Numbers {
    /// None where the record has no such count, as a damaged document may.
    pub(super) input: Option<i64>,
    pub(super) cache_read: i64,
    /// Reasoning within.
    pub(super) output: i64,
    pub(super) reasoning: Option<i64>,
}

impl Numbers {
    /// The numbers of a record, and whether its own total is another one than their sum. None where all are zero:
    /// nothing was billed, or it is not known.
    pub(super) fn of(tokens: &Tokens<'_>) -> Option<(Self, bool)> {
        let count = |number: TokenNumber| number.0;
        let [input, cached, output, tool] =
            [tokens.input, tokens.cached, tokens.output, tokens.tool].map(|number| count(number).unwrap_or(0));
        let thoughts = count(tokens.thoughts);
        let all_output = output.saturating_add(thoughts.unwrap_or(0));
        let beside_cache = input.saturating_add(tool).saturating_add(all_output);
        let total = count(tokens.total);
        // The program counts cached tokens within the input; a total that holds them once more says that they are not.
        let is_exclusive = cached > 0 && total == Some(beside_cache.saturating_add(cached));
        let is_within = !is_exclusive && tokens.input.0.is_some();
        let cache_read = if is_within { cached.min(input) } else { cached };
        let uncached = if is_within { input - cache_read } else { input };
        let own_input = tokens.input.0.or(Some(tool).filter(|tool| *tool > 0)).map(|_| uncached.saturating_add(tool));
        let numbers = Self { input: own_input, cache_read, output: all_output, reasoning: thoughts };
        let sum = own_input.unwrap_or(0).saturating_add(cache_read).saturating_add(all_output);
        (sum > 0).then_some((numbers, total.is_some_and(|total| total != sum)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(json: &str) -> Option<(Numbers, bool)> {
        Numbers::of(&serde_json::from_str(json).unwrap())
    }

    #[test]
    fn cached_tokens_are_within_the_input_and_thoughts_beside_the_output() {
        let json = r#"{"input":12000,"output":150,"cached":9000,"thoughts":300,"tool":20,"total":12470}"#;
        let numbers = Numbers { input: Some(3020), cache_read: 9000, output: 450, reasoning: Some(300) };
        assert_eq!(of(json), Some((numbers, false)));
    }

    #[test]
    fn a_total_that_holds_cached_tokens_once_more_says_that_they_are_beside() {
        let numbers = Numbers { input: Some(100), cache_read: 50, output: 10, reasoning: None };
        assert_eq!(of(r#"{"input":100,"output":10,"cached":50,"total":160}"#), Some((numbers, false)));
    }

    #[test]
    fn odd_counts() {
        assert_eq!(of(r#"{"input":0,"output":0,"cached":0,"thoughts":0,"tool":0,"total":0}"#), None);
        assert_eq!(of(r#"{"input":-5,"output":"x","total":7}"#), None);
        let numbers = Numbers { input: Some(0), cache_read: 10, output: 1, reasoning: None };
        let numbers_without_input = Numbers { input: None, cache_read: 3, output: 1, reasoning: None };
        assert_eq!(of(r#"{"output":1,"cached":3,"total":12}"#), Some((numbers_without_input, true)));
        assert_eq!(of(r#"{"input":"10","output":1.0,"cached":90,"total":12}"#), Some((numbers, true)));
    }
}
