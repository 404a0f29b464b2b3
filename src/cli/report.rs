//! `llrem report`: writes one HTML page about cost and waste.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use chrono::{NaiveDate, NaiveTime};

use super::args::Report;
use super::output::{self, OutputSettings};
use super::query::{bind, check_project};
use super::runner::Runner;
use super::settings::{Settings, check_agent};
use super::{detect, freshness, session};
use crate::lake::AnyLake;
use crate::query::canned::{Canned, Library};
use crate::query::findings::Detectors;
use crate::query::short_id::SessionIds;
use crate::report::{GENERATOR, Page, Span, When, questions};
use crate::time::format_utc;
use crate::{Error, Result};

/// Default file of the page.
const FILE: &str = "llrem-report.html";
/// Bytes at the beginning of a file that are searched for the mark of a page.
const HEAD: u64 = 4 << 10;
/// The query that uses a table which is not uploaded.
const SOURCES: &str = "data_quality";
const NOT_UPLOADED: &str = "Tables with names of local files are not uploaded; make the page on the machine itself.";

/// Runs the command.
pub(super) fn run(settings: &Settings, typed: &Report) -> Result<()> {
    let path = match &settings.output.path {
        None if std::io::stdout().is_terminal() => Some(own_file(Path::new(FILE))?),
        named => named.clone(),
    };
    let (html, chosen) = page(settings, typed)?;
    output::raw(&OutputSettings { path: path.clone(), ..settings.output.clone() }, html.as_bytes())?;
    if let Some(path) = path.filter(|path| path.as_os_str() != "-") {
        let chosen = chosen.map_or_else(String::new, |month| format!(" about {month} (--all: about all)"));
        settings.printer.say(&format!("wrote `{}`{chosen}", path.display()));
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

/// Returns the page, and the month that it is about if nobody named a time.
fn page(settings: &Settings, typed: &Report) -> Result<(String, Option<String>)> {
    check_agent(typed.agent.as_deref())?;
    let asked = settings.clock.period(typed.since.as_deref(), typed.until.as_deref())?;
    let queries = Library::load(settings.query_folders())?;
    let lake = settings.open_lake()?;
    let mut source = Source::open(settings, typed, &lake)?;
    check_project(&mut source.runner, typed.project.as_deref())?;
    let ids = session::ids(&mut source.runner)?;
    let records = source.records(None)?.0.or_else(|| days(&ids));
    let span = |bounds| Span::new(settings.clock.now, settings.clock.zone, bounds, records);
    let month = if asked.is_open() && !typed.all { source.last_month()? } else { None };
    let now = month.unwrap_or_else(|| span((asked.since(), asked.until())));
    let before = now.before().filter(|before| is_recorded(before, records));
    let before = match before {
        Some(before) => Some(before).filter(|_| source.records(Some(&before)).is_ok_and(|(_, sessions)| sessions > 0)),
        None => None,
    };
    let mut results = BTreeMap::new();
    for question in questions() {
        let since = match question.when {
            When::Now => now.since(),
            When::Recent => now.recent(),
            When::Before => before.and_then(|before| before.since()),
        };
        let (is_asked, until) = match question.when {
            When::Before => (before.is_some(), before.and_then(|before| before.until())),
            _ => (true, now.until()),
        };
        let is_remote = question.query == SOURCES && matches!(lake, AnyLake::Remote(_));
        if is_asked && !is_remote {
            results.insert(question.key.to_owned(), source.rows(question.query, question.by, (since, until))?);
        }
    }
    let detectors: Vec<&Canned> = queries.default_detectors().collect();
    let findings = source.findings(&detectors, &now)?;
    let findings_before = before.map(|before| source.findings(&detectors, &before)).transpose()?;
    let page = Page {
        made_at: settings.clock.now.with_timezone(&settings.clock.zone),
        span: now,
        before,
        project: typed.project.as_deref(),
        agent: typed.agent.as_deref(),
        records,
        extracted_at: freshness::fed(&lake, &settings.clock).last,
        detectors,
        results,
        findings,
        findings_before,
        ids: &ids,
        unanswered: matches!(lake, AnyLake::Remote(_)).then_some(NOT_UPLOADED),
    };
    Ok((page.html()?, month.map(|month| month.title())))
}

/// True if the records of the lake begin in the first half of a time or before it: a lake with less would make every
/// figure seem to rise.
fn is_recorded(span: &Span, records: Option<(i64, i64)>) -> bool {
    let (Some(since), Some(until), Some((first, _))) = (span.since(), span.until(), records) else { return false };
    first <= since + (until - since) / 2
}

/// Returns the first and the last day on which a session started, for a lake without usage. Microseconds since 1970.
fn days(ids: &SessionIds) -> Option<(i64, i64)> {
    let days = ids.all().iter().filter_map(|session| session.day.as_deref()?.parse::<NaiveDate>().ok());
    let times = days.map(|day| day.and_time(NaiveTime::MIN).and_utc().timestamp_micros());
    times.fold(None, |ends: Option<(i64, i64)>, time| {
        Some(ends.map_or((time, time), |(first, last)| (first.min(time), last.max(time))))
    })
}

/// Answers the queries of a page.
struct Source<'a> {
    settings: &'a Settings,
    lake: &'a AnyLake,
    runner: Runner<'a>,
    /// llrem's own queries: the user's of these names may have other columns.
    own: Library,
    project: Option<&'a str>,
    agent: Option<&'a str>,
}

impl<'a> Source<'a> {
    fn open(settings: &'a Settings, typed: &'a Report, lake: &'a AnyLake) -> Result<Self> {
        let runner = Runner::with(settings, lake, Detectors::These(&[]))?;
        let (project, agent) = (typed.project.as_deref(), typed.agent.as_deref());
        Ok(Self { settings, lake, runner, own: Library::load(&[])?, project, agent })
    }

    /// Returns the parameters of all queries.
    fn given(&self, (since, until): (Option<i64>, Option<i64>)) -> Vec<(String, String)> {
        let text = |moment: i64| format_utc(Some(moment), "%Y-%m-%dT%H:%M:%S%.6fZ");
        let values = [
            ("since", since.map(text)),
            ("until", until.map(text)),
            ("project", self.project.map(str::to_owned)),
            ("agent", self.agent.map(str::to_owned)),
        ];
        values.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }

    fn rows(&mut self, query: &str, by: Option<&str>, bounds: (Option<i64>, Option<i64>)) -> Result<RecordBatch> {
        let given = self.given(bounds);
        let canned = self.own.find(query)?;
        let by = by.map(|by| ("by".to_owned(), by.to_owned()));
        let known = given.into_iter().filter(|(name, _)| canned.parameter(name).is_some());
        let statement = bind(self.settings, canned, &known.chain(by).collect::<Vec<_>>())?;
        self.runner.rows(&statement)
    }

    /// Returns the times of the first and last record, and the number of sessions.
    fn records(&mut self, span: Option<&Span>) -> Result<(Option<(i64, i64)>, i64)> {
        let bounds = span.map_or((None, None), |span| (span.since(), span.until()));
        let rows = self.rows("totals", None, bounds)?;
        let times = session::moment(&rows, "first_used", 0).zip(session::moment(&rows, "last_used", 0));
        Ok((times, session::integer(&rows, "sessions", 0).unwrap_or(0)))
    }

    /// Returns the last whole month if the lake has it.
    fn last_month(&mut self) -> Result<Option<Span>> {
        let Some(month) = Span::last_month(self.settings.clock.now, self.settings.clock.zone) else { return Ok(None) };
        let (_, sessions) = self.records(Some(&month))?;
        Ok((sessions > 0).then_some(month))
    }

    /// Returns the findings of a time, as `llrem detect` gives them.
    fn findings(&self, detectors: &[&Canned], span: &Span) -> Result<RecordBatch> {
        let given = self.given((span.since(), span.until()));
        let bound = detect::bind(self.settings, &given, detectors)?;
        let detectors = detect::kept_or(bound, self.settings, self.lake, &given, detectors)?;
        let mut runner = Runner::silent(self.settings, self.lake, Detectors::These(&detectors))?;
        detect::selected(self.settings, &given, &runner.rows(&detect::all())?)
    }
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
