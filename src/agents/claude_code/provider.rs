//! Finds the maker of the model that answered: through a proxy, Claude Code also works with other makers' models.

/// Families of models, and their makers under the names that prices have.
const MAKERS: [(&str, &str); 16] = [
    ("claude", "anthropic"),
    ("codestral", "mistral"),
    ("deepseek", "deepseek"),
    ("devstral", "mistral"),
    ("gemini", "google"),
    ("glm", "zai"),
    ("gpt", "openai"),
    ("grok", "xai"),
    ("kimi", "moonshot"),
    ("minimax", "minimax"),
    ("mistral", "mistral"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("qwen", "alibaba"),
    ("qwq", "alibaba"),
];

/// Returns the provider of a model, or `None` if the model's name does not show it.
pub(super) fn provider_of(model: &str) -> Option<&'static str> {
    let name = model.to_ascii_lowercase();
    // `us.anthropic.claude-…` of Bedrock, `vendor/claude-…` of routers.
    if name.split(['/', '.', ':']).any(|part| part.starts_with("claude")) {
        return Some("anthropic");
    }
    let name = name.rsplit('/').next().unwrap_or_default();
    MAKERS.iter().find(|(family, _)| name.starts_with(family)).map(|(_, maker)| *maker)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn providers_by_the_names_of_models() {
        for (model, provider) in [
            ("claude-sonnet-5", Some("anthropic")),
            ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", Some("anthropic")),
            ("arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-opus-4-6", Some("anthropic")),
            ("MiniMax-M2", Some("minimax")),
            ("z-ai/glm-4.6", Some("zai")),
            ("gpt-5.5", Some("openai")),
            ("moonshotai/Kimi-K2", Some("moonshot")),
            ("my-own", None),
        ] {
            assert_eq!(provider_of(model), provider, "{model}");
        }
    }
}
