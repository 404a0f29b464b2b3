//! The shell's own commands, each declared once: names, arguments, meaning.

use std::path::PathBuf;

use crate::cli::output::{Format, Limit};
use crate::query::nearest;
use crate::{Error, Result};

/// A parsed command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    /// Lists the tables, or the columns of one.
    Describe(Option<String>),
    /// Lists the canned queries.
    Queries,
    /// Runs a canned query: name, and values of parameters by name.
    Run(String, Vec<(String, String)>),
    /// Sets the format of results, or shows it if `None`.
    Format(Option<Format>),
    /// Sets the file for the next result, or resets it if `None`.
    Output(Option<PathBuf>),
    /// Sets the number of rows that a table shows, or shows it if `None`.
    Limit(Option<Limit>),
    /// Sets whether times are shown, or toggles it if `None`.
    Timing(Option<bool>),
    /// Lists the commands.
    Help,
    /// Ends the shell.
    Quit,
}

/// A command's declaration.
pub(super) struct Declared {
    /// The name and its aliases.
    pub(super) names: &'static [&'static str],
    /// Its arguments, for the help.
    pub(super) arguments: &'static str,
    /// Its description.
    pub(super) meaning: &'static str,
    /// Completions of its arguments.
    pub(super) offers: Offers,
    parse: fn(&[String]) -> Result<Command, Mistake>,
}

/// Completions of a command's arguments.
#[derive(Debug, Clone, Copy)]
pub(super) enum Offers {
    /// No completions.
    Nothing,
    /// A table's name.
    Tables,
    /// A canned query's name, then its parameters.
    Queries,
    /// One of these words.
    Words(&'static [&'static str]),
}

/// The reason why arguments are refused.
enum Mistake {
    /// Their number is wrong.
    Count,
    /// One is wrong.
    Value(String),
}

/// Formats that a terminal can show.
const TEXT_FORMATS: [&str; 5] =
    [Format::Table.name(), Format::Json.name(), Format::Ndjson.name(), Format::Csv.name(), Format::Markdown.name()];

/// Every command, in the order of the help.
pub(super) static COMMANDS: [Declared; 9] = [
    Declared {
        names: &["\\d", "\\dt"],
        arguments: "[TABLE]",
        meaning: "list the tables, or the columns of TABLE with types and meanings",
        offers: Offers::Tables,
        parse: |arguments| at_most_one(arguments).map(|table| Command::Describe(table.cloned())),
    },
    Declared {
        names: &["\\l", "\\queries"],
        arguments: "",
        meaning: "list the canned queries",
        offers: Offers::Nothing,
        parse: |arguments| alone(arguments, Command::Queries),
    },
    Declared {
        names: &["\\run"],
        arguments: "NAME [PARAMETER=VALUE …]",
        meaning: "run a canned query",
        offers: Offers::Queries,
        parse: run,
    },
    Declared {
        names: &["\\f", "\\format"],
        arguments: "[FORMAT]",
        meaning: "write results as table, json, jsonl, csv or md",
        offers: Offers::Words(&TEXT_FORMATS),
        parse: |arguments| at_most_one(arguments)?.map(|name| format(name)).transpose().map(Command::Format),
    },
    Declared {
        names: &["\\o", "\\output"],
        arguments: "[FILE]",
        meaning: "write the next result into FILE; the suffix gives the format",
        offers: Offers::Nothing,
        parse: |arguments| at_most_one(arguments).map(|file| Command::Output(file.map(PathBuf::from))),
    },
    Declared {
        names: &["\\limit"],
        arguments: "[N|off]",
        meaning: "show at most N rows of a table",
        offers: Offers::Words(&["off"]),
        parse: |arguments| {
            let limit = at_most_one(arguments)?.map(|text| text.parse().map_err(Mistake::Value));
            limit.transpose().map(Command::Limit)
        },
    },
    Declared {
        names: &["\\timing"],
        arguments: "[on|off]",
        meaning: "show how long each query takes",
        offers: Offers::Words(&["on", "off"]),
        parse: |arguments| match at_most_one(arguments)?.map(String::as_str) {
            None => Ok(Command::Timing(None)),
            Some("on") => Ok(Command::Timing(Some(true))),
            Some("off") => Ok(Command::Timing(Some(false))),
            Some(_) => Err(Mistake::Count),
        },
    },
    Declared {
        names: &["\\?", "\\h", "\\help", "help"],
        arguments: "",
        meaning: "show this list",
        offers: Offers::Nothing,
        parse: |arguments| alone(arguments, Command::Help),
    },
    Declared {
        names: &["\\q", "\\quit", "\\exit", "exit", "quit"],
        arguments: "",
        meaning: "leave, like Ctrl-D",
        offers: Offers::Nothing,
        parse: |arguments| alone(arguments, Command::Quit),
    },
];

/// Returns the command of that name.
pub(super) fn declared(name: &str) -> Option<&'static Declared> {
    COMMANDS.iter().find(|declared| declared.names.contains(&name))
}

