//! Canned queries: SQL files with a header that describes the query, its parameters and its columns.

mod explain;
mod header;
mod show;
mod value;

use std::path::{Path, PathBuf};

use chrono_tz::Tz;
use datafusion::scalar::ScalarValue;

use super::{Statement, builtin, nearest};
use crate::{Error, Result};

pub use explain::DESCRIPTIONS;
pub use show::{Group, ShownColumn, Total};
pub use value::Kind;

/// The purpose of a canned query.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Purpose {
    /// Answers a question.
    #[default]
    Report,
    /// Finds waste. Its columns are those of `findings`.
    Detector,
}

impl Purpose {
    /// Returns its name in lists.
    pub fn name(self) -> &'static str {
        match self {
            Self::Report => "report",
            Self::Detector => "detector",
        }
    }
}

/// A canned query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canned {
    /// Its purpose. Detectors are in a folder `detectors`.
    pub purpose: Purpose,
    /// Name, also of the file.
    pub name: String,
    /// Title, in a few words.
    pub title: String,
    /// Description.
    pub about: String,
    /// Warning about figures that can mislead; may be empty.
    pub note: String,
    /// Advice on a detector's findings; empty for a report.
    pub todo: String,
    /// A detector's waste as a habit, in eight words at most; empty for a report.
    pub habit: String,
    /// Condition on the row of a session, without which a detector finds nothing in it.
    pub needs: Option<String>,
    /// True if the rows of a session alone decide what a detector finds in it: `scope: session` in its header.
    pub is_within_session: bool,
    /// True if a detector runs only when it is named: `default: off` in its header.
    pub is_off: bool,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// Its columns that are described: name and meaning.
    pub columns: Vec<(String, String)>,
    /// Place in the list; empty for queries of the user that name none.
    pub group: Group,
    /// Columns of a table, the most important ones first; empty for all.
    pub show: Vec<ShownColumn>,
    /// Last row of a table.
    pub total: Total,
    /// The whole text, including the header.
    pub sql: String,
}

/// A parameter of a canned query: `$name` in its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Name.
    pub name: String,
    /// Type of its values.
    pub kind: Kind,
    /// Default as written in the header; `None` if a value is required.
    pub default: Option<String>,
    /// Its least value, if it is a number that has one.
    pub least: Option<i64>,
    /// Its values, if it is a text that has only some.
    pub choices: Vec<String>,
    /// Meaning.
    pub doc: String,
}

impl Parameter {
    /// Checks that a value is allowed.
    fn check(&self, value: &ScalarValue) -> Result<()> {
        let reason = match value {
            ScalarValue::Int64(Some(number)) => {
                let least = self.least.filter(|least| number < least);
                least.map(|least| format!("`{number}` is less than {least}"))
            }
            ScalarValue::Utf8(Some(text)) if !self.choices.is_empty() && !self.choices.contains(text) => {
                Some(format!("`{text}` is none of {}", self.choices.join(", ")))
            }
            _ => None,
        };
        reason.map_or(Ok(()), |reason| Err(Error::Usage(reason)))
    }
}

/// Folder of the detectors, in llrem's own queries and in a folder of the user.
const DETECTORS: &str = "detectors";

/// Parses a time for the parameter of that name. Microseconds since 1970.
pub type Moments<'a> = &'a dyn Fn(&str, &str) -> Result<i64>;

/// All queries, and the user's files with errors.
#[derive(Debug, Default)]
pub struct Library {
    /// Sorted by name, the user's own after llrem's.
    pub queries: Vec<Canned>,
    /// Files of the user with errors, and the errors.
    pub problems: Vec<(PathBuf, String)>,
}

impl Library {
    /// Loads llrem's queries and the user's folders. A query of the user replaces one with the same name.
    pub fn load(folders: &[PathBuf]) -> Result<Self> {
        let mut library = Self::default();
        for (path, text) in builtin::FILES {
            let canned = Canned::declared(Path::new(path), text);
            library.add(canned.map_err(|reason| Error::Query(format!("`sql/{path}`: {reason}")))?);
        }
        for folder in folders {
            let mut paths = sql_files(folder)?;
            let detectors = folder.join(DETECTORS);
            if detectors.is_dir() {
                paths.extend(sql_files(&detectors)?);
            }
            for path in paths {
                let text = std::fs::read_to_string(&path).map_err(|error| error.to_string());
                let canned = text.and_then(|text| Canned::parse(&path, text.strip_prefix('\u{feff}').unwrap_or(&text)));
                match canned {
                    Ok(canned) => library.add(canned),
                    Err(reason) => library.problems.push((path, reason)),
                }
            }
        }
        Ok(library)
    }

    /// Returns the reports: llrem's by name, then the user's.
    pub fn reports(&self) -> impl Iterator<Item = &Canned> {
        self.of(Purpose::Report)
    }

