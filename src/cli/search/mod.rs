//! `llrem search`: finds text in prompts, replies, thinking, commands and tool output.
//!
//! It reads the text columns in place; there is no index. Months and agents that cannot have a hit are not opened.

mod empty;
mod guess;
mod hits;
mod matcher;
mod screen;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray};

use super::args::Search;
use super::output::{Format, Limit, Output, Reader};
use super::query::check_project;
use super::runner::Runner;
use super::session::{self, text};
use super::settings::{Settings, check_agent};
use super::when::Period;
use crate::Result;
use crate::query::Statement;
use crate::query::short_id::SessionIds;
use crate::tables::SessionColumns;
use guess::Guesses;
use hits::{Collector, Hit, Hits, Key};
use matcher::Matcher;

/// Sessions that a terminal shows.
const SHOWN: usize = 10;

/// Facts of a session that are shown next to its hits.
#[derive(Debug, Default)]
struct About {
    project: Option<String>,
    title: Option<String>,
    started_at: Option<i64>,
    usd: Option<f64>,
    is_subagent: bool,
}

/// A session with hits.
struct Place {
    key: Key,
    about: About,
    hits: Hits,
}

/// The answer to a search.
struct Answer {
    /// Sessions with hits, the best first.
    places: Vec<Place>,
    /// Sessions that a person or a job started, and that were searched, alone or in their subagents.
    searched: u64,
    /// The filters in words, and what there is if no session passes them.
    scope: String,
    known: String,
    /// Words that may have been meant, if nothing was found.
    meant: Vec<String>,
    ids: SessionIds,
}

impl Answer {
    fn hits(&self) -> u64 {
        self.places.iter().map(|place| place.hits.count).sum()
    }
}

/// Runs the command.
pub(super) fn run(settings: &Settings, typed: &Search) -> Result<()> {
    let matcher = match (&typed.expression, typed.words.as_slice()) {
        (Some(expression), _) => Matcher::expression(expression)?,
        (None, words) => Matcher::words(words)?,
    };
    check_agent(typed.agent.as_deref())?;
    let lake = settings.open_lake()?;
    let mut runner = Runner::start(settings, &lake)?;
    check_project(&mut runner, typed.project.as_deref())?;
    let format = settings.output.format.filter(|format| *format != Format::Table);
    let is_text = settings.output.path.is_none() && format.is_none();
    let answer = answer(settings, &mut runner, typed, &matcher)?;
    if !is_text {
        return Output::new(&settings.output, Format::Csv)?.print(&rows(&answer, typed.limit.unwrap_or(Limit::OFF))?);
    }
    let reader = Reader::open(&settings.output, true, None)?;
    let usual = if reader.is_on_terminal() { SHOWN } else { usize::MAX };
    let limit = typed.limit.map_or(usual, Limit::rows);
    screen::write(settings, typed, &matcher, &answer, limit, reader)
}

fn answer(settings: &Settings, runner: &mut Runner<'_>, typed: &Search, matcher: &Matcher) -> Result<Answer> {
    let filter = Filter::of(settings, typed)?;
    let sessions = runner.rows(&plain(format!(
        "select machine, agent, month, session_id, root_session_id, project, title, started_at, cost_usd, is_subagent,
           messages, responses, total_tokens from sessions{}",
        filter.of_sessions()
    )))?;
    let columns = SessionColumns::named(&sessions);
    let part = |column, row| text(&sessions, column, row).unwrap_or_default().to_owned();
    let key = |row| (part("machine", row), part("agent", row), columns.session_id(row).to_owned());
    let only: Option<HashSet<Key>> = (!filter.is_open()).then(|| (0..sessions.num_rows()).map(key).collect());
    let months: BTreeSet<String> = (0..sessions.num_rows()).map(|row| part("month", row)).collect();
    let mut collector = Collector::new(matcher, only.as_ref(), typed.hits.get());
    scan(runner, &filter, &months, &mut collector)?;
    let mut found = collector.sessions;
    let mut abouts: BTreeMap<Key, About> = BTreeMap::new();
    let mut searched: HashSet<Key> = HashSet::new();
    for row in 0..sessions.num_rows() {
        // As the query `totals` counts them.
        if columns.messages(row) > 0 || columns.responses(row) > 0 || columns.total_tokens(row).is_some() {
            searched.insert((part("machine", row), part("agent", row), columns.root_session_id(row).to_owned()));
        }
        let key = key(row);
        if found.contains_key(&key) {
            let about = About {
                project: columns.project(row).map(str::to_owned),
                title: columns.title(row).map(str::to_owned),
                started_at: columns.started_at(row),
                usd: columns.cost_usd(row),
                is_subagent: columns.is_subagent(row),
            };
            abouts.insert(key, about);
        }
    }
    let mut places: Vec<Place> = std::mem::take(&mut found)
        .into_iter()
        .map(|(key, hits)| Place { about: abouts.remove(&key).unwrap_or_default(), key, hits })
        .collect();
    places.sort_by_cached_key(|place| (place.hits.best.first().map(Hit::rank), Reverse(place.about.started_at)));
    let meant = if places.is_empty() { meant(runner, typed, &filter, &months)? } else { Vec::new() };
    let known = if searched.is_empty() { empty::known(settings, runner, typed, &filter)? } else { String::new() };
    let (searched, scope) = (searched.len() as u64, empty::scope(typed, &filter));
    Ok(Answer { places, searched, scope, known, meant, ids: session::ids(runner)? })
}

