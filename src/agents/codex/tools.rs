//! Tools: the category of each, and the arguments of a call.

use std::borrow::Cow;

use super::record::Arguments;
use crate::agents::kit::texts::string_of;
use crate::agents::mcp;
use crate::agents::patch::file_of_patch;
use crate::tables::Category;

/// Returns the `category` of a tool.
pub(super) fn category(name: &str) -> Category {
    match name {
        "shell" | "shell_command" | "local_shell" | "exec_command" | "write_stdin" | "unified_exec"
        | "container.exec" | "bash" => Category::Shell,
        "view_image" | "read_file" => Category::Read,
        "write_file" => Category::Write,
        "apply_patch" => Category::Edit,
        "grep_files" | "list_dir" | "tool_search" | "file_search" => Category::Search,
        "web_search" | "web_fetch" => Category::Web,
        "spawn_agent" | "send_input" | "send_message" | "followup_task" | "wait" | "wait_agent" | "close_agent"
        | "resume_agent" | "list_agents" | "interrupt_agent" => Category::Task,
        "update_plan" => Category::Todo,
        "list_mcp_resources" | "list_mcp_resource_templates" | "read_mcp_resource" => Category::Mcp,
        name if name.starts_with("mcp__") => mcp::category(name),
        _ => Category::Other,
    }
}

/// Returns a tool's name with its namespace.
pub(super) fn full_name<'a>(namespace: Option<&str>, name: &'a str) -> Cow<'a, str> {
    match namespace {
        None => Cow::Borrowed(name),
        Some(space) if space.ends_with("__") => Cow::Owned(format!("{space}{name}")),
        Some(space) if space.starts_with("mcp__") => Cow::Owned(format!("{space}__{name}")),
        Some(space) => Cow::Owned(format!("{space}.{name}")),
    }
}

/// Request of a call.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Request {
    /// Arguments as JSON.
    pub(super) input: Option<String>,
    pub(super) command: Option<String>,
    pub(super) file_path: Option<String>,
}

impl Request {
    /// Reads arguments: JSON within a text, another text (a patch, a script), or JSON itself.
    pub(super) fn of(category: Category, json: Option<&str>) -> Self {
        let Some(json) = json else { return Self::default() };
        let text = string_of(json);
        let inner = text.as_deref().filter(|text| is_json(text)).unwrap_or(json);
        let arguments: Arguments<'_> = serde_json::from_str(inner).unwrap_or_default();
        let command = (category == Category::Shell).then(|| command_line(arguments.command.json())).flatten();
        let patch = text.as_deref().filter(|_| category == Category::Edit);
        let file_path = match category {
            Category::Edit => arguments.patch.get().or(patch).and_then(file_of_patch),
            Category::Read | Category::Write => arguments.path.get(),
            _ => None,
        };
        let file_path = file_path.map(str::to_owned);
        Self { input: Some(inner.to_owned()), command, file_path }
    }
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// Returns a command as one would type it: the last word of `["bash", "-lc", "ls"]`, all words of other lists.
pub(super) fn command_line(json: Option<&str>) -> Option<String> {
    let json = json?;
    if json.starts_with('"') {
        return string_of(json).map(Cow::into_owned);
    }
    let words: Vec<String> = serde_json::from_str(json).ok()?;
    match words.as_slice() {
        [] => None,
        [shell, flag, script, ..] if is_shell(shell) && flag.starts_with('-') && flag.ends_with('c') => {
            Some(script.clone())
        }
        words => Some(words.join(" ")),
    }
}

/// Returns the first key of a JSON object: for the changes of a patch, the first file.
pub(super) fn first_key(json: Option<&str>) -> Option<String> {
    let changes: std::collections::BTreeMap<String, &serde_json::value::RawValue> = serde_json::from_str(json?).ok()?;
    changes.into_keys().next()
}

fn is_shell(program: &str) -> bool {
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default();
    matches!(name, "bash" | "sh" | "zsh" | "dash" | "fish" | "ash" | "ksh")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(json: &str) -> Option<String> {
        Request::of(Category::Shell, Some(json)).command
    }

    #[test]
    fn commands_of_all_forms() {
        assert_eq!(command(r#""{\"command\":[\"bash\",\"-lc\",\"ls -l\"]}""#).as_deref(), Some("ls -l"));
        assert_eq!(command(r#""{\"command\":[\"rg\",\"x y\"]}""#).as_deref(), Some("rg x y"));
        assert_eq!(command(r#""{\"command\":\"ls\"}""#).as_deref(), Some("ls"));
        assert_eq!(command(r#""{\"cmd\":\"ls\"}""#).as_deref(), Some("ls"));
        assert_eq!(command(r#"{"command":["/bin/zsh","-lc","ls"]}"#).as_deref(), Some("ls"));
        assert_eq!(command(r#""{\"chars\":\"y\"}""#), None);
    }

    #[test]
    fn what_is_no_json_stays_text() {
        let request = Request::of(Category::Edit, Some(r#""*** Begin Patch\n*** Update File: a/b.rs\n@@""#));
        assert_eq!(request.file_path.as_deref(), Some("a/b.rs"));
        assert!(request.input.is_some_and(|input| input.starts_with("\"*** Begin")));
        let request = Request::of(Category::Shell, Some(r#""{\"command\":""#));
        assert_eq!(request.input.as_deref(), Some(r#""{\"command\":""#));
    }

    #[test]
    fn names_with_a_namespace() {
        assert_eq!(full_name(Some("mcp__github"), "search"), "mcp__github__search");
        assert_eq!(full_name(Some("mcp__github__"), "search"), "mcp__github__search");
        assert_eq!(full_name(Some("functions"), "exec"), "functions.exec");
    }
}