    /// Returns the detectors: llrem's by name, then the user's.
    pub fn detectors(&self) -> impl Iterator<Item = &Canned> {
        self.of(Purpose::Detector)
    }

    /// Returns the detectors that run if none is named.
    pub fn default_detectors(&self) -> impl Iterator<Item = &Canned> {
        self.detectors().filter(|canned| !canned.is_off)
    }

    fn of(&self, purpose: Purpose) -> impl Iterator<Item = &Canned> {
        self.queries.iter().filter(move |canned| canned.purpose == purpose)
    }

    fn add(&mut self, canned: Canned) {
        match self.queries.iter_mut().find(|known| known.name == canned.name) {
            Some(known) => *known = canned,
            None => self.queries.push(canned),
        }
    }

    /// Returns the query of that name. `-` equals `_`.
    pub fn find(&self, name: &str) -> Result<&Canned> {
        self.find_among(name, "query", "`llrem query` lists them", self.queries.iter())
    }

    /// Returns the detector of that name, or another query.
    pub fn find_detector(&self, name: &str) -> Result<&Canned> {
        self.find_among(name, "detector", "`llrem detect --explain` lists them", self.detectors())
    }

    /// Finds a query by name among those of one kind. The error suggests a similar name of that kind.
    fn find_among<'l>(
        &'l self,
        name: &str,
        kind: &str,
        otherwise: &str,
        likely: impl Iterator<Item = &'l Canned>,
    ) -> Result<&'l Canned> {
        let wanted = name.replace('-', "_");
        if let Some((path, reason)) = self.problems.iter().find(|(path, _)| stem(path) == wanted) {
            return Err(Error::Query(format!("`{}`: {reason}", path.display())));
        }
        self.queries.iter().find(|canned| canned.name == wanted).ok_or_else(|| {
            let near = nearest::several(name, likely.map(|canned| canned.name.as_str()));
            let hint = nearest::question(&near, otherwise);
            Error::Unknown { what: format!("there is no {kind} `{name}`"), hint }
        })
    }
}

impl Canned {
    /// Parses a file's text.
    pub fn parse(path: &Path, text: &str) -> Result<Self, String> {
        let canned = Self::declared(path, text)?;
        canned.check_parameters()?;
        Ok(canned)
    }

    /// Like [`Self::parse`], without checks: the tests have checked llrem's own queries. The checks took a sixth of the
    /// time of a query on a small lake.
    fn declared(path: &Path, text: &str) -> Result<Self, String> {
        let is_detector = path.parent().and_then(Path::file_name).is_some_and(|folder| folder == DETECTORS);
        let purpose = if is_detector { Purpose::Detector } else { Purpose::Report };
        header::parse(purpose, stem(path), text)
    }

    /// Returns the query with a value for each parameter: the given one, or else the default.
    pub fn bind(&self, given: &[(String, String)], zone: Tz, moments: Moments<'_>) -> Result<Statement> {
        if let Some((unknown, _)) = given.iter().find(|(name, _)| self.parameter(name).is_none()) {
            let guess = nearest::suggestion(unknown, self.parameters.iter().map(|known| known.name.as_str()));
            return Err(Error::Usage(format!("`{}` takes no parameter `{unknown}`{guess}", self.name)));
        }
        let bound = self.parameters.iter().map(|parameter| {
            let typed = given.iter().rev().find(|(name, _)| *name == parameter.name).map(|(_, value)| value.as_str());
            let Some(text) = typed.or(parameter.default.as_deref()) else {
                let missing = format!("`{}` needs --param {}=…: {}", self.name, parameter.name, parameter.doc);
                return Err(Error::Usage(missing));
            };
            let value = parameter.kind.value(text, zone, &|text| moments(&parameter.name, text));
            let checked = value.and_then(|value| parameter.check(&value).map(|()| (parameter.name.clone(), value)));
            checked.map_err(|reason| match reason {
                Error::Unknown { .. } => reason,
                reason => Error::Usage(format!("parameter `{}` of `{}`: {reason}", parameter.name, self.name)),
            })
        });
        Ok(Statement { parameters: bound.collect::<Result<_>>()?, sql: self.sql.clone() })
    }

    /// Returns the parameter of that name.
    pub fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }
}

/// Returns the names of llrem's queries.
pub fn names() -> Vec<&'static str> {
    builtin::FILES.iter().map(|(path, _)| stem(Path::new(*path))).collect()
}

/// Returns the names of llrem's detectors.
pub fn detector_names() -> Vec<&'static str> {
    let detectors = builtin::FILES.iter().filter(|(path, _)| Path::new(path).starts_with(DETECTORS));
    detectors.map(|(path, _)| stem(Path::new(*path))).collect()
}

fn stem(path: &Path) -> &str {
    path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default()
}

fn sql_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(Error::io("list", folder))? {
        let path = entry.map_err(Error::io("list", folder))?.path();
        if path.extension().is_some_and(|suffix| suffix == "sql") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests;
