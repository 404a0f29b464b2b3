//! The summary of `etl`.

use indicatif::BinaryBytes;

use crate::agents::AGENTS;
use crate::etl::{AgentSummary, Options, Summary};
use crate::shown::money;

/// Most models, or kinds of secrets, that are named.
const NAMED: usize = 8;

/// Returns the lines of the summary.
pub(super) fn lines(summary: &Summary, options: &Options) -> Vec<String> {
    if summary.agents.is_empty() {
        return nothing_found(options);
    }
    let mut lines: Vec<String> = summary.agents.iter().map(|agent| agent_line(agent, options.dry_run)).collect();
    if !summary.unpriced_models.is_empty() {
        lines.push(format!("without a price: {}", counted(&summary.unpriced_models, "responses")));
    }
    if !summary.redactions.is_empty() {
        lines.push(format!("secrets replaced: {}", counted(&summary.redactions, "times")));
    }
    if summary.agents.iter().any(|agent| agent.bad > 0) {
        lines.push("`llrem sources --bad` lists what could not be read".to_owned());
    }
    lines.extend(summary.skipped.iter().map(|path| {
        format!(
            "llrem was killed several times while it read only `{}`: it is skipped until it changes",
            path.display()
        )
    }));
    if summary.damaged_files > 0 {
        let files = plural(summary.damaged_files, "file");
        lines.push(format!("lost or damaged: {files} of the lake; what their sources still hold was rewritten"));
    }
    if let Some((first, others)) = summary.missing.split_first() {
        let others = if others.is_empty() { String::new() } else { format!(" ({} more)", others.len()) };
        lines.push(format!("rows are missing in the lake: {first}{others}; `llrem verify` lists all"));
    }
    if let Some((last, others)) = summary.would_look_for.split_last() {
        let others = others.join(", ");
        let agents = if others.is_empty() { (*last).to_owned() } else { format!("{others} and {last}") };
        lines.push(format!("projects that their sessions name would be searched for files of {agents}"));
    }
    lines.push(work_line(summary, options));
    lines
}

fn agent_line(agent: &AgentSummary, dry_run: bool) -> String {
    let counts = [(agent.new, "new"), (agent.changed, "changed"), (agent.unchanged, "unchanged")];
    let troubles = [(agent.bad, "bad"), (agent.gone, "gone")].into_iter().filter(|(count, _)| *count > 0);
    let sources: Vec<String> =
        counts.into_iter().chain(troubles).map(|(count, word)| format!("{count} {word}")).collect();
    let sources = format!("{}: {}", agent.agent, sources.join(", "));
    if dry_run || agent.new + agent.changed == 0 {
        return sources;
    }
    let rows = [(agent.sessions, "session"), (agent.messages, "message"), (agent.tool_calls, "tool call")];
    let rows: Vec<String> = rows.into_iter().map(|(count, noun)| plural(count, noun)).collect();
    format!(
        "{sources}; wrote {}, {} usage; {} tokens, {}",
        rows.join(", "),
        agent.usage,
        tokens(agent.tokens),
        cost(agent)
    )
}

fn cost(agent: &AgentSummary) -> String {
    match agent.cost_usd {
        None if agent.usage > 0 => "no known cost".to_owned(),
        usd => format!("${}", money(usd.unwrap_or(0.0))),
    }
}

fn plural(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

fn work_line(summary: &Summary, options: &Options) -> String {
    if options.dry_run {
        return format!("{} of these sources would be read; nothing was written", summary.would_read.len());
    }
    let rate = summary.bytes_read as f64 / 1e6 / summary.seconds;
    let rate = if rate >= 1.0 && rate.is_finite() { format!(" ({rate:.0} MB/s)") } else { String::new() };
    format!(
        "read {} in {:.2} s{rate}, wrote {}, {}, in `{}`",
        BinaryBytes(summary.bytes_read),
        summary.seconds,
        plural(summary.files_written, "file"),
        BinaryBytes(summary.bytes_written),
        options.lake.display()
    )
}

fn nothing_found(options: &Options) -> Vec<String> {
    let places = if options.sources.is_empty() {
        usual_places(options)
    } else {
        options.sources.iter().map(|(_, path)| path.display().to_string()).collect()
    };
    vec![
        "no sessions of any agent were found".to_owned(),
        format!("looked in: {}", places.join(", ")),
        "if they lie elsewhere: llrem etl --home DIR, or llrem etl --source AGENT=PATH".to_owned(),
    ]
}

fn usual_places(options: &Options) -> Vec<String> {
    let home = options.home.as_ref().map(|home| home.display().to_string());
    let wanted = |id: &str| options.agents.is_empty() || options.agents.iter().any(|agent| agent == id);
    let agents = AGENTS.iter().map(|agent| agent.about()).filter(|about| wanted(about.id));
    let paths = agents.flat_map(|about| about.paths);
    paths
        .map(|path| match (&home, path.strip_prefix("~")) {
            (Some(home), Some(rest)) => format!("{}{rest}", home.trim_end_matches('/')),
            _ => (*path).to_owned(),
        })
        .collect()
}

fn counted(counts: &[(String, u64)], unit: &str) -> String {
    let mut shown: Vec<String> =
        counts.iter().take(NAMED).map(|(name, count)| format!("{name} ({count} {unit})")).collect();
    if counts.len() > NAMED {
        shown.push(format!("{} more", counts.len() - NAMED));
    }
    shown.join(", ")
}

fn tokens(count: i64) -> String {
    match count {
        1_000_000_000.. => format!("{:.1} G", count as f64 / 1e9),
        1_000_000.. => format!("{:.1} M", count as f64 / 1e6),
        10_000.. => format!("{:.0} k", count as f64 / 1e3),
        _ => count.to_string(),
    }
}
