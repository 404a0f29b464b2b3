//! `llrem status`: how current the lake is, and what today cost. It reads few files, so that a status line can call it.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray};

use super::args::Status;
use super::freshness;
use super::holdings::moment_in_words;
use super::output::{self, Format, Output};
use super::schedule;
use super::settings::{Settings, system_clock};
use crate::Result;
use crate::lake::{Lake, Spent};
use crate::shown::value::{self, usd_in_words};

/// Columns of a label.
const LABEL: usize = 10;

/// Runs the command.
pub(super) fn run(settings: &Settings, typed: &Status) -> Result<()> {
    let output = Output::new(&settings.output, Format::Table)?;
    let lake = Lake::open(settings.lake_folder()?)?;
    let today = Today::read(settings, &lake)?;
    match () {
        () if typed.line => output::drawn(&settings.output, &(today.line() + "\n")),
        () if output.is_table() => output::drawn(&settings.output, &today.text()),
        () => output.print(&today.row()?),
    }
}

/// Today's cost, as far as the lake knows it.
struct Today<'a> {
    settings: &'a Settings,
    by_agent: BTreeMap<String, Spent>,
    /// End of the last run that brought its rows into the lake.
    last: Option<i64>,
    /// A warning if the lake is stale or the last run failed.
    warning: Option<String>,
}

impl<'a> Today<'a> {
    fn read(settings: &'a Settings, lake: &Lake) -> Result<Self> {
        let runs = lake.recent_runs()?;
        let period = settings.clock.period(Some("today"), Some("today"))?;
        let time = period.since().unwrap_or(i64::MIN)..period.until().unwrap_or(i64::MAX);
        let last = freshness::last_good(&runs);
        let warning = freshness::warning(&runs, &settings.clock);
        Ok(Self { settings, by_agent: lake.spent(time)?, last, warning })
    }

    /// Returns the sum, or `None` if there was no run today, so that nothing is known.
    fn sum(&self) -> Option<Spent> {
        let day = value::day_of(self.last?, self.settings.clock.zone)?;
        let add = |sum: Spent, one: &Spent| Spent {
            nanos: sum.nanos.into_iter().chain(one.nanos).reduce(i64::saturating_add),
            unpriced: sum.unpriced + one.unpriced,
        };
        (day >= self.settings.clock.today()).then(|| self.by_agent.values().fold(Spent::default(), add))
    }

    /// Returns the cost and the end of the last run, in one line.
    fn line(&self) -> String {
        let signs = output::look_of_stdout(self.settings.printer).signs;
        let cost = self.sum().map_or_else(|| signs.unknown.to_owned(), |sum| shown(sum, signs.unknown));
        let last = self.last.map(|last| moment_in_words(last, &self.settings.clock));
        let last = last.map(|last| last.strip_prefix("today, ").map_or_else(|| last.clone(), str::to_owned));
        let last = last.map_or_else(String::new, |last| format!(", as of {last}"));
        format!("{cost} today{last}")
    }

    fn text(&self) -> String {
        let look = output::look_of_stdout(self.settings.printer);
        let clock = &self.settings.clock;
        let unknown = look.signs.unknown;
        let cost = self.sum().map_or_else(|| format!("{unknown} (no etl today)"), |sum| shown(sum, unknown));
        let agents = self.by_agent.iter().map(|(agent, spent)| format!("{agent} {}", shown(*spent, unknown)));
        let agents = agents.collect::<Vec<_>>().join(", ");
        let agents = if self.by_agent.len() > 1 { format!(" ({agents})") } else { String::new() };
        let last = self.last.map_or_else(|| "none yet".to_owned(), |last| moment_in_words(last, clock));
        let next = schedule::known().filter(|known| known.is_active).and_then(|known| known.at?.next(&system_clock()));
        let mut lines = vec![("Today", cost + &agents), ("Last etl", last)];
        lines.extend(next.map(|next| ("Next etl", moment_in_words(next, clock))));
        let labelled =
            |(name, text): &(&str, String)| look.next_to(&look.paint.dim(&format!("{name:LABEL$}")), LABEL, text);
        let lines: String = lines.iter().map(labelled).collect();
        let warning =
            self.warning.as_ref().map(|text| format!("\n{}\n", look.paint.yellow(look.prose(text).trim_end())));
        lines + &warning.unwrap_or_default()
    }

    fn row(&self) -> Result<RecordBatch> {
        let sum = self.sum();
        let usd = sum.and_then(|sum| sum.nanos).map(|nanos| nanos as f64 / 1e9);
        // A day without responses cost nothing.
        let none = sum.filter(|sum| sum.unpriced == 0).map(|_| 0.0);
        let columns: [(&str, ArrayRef); 4] = [
            ("day", Arc::new(StringArray::from(vec![self.settings.clock.today().to_string()]))),
            ("cost_usd", Arc::new(Float64Array::from(vec![usd.or(none)]))),
            ("unpriced_responses", Arc::new(Int64Array::from(vec![sum.map(|sum| sum.unpriced)]))),
            ("last_etl_at", Arc::new(TimestampMicrosecondArray::from(vec![self.last]).with_timezone("UTC"))),
        ];
        Ok(RecordBatch::try_from_iter(columns)?)
    }
}

/// Returns a cost, with a `+` if something without a price adds to it.
fn shown(spent: Spent, unknown: &str) -> String {
    let at_least = value::at_least(spent.unpriced > 0);
    match spent.nanos {
        None if spent.unpriced > 0 => unknown.to_owned(),
        None | Some(0) => format!("$0{at_least}"),
        Some(nanos) => usd_in_words(nanos as f64 / 1e9) + at_least,
    }
}
