//! Interprets a request's `tokensIn`: with or without the caches, by provider, extension and time.

use super::dialect::Dialect;
use crate::tables::UsageRow;

/// Input as a request records it; null if it does not. Tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct RecordedInput {
    pub(super) input: Option<i64>,
    pub(super) cache_read: Option<i64>,
    pub(super) cache_write: Option<i64>,
}

/// Input as billed: three disjoint kinds. Tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Split {
    pub(super) input: Option<i64>,
    pub(super) cache_read: Option<i64>,
    pub(super) cache_write: Option<i64>,
}

impl Split {
    /// Returns a row of these counts.
    pub(super) fn row<'r>(self, output_tokens: Option<i64>, cost_usd: Option<f64>) -> UsageRow<'r> {
        UsageRow {
            input_tokens: self.input,
            cache_read_tokens: self.cache_read,
            cache_write_5m_tokens: self.cache_write,
            output_tokens,
            cost_usd,
            ..UsageRow::default()
        }
    }
}

/// Facts of a request other than its token counts.
#[derive(Default)]
pub(super) struct Circumstances<'a> {
    pub(super) provider: Option<&'a str>,
    pub(super) protocol: Option<&'a str>,
    /// Time of the request. Milliseconds since 1970.
    pub(super) at: i64,
    /// True if the extension was built on the SDK, which subtracts the caches itself.
    pub(super) is_sdk_build: bool,
}

/// Providers whose `cacheWrites`, if not 0, counts cache misses; `tokensIn` is the whole prompt.
const MISSES_AS_WRITES: [&str; 6] = ["openai", "fireworks", "xai", "qwen", "doubao", "hicap"];
/// Providers with OpenAI's protocol, whose `tokensIn` is the whole prompt.
const WHOLE_PROMPT: [&str; 10] =
    ["litellm", "oca", "aihubmix", "lmstudio", "zai", "cerebras", "baseten", "huggingface", "together", "nebius"];

impl RecordedInput {
    /// Subtracts the caches from the input, which is the whole prompt unless it is less than they are.
    pub(super) fn split_whole(self) -> Split {
        let Self { input, cache_read, cache_write } = self;
        let caches = cache_read.unwrap_or(0).saturating_add(cache_write.unwrap_or(0));
        let input = input.map(|input| if input < caches { input } else { input - caches });
        Split { input, cache_read, cache_write }
    }

    /// Returns true if nothing shows whether the input includes the caches.
    pub(super) fn is_guess(self, dialect: &Dialect, of: &Circumstances<'_>) -> bool {
        let caches = self.cache_read.unwrap_or(0).saturating_add(self.cache_write.unwrap_or(0));
        let is_known = match dialect.whole_prompt_since {
            Some(since) => of.at >= since || of.protocol.is_some() || self.input < Some(caches),
            None => of.is_sdk_build || of.provider.is_some(),
        };
        caches > 0 && !is_known
    }

    /// Returns true if the split of a request of Roo Code or Kilo Code is a guess. Cline's are not: unknown providers of
    /// its count without the caches.
    pub(super) fn is_unknown_split(self, dialect: &Dialect, of: &Circumstances<'_>) -> bool {
        !dialect.is_cline() && self.is_guess(dialect, of)
    }

    /// Subtracts the caches from the input if it includes them.
    pub(super) fn split(self, dialect: &Dialect, of: &Circumstances<'_>) -> Split {
        let Self { input, cache_read, cache_write } = self;
        let (read, write) = (cache_read.unwrap_or(0), cache_write.unwrap_or(0));
        if dialect.is_cline() && !of.is_sdk_build {
            match of.provider {
                Some("deepseek") => {
                    let input = (input.is_some() || cache_write.is_some()).then(|| input.unwrap_or(0) + write);
                    return Split { input, cache_read, cache_write: None };
                }
                Some(provider) if MISSES_AS_WRITES.contains(&provider) => {
                    return Split { input: input.map(|input| (input - read).max(0)), cache_read, cache_write: None };
                }
                _ => {}
            }
        }
        let holds_caches = match dialect.whole_prompt_since {
            Some(since) => of.at >= since || of.protocol == Some("openai"),
            None => !of.is_sdk_build && of.provider.is_some_and(|provider| WHOLE_PROMPT.contains(&provider)),
        };
        if holds_caches { self.split_whole() } else { Split { input, cache_read, cache_write } }
    }
}