/// Searches the texts of messages and tool calls.
fn scan(
    runner: &mut Runner<'_>,
    filter: &Filter,
    months: &BTreeSet<String>,
    collector: &mut Collector<'_>,
) -> Result<()> {
    if months.is_empty() {
        return Ok(());
    }
    for (columns, table, time) in [
        ("kind, text, thinking, timestamp", "messages", "timestamp"),
        (
            "command, case when command is null then input end as input, output, started_at as timestamp",
            "tool_calls",
            "started_at",
        ),
    ] {
        let rows = filter.of_rows(months, time);
        let sql = format!("select machine, agent, session_id, seq, {columns} from {table}{rows}");
        runner.run(&plain(sql), collector)?;
    }
    Ok(())
}

/// Returns words of messages and commands that are like the typed ones.
fn meant(runner: &mut Runner<'_>, typed: &Search, filter: &Filter, months: &BTreeSet<String>) -> Result<Vec<String>> {
    let mut guesses = Guesses::new(&typed.words);
    if typed.expression.is_some() || guesses.is_empty() || months.is_empty() {
        return Ok(Vec::new());
    }
    for (column, table, time) in [("text", "messages", "timestamp"), ("command", "tool_calls", "started_at")] {
        let rows = filter.of_rows(months, time);
        runner.run(&plain(format!("select {column} from {table}{rows}")), &mut guesses)?;
    }
    Ok(guesses.best())
}

fn plain(sql: String) -> Statement {
    Statement { sql, parameters: Vec::new() }
}

/// Limits of the search, as conditions of SQL.
struct Filter {
    agent: Option<String>,
    project: Option<String>,
    period: Period,
    since: Option<String>,
    until: Option<String>,
}

impl Filter {
    fn of(settings: &Settings, typed: &Search) -> Result<Self> {
        let quoted = |text: &String| format!("'{}'", text.replace('\'', "''"));
        let period = settings.clock.period(typed.since.as_deref(), typed.until.as_deref())?;
        Ok(Self {
            agent: typed.agent.as_ref().map(quoted),
            project: typed.project.as_ref().map(quoted),
            period,
            since: period.since_sql(),
            until: period.until_sql(),
        })
    }

    fn is_open(&self) -> bool {
        [&self.agent, &self.project, &self.since, &self.until].iter().all(|filter| filter.is_none())
    }

    fn of_sessions(&self) -> String {
        conditions([
            self.agent.as_ref().map(|agent| format!("agent = {agent}")),
            self.project.as_ref().map(|project| format!("project = {project}")),
            self.since.as_ref().map(|since| format!("coalesce(ended_at, started_at) >= {since}")),
            self.until.as_ref().map(|until| format!("started_at < {until}")),
        ])
    }

    /// Rows without a time count if their session does.
    fn of_rows(&self, months: &BTreeSet<String>, time: &str) -> String {
        let months: Vec<String> = months.iter().map(|month| format!("'{}'", month.replace('\'', "''"))).collect();
        conditions([
            (!self.is_open()).then(|| format!("month in ({})", months.join(", "))),
            self.agent.as_ref().map(|agent| format!("agent = {agent}")),
            self.since.as_ref().map(|since| format!("({time} is null or {time} >= {since})")),
            self.until.as_ref().map(|until| format!("({time} is null or {time} < {until})")),
        ])
    }
}

fn conditions(all: [Option<String>; 4]) -> String {
    let all: Vec<String> = all.into_iter().flatten().collect();
    if all.is_empty() { String::new() } else { format!(" where {}", all.join(" and ")) }
}

/// Returns the best hits as rows.
fn rows(answer: &Answer, limit: Limit) -> Result<RecordBatch> {
    let places = answer.places.iter().take(limit.rows());
    let all: Vec<(&Place, &Hit)> =
        places.flat_map(|place| place.hits.best.iter().map(move |hit| (place, hit))).collect();
    let texts = |text: fn(&Place, &Hit) -> Option<String>| -> ArrayRef {
        Arc::new(all.iter().map(|(place, hit)| text(place, hit)).collect::<StringArray>())
    };
    let times = |time: fn(&Place, &Hit) -> Option<i64>| -> ArrayRef {
        let times: TimestampMicrosecondArray = all.iter().map(|(place, hit)| time(place, hit)).collect();
        Arc::new(times.with_timezone("UTC"))
    };
    let numbers = |number: fn(&Place, &Hit) -> Option<i64>| -> ArrayRef {
        Arc::new(all.iter().map(|(place, hit)| number(place, hit)).collect::<Int64Array>())
    };
    let costs: Float64Array = all.iter().map(|(place, _)| place.about.usd).collect();
    Ok(RecordBatch::try_from_iter([
        ("machine", texts(|place, _| Some(place.key.0.clone()))),
        ("agent", texts(|place, _| Some(place.key.1.clone()))),
        ("session_id", texts(|place, _| Some(place.key.2.clone()))),
        ("project", texts(|place, _| place.about.project.clone())),
        ("title", texts(|place, _| place.about.title.clone())),
        ("started_at", times(|place, _| place.about.started_at)),
        ("cost_usd", Arc::new(costs)),
        ("hits", numbers(|place, _| i64::try_from(place.hits.count).ok())),
        ("seq", numbers(|_, hit| Some(hit.seq))),
        ("timestamp", times(|_, hit| hit.at)),
        ("kind", texts(|_, hit| Some(hit.kind.clone()))),
        ("text", texts(|_, hit| Some(hit.text.clone()))),
    ])?)
}
