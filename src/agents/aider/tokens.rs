//! Reads the line of tokens and cost that Aider prints after each send, and interprets its numbers.

/// A count as printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Count {
    /// Tokens.
    pub(super) tokens: i64,
    /// Largest difference from the true count. Tokens.
    pub(super) precision: i64,
}

/// Tokens and cost that a line reports.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Printed {
    pub(super) sent: Count,
    pub(super) received: Count,
    pub(super) cache_write: Option<Count>,
    pub(super) cache_hit: Option<Count>,
    /// Cost of this send. USD.
    pub(super) cost: Option<f64>,
    /// True if the line comes before the reply that it counts, as until about 0.36.
    pub(super) is_ahead: bool,
}

/// Tokens by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Numbers {
    pub(super) input: i64,
    pub(super) cache_read: Option<i64>,
    pub(super) cache_write: Option<i64>,
    pub(super) output: i64,
    /// True if the split between uncached input and caches is an estimate.
    pub(super) is_guess: bool,
}

/// Version of Aider.
pub(super) type Version = (u32, u32, u32);

/// Reads a line: `Tokens: 5.2k sent, 1.1k cache write, 3.0k cache hit, 410 received.` and the cost after it, or `33252
/// prompt tokens, 49 completion tokens, $0.166995 cost`.
pub(super) fn read(text: &str) -> Option<Printed> {
    match text.strip_prefix("Tokens: ") {
        Some(counts) => read_sent(counts),
        None => read_prompt(text),
    }
}

/// Returns true if a line is the first of such a report, anywhere in the history.
pub(super) fn begins(text: &str) -> bool {
    text.strip_prefix("Tokens: ").and_then(|counts| counts.split_once(" sent")).is_some_and(|(n, _)| count(n).is_some())
}

fn read_sent(text: &str) -> Option<Printed> {
    let (counts, rest) = text.split_once(" received")?;
    let mut printed = Printed {
        sent: Count { tokens: 0, precision: 0 },
        received: count(counts.rsplit_once(", ")?.1)?,
        cache_write: None,
        cache_hit: None,
        cost: cost(rest),
        is_ahead: false,
    };
    let mut is_sent = false;
    for part in counts.split(", ") {
        match part.split_once(' ') {
            Some((number, "sent")) => {
                printed.sent = count(number)?;
                is_sent = true;
            }
            Some((number, "cache write")) => printed.cache_write = count(number),
            Some((number, "cache hit")) => printed.cache_hit = count(number),
            _ => {}
        }
    }
    is_sent.then_some(printed)
}

fn read_prompt(text: &str) -> Option<Printed> {
    let (sent, rest) = text.split_once(" prompt tokens, ")?;
    let (received, rest) = rest.split_once(" completion tokens")?;
    let cost = rest.strip_prefix(", $").and_then(|rest| dollars(rest.strip_suffix(" cost")?));
    let (sent, received) = (count(sent)?, count(received)?);
    Some(Printed { sent, received, cache_write: None, cache_hit: None, cost, is_ahead: true })
}

