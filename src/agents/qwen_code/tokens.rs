//! Converts the tokens of a response to the columns of `usage`.

use super::record::Usage;
use crate::source::records::TokenNumber;

/// Tokens of one response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Billed {
    pub(super) input: i64,
    pub(super) cache_read: Option<i64>,
    /// Reasoning within.
    pub(super) output: i64,
    pub(super) reasoning: Option<i64>,
}

impl Billed {
    /// None where all counts are zero: nothing was billed, or it is not known.
    pub(super) fn of(usage: &Usage<'_>) -> Option<Self> {
        let count = |number: TokenNumber| number.0;
        let [prompt, candidates, tool_use] =
            [usage.prompt, usage.candidates, usage.tool_use].map(|number| count(number).unwrap_or(0));
        let (cached, thoughts) = (count(usage.cached), count(usage.thoughts));
        let prompt = prompt.saturating_add(tool_use);
        // Thoughts are within the candidates, but for services that report as Gemini does: there the total shows it.
        let with_thoughts = candidates.saturating_add(thoughts.unwrap_or(0));
        let is_beside = candidates < with_thoughts && count(usage.total) == Some(prompt.saturating_add(with_thoughts));
        let output = if is_beside { with_thoughts } else { candidates };
        let cache_read = cached.map(|cached| cached.min(prompt));
        let billed = Self {
            input: prompt - cache_read.unwrap_or(0),
            cache_read,
            output,
            reasoning: thoughts.map(|thoughts| thoughts.min(output)),
        };
        (prompt > 0 || output > 0).then_some(billed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(json: &str) -> Option<Billed> {
        Billed::of(&serde_json::from_str(json).unwrap())
    }

    #[test]
    fn cached_tokens_are_within_the_prompt_and_thoughts_within_the_candidates() {
        let json = r#"{"promptTokenCount":1000,"cachedContentTokenCount":600,"candidatesTokenCount":50,"thoughtsTokenCount":20,"totalTokenCount":1050}"#;
        assert_eq!(of(json), Some(Billed { input: 400, cache_read: Some(600), output: 50, reasoning: Some(20) }));
    }

    #[test]
    fn a_total_that_adds_thoughts_says_that_they_are_beside_the_candidates() {
        let json =
            r#"{"promptTokenCount":1000,"candidatesTokenCount":50,"thoughtsTokenCount":20,"totalTokenCount":1070}"#;
        assert_eq!(of(json), Some(Billed { input: 1000, cache_read: None, output: 70, reasoning: Some(20) }));
    }

    #[test]
    fn odd_counts() {
        assert_eq!(of(r#"{"promptTokenCount":0,"candidatesTokenCount":0,"totalTokenCount":5}"#), None);
        assert_eq!(of("{}"), None);
        let odd = r#"{"promptTokenCount":"10","cachedContentTokenCount":90,"candidatesTokenCount":-4,"thoughtsTokenCount":3}"#;
        assert_eq!(of(odd), Some(Billed { input: 0, cache_read: Some(10), output: 0, reasoning: Some(0) }));
    }
}
