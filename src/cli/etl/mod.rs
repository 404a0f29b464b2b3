//! `llrem etl`: extracts what changed into the lake.

mod summary;

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};

use super::args::Etl;
use super::holdings::{self, Holding};
use super::output::{Format, Output};
use super::settings::Settings;
use super::sources;
use crate::etl::{self, AgentSummary, Options, Summary};
use crate::progress::Progress;
use crate::source::name_of;
use crate::{Error, Result};
pub(super) use summary::nothing_found;

/// Runs the command.
pub(super) fn run(settings: &Settings, typed: Etl) -> Result<()> {
    let options = settings.etl_options(typed)?;
    settings.refuse_demo()?;
    let before = if options.dry_run || settings.printer.is_quiet() { None } else { held(settings) };
    let outcome = etl::run(&options, &settings.progress);
    settings.progress.finish();
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
    say(settings, &options, &summary, before);
    let bad = summary.agents.iter().map(|agent| agent.bad).sum();
    if options.strict && bad > 0 { Err(Error::BadInput { count: bad }) } else { Ok(()) }
}

/// Returns what the lake holds, if there is one.
fn held(settings: &Settings) -> Option<Vec<Holding>> {
    let lake = settings.open_lake().ok()?;
    holdings::read(settings, &lake).ok()
}

/// Prints what the run did. With `--quiet`, only what could not be read and is not known yet.
fn say(settings: &Settings, options: &Options, summary: &Summary, before: Option<Vec<Holding>>) {
    let printer = settings.printer;
    let look = printer.look();
    if options.dry_run {
        return printer.say_drawn(&summary::of_dry_run(summary, options, look));
    }
    if printer.is_quiet() {
        let newly_bad = summary.agents.iter().map(|agent| agent.newly_bad).sum();
        if let Some(line) = summary::newly_bad(newly_bad, false) {
            printer.answer(&line.replace('\u{a0}', " "));
        }
        return;
    }
    for agent in &summary.agents {
        printer.detail(|| summary::agent_line(agent, false));
    }
    printer.detail(|| summary::work_line(summary, &options.lake));
    let after = held(settings).unwrap_or_default();
    let read = summary.agents.iter().filter(|agent| agent.new + agent.changed > 0).map(|agent| agent.agent);
    let unknown = sources::of_newer_versions(settings, &read.collect::<Vec<_>>()).unwrap_or_default();
    printer.say_drawn(&summary::Ended { settings, options, summary, before, after, unknown }.text(look));
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
