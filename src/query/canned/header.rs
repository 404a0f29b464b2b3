//! The header of a canned query: lines of `-- key: value` before the SQL.

use std::collections::BTreeSet;

use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use super::{Canned, Group, Kind, Parameter, Purpose, Total, show};

/// Most words of a habit, which is a part of a sentence.
const LONGEST_HABIT: usize = 8;

/// Parses a file. The header is strict, so that lists and completions can rely on it.
pub(super) fn parse(purpose: Purpose, stem: &str, text: &str) -> Result<Canned, String> {
    let mut canned = Canned {
        purpose,
        name: String::new(),
        title: String::new(),
        about: String::new(),
        note: String::new(),
        todo: String::new(),
        habit: String::new(),
        needs: None,
        is_within_session: false,
        is_off: false,
        parameters: Vec::new(),
        columns: Vec::new(),
        group: Group::default(),
        show: Vec::new(),
        total: Total::default(),
        sql: text.to_owned(),
    };
    let header = text.lines().enumerate().take_while(|(_, line)| line.trim_start().starts_with("--"));
    for (number, line) in header {
        canned.take(line).map_err(|reason| format!("line {}: {reason}", number + 1))?;
    }
    canned.check(stem)?;
    Ok(canned)
}

impl Canned {
    fn take(&mut self, line: &str) -> Result<(), String> {
        let entry = line.trim_start().trim_start_matches("--").trim();
        let (key, value) = entry.split_once(':').ok_or("expected `-- key: value`")?;
        let value = value.trim();
        match key.trim() {
            "name" => set(&mut self.name, "name", value),
            "title" => set(&mut self.title, "title", value),
            "about" => add(&mut self.about, value),
            "note" => add(&mut self.note, value),
            "todo" | "habit" if self.purpose != Purpose::Detector => {
                Err("only a detector has `todo` and `habit`".to_owned())
            }
            "todo" => add(&mut self.todo, value),
            "habit" => set(&mut self.habit, "habit", value),
            "default" if value == "off" && self.purpose == Purpose::Detector => {
                self.is_off = true;
                Ok(())
            }
            "default" => Err("expected `default: off`, which only a detector can have".to_owned()),
            "needs" if self.purpose == Purpose::Detector && self.needs.is_none() => {
                self.needs = Some(value.to_owned());
                Ok(())
            }
            "needs" => Err("expected one `needs: CONDITION`, which only a detector can have".to_owned()),
            "scope" if value == "session" && self.purpose == Purpose::Detector => {
                self.is_within_session = true;
                Ok(())
            }
            "scope" => Err("expected `scope: session`, which only a detector can have".to_owned()),
            "param" => parameter(value).map(|parameter| self.parameters.push(parameter)),
            "column" => {
                let (name, doc) = value.split_once(" -- ").ok_or("expected `column: NAME -- MEANING`")?;
                self.columns.push((name.trim().to_owned(), doc.trim().to_owned()));
                Ok(())
            }
            "group" => show::group(value).map(|group| self.group = group),
            "show" => show::columns(value).map(|columns| self.show.extend(columns)),
            "total" => {
                show::total(&mut self.total, value);
                Ok(())
            }
            unknown => Err(format!(
                "unknown key `{unknown}`; there are name, title, group, about, note, todo, habit, needs, scope, default, param, column, show and total"
            )),
        }
    }

    fn check(&self, stem: &str) -> Result<(), String> {
        let needed = [("name", &self.name), ("title", &self.title), ("about", &self.about)];
        let of_detectors = [("todo", &self.todo), ("habit", &self.habit)];
        let of_detectors = of_detectors.into_iter().filter(|_| self.purpose == Purpose::Detector);
        if let Some((key, _)) = needed.into_iter().chain(of_detectors).find(|(_, value)| value.is_empty()) {
            return Err(format!("the header has no `{key}`"));
        }
        if self.habit.split_whitespace().count() > LONGEST_HABIT {
            return Err(format!("`habit` has more than {LONGEST_HABIT} words"));
        }
        if self.name != stem {
            return Err(format!("the header's name is `{}`, the file's `{stem}`", self.name));
        }
        let declared: BTreeSet<&str> = self.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        if declared.len() < self.parameters.len() {
            return Err("a parameter is declared twice".to_owned());
        }
        let is_column = |name: &str| self.columns.iter().any(|(column, _)| column == name);
        let mut named = self.show.iter().map(|shown| &shown.name).chain(&self.total.sums);
        match named.find(|name| !is_column(name)) {
            Some(unknown) => Err(format!("`{unknown}` is shown, but no `column` describes it")),
            None => Ok(()),
        }
    }

