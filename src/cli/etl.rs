//! `llrem etl`: extracts what changed into the lake.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};

use super::args::Etl;
use super::output::{Format, Output};
use super::settings::Settings;
use super::summary;
use crate::etl::{self, AgentSummary, Progress, Silent, Summary};
use crate::source::name_of;
use crate::{Error, Result};

/// Runs the command.
pub(super) fn run(settings: &Settings, typed: Etl) -> Result<()> {
    let options = settings.etl_options(typed)?;
    let bar = settings.printer.bar();
    let progress: &dyn Progress = bar.as_ref().map_or(&Silent, |bar| bar);
    let outcome = etl::run(&options, progress);
    progress.finish();
    let summary = outcome?;
    if options.dry_run {
        print_plan(settings, &summary)?;
    } else if settings.asks_for_rows {
        print_agents(settings, &summary.agents)?;
    }
    if let (Some(kept), Some(wanted)) = (&summary.kept_machine, &options.machine) {
        settings.printer.warn(&format!(
            "the lake keeps the machine's name `{kept}` that it was created with; `{wanted}` needs a lake of its own (--lake)"
        ));
    }
    for line in summary::lines(&summary, &options) {
        settings.printer.say(&line);
    }
    let bad = summary.agents.iter().map(|agent| agent.bad).sum();
    if options.strict && bad > 0 { Err(Error::BadInput { count: bad }) } else { Ok(()) }
}

fn print_plan(settings: &Settings, summary: &Summary) -> Result<()> {
    let reasons: ArrayRef =
        Arc::new(summary.would_read.iter().map(|(_, reason)| Some(*reason)).collect::<StringArray>());
    let paths = summary.would_read.iter().map(|(path, _)| Some(name_of(path)));
    let paths: ArrayRef = Arc::new(paths.collect::<StringArray>());
    Output::new(&settings.output, Format::Csv)?
        .print(&RecordBatch::try_from_iter([("reason", reasons), ("path", paths)])?)
}

/// Prints what was done, agent by agent, for programs.
fn print_agents(settings: &Settings, agents: &[AgentSummary]) -> Result<()> {
    let numbers = |number: fn(&AgentSummary) -> u64| -> ArrayRef {
        Arc::new(agents.iter().map(|agent| i64::try_from(number(agent)).ok()).collect::<Int64Array>())
    };
    let names: ArrayRef = Arc::new(agents.iter().map(|agent| Some(agent.agent)).collect::<StringArray>());
    let tokens: ArrayRef = Arc::new(agents.iter().map(|agent| Some(agent.tokens)).collect::<Int64Array>());
    let costs: ArrayRef = Arc::new(agents.iter().map(|agent| agent.cost_usd).collect::<Float64Array>());
    let columns = [
        ("agent", names),
        ("new", numbers(|agent| agent.new)),
        ("changed", numbers(|agent| agent.changed)),
        ("unchanged", numbers(|agent| agent.unchanged)),
        ("gone", numbers(|agent| agent.gone)),
        ("bad", numbers(|agent| agent.bad)),
        ("sessions", numbers(|agent| agent.sessions)),
        ("messages", numbers(|agent| agent.messages)),
        ("tool_calls", numbers(|agent| agent.tool_calls)),
        ("usage", numbers(|agent| agent.usage)),
        ("tokens", tokens),
        ("cost_usd", costs),
    ];
    Output::new(&settings.output, Format::Csv)?.print(&RecordBatch::try_from_iter(columns)?)
}