/// `410`, `1,234`, `5.2k`, `12k`, `1.5M`.
fn count(text: &str) -> Option<Count> {
    let (number, unit) = match text.strip_suffix('k') {
        Some(number) => (number, 1_000),
        None => text.strip_suffix('M').map_or((text, 1), |number| (number, 1_000_000)),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole: i64 = whole.replace(',', "").parse().ok().filter(|whole| (0..1_000_000_000).contains(whole))?;
    let is_digits = fraction.len() < 7 && fraction.bytes().all(|digit| digit.is_ascii_digit());
    if !is_digits || (unit == 1 && !fraction.is_empty()) {
        return None;
    }
    let step = unit / 10_i64.pow(u32::try_from(fraction.len()).ok()?).max(1);
    let fraction: i64 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let precision = if unit == 1 { 0 } else { (step / 2).max(1) };
    Some(Count { tokens: whole * unit + fraction * step, precision })
}

/// `. Cost: $0.02 message, $0.11 session.`, on the same line or the next.
fn cost(text: &str) -> Option<f64> {
    let (_, cost) = text.split_once("Cost: $")?;
    dollars(cost.split_once(" message")?.0)
}

fn dollars(text: &str) -> Option<f64> {
    text.parse().ok().filter(|usd: &f64| usd.is_finite() && *usd >= 0.0)
}

/// `0.86.1`, `0.86.2.dev+g123`.
pub(super) fn version(text: &str) -> Option<Version> {
    let mut parts = text.split(['.', '-', '+']).map(|part| part.parse::<u32>().ok());
    Some((parts.next()??, parts.next()??, parts.next().flatten().unwrap_or(0)))
}

impl Count {
    /// Returns true if the exact count may have been printed as this.
    pub(super) fn may_be(self, exact: i64) -> bool {
        (self.tokens - exact).abs() <= self.precision
    }
}

impl Printed {
    /// Returns true if a count was rounded.
    pub(super) fn is_rounded(&self) -> bool {
        let counts = [Some(self.sent), Some(self.received), self.cache_write, self.cache_hit];
        counts.into_iter().flatten().any(|count| count.precision > 0)
    }

    /// Returns tokens by kind. The litellm of each Aider version decides which caches `sent` includes, and how often.
    pub(super) fn numbers(&self, model: Option<&str>, version: Option<Version>) -> Numbers {
        let sent = self.sent.tokens;
        let (write, read) = (self.cache_write.map(|count| count.tokens), self.cache_hit.map(|count| count.tokens));
        let output = self.received.tokens;
        if write.is_none() && read.is_none() {
            return Numbers { input: sent, cache_read: None, cache_write: None, output, is_guess: false };
        }
        let (w, r) = (write.unwrap_or(0), read.unwrap_or(0));
        let is_claude = model.is_some_and(|model| model.contains("claude"));
        let (input, is_guess) = match version {
            _ if !is_claude => (sent - r, false),
            Some(version) if version < (0, 62, 0) => (sent - w, false),
            Some(version) if version < (0, 68, 0) => (if sent < r + w { sent - w } else { sent - r - 2 * w }, true),
            Some(version) if version < (0, 83, 0) => (sent - r - 2 * w, false),
            Some(version) if version < (0, 86, 2) => (sent - r - w, false),
            Some(_) => (sent - r - 2 * w, false),
            None => (if sent < r + w { sent - w } else { sent - r - w }, true),
        };
        Numbers { input: input.max(0), cache_read: Some(r), cache_write: Some(w), output, is_guess }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(tokens: i64) -> Count {
        Count { tokens, precision: 0 }
    }

    #[test]
    fn lines_of_all_versions() {
        let printed = read(
            "Tokens: 5.2k sent, 1.1k cache write, 3.0k cache hit, 410 received.\nCost: $0.02 message, $0.02 session.",
        )
        .unwrap();
        assert_eq!(printed.sent, Count { tokens: 5200, precision: 50 });
        assert_eq!(printed.cache_write, Some(Count { tokens: 1100, precision: 50 }));
        assert_eq!(printed.cache_hit, Some(Count { tokens: 3000, precision: 50 }));
        assert_eq!((printed.received, printed.cost, printed.is_ahead), (exact(410), Some(0.02), false));
        let printed = read("Tokens: 12k sent, 1,024 received.").unwrap();
        assert_eq!(
            (printed.sent, printed.received, printed.cost),
            (Count { tokens: 12_000, precision: 500 }, exact(1024), None)
        );
        let printed = read("33252 prompt tokens, 49 completion tokens, $0.166995 cost").unwrap();
        assert_eq!(
            (printed.sent, printed.received, printed.cost, printed.is_ahead),
            (exact(33_252), exact(49), Some(0.166_995), true)
        );
        for text in [
            "Tokens: many sent, 3 received.",
            "Tokens: 5 received.",
            "x prompt tokens, 3 completion tokens",
            "Tokens: -5 sent, 1 received.",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn what_sent_includes_by_version() {
        let of = |version: &str, model| {
            let printed = read("Tokens: 9.0k sent, 1.0k cache write, 3.0k cache hit, 1 received.").unwrap();
            let numbers = printed.numbers(Some(model), self::version(version));
            (numbers.input, numbers.is_guess)
        };
        assert_eq!(of("0.60.1", "claude-3-5-sonnet"), (8000, false));
        assert_eq!(of("0.65.0", "claude-3-5-sonnet"), (4000, true));
        assert_eq!(of("0.75.1", "anthropic/claude-x"), (4000, false));
        assert_eq!(of("0.86.1", "claude-x"), (5000, false));
        assert_eq!(of("0.86.2.dev+g1", "claude-x"), (4000, false));
        assert_eq!(of("?", "claude-x"), (5000, true));
        assert_eq!(of("0.86.1", "deepseek/chat"), (6000, false));
    }
}
