//! `llrem report`: writes one HTML page about cost and waste.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use chrono::DateTime;

use super::args::Report;
use super::detect;
use super::output::{self, OutputSettings};
use super::query::{bind, check_project, typed_parameters};
use super::runner::Runner;
use super::settings::{Settings, check_agent};
use super::when::Bound;
use crate::lake::AnyLake;
use crate::query::canned::{Canned, Library};
use crate::query::findings::Detectors;
use crate::report::{GENERATOR, Page, Question, questions};
use crate::{Error, Result};

/// Default file of the page.
const FILE: &str = "llrem-report.html";
/// Bytes at the beginning of a file that are searched for the mark of a page.
const HEAD: u64 = 4 << 10;
/// The query that uses a table which is not uploaded.
const SOURCES: &str = "data_quality";

/// Runs the command.
pub(super) fn run(settings: &Settings, typed: &Report) -> Result<()> {
    let path = match &settings.output.path {
        None if std::io::stdout().is_terminal() => Some(own_file(Path::new(FILE))?),
        named => named.clone(),
    };
    let html = page(settings, typed)?;
    output::raw(&OutputSettings { path: path.clone(), ..settings.output.clone() }, html.as_bytes())?;
    if let Some(path) = path.filter(|path| path.as_os_str() != "-") {
        settings.printer.say(&format!("wrote `{}`", path.display()));
    }
    Ok(())
}

/// Returns the file, unless it exists and is something else.
fn own_file(path: &Path) -> Result<PathBuf> {
    let mut head = Vec::new();
    match File::open(path) {
        Ok(file) => file.take(HEAD).read_to_end(&mut head).map_err(Error::io("read", path))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(path.to_owned()),
        Err(error) => return Err(Error::io("read", path)(error)),
    };
    let mark = format!("<meta name=\"generator\" content=\"{GENERATOR}\">");
    if memchr::memmem::find(&head, mark.as_bytes()).is_some() {
        return Ok(path.to_owned());
    }
    Err(Error::Usage(format!("`{}` exists and is not a report of llrem; name a file with -o FILE", path.display())))
}

fn page(settings: &Settings, typed: &Report) -> Result<String> {
    check_agent(typed.agent.as_deref())?;
    let filters =
        [("since", &typed.since), ("until", &typed.until), ("project", &typed.project), ("agent", &typed.agent)];
    let given = typed_parameters(&[], filters)?;
    let all = Library::load(settings.query_folders())?;
    let detectors = detect::bind(settings, &given, &all.default_detectors().collect::<Vec<_>>())?;
    let lake = settings.open_lake()?;
    let mut runner = Runner::with(settings, &lake, Detectors::These(&detectors))?;
    // The user's own queries of these names may have other columns.
    let own = Library::load(&[])?;
    let (mut results, mut unanswered) = (BTreeMap::new(), BTreeMap::new());
    for Question { key, query, by } in questions() {
        if query == SOURCES && matches!(lake, AnyLake::Remote(_)) {
            unanswered.insert(
                query,
                "Tables with names of local files are not uploaded. Run the query on the machine itself.",
            );
            continue;
        }
        let canned = own.find(query)?;
        let by = by.map(|by| ("by".to_owned(), by.to_owned()));
        let given: Vec<_> = known(canned, &given).into_iter().chain(by).collect();
        results.insert(key, runner.rows(&bind(settings, canned, &given)?)?);
    }
    let findings = runner.rows(&detect::all())?;
    check_project(&mut runner, typed.project.as_deref())?;
    let tally = detect::Tally::of(&findings).line();
    let page = Page {
        made_at: settings.clock.now.with_timezone(&settings.clock.zone),
        filters: shown(settings, &given)?,
        queries: &own,
        results,
        tally,
        findings,
        unanswered,
    };
    page.html()
}

/// Returns the parameters of a query that have values.
fn known(canned: &Canned, given: &[(String, String)]) -> Vec<(String, String)> {
    given.iter().filter(|(name, _)| canned.parameter(name).is_some()).cloned().collect()
}

/// Returns the filters for the page, with times as parsed.
fn shown(settings: &Settings, given: &[(String, String)]) -> Result<Vec<(&'static str, String)>> {
    let moment = |text: &str, bound| -> Result<String> {
        let moment = DateTime::from_timestamp_micros(settings.clock.moment(text, bound, "--since")?);
        let local = moment.map(|moment| moment.with_timezone(&settings.clock.zone));
        Ok(local.map_or_else(String::new, |local| local.format("%Y-%m-%d %H:%M").to_string()))
    };
    let filters = given.iter().map(|(name, value)| {
        Ok(match name.as_str() {
            "since" => ("since", moment(value, Bound::Start)?),
            "until" => ("until", moment(value, Bound::End)?),
            "project" => ("project", value.clone()),
            _ => ("agent", value.clone()),
        })
    });
    filters.collect()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "files of the test's own")]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_page_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        assert_eq!(own_file(&path).unwrap(), path);
        std::fs::write(&path, "<!DOCTYPE html><title>mine</title>").unwrap();
        assert!(matches!(own_file(&path), Err(Error::Usage(_))));
        std::fs::write(&path, format!("<!DOCTYPE html><meta name=\"generator\" content=\"{GENERATOR}\">")).unwrap();
        assert_eq!(own_file(&path).unwrap(), path);
    }
}
