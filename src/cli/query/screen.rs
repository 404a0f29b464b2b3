//! A canned query as a person sees it on a terminal: title, table, total.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Field, Schema};

use super::super::output::{Format, Limit, Output, Shown, Unit, View};
use super::super::runner::Runner;
use super::super::session;
use super::super::settings::Settings;
use super::asked::Asked;
use super::{bind, empty};
use crate::Result;
use crate::query::Statement;
use crate::query::canned::{Canned, Library, Purpose};
use crate::tables::FINDINGS;

/// Hint below a table that does not show all rows.
pub(in crate::cli) const REMEDY: &str = "`--limit off` shows all";

/// Note below a table that does not count all sessions.
const WITH_USAGE: &str = "sessions: those with usage";

/// Columns of a finding on a terminal.
const OF_FINDINGS: [(&str, &str); 7] = [
    ("severity", "severity"),
    ("wasted_cost_usd", "wasted"),
    ("project", "project"),
    ("session_id", "session"),
    ("first_seq", "from"),
    ("explanation", "explanation"),
    ("evidence", "evidence"),
];

/// Returns the destination of the rows of a query.
pub(in crate::cli) fn destination(settings: &Settings, limit: Option<Limit>) -> Result<Output> {
    Ok(Output::new(&settings.output, Format::Csv)?.limited(settings.limit(limit)?, REMEDY))
}

impl Asked<'_> {
    /// Runs the query, and prints its rows. If there are none, says why on stderr; a terminal shows no table then.
    pub(in crate::cli) fn print(
        self,
        settings: &Settings,
        runner: &mut Runner<'_>,
        mut output: Output,
        library: &Library,
    ) -> Result<()> {
        let statement = bind(settings, self.canned, self.given)?;
        let outcome = runner.run(&statement, &mut output);
        if outcome.is_err() {
            return output.end(outcome);
        }
        if output.is_empty() || output.is_on_terminal() && output.has_nothing() {
            match output.is_on_terminal() {
                true => output.discard(),
                false => output.finish()?,
            }
            if !settings.printer.is_quiet() {
                settings.printer.say_wrapped(&empty::sentence(settings, runner, self)?);
            }
            return Ok(());
        }
        if !output.is_on_terminal() {
            return output.finish();
        }
        self.complete(settings, runner, &mut output, library)?;
        settings.printer.title(&self.title(settings)?);
        output.finish()
    }

    /// Adds the total and the short ids, which need queries of their own.
    fn complete(
        self,
        settings: &Settings,
        runner: &mut Runner<'_>,
        output: &mut Output,
        library: &Library,
    ) -> Result<()> {
        let total = self.canned.total.query.as_deref().map(|name| library.find(name)).transpose()?;
        if let Some(total) = total {
            let given: Vec<_> =
                self.given.iter().filter(|(name, _)| total.parameter(name).is_some()).cloned().collect();
            let row = runner.rows(&bind(settings, total, &given)?)?;
            if self.leaves_out_sessions(&row) {
                output.note(WITH_USAGE);
            }
            if output.has_several() {
                output.total(&self.renamed(&row)?)?;
            }
        }
        shorten(runner, output)
    }

    /// True if the result does not count the sessions without usage, and there are some.
    fn leaves_out_sessions(self, total: &RecordBatch) -> bool {
        let is_shown = self.canned.show.iter().any(|shown| shown.name == "sessions");
        let billed = self.canned.total.renamed.iter().find(|(own, _)| own == "sessions");
        let number = |column| session::integer(total, column, 0);
        billed.is_some_and(|(_, billed)| is_shown && number(billed) != number("sessions"))
    }

    /// Gives the columns of the total the names that they have in the result.
    fn renamed(self, row: &RecordBatch) -> Result<RecordBatch> {
        let renamed = &self.canned.total.renamed;
        let fields = row.schema_ref().fields().iter().map(|field| {
            let is_replaced = renamed.iter().any(|(own, _)| own == field.name());
            let own = renamed.iter().find(|(_, other)| other == field.name()).map(|(own, _)| own.clone());
            let name = own
                .unwrap_or_else(|| if is_replaced { format!("other {}", field.name()) } else { field.name().clone() });
            Field::new(name, field.data_type().clone(), field.is_nullable())
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Ok(RecordBatch::try_new(schema, row.columns().to_vec())?)
    }

    /// Returns the title with the filters in words.
    fn title(self, settings: &Settings) -> Result<String> {
        let mut title = self.canned.title.clone();
        if self.canned.parameter("since").is_some() {
            title.extend([", ", &self.period(settings)?.with_days()]);
        }
        for (name, value) in self.given.iter().filter(|(name, _)| !["since", "until"].contains(&name.as_str())) {
            let filter = if ["project", "agent"].contains(&name.as_str()) {
                format!(", {name} {value}")
            } else {
                format!(", {name}={value}")
            };
            title.push_str(&filter);
        }
        Ok(title)
    }
}

/// Shows short ids of sessions, if the result has ids and is for people on a terminal.
pub(in crate::cli) fn shorten(runner: &mut Runner<'_>, output: &mut Output) -> Result<()> {
    if output.is_on_terminal() && output.names_sessions() {
        let ids = session::ids(runner)?;
        output.shorten(&|id| ids.short(id));
    }
    Ok(())
}

/// Runs a statement, and prints its rows.
pub(in crate::cli) fn print(runner: &mut Runner<'_>, statement: &Statement, mut output: Output) -> Result<()> {
    let outcome = runner.run(statement, &mut output);
    if outcome.is_ok() {
        shorten(runner, &mut output)?;
    }
    output.end(outcome)
}

/// Makes a table show the query's columns. Explanations of findings are wrapped.
pub(in crate::cli) fn output(output: Output, canned: &Canned) -> Output {
    let mut output = output.viewed(view(canned));
    output.note(&canned.note);
    if canned.purpose == Purpose::Detector { output.wrapping() } else { output }
}

fn view(canned: &Canned) -> View {
    if canned.purpose == Purpose::Detector && canned.columns.is_empty() {
        return View {
            columns: OF_FINDINGS.iter().map(|(name, label)| finding(name, label)).collect(),
            sums: Vec::new(),
        };
    }
    let described =
        |name: &str| canned.columns.iter().find(|(column, _)| column == name).map(|(_, text)| text.as_str());
    let shown = canned.show.iter().map(|shown| {
        let unit = Unit::of(&shown.name, described(&shown.name));
        Shown { name: shown.name.clone(), label: shown.label(), unit, is_part: shown.is_part }
    });
    View { columns: shown.collect(), sums: canned.total.sums.clone() }
}

fn finding(name: &str, label: &str) -> Shown {
    let doc = FINDINGS.columns.iter().find(|column| column.name == name).map(|column| column.doc.trim());
    Shown { name: name.to_owned(), label: label.to_owned(), unit: Unit::of(name, doc), is_part: false }
}
