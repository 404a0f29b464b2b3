//! Splits input into statements and commands.

use std::ops::Range;

use datafusion::sql::sqlparser::tokenizer::Token;

use super::tokens::{End, Tokens};

/// Complete statements and commands in order, and the beginning of an unfinished statement.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Typed {
    /// Complete statements, and commands.
    pub(super) steps: Vec<Step>,
    /// The text of the unfinished statement; empty if only spaces and comments are left.
    pub(super) rest: String,
    /// The end of the rest.
    pub(super) end: End,
}

/// A statement or a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// SQL, without the `;`.
    Statement(String),
    /// From `\` to the end of the line, or a command word that is alone.
    Command(String),
}

/// Words that are commands if nothing else is typed.
const WORDS: [&str; 3] = ["exit", "quit", "help"];

/// Splits a text. A `;` ends a statement unless it is part of a string, name or comment. A `\` starts a command at the
/// beginning of a line or statement.
pub(super) fn split(text: &str) -> Typed {
    let word = text.trim().trim_end_matches(';').trim_end().to_ascii_lowercase();
    if WORDS.contains(&word.as_str()) {
        return Typed { steps: vec![Step::Command(word)], rest: String::new(), end: End::Whole };
    }
    let mut steps = Vec::new();
    let mut left = text.to_owned();
    loop {
        let tokens = Tokens::of(&left);
        let scanned = scan(&left, &tokens, &mut steps);
        let begun = left.get(scanned.begin..).unwrap_or_default();
        let Some(command) = scanned.command else {
            let empty = scanned.blank && tokens.end == End::Whole;
            if tokens.end == End::Wrong && begun.trim_end().ends_with(';') {
                // The engine explains better what is wrong with it.
                steps.push(Step::Statement(begun.trim().to_owned()));
                return Typed { steps, rest: String::new(), end: End::Whole };
            }
            let rest = if empty { String::new() } else { begun.to_owned() };
            return Typed { steps, rest, end: tokens.end };
        };
        // A statement that the command interrupts continues after it.
        let before = left.get(scanned.begin..command.start).unwrap_or_default();
        let after = left.get(command.end..).unwrap_or_default();
        left = format!("{before}{after}");
    }
}

struct Scanned {
    /// Beginning of the unfinished statement.
    begin: usize,
    /// True if it has only spaces and comments.
    blank: bool,
    /// Beginning of the first command, which is no SQL.
    command: Option<Range<usize>>,
}

fn scan(text: &str, tokens: &Tokens, steps: &mut Vec<Step>) -> Scanned {
    let mut scanned = Scanned { begin: 0, blank: true, command: None };
    for (token, place) in &tokens.tokens {
        match token {
            Token::SemiColon => {
                if !scanned.blank {
                    let statement = text.get(scanned.begin..place.start).unwrap_or_default();
                    steps.push(Step::Statement(statement.trim().to_owned()));
                }
                (scanned.begin, scanned.blank) = (place.end, true);
            }
            Token::Backslash if scanned.blank || begins_line(text, place.start) => {
                let line = text.get(place.start..).unwrap_or_default().lines().next().unwrap_or_default();
                steps.push(Step::Command(line.trim_end().to_owned()));
                scanned.command = Some(place.start..place.start + line.len());
                break;
            }
            Token::Whitespace(_) => {}
            _ => scanned.blank = false,
        }
    }
    scanned
}

