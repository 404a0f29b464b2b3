//! Completes the word at the cursor.

use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::Token;

use super::commands::{COMMANDS, Offers, declared};
use super::tokens::{End, Tokens};
use crate::query::canned::Canned;
use crate::tables::{LAKE_TABLES, PARTITION_COLUMNS, STATE_TABLES, TableDef};

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
    tables: Vec<Table>,
    functions: Vec<String>,
    queries: Vec<(String, Vec<String>)>,
}

struct Table {
    name: &'static str,
    columns: Vec<&'static str>,
}

impl Names {
    /// Collects the declared tables, the engine's functions, and the canned queries.
    pub(super) fn new(functions: Vec<String>, queries: &[Canned]) -> Self {
        let stored = LAKE_TABLES.into_iter().map(|table| Table::of(table, true));
        let state = STATE_TABLES.into_iter().map(|table| Table::of(table, false));
        let queries = queries.iter().map(|query| {
            let parameters = query.parameters.iter().map(|parameter| parameter.name.clone());
            (query.name.clone(), parameters.collect())
        });
        Self { tables: stored.chain(state).collect(), functions, queries: queries.collect() }
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
        let mut found = self.sql(&Surroundings::of(text, start, self), word);
        found.retain(|name| starts_with(name, word));
        (start, distinct(found))
    }

    /// Completes a command that begins at `from`, and its arguments.
    fn command(&self, before: &str, from: usize) -> (usize, Vec<String>) {
        let typed = before.get(from..).unwrap_or_default();
        let start = from + typed.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let word = before.get(start..).unwrap_or_default();
        let earlier: Vec<&str> = before.get(from..start).unwrap_or_default().split_whitespace().collect();
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let mut found = match (earlier.as_slice(), earlier.first().and_then(|name| declared(name))) {
            ([], _) => COMMANDS.iter().flat_map(|declared| owned(declared.names)).collect(),
            ([_], Some(command)) => match command.offers {
                Offers::Nothing => Vec::new(),
                Offers::Tables => self.tables.iter().map(|table| table.name.to_owned()).collect(),
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

    fn sql(&self, around: &Surroundings<'_>, word: &str) -> Vec<String> {
        let columns = |tables: &[&Table]| -> Vec<String> {
            tables.iter().flat_map(|table| &table.columns).map(|name| (*name).to_owned()).collect()
        };
        let tables = || self.tables.iter().map(|table| table.name.to_owned());
        let functions = || self.functions.iter().map(|name| format!("{name}("));
        match &around.place {
            Place::Column(table) => columns(&table.map_or(Vec::new(), |table| vec![table])),
            Place::Table if word.is_empty() => tables().collect(),
            Place::Table => tables().chain(functions()).chain(keywords(word)).collect(),
            Place::Anywhere if word.is_empty() => columns(&around.named),
            Place::Anywhere => {
                let others: Vec<&Table> = self.tables.iter().collect();
                let named = columns(&around.named).into_iter();
                let known = named.chain(keywords(word)).chain(functions()).chain(tables());
                known.chain(columns(&others)).collect()
            }
        }
    }

    fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name.eq_ignore_ascii_case(name))
    }
}

impl Table {
    fn of(table: &TableDef, partitioned: bool) -> Self {
        let partitions = PARTITION_COLUMNS.iter().map(|(name, _)| *name).filter(|_| partitioned);
        Self { name: table.name, columns: partitions.chain(table.columns.iter().map(|column| column.name)).collect() }
    }
}

/// The statement around a word.
struct Surroundings<'a> {
    /// The tables of its `from` and `join` clauses, in order.
    named: Vec<&'a Table>,
    /// The kind of the word.
    place: Place<'a>,
}

enum Place<'a> {
    /// A table, after `from` or `join`.
    Table,
    /// A column of this table, if it is known, after its name and a `.`.
    Column(Option<&'a Table>),
    /// Anything.
    Anywhere,
}

impl<'a> Surroundings<'a> {
    /// Analyses the statement around the word that begins at `start`.
    fn of(text: &str, start: usize, names: &'a Names) -> Self {
        let all = Tokens::of(text).tokens;
        let is_end = |token: &Token| *token == Token::SemiColon;
        let begin = all.iter().rposition(|(token, place)| is_end(token) && place.end <= start).map_or(0, |at| at + 1);
        let statement = all.iter().skip(begin).take_while(|(token, place)| !is_end(token) || place.end <= start);
        let mut reading = Reading::default();
        let mut place = None;
        for (token, at) in statement.filter(|(token, _)| !matches!(token, Token::Whitespace(_))) {
            if at.start >= start && place.is_none() {
                place = Some(reading.state);
            }
            reading.take(token, names);
        }
        let place = match place.unwrap_or(reading.state) {
            State::Table => Place::Table,
            State::Qualified => Place::Column(qualifier(text, start).and_then(|name| reading.meant(&name, names))),
            _ => Place::Anywhere,
        };
        Self { named: reading.named.into_iter().map(|(table, _)| table).collect(), place }
    }
}

