//! Finds out why a request to a model failed, from the error that the agent recorded.

use crate::tables::ErrorType;

/// Longest part of a text that is read. Bytes.
const LONGEST: usize = 2000;
/// Length of the beginning of a text in which an HTTP status is looked for. Bytes.
const HEAD: usize = 200;

use ErrorType::{Auth, ContextWindow, InvalidRequest, Network, Other, Overloaded, RateLimit, Server, UsageLimit};

/// Words that are more exact than the status. The first one that is found counts.
const WORDS: [(ErrorType, &[&str]); 6] = [
    (RateLimit, &["per minute", "per second"]),
    (
        UsageLimit,
        &[
            "usage limit",
            "usage_limit",
            "session limit",
            "weekly limit",
            "monthly limit",
            "spend limit",
            "spending limit",
            "hit your limit",
            "quota",
            "credit balance",
            "out of credits",
            "insufficient credits",
            "insufficient balance",
            "extra usage",
            "payment required",
            "billing",
        ],
    ),
    (
        ContextWindow,
        &[
            "context window",
            "context_window",
            "context length",
            "context_length",
            "contextoverflow",
            "prompt is too long",
            "input is too long",
            "maximum context",
            "token limit",
        ],
    ),
    (Overloaded, &["overloaded", "high demand", "at capacity"]),
    (RateLimit, &["rate limit", "rate_limit", "ratelimit", "rate limited", "too many requests", "resource_exhausted"]),
    (
        Auth,
        &[
            "api key",
            "api_key",
            "apikey",
            "authenticat",
            "unauthorized",
            "unauthorised",
            "oauth",
            "/login",
            "providerauth",
        ],
    ),
];

/// Words that count if there is no status.
const WEAK_WORDS: [(ErrorType, &[&str]); 3] = [
    (
        Network,
        &[
            "connection",
            "network",
            "timed out",
            "timeout",
            "econn",
            "enotfound",
            "etimedout",
            "socket",
            "fetch failed",
            "disconnected",
            "dns",
            "certificate",
            // Node.js reports so that a connection was closed within an answer.
            "terminated",
        ],
    ),
    (
        Server,
        &[
            "internal server",
            "internal_server",
            "internal_error",
            "server error",
            "server_error",
            "bad gateway",
            "unavailable",
            "api_error",
        ],
    ),
    (InvalidRequest, &["invalid_request", "bad request", "bad_request", "invalid request", "not_found", "not found"]),
];

/// Returns why a request failed. `code` is the agent's or provider's name of the error.
pub(crate) fn error_type(code: Option<&str>, status: Option<i64>, text: Option<&str>) -> ErrorType {
    let start =
        |text: &str, length: usize| text.get(..text.floor_char_boundary(length)).unwrap_or_default().to_lowercase();
    let (code, text) = (code.unwrap_or_default(), text.unwrap_or_default());
    let said = format!("{}\n{}", start(code, LONGEST), start(text, LONGEST));
    let by_words = |words: &[(ErrorType, &[&str])]| {
        words.iter().find(|(_, words)| words.iter().any(|word| said.contains(word))).map(|(kind, _)| *kind)
    };
    let in_text =
        |text: &str| start(text, HEAD).split(|letter: char| !letter.is_ascii_alphanumeric()).find_map(status_in);
    let of_text = || in_text(code).or_else(|| in_text(text));
    by_words(&WORDS)
        .or_else(|| status.or_else(of_text).and_then(of_status))
        .or_else(|| by_words(&WEAK_WORDS))
        .unwrap_or(Other)
}

/// Parses a word as the HTTP status of a failed request.
fn status_in(word: &str) -> Option<i64> {
    word.parse().ok().filter(|status| (400..600).contains(status) && word.len() == 3)
}

fn of_status(status: i64) -> Option<ErrorType> {
    Some(match status {
        401 | 403 => Auth,
        402 => UsageLimit,
        408 => Network,
        429 => RateLimit,
        529 => Overloaded,
        400..500 => InvalidRequest,
        500..600 => Server,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_providers() {
        for (text, expected) in [
            (r#"API Error: 529 {"type":"error","error":{"type":"overloaded_error"}}"#, Overloaded),
            ("You've hit your session limit · resets 7pm (Europe/Paris)", UsageLimit),
            ("Claude AI usage limit reached|1770717600", UsageLimit),
            ("429 You exceeded your current quota, please check your plan and billing details", UsageLimit),
            ("Quota exceeded for metric: requests per minute", RateLimit),
            ("429 too many requests", RateLimit),
            ("Prompt is too long", ContextWindow),
            ("Invalid API key · Please run /login", Auth),
            ("API Error: Connection error.", Network),
            ("terminated", Network),
            ("API Error: 500 Internal server error", Server),
            (r#"{"status":400}"#, InvalidRequest),
            ("The tile", Other),
            ("line 5000 of 4291", Other),
        ] {
            assert_eq!(error_type(None, None, Some(text)), expected, "{text}");
        }
    }

    #[test]
    fn names_and_statuses_of_agents() {
        assert_eq!(error_type(Some("rate_limit"), Some(429), Some("You've hit your session limit")), UsageLimit);
        assert_eq!(error_type(Some("rate_limit"), Some(429), Some("slow down")), RateLimit);
        assert_eq!(error_type(Some("server_overloaded"), None, None), Overloaded);
        assert_eq!(error_type(Some("UnknownError"), Some(502), Some("x")), Server);
        let stream = r#"{"response_stream_disconnected":{"http_status_code":429}}"#;
        assert_eq!(error_type(Some(stream), None, Some("stream disconnected")), RateLimit);
        assert_eq!(error_type(None, Some(200), None), Other);
    }
}