fn begins_line(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    before.rsplit('\n').next().unwrap_or_default().trim().is_empty()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn statement(text: &str) -> Step {
        Step::Statement(text.to_owned())
    }

    fn command(text: &str) -> Step {
        Step::Command(text.to_owned())
    }

    fn steps(text: &str) -> Vec<Step> {
        let typed = split(text);
        assert_eq!((typed.rest.as_str(), typed.end), ("", End::Whole), "{text}");
        typed.steps
    }

    #[test]
    fn statements_end_at_semicolons() {
        assert_eq!(steps("select 1;"), [statement("select 1")]);
        assert_eq!(steps(" select 1 ; select 2; -- the end\n"), [statement("select 1"), statement("select 2")]);
        assert_eq!(steps("select\n1\n;"), [statement("select\n1")]);
        assert_eq!(steps(""), []);
        assert_eq!(steps(";; /* nothing */ ;\n"), []);
        let held = "select ';', \";\", $$;$$, $t$;$t$ /* ; /* ; */ */ -- ;\n";
        assert_eq!(steps(&format!("{held};")), [statement(held.trim_end())]);
    }

    #[test]
    fn what_is_not_ended_goes_on() {
        let typed = split("select 1; select\n'a;");
        assert_eq!(typed.steps, [statement("select 1")]);
        assert_eq!((typed.rest.as_str(), typed.end), (" select\n'a;", End::Within('\'')));
        assert_eq!(split("select 1").rest, "select 1");
        assert_eq!(split("/* a;").end, End::Within('*'));
    }

    #[test]
    fn commands_end_with_their_line() {
        assert_eq!(steps("\\d usage"), [command("\\d usage")]);
        assert_eq!(steps("select 1; \\d it's\n\\q"), [statement("select 1"), command("\\d it's"), command("\\q")]);
        assert_eq!(steps("\\run a b=';'\nselect 2;"), [command("\\run a b=';'"), statement("select 2")]);
        assert_eq!(steps("select '\n\\d';"), [statement("select '\n\\d'")]);
    }

    #[test]
    fn a_statement_goes_on_behind_a_command() {
        let typed = split("select 1,\n  \\d usage\n2");
        assert_eq!(typed.steps, [command("\\d usage")]);
        assert_eq!(typed.rest, "select 1,\n  \n2");
        assert_eq!(split(&(typed.rest + ";")).steps, [statement("select 1,\n  \n2")]);
    }

    #[test]
    fn words_are_commands_when_they_stand_alone() {
        assert_eq!(steps(" Exit; "), [command("exit")]);
        assert_eq!(steps("help"), [command("help")]);
        assert_eq!(split("select\nquit").rest, "select\nquit");
    }

    #[test]
    fn what_is_no_sql_is_left_to_the_engine() {
        assert_eq!(steps("select (1)._a ;"), [statement("select (1)._a ;")]);
        assert_eq!(split("select (1)._a").rest, "select (1)._a");
    }

    fn piece() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "select",
            "1",
            "é",
            "'a;b'",
            "'it''s;'",
            "\"x;y\"",
            "$$;'$$",
            "$t$;$t$",
            "/* ; ' */",
            "-- ;'\n",
            "\n",
            "(",
        ])
    }

    proptest! {
        #[test]
        fn each_statement_comes_out_as_it_was_typed(typed in prop::collection::vec(prop::collection::vec(piece(), 1..6), 0..5)) {
            let texts: Vec<String> = typed.iter().map(|pieces| format!("x {}", pieces.join(" "))).collect();
            let text: String = texts.iter().flat_map(|text| [text.as_str(), ";\n"]).collect();
            let expected: Vec<Step> = texts.iter().map(|text| statement(text.trim())).collect();
            prop_assert_eq!(steps(&text), expected);
        }

        #[test]
        fn what_is_typed_later_changes_no_statement_that_was_ended(text in r#"[ a1;'"$*/`\n-]{0,24}"#, more in r#"[ a1;'"$*/`\n-]{0,12}"#) {
            let first = split(&text);
            let both = split(&(text + &more));
            prop_assert_eq!(both.steps.get(..first.steps.len()), Some(first.steps.as_slice()));
        }

        #[test]
        fn line_by_line_is_as_good_as_at_once(lines in prop::collection::vec(prop::collection::vec(piece(), 0..3), 0..5)) {
            let lines: Vec<String> = lines.iter().map(|pieces| pieces.join(" ") + ";").collect();
            let mut pending = String::new();
            let mut found = Vec::new();
            for line in &lines {
                pending.push_str(line);
                pending.push('\n');
                let typed = split(&pending);
                found.extend(typed.steps);
                pending = typed.rest;
            }
            let whole = split(&(lines.join("\n") + "\n"));
            prop_assert_eq!(found, whole.steps);
            prop_assert_eq!(pending, whole.rest);
        }
    }
}
