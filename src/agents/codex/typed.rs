//! User messages: those that the person typed, and those that the program wrote in the person's name.

/// Openings of user messages that the program writes.
const INJECTED: [&str; 21] = [
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<INSTRUCTIONS>",
    "<turn_aborted>",
    "<user_shell_command>",
    "<subagent_notification>",
    "<skill",
    "<permissions",
    "<recommended_plugins>",
    "<codex_internal_context>",
    "<goal_context>",
    "<model_switch>",
    "<personality_spec>",
    "<realtime_delegation>",
    "<image_resize_notice>",
    "<external_",
    "<collaboration_mode>",
    "<user_action>",
    "<hook_prompt",
    "<multi_agent",
];

/// The line before the typed part of a prompt from an editor.
const REQUEST: &str = "## My request for Codex:";

/// Returns true if the program wrote a user message.
pub(super) fn is_injected(text: &str) -> bool {
    let text = text.trim_start();
    INJECTED.iter().any(|opening| text.starts_with(opening))
}

/// Returns the part of a prompt that the person typed; editors put their context before it.
pub(super) fn typed_part(text: &str) -> &str {
    text.rsplit_once(REQUEST).map_or(text, |(_, typed)| typed.trim())
}

/// Returns true if the announced text shows that the person typed a user message. The message may have marks of images
/// around it.
pub(super) fn is_announced(message: &str, announced: &str) -> bool {
    let announced = announced.trim();
    message.trim() == announced || (!announced.is_empty() && !is_injected(message) && message.contains(announced))
}

/// Returns the folder that an `<environment_context>` names: in a tag, or in words (until about 0.20).
pub(super) fn folder_of(context: &str) -> Option<&str> {
    let tagged = || context.split_once("<cwd>").and_then(|(_, rest)| rest.split_once("</cwd>")).map(|(cwd, _)| cwd);
    let worded = || context.split_once("Current working directory: ").and_then(|(_, rest)| rest.lines().next());
    if !context.trim_start().starts_with("<environment_context>") {
        return None;
    }
    tagged().or_else(worded).map(str::trim).filter(|folder| !folder.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_typed_part_of_an_editors_prompt() {
        let text = "# Context from my IDE setup:\n\n## Open tabs:\n- a.rs\n\n## My request for Codex:\nfix it\n";
        assert_eq!(typed_part(text), "fix it");
        assert_eq!(typed_part("fix it"), "fix it");
    }

    #[test]
    fn folders_of_both_forms() {
        assert_eq!(folder_of("<environment_context>\n  <cwd>/a b</cwd>\n</environment_context>"), Some("/a b"));
        let worded = "<environment_context>\nCurrent working directory: /w\nApproval policy: never\n";
        assert_eq!(folder_of(worded), Some("/w"));
        assert_eq!(folder_of("see <cwd>/x</cwd>"), None);
    }
}