/// Returns the name before the `.` that precedes the word.
fn qualifier(text: &str, start: usize) -> Option<String> {
    let before = text.get(..start)?.trim_end().strip_suffix('.')?.trim_end();
    Some(before.rsplit(|letter| !is_of_word(letter)).next()?.to_owned())
}

/// State while a statement is read word by word.
#[derive(Default)]
struct Reading<'a> {
    state: State,
    /// Tables with their aliases.
    named: Vec<(&'a Table, Option<String>)>,
    reads_tables: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Other,
    /// A table comes next.
    Table,
    /// After a table; its alias may follow.
    Alias,
    /// After a `.`.
    Qualified,
}

impl<'a> Reading<'a> {
    fn take(&mut self, token: &Token, names: &'a Names) {
        self.state = match token {
            Token::Period => State::Qualified,
            Token::Comma if self.reads_tables => State::Table,
            Token::Word(word) if matches!(word.keyword, Keyword::FROM | Keyword::JOIN) => {
                self.reads_tables = true;
                State::Table
            }
            Token::Word(word) if self.state == State::Table => match names.table(&word.value) {
                Some(table) => {
                    self.named.push((table, None));
                    State::Alias
                }
                None => State::Other,
            },
            Token::Word(word) if self.state == State::Alias && word.keyword == Keyword::AS => State::Alias,
            Token::Word(word) if self.state == State::Alias && !is_clause(word.keyword) => {
                if let Some((_, alias)) = self.named.last_mut() {
                    *alias = Some(word.value.clone());
                }
                State::Other
            }
            Token::Word(word) => {
                self.reads_tables &= !is_clause(word.keyword);
                State::Other
            }
            _ => State::Other,
        };
    }

    fn meant(&self, name: &str, names: &'a Names) -> Option<&'a Table> {
        let alias =
            self.named.iter().find(|(_, alias)| alias.as_deref().is_some_and(|alias| alias.eq_ignore_ascii_case(name)));
        alias.map(|(table, _)| *table).or_else(|| names.table(name))
    }
}

/// True if the word begins a clause that names no table, or a join's condition.
fn is_clause(keyword: Keyword) -> bool {
    use Keyword as K;
    matches!(
        keyword,
        K::SELECT
            | K::WHERE
            | K::GROUP
            | K::ORDER
            | K::HAVING
            | K::LIMIT
            | K::OFFSET
            | K::ON
            | K::USING
            | K::UNION
            | K::EXCEPT
            | K::INTERSECT
            | K::WINDOW
            | K::JOIN
            | K::LEFT
            | K::RIGHT
            | K::FULL
            | K::INNER
            | K::CROSS
            | K::NATURAL
    )
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
    fn tables_behind_from_and_join() {
        let all = ["sessions", "messages", "tool_calls", "usage", "sources", "runs", "prices", "findings"];
        assert_eq!(at("select * from |"), all);
        assert_eq!(at("select * from usa|"), ["usage"]);
        assert_eq!(at("select * from usage u join ses|"), ["sessions"]);
        assert_eq!(at("select * from usage, to|"), ["tool_calls"]);
        assert_eq!(at("select * from gen|"), ["generate_series("]);
    }

    #[test]
    fn columns_of_the_named_tables_come_first() {
        assert_eq!(at("select mod| from usage"), ["model", "model_key", "models", "modified_at"]);
        assert_eq!(at("select * from prices where mod|"), ["model", "models", "model_key", "modified_at"]);
        assert_eq!(at("select | from runs")[..2], ["started_at", "ended_at"]);
        assert_eq!(at("select 1 from usage; select |"), [""; 0]);
        assert_eq!(at("select valid| ; select 1 from usage"), ["valid_from", "valid_until"]);
        assert!(at("select mach| from usage").contains(&"machine".to_owned()));
    }

    #[test]
    fn columns_of_a_table_by_its_name_or_other_name() {
        assert_eq!(at("select u.mod| from usage as u join sessions s on true"), ["model", "model_key"]);
        assert_eq!(at("select s.mod| from usage as u join sessions s on true"), ["models"]);
        assert_eq!(at("select prices.th|"), ["threshold"]);
        assert_eq!(at("select nobody.mod| from usage"), [""; 0]);
        assert_eq!(at("select u.| from runs u where 1 = 1").len(), crate::tables::RUNS.columns.len());
    }

    #[test]
    fn keywords_have_the_case_that_is_typed() {
        assert_eq!(at("sel|"), ["select"]);
        assert_eq!(at("SEL|"), ["SELECT"]);
        assert_eq!(at("select cou|"), ["count("]);
        assert_eq!(at("select * from usage wher|"), ["where"]);
        assert_eq!(at("|"), [""; 0]);
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
        assert_eq!(at("\\f nd|"), ["ndjson"]);
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