#[cfg(test)]
mod tests {
    use super::super::dialect::{CLINE, KILO_CODE, ROO_CODE};
    use super::*;

    const OLD: i64 = 1_750_000_000_000;
    const NEW: i64 = 1_770_000_000_000;

    fn split(
        dialect: &Dialect,
        provider: Option<&str>,
        protocol: Option<&str>,
        at: i64,
        recorded: [i64; 3],
    ) -> [i64; 3] {
        let [input, cache_read, cache_write] = recorded.map(Some);
        let of = Circumstances { provider, protocol, at, is_sdk_build: false };
        let split = RecordedInput { input, cache_read, cache_write }.split(dialect, &of);
        [split.input, split.cache_read, split.cache_write].map(|count| count.unwrap_or(-1))
    }

    #[test]
    fn cline_goes_by_the_provider() {
        for (provider, recorded, billed) in [
            (Some("deepseek"), [0, 900, 100], [100, 900, -1]),
            (Some("openai"), [1000, 900, 0], [100, 900, -1]),
            (Some("xai"), [1000, 900, 100], [100, 900, -1]),
            (Some("litellm"), [1000, 700, 200], [100, 700, 200]),
            (Some("litellm"), [100, 700, 200], [100, 700, 200]),
            (Some("anthropic"), [1000, 700, 200], [1000, 700, 200]),
            (Some("openrouter"), [1000, 700, 0], [1000, 700, 0]),
            (None, [1000, 700, 200], [1000, 700, 200]),
        ] {
            assert_eq!(split(&CLINE, provider, None, NEW, recorded), billed, "{provider:?} {recorded:?}");
        }
    }

    #[test]
    fn roo_and_kilo_go_by_the_time_and_the_protocol() {
        for dialect in [&ROO_CODE, &KILO_CODE] {
            assert_eq!(split(dialect, None, None, NEW, [3012, 0, 3000]), [12, 0, 3000]);
            assert_eq!(split(dialect, None, Some("anthropic"), NEW, [3012, 0, 3000]), [12, 0, 3000]);
            assert_eq!(split(dialect, None, Some("openai"), OLD, [3012, 0, 3000]), [12, 0, 3000]);
            assert_eq!(split(dialect, None, Some("anthropic"), OLD, [3012, 0, 3000]), [3012, 0, 3000]);
            assert_eq!(split(dialect, None, None, NEW, [12, 0, 3000]), [12, 0, 3000]);
        }
        let between = 1_762_500_000_000;
        assert_eq!(split(&ROO_CODE, None, None, between, [3012, 0, 3000]), [12, 0, 3000]);
        assert_eq!(split(&KILO_CODE, None, None, between, [3012, 0, 3000]), [3012, 0, 3000]);
    }
    #[test]
    fn a_split_is_a_guess_where_neither_time_nor_provider_nor_protocol_tell() {
        let is_guess = |dialect, provider, protocol, at, recorded: [i64; 3]| {
            let [input, cache_read, cache_write] = recorded.map(Some);
            let of = Circumstances { provider, protocol, at, is_sdk_build: false };
            RecordedInput { input, cache_read, cache_write }.is_guess(dialect, &of)
        };
        let caches = [3012, 0, 3000];
        assert!(is_guess(&CLINE, None, None, NEW, caches));
        assert!(!is_guess(&CLINE, Some("anthropic"), None, NEW, caches));
        assert!(is_guess(&ROO_CODE, None, None, OLD, caches));
        assert!(!is_guess(&ROO_CODE, None, Some("anthropic"), OLD, caches));
        assert!(!is_guess(&ROO_CODE, None, None, OLD, [12, 0, 3000]));
        assert!(!is_guess(&KILO_CODE, None, None, NEW, caches));
        assert!(!is_guess(&CLINE, None, None, NEW, [3012, 0, 0]));
    }
}
