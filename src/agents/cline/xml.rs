//! Tool calls as XML within the text of a reply: Cline from 2024-10 to late 2025, also Roo Code and Kilo Code.

use std::borrow::Cow;
use std::collections::HashMap;

/// Tools that are called in this form.
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

/// A call within a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Element<'t> {
    pub(super) name: &'static str,
    body: &'t str,
}

/// Separates a text from the calls in it.
pub(super) fn split(text: &str) -> (Cow<'_, str>, Vec<Element<'_>>) {
    let mut closings = Closings { text, first: HashMap::new(), last: HashMap::new() };
    let mut elements = Vec::new();
    let mut kept = String::new();
    let mut from = 0;
    let end_of_words = text.trim_end().len();
    while let Some((before, element, after)) = next(text, from, end_of_words, &mut closings) {
        kept.push_str(before);
        elements.push(element);
        from = after;
    }
    if elements.is_empty() {
        return (Cow::Borrowed(text), elements);
    }
    kept.push_str(text.get(from..).unwrap_or_default());
    (Cow::Owned(kept.trim().to_owned()), elements)
}

/// Ends of the elements in a text. Each end is looked up once, so that tags without one do not slow reading.
struct Closings<'t> {
    text: &'t str,
    first: HashMap<&'static str, Option<usize>>,
    last: HashMap<&'static str, Option<usize>>,
}

impl Closings<'_> {
    /// Returns the place of the closing tag of an element that begins at `from`; each call must begin after the last.
    fn of(&mut self, name: &'static str, closing: &str, from: usize) -> Option<usize> {
        let text = self.text;
        if holds_file(name) {
            let last = *self.last.entry(name).or_insert_with(|| text.rfind(closing));
            return last.filter(|place| *place >= from);
        }
        let find = || text.get(from..)?.find(closing).map(|place| from + place);
        let first = self.first.entry(name).or_insert_with(find);
        if first.is_some_and(|place| place < from) {
            *first = find();
        }
        *first
    }
}

/// Returns the first call of a text from a position on, the text before it, and the position after it. The content of a
/// written file may hold any text, so its element ends with the last closing tag of its name. The extensions accept a
/// call anywhere in a line and then stop the model. So an element within a line is a call if nothing follows it, and a
/// mention otherwise.
fn next<'t>(
    text: &'t str,
    from: usize,
    end_of_words: usize,
    closings: &mut Closings<'t>,
) -> Option<(&'t str, Element<'t>, usize)> {
    let rest = text.get(from..)?;
    let mut places = memchr::memchr_iter(b'<', rest.as_bytes());
    places.find_map(|place| {
        let before = rest.get(..place)?;
        let begins_line = before.is_empty() || before.ends_with('\n');
        let inner = rest.get(place + 1..)?;
        let name = TOOLS.into_iter().find(|name| inner.strip_prefix(name).is_some_and(|rest| rest.starts_with('>')))?;
        let begin = from + place + 1 + name.len() + 1;
        let closing = format!("</{name}>");
        let end = closings.of(name, &closing, begin)?;
        let after = end + closing.len();
        let is_call = begins_line || (after >= end_of_words && !before.ends_with('`'));
        is_call.then_some((before, Element { name, body: text.get(begin..end)? }, after))
    })
}

fn holds_file(name: &str) -> bool {
    matches!(name, "write_to_file" | "replace_in_file" | "apply_diff" | "insert_content" | "attempt_completion")
}

impl Element<'_> {
    /// Returns its arguments as a JSON object of the elements within it. The last element of a name counts.
    pub(super) fn input(&self) -> String {
        let mut arguments = serde_json::Map::new();
        let ends = last_ends(self.body);
        let mut from = 0;
        while let Some((name, value, after)) = argument(self.body, from, &ends) {
            arguments.insert(name.to_owned(), serde_json::Value::from(value.trim_matches('\n')));
            from = after;
        }
        serde_json::Value::Object(arguments).to_string()
    }
}

/// Returns the place of the last closing tag of each name.
fn last_ends(text: &str) -> HashMap<&str, usize> {
    let places = memchr::memmem::find_iter(text.as_bytes(), b"</");
    places.filter_map(|place| Some((tag_name(text.get(place + 2..)?)?, place))).collect()
}

/// Returns the name of a tag, if the tag contains nothing else.
fn tag_name(text: &str) -> Option<&str> {
    let end = text.bytes().position(|byte| !(byte.is_ascii_alphanumeric() || byte == b'_'))?;
    let name = text.get(..end)?;
    (!name.is_empty() && text.as_bytes().get(end) == Some(&b'>')).then_some(name)
}

/// Returns the first element from a position on: its name, its content, and the position after it.
fn argument<'t>(text: &'t str, from: usize, ends: &HashMap<&str, usize>) -> Option<(&'t str, &'t str, usize)> {
    let rest = text.get(from..)?;
    memchr::memchr_iter(b'<', rest.as_bytes()).find_map(|place| {
        let name = tag_name(rest.get(place + 1..)?)?;
        let begin = from + place + 1 + name.len() + 1;
        let last = *ends.get(name).filter(|end| **end >= begin)?;
        let closing = format!("</{name}>");
        // The content of a file may hold the same tag.
        let end = match name {
            "content" | "diff" | "result" => last,
            _ => begin + text.get(begin..)?.find(&closing)?,
        };
        Some((name, text.get(begin..end)?, end + closing.len()))
    })
}

/// Returns the tool whose result a text holds, and the result.
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
    fn a_megabyte_of_tags_is_read_in_one_go() {
        for tag in ["<a>", "<a b>", "<path>", "<read_file>", "x <read_file>", "<write_to_file>", "</path>"] {
            let tags = tag.repeat((1 << 20) / tag.len());
            let text = format!("ok\n\n<execute_command>\n<command>ls</command>{tags}\n</execute_command>");
            let (_, elements) = split(&text);
            assert_eq!(elements.len(), 1, "{tag}");
            assert_eq!(elements[0].input(), r#"{"command":"ls"}"#, "{tag}");
            assert!(split(&tags).1.is_empty(), "{tag}");
        }
        let names = (0..100_000).map(|number| format!("<a{number}>")).collect::<Vec<_>>().concat();
        assert_eq!(Element { name: "read_file", body: &names }.input(), "{}");
    }

    #[test]
    fn results_say_whose_they_are() {
        assert_eq!(result("[read_file for 'a.md'] Result:"), Some(("read_file", "")));
        assert_eq!(result("[attempt_completion] Result:\n\nThe user"), Some(("attempt_completion", "The user")));
        assert_eq!(result("[other for 'x'] Result:\na"), None);
        assert_eq!(result("read"), None);
    }
}