impl Command {
    /// Parses a command line, which begins with the command's name.
    pub(super) fn parse(line: &str) -> Result<Self> {
        let mut words = words(line.trim().trim_end_matches(';')).map_err(Error::Usage)?.into_iter();
        let name = words.next().unwrap_or_default();
        let Some(declared) = declared(&name) else {
            // No suggestion for one letter: all are equally similar.
            let known = COMMANDS.iter().flat_map(|declared| declared.names).copied().filter(|name| name.len() > 2);
            let guess = nearest::suggestion(&name, known);
            return Err(Error::Usage(format!("unknown command `{name}`{guess} (`\\?` lists them)")));
        };
        (declared.parse)(&words.collect::<Vec<_>>()).map_err(|mistake| {
            let usage = format!("{name} {}", declared.arguments);
            Error::Usage(match mistake {
                Mistake::Count => format!("`{}` is wrong; write `{}`", line.trim(), usage.trim()),
                Mistake::Value(reason) => reason,
            })
        })
    }
}

fn alone(arguments: &[String], command: Command) -> Result<Command, Mistake> {
    if arguments.is_empty() { Ok(command) } else { Err(Mistake::Count) }
}

fn at_most_one(arguments: &[String]) -> Result<Option<&String>, Mistake> {
    if arguments.len() > 1 { Err(Mistake::Count) } else { Ok(arguments.first()) }
}

fn run(arguments: &[String]) -> Result<Command, Mistake> {
    let Some((name, parameters)) = arguments.split_first() else { return Err(Mistake::Count) };
    let parameters = parameters.iter().map(|text| {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| Mistake::Value(format!("`{text}` has no value; write PARAMETER=VALUE")))?;
        Ok((name.to_owned(), value.to_owned()))
    });
    Ok(Command::Run(name.clone(), parameters.collect::<Result<_, Mistake>>()?))
}

fn format(name: &str) -> Result<Format, Mistake> {
    let format = Format::of_name(name).map_err(|error| Mistake::Value(error.to_string()))?;
    if format.is_binary() {
        return Err(Mistake::Value(format!("{name} is no text; `\\o FILE.{name}` writes it into a file")));
    }
    Ok(format)
}

/// Splits a line into words. In single or double quotes, spaces are a part of a word.
fn words(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for letter in line.chars() {
        match quote {
            Some(mark) if letter == mark => quote = None,
            Some(_) => word.get_or_insert_default().push(letter),
            None if letter.is_whitespace() => words.extend(word.take()),
            None if matches!(letter, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            None => word.get_or_insert_default().push(letter),
        }
    }
    if let Some(mark) = quote {
        return Err(format!("`{}` lacks a closing {mark}", line.trim()));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(line: &str) -> Command {
        Command::parse(line).unwrap()
    }

    fn refusal(line: &str) -> String {
        Command::parse(line).unwrap_err().to_string()
    }

    #[test]
    fn commands_and_their_other_names() {
        assert_eq!(parse("\\d"), Command::Describe(None));
        assert_eq!(parse(" \\d usage ; "), Command::Describe(Some("usage".to_owned())));
        assert_eq!(parse("\\dt"), Command::Describe(None));
        assert_eq!(parse("\\l"), parse("\\queries"));
        assert_eq!(parse("\\f json"), Command::Format(Some(Format::Json)));
        assert_eq!(parse("\\o 'a b.csv'"), Command::Output(Some(PathBuf::from("a b.csv"))));
        assert_eq!(parse("\\limit off"), Command::Limit(Some(Limit::OFF)));
        assert_eq!(parse("\\limit"), Command::Limit(None));
        assert_eq!(parse("\\timing on"), Command::Timing(Some(true)));
        assert_eq!(parse("\\timing"), Command::Timing(None));
        for quit in ["\\q", "exit", "quit"] {
            assert_eq!(parse(quit), Command::Quit);
        }
        assert_eq!(parse("help"), Command::Help);
        let given = [("since", "7d"), ("project", "two words"), ("x", "a=b")];
        let given = given.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        assert_eq!(
            parse("\\run cost_by_day since=7d project='two words' x=a=b"),
            Command::Run("cost_by_day".to_owned(), given)
        );
    }

    #[test]
    fn mistakes_are_told_with_what_was_meant() {
        let lines = [
            "\\timng on",
            "\\x",
            "\\",
            "\\timing maybe",
            "\\d a b",
            "\\run",
            "\\run cost_by_day since",
            "\\f jsn",
            "\\f parquet",
            "\\limit many",
            "\\run a b='c",
        ];
        insta::assert_snapshot!(lines.map(refusal).join("\n"), @r"
        unknown command `\timng`; did you mean `\timing`? (`\?` lists them)
        unknown command `\x` (`\?` lists them)
        unknown command `\` (`\?` lists them)
        `\timing maybe` is wrong; write `\timing [on|off]`
        `\d a b` is wrong; write `\d [TABLE]`
        `\run` is wrong; write `\run NAME [PARAMETER=VALUE …]`
        `since` has no value; write PARAMETER=VALUE
        `jsn` is not a format
        parquet is no text; `\o FILE.parquet` writes it into a file
        `many` is not a limit; write a number of rows, or off
        `\run a b='c` lacks a closing '
        ");
    }

    #[test]
    fn names_are_given_once() {
        let mut names: Vec<_> = COMMANDS.iter().flat_map(|declared| declared.names).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    proptest! {
        #[test]
        fn quoted_words_come_out_whole(texts in prop::collection::vec("[a-z =\\\\é\"]{0,8}", 0..5)) {
            let line = texts.iter().map(|text| format!("'{text}'")).collect::<Vec<_>>().join("  ");
            prop_assert_eq!(words(&line).unwrap(), texts);
        }

        #[test]
        fn no_line_is_too_odd(line in "\\\\?[a-z?]{0,8}[ '\"=;a-z\\\\]{0,12}") {
            let _ = Command::parse(&line);
        }
    }
}
