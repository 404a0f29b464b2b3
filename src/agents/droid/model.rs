//! Names of models.

/// The model that a stored name means: `custom:Big-[Acme]-0` is the person's own entry `Big` of the provider `Acme`.
pub(super) fn model_name(stored: &str) -> &str {
    let Some(entry) = stored.strip_prefix("custom:") else { return stored };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let name = entry.rsplit_once('-').filter(|(_, last)| is_number(last)).map_or(entry, |(name, _)| name);
    let name = name.strip_suffix(']').and_then(|name| name.rsplit_once('[')).map_or(name, |(name, _)| name);
    let name = name.trim_end_matches(['-', ' ']);
    if name.is_empty() { stored } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn custom_entries_lose_their_frame() {
        for (stored, name) in [
            ("custom:Big-[Acme]-0", "Big"),
            ("custom:Claude-Opus-4.5-Thinking-[Anthropic]-0", "Claude-Opus-4.5-Thinking"),
            ("custom:GPT-5.1-Codex-12", "GPT-5.1-Codex"),
            ("custom:llama", "llama"),
            ("custom:[Acme]-0", "custom:[Acme]-0"),
            ("claude-opus-4-5-20251101", "claude-opus-4-5-20251101"),
        ] {
            assert_eq!(model_name(stored), name);
        }
    }
}