    /// Checks that the text uses exactly the declared parameters.
    pub(super) fn check_parameters(&self) -> Result<(), String> {
        let declared: BTreeSet<&str> = self.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        let used = used_parameters(&self.sql)?;
        if let Some(name) = used.iter().find(|name| !declared.contains(name.as_str())) {
            return Err(format!("`${name}` is used, but no `param` declares it"));
        }
        if let Some(name) = declared.iter().find(|name| !used.contains(**name)) {
            return Err(format!("the parameter `{name}` is declared, but never used"));
        }
        Ok(())
    }
}

fn set(field: &mut String, key: &str, value: &str) -> Result<(), String> {
    if !field.is_empty() {
        return Err(format!("`{key}` stands twice"));
    }
    value.clone_into(field);
    Ok(())
}

/// Adds a line to a text.
#[expect(clippy::unnecessary_wraps, reason = "like the other keys")]
fn add(text: &mut String, value: &str) -> Result<(), String> {
    if !text.is_empty() {
        text.push(' ');
    }
    text.push_str(value);
    Ok(())
}

/// `NAME TYPE [= DEFAULT] -- MEANING`. The default of a number may have a lower bound, `5 from 1`, and that of a text other
/// values, `'model' | 'agent'`.
fn parameter(text: &str) -> Result<Parameter, String> {
    let (declaration, doc) = text.split_once(" -- ").ok_or("expected `param: NAME TYPE = DEFAULT -- MEANING`")?;
    let (left, default) = declaration.split_once('=').map_or((declaration, None), |(left, right)| (left, Some(right)));
    let mut words = left.split_whitespace();
    let (Some(name), Some(kind), None) = (words.next(), words.next(), words.next()) else {
        return Err("expected `param: NAME TYPE = DEFAULT -- MEANING`".to_owned());
    };
    let kind = Kind::named(kind).ok_or_else(|| format!("unknown type `{kind}`; there are {}", Kind::names()))?;
    let (default, least) = match default.and_then(|default| default.split_once(" from ")) {
        Some((default, least)) if kind == Kind::Int => (Some(default), Some(least.trim())),
        _ => (default, None),
    };
    let least =
        least.map(str::parse).transpose().map_err(|_| format!("the least value of `{name}` is no whole number"))?;
    let choices = default.filter(|default| kind == Kind::Text && default.contains("' | '"));
    let choices: Vec<String> = choices.iter().flat_map(|all| all.split(" | ")).map(unquoted).collect();
    let default = choices.first().cloned().or_else(|| default.map(unquoted));
    if let Some(default) = &default {
        kind.check(default).map_err(|reason| format!("default of `{name}`: {reason}"))?;
    }
    Ok(Parameter { name: name.to_owned(), kind, default, least, choices, doc: doc.trim().to_owned() })
}

fn unquoted(text: &str) -> String {
    let text = text.trim();
    let inner = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    inner.map_or_else(|| text.to_owned(), |inner| inner.replace("''", "'"))
}

fn used_parameters(sql: &str) -> Result<BTreeSet<String>, String> {
    let tokens = Tokenizer::new(&GenericDialect {}, sql).tokenize().map_err(|error| error.to_string())?;
    let names = tokens.into_iter().filter_map(|token| match token {
        Token::Placeholder(name) => name.strip_prefix('$').map(str::to_owned),
        _ => None,
    });
    Ok(names.collect())
}
