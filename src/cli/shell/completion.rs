//! Completes the word at the cursor.

use super::commands::{COMMANDS, Offers, declared};
use super::tokens::{End, Tokens};
use crate::query::canned::Canned;
use crate::tables::{LAKE_TABLES, PARTITION_COLUMNS, STATE_TABLES};

/// Keywords that are completed. The engine knows many more that nobody types here.
const KEYWORDS: [&str; 73] = [
    "all",
    "and",
    "as",
    "asc",
    "between",
    "by",
    "case",
    "cast",
    "cross",
    "current",
    "date",
    "desc",
    "describe",
    "distinct",
    "else",
    "end",
    "except",
    "exists",
    "explain",
    "extract",
    "false",
    "fetch",
    "filter",
    "first",
    "following",
    "from",
    "full",
    "group",
    "having",
    "ilike",
    "in",
    "inner",
    "intersect",
    "interval",
    "is",
    "join",
    "last",
    "lateral",
    "left",
    "like",
    "limit",
    "not",
    "null",
    "nulls",
    "offset",
    "on",
    "or",
    "order",
    "outer",
    "over",
    "partition",
    "preceding",
    "range",
    "recursive",
    "right",
    "rollup",
    "row",
    "rows",
    "select",
    "show",
    "tables",
    "then",
    "timestamp",
    "true",
    "try_cast",
    "unbounded",
    "union",
    "using",
    "values",
    "when",
    "where",
    "with",
    "within",
];

/// Every name that can be completed.
pub(super) struct Names {
    tables: Vec<&'static str>,
    columns: Vec<&'static str>,
    functions: Vec<String>,
    queries: Vec<(String, Vec<String>)>,
}

impl Names {
    /// Collects the declared tables, the engine's functions, and the canned queries.
    pub(super) fn new(functions: Vec<String>, queries: &[Canned]) -> Self {
        let tables = || LAKE_TABLES.into_iter().chain(STATE_TABLES);
        let columns = tables().flat_map(|table| table.columns).map(|column| column.name);
        let queries = queries.iter().map(|query| {
            let parameters = query.parameters.iter().map(|parameter| parameter.name.clone());
            (query.name.clone(), parameters.collect())
        });
        Self {
            tables: tables().map(|table| table.name).collect(),
            columns: columns.chain(PARTITION_COLUMNS.iter().map(|(name, _)| *name)).collect(),
            functions,
            queries: queries.collect(),
        }
    }

