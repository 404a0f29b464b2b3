//! Tool calls as XML within the text of a reply: Cline from 2024-10 to late 2025, Roo Code and Kilo Code likewise.

use std::borrow::Cow;

/// Tools that are called so.
const TOOLS: [&str; 32] = [
    "execute_command",
    "read_file",
    "write_to_file",
    "replace_in_file",
    "apply_diff",
    "edit_file",
    "insert_content",
    "search_and_replace",
    "search_files",
    "list_files",
    "list_code_definition_names",
    "codebase_search",
    "browser_action",
    "use_mcp_tool",
    "access_mcp_resource",
    "load_mcp_documentation",
    "ask_followup_question",
    "attempt_completion",
    "new_task",
    "condense",
    "summarize_task",
    "report_bug",
    "new_rule",
    "plan_mode_respond",
    "act_mode_respond",
    "switch_mode",
    "update_todo_list",
    "fetch_instructions",
    "web_fetch",
    "web_search",
    "use_skill",
    "run_slash_command",
];

/// A call that stands in a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Element<'t> {
    pub(super) name: &'static str,
    body: &'t str,
}

/// Parts a text from the calls in it.
pub(super) fn split(text: &str) -> (Cow<'_, str>, Vec<Element<'_>>) {
    let mut elements = Vec::new();
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, element, after)) = next(rest) {
        kept.push_str(before);
        elements.push(element);
        rest = after;
    }
    if elements.is_empty() {
        return (Cow::Borrowed(text), elements);
    }
    kept.push_str(rest);
    (Cow::Owned(kept.trim().to_owned()), elements)
}

/// The first call of a text, with what stands before and behind it. A file that is written may hold anything: its
/// element ends where the last of its name does. The extensions take a call wherever it stands and stop the model behind
/// it: within a line it is one where nothing follows, and a mention else.
fn next(text: &str) -> Option<(&str, Element<'_>, &str)> {
    let mut places = memchr::memchr_iter(b'<', text.as_bytes());
    places.find_map(|place| {
        let before = text.get(..place)?;
        let begins_line = before.is_empty() || before.ends_with('\n');
        let inner = text.get(place + 1..)?;
        let name = TOOLS.into_iter().find(|name| inner.strip_prefix(name).is_some_and(|rest| rest.starts_with('>')))?;
        let body = inner.get(name.len() + 1..)?;
        let closing = format!("</{name}>");
        let end = if holds_file(name) { body.rfind(&closing) } else { body.find(&closing) }?;
        let after = body.get(end + closing.len()..)?;
        let is_call = begins_line || (after.trim().is_empty() && !before.ends_with('`'));
        is_call.then_some((before, Element { name, body: body.get(..end)? }, after))
    })
}

fn holds_file(name: &str) -> bool {
    matches!(name, "write_to_file" | "replace_in_file" | "apply_diff" | "insert_content" | "attempt_completion")
}

impl Element<'_> {
    /// Its arguments as a JSON object: the elements within it, a repeated one last.
    pub(super) fn input(&self) -> String {
        let mut arguments = serde_json::Map::new();
        let mut rest = self.body;
        while let Some((name, value, after)) = argument(rest) {
            arguments.insert(name.to_owned(), serde_json::Value::from(value.trim_matches('\n')));
            rest = after;
        }
        serde_json::Value::Object(arguments).to_string()
    }
}

fn argument(text: &str) -> Option<(&str, &str, &str)> {
    let (_, rest) = text.split_once('<')?;
    let (name, rest) = rest.split_once('>')?;
    let is_name =
        |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !is_name(name) {
        return argument(rest);
    }
    let closing = format!("</{name}>");
    // What is written to a file may hold the same tag.
    let end = if matches!(name, "content" | "diff" | "result") { rest.rfind(&closing) } else { rest.find(&closing) };
    match end {
        Some(end) => Some((name, rest.get(..end)?, rest.get(end + closing.len()..)?)),
        None => argument(rest),
    }
}

/// The tool that a text says it is the result of, and what stands behind that.
pub(super) fn result(text: &str) -> Option<(&str, &str)> {
    let inner = text.trim_start().strip_prefix('[')?;
    let end = inner.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))?;
    let name = inner.get(..end).filter(|name| TOOLS.contains(name))?;
    let (head, rest) = inner.split_once("] Result:")?;
    let is_heading = head.len() < 2000 && head.get(end..).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    is_heading.then(|| (name, rest.trim_start_matches('\n')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_parted_from_its_text() {
        let text =
            "I write it.\n\n<write_to_file>\n<path>a.md</path>\n<content>\n<path>x</path></content>\n</write_to_file>";
        let (before, elements) = split(text);
        assert_eq!(before, "I write it.");
        assert_eq!(elements.len(), 1);
        assert_eq!(elements[0].name, "write_to_file");
        assert_eq!(elements[0].input(), r#"{"content":"<path>x</path>","path":"a.md"}"#);
        assert_eq!(split("<thinking>x</thinking><read_file><path>a</path></read_file>\n").1.len(), 1);
        assert_eq!(split("I look: <read_file>\n<path>a</path>\n</read_file>").0, "I look:");
        assert!(split("use <read_file><path>a</path></read_file> for that").1.is_empty());
        assert!(split("use `<read_file><path>a</path></read_file>").1.is_empty());
        assert!(split("use `<read_file>` for that, a <b").1.is_empty());
        assert!(split("<read_file>\n<path>a</path>").1.is_empty(), "torn");
    }

    #[test]
    fn results_say_whose_they_are() {
        assert_eq!(result("[read_file for 'a.md'] Result:"), Some(("read_file", "")));
        assert_eq!(result("[attempt_completion] Result:\n\nThe user"), Some(("attempt_completion", "The user")));
        assert_eq!(result("[other for 'x'] Result:\na"), None);
        assert_eq!(result("read"), None);
    }
}