    /// Returns the beginning of the word at the cursor, and its completions, the most likely first.
    pub(super) fn complete(&self, text: &str, cursor: usize) -> (usize, Vec<String>) {
        let before = text.get(..cursor).unwrap_or_default();
        let line = before.rfind('\n').map_or(0, |at| at + 1);
        let typed = before.get(line..).unwrap_or_default();
        let indent = typed.len() - typed.trim_start().len();
        let inside = |text: &str| matches!(Tokens::of(text).end, End::Within(_));
        if typed.trim_start().starts_with('\\') && !inside(before.get(..line).unwrap_or_default()) {
            return self.command(before, line + indent);
        }
        if inside(before) {
            return (cursor, Vec::new());
        }
        let start = before
            .rfind(|letter: char| !is_of_word(letter))
            .map_or(0, |at| at + before.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8));
        let word = before.get(start..).unwrap_or_default();
        let mut found = self.sql(before.get(..start).unwrap_or_default().trim_end(), word);
        found.retain(|name| starts_with(name, word));
        (start, distinct(found))
    }

    /// Completes a command that begins at `from`, and its arguments.
    fn command(&self, before: &str, from: usize) -> (usize, Vec<String>) {
        let typed = before.get(from..).unwrap_or_default();
        let start = from + typed.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let word = before.get(start..).unwrap_or_default();
        let earlier: Vec<&str> = before.get(from..start).unwrap_or_default().split_whitespace().collect();
        let mut found = match (earlier.as_slice(), earlier.first().and_then(|name| declared(name))) {
            ([], _) => COMMANDS.iter().flat_map(|declared| owned(declared.names)).collect(),
            ([_], Some(command)) => match command.offers {
                Offers::Nothing => Vec::new(),
                Offers::Tables => owned(&self.tables),
                Offers::Queries => self.queries.iter().map(|(name, _)| name.clone()).collect(),
                Offers::Words(words) => owned(words),
            },
            ([_, query, ..], Some(command)) if matches!(command.offers, Offers::Queries) => {
                let query = self.queries.iter().find(|(name, _)| name == query);
                query.into_iter().flat_map(|(_, names)| names).map(|name| format!("{name}=")).collect()
            }
            _ => Vec::new(),
        };
        found.retain(|name| starts_with(name, word));
        (start, found)
    }

    /// Returns names for a word of SQL, which the text before it limits.
    fn sql(&self, before: &str, word: &str) -> Vec<String> {
        let functions = self.functions.iter().map(|name| format!("{name}("));
        let last = before.rsplit(|letter| !is_of_word(letter)).next().unwrap_or_default();
        if before.ends_with('.') {
            return owned(&self.columns);
        }
        if ["from", "join"].iter().any(|keyword| last.eq_ignore_ascii_case(keyword)) {
            let functions = functions.filter(|_| !word.is_empty());
            return owned(&self.tables).into_iter().chain(functions).collect();
        }
        if word.is_empty() {
            return Vec::new();
        }
        let words = keywords(word).chain(functions).chain(owned(&self.tables));
        words.chain(owned(&self.columns)).collect()
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Returns keywords in the case of the typed word.
fn keywords(word: &str) -> impl Iterator<Item = String> {
    let upper = !word.chars().any(char::is_lowercase);
    KEYWORDS.into_iter().map(move |keyword| if upper { keyword.to_ascii_uppercase() } else { keyword.to_owned() })
}

fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

fn starts_with(name: &str, word: &str) -> bool {
    name.get(..word.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(word))
}

fn distinct(names: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    names.into_iter().filter(|name| seen.insert(name.clone())).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;
    use crate::query::canned::Library;

    static NAMES: LazyLock<Names> = LazyLock::new(|| {
        let functions = ["avg", "count", "generate_series", "sum"].map(str::to_owned).to_vec();
        Names::new(functions, &Library::load(&[]).unwrap().queries)
    });

    /// Returns completions at the `|`, without the word itself.
    fn at(text: &str) -> Vec<String> {
        let (before, after) = text.split_once('|').unwrap();
        let (start, found) = NAMES.complete(&format!("{before}{after}"), before.len());
        assert!(start <= before.len());
        found
    }

    #[test]
    fn names_of_tables_columns_and_functions() {
        let all = ["sessions", "messages", "tool_calls", "usage", "sources", "runs", "prices", "findings"];
        assert_eq!(at("select * from |"), all);
        assert_eq!(at("select * from usa|"), ["usage"]);
        assert_eq!(at("select * from gen|"), ["generate_series("]);
        assert_eq!(at("select mod| from usage"), ["models", "model", "model_key", "modified_at"]);
        assert_eq!(at("select mach| from usage"), ["machine"]);
        assert_eq!(at("select u.se| from usage u"), ["session_id", "seq", "service_tier", "sessions", "severity"]);
        assert_eq!(at("select * from usage u join ses|"), ["sessions"]);
        assert_eq!(at("select |"), [""; 0]);
    }

    #[test]
    fn keywords_have_the_case_that_is_typed() {
        assert_eq!(at("sel|"), ["select"]);
        assert_eq!(at("SEL|"), ["SELECT"]);
        assert_eq!(at("select cou|"), ["count("]);
        assert_eq!(at("select * from usage wher|"), ["where"]);
    }

    #[test]
    fn nothing_within_strings_and_comments() {
        for text in ["select 'sel|", "select \"sel|", "select /* sel|", "select $$ sel|", "select '\n\\d|"] {
            assert_eq!(at(text), [""; 0], "{text}");
        }
        assert_eq!(at("select 'a' fr|"), ["from"]);
    }

    #[test]
    fn commands_and_their_arguments() {
        assert_eq!(at("\\ti|"), ["\\timing"]);
        assert_eq!(at("\\d us|"), ["usage"]);
        assert_eq!(at("select 1,\n \\d us|"), ["usage"]);
        assert_eq!(at("\\run cost_by_d|"), ["cost_by_day", "cost_by_day_and_agent"]);
        assert_eq!(at("\\run cost_by_day |"), ["since=", "until=", "project=", "agent="]);
        assert_eq!(at("\\run cost_by_day since=7d pro|"), ["project="]);
        assert_eq!(at("\\timing o|"), ["on", "off"]);
        assert_eq!(at("\\f jsonl|"), ["jsonl"]);
        assert_eq!(at("\\q x|"), [""; 0]);
        assert_eq!(at("\\nothing x|"), [""; 0]);
    }

    #[test]
    fn keywords_are_known_to_the_engine() {
        use datafusion::sql::sqlparser::keywords::ALL_KEYWORDS;
        for keyword in KEYWORDS {
            assert!(ALL_KEYWORDS.contains(&keyword.to_ascii_uppercase().as_str()), "{keyword}");
        }
    }

    proptest! {
        #[test]
        fn what_is_offered_begins_with_the_word(
            text in r"(select |from |join |usage |u |u\.|, |se|MO|'|\\d |é|;|\n){0,8}",
            cut in any::<prop::sample::Index>(),
        ) {
            let cursors: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let cursor = *cut.get(&cursors);
            let (start, found) = NAMES.complete(&text, cursor);
            let word = text.get(start..cursor).unwrap().to_lowercase();
            prop_assert!(found.iter().all(|name| name.to_lowercase().starts_with(&word)));
        }
    }
}
