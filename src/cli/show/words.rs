//! Names of sessions, messages and tool calls that all output formats of `llrem show` share.

use chrono_tz::Tz;
use serde_json::Value;

use super::read::{Facts, Spent, Subagent};
use crate::cli::detect;
use crate::shown::value;
use crate::tables::{Basis, Category, FindingRow, MessageKind, MessageRow, Status, ToolCallRow, Vocabulary};

/// Sign of a value that is not known.
const UNKNOWN: &str = "–";

/// Arguments that say most about a call, the best first.
const TELLING: [&str; 9] = ["description", "query", "pattern", "url", "path", "name", "title", "prompt", "message"];

/// Returns an amount of dollars, or the sign of an unknown one.
pub(super) fn usd(amount: Option<f64>) -> String {
    amount.map_or_else(|| UNKNOWN.to_owned(), value::usd)
}

/// Returns the cost of several responses.
pub(super) fn cost(spent: &Spent) -> String {
    usd(spent.usd) + value::at_least(spent.is_partial && spent.usd.is_some())
}

fn counted(number: i64, noun: &str) -> String {
    value::plural(number.unsigned_abs(), noun)
}

/// Returns the title of the session.
pub(super) fn title(facts: &Facts) -> String {
    facts.row().title.filter(|title| !title.trim().is_empty()).unwrap_or("(no title)").to_owned()
}

/// Returns which session it is: id, project and branch, agent, models.
pub(super) fn identity(facts: &Facts) -> Vec<String> {
    let row = facts.row();
    let place = match (row.project, row.git_branch) {
        (Some(project), Some(branch)) => Some(format!("{project}, branch {branch}")),
        (project, branch) => project.or(branch).map(str::to_owned),
    };
    let agent = match row.agent_version {
        Some(version) => format!("{} {version}", facts.session.agent),
        None => facts.session.agent.clone(),
    };
    let models = (!row.models.is_empty()).then(|| row.models.join(", "));
    let parts = [Some(facts.ids.short(row.session_id)), place, Some(agent), models];
    parts.into_iter().flatten().collect()
}

/// Returns when it was, and how much happened in it.
pub(super) fn extent(facts: &Facts, zone: Tz) -> Vec<String> {
    let row = facts.row();
    let when = row.started_at.map(|start| span(start, row.ended_at.unwrap_or(start), zone));
    let active = (row.active_ms > 0).then(|| format!("{} active", value::duration(row.active_ms)));
    let failed =
        if row.tool_errors > 0 { format!(" ({} failed)", value::count(row.tool_errors)) } else { String::new() };
    // Some agents record none.
    let recorded = |count: i64, what| (count > 0).then(|| counted(count, what));
    let mut counts = vec![counted(row.prompts, "prompt")];
    counts.extend(recorded(row.responses, "response"));
    counts.extend(recorded(row.tool_calls, "tool call").map(|calls| calls + &failed));
    counts.extend((row.compactions > 0).then(|| counted(row.compactions, "compaction")));
    let when: Vec<String> = [when, active].into_iter().flatten().collect();
    [when.join(", "), counts.join(", ")].into_iter().filter(|part| !part.is_empty()).collect()
}

/// Returns from when to when: `Sun 2026-02-08 06:29–06:51`.
fn span(start: i64, end: i64, zone: Tz) -> String {
    let time = |moment| value::time(moment, zone).unwrap_or_default();
    let (start_time, end_time) = (time(start), time(end));
    let day = value::day_of(start, zone).map(|day| day.format("%a ").to_string()).unwrap_or_default();
    let end_time = match (start_time.split_once(' '), end_time.split_once(' ')) {
        (Some((day, _)), Some((same, time))) if day == same => time,
        _ => &end_time,
    };
    if start_time.ends_with(end_time) {
        format!("{day}{start_time}")
    } else {
        format!("{day}{start_time}–{end_time}")
    }
}

/// Returns what it cost, and what of it was wasted.
pub(super) fn total(facts: &Facts) -> Vec<String> {
    let row = facts.row();
    let is_partial = facts.spending.all().any(|spent| spent.usd.is_none());
    let cost = match row.cost_usd {
        Some(_) => cost(&Spent { usd: row.cost_usd, is_partial, ..Spent::default() }),
        None => format!("cost {UNKNOWN}"),
    };
    let mut parts = vec![cost];
    parts.extend(row.total_tokens.map(|tokens| format!("{} tokens", value::tokens_in_short(tokens))));
    let findings: Vec<FindingRow<'_>> = facts.findings().collect();
    if !findings.is_empty() {
        let count = counted(i64::try_from(findings.len()).unwrap_or(i64::MAX), "finding");
        let wasted: f64 = findings.iter().filter_map(|finding| finding.wasted_cost_usd).sum();
        let is_known = findings.iter().any(|finding| finding.wasted_cost_usd.is_some());
        let basis = if findings.iter().any(is_estimated) { " (est.)" } else { "" };
        let at_least = value::at_least(findings.iter().any(detect::is_unpriced));
        parts.push(if is_known { format!("{count}: {}{at_least} wasted{basis}", value::usd(wasted)) } else { count });
    }
    parts
}

fn is_estimated(finding: &FindingRow<'_>) -> bool {
    finding.basis == Basis::Estimated && finding.wasted_cost_usd.is_some_and(|cost| cost > 0.0)
}

/// Returns a finding in a sentence.
pub(super) fn finding(finding: &FindingRow<'_>) -> String {
    let basis = if is_estimated(finding) { " (est.)" } else { "" };
    let wasted = match finding.wasted_cost_usd {
        Some(cost) if cost > 0.0 => format!(", {} wasted{basis}", value::usd(cost)),
        Some(_) if finding.alone_cost_usd.is_some_and(|alone| alone > 0.0) => ", counted in another finding".to_owned(),
        _ => String::new(),
    };
    format!("{}, {}{wasted}: {}", finding.detector, finding.severity.as_str(), finding.explanation)
}

/// Returns the name of a turn.
pub(super) fn turn(turn: i64) -> String {
    if turn == 0 { "before the first prompt".to_owned() } else { format!("turn {turn}") }
}

/// Returns how much a turn was.
pub(super) fn turn_total(spent: &Spent) -> String {
    let mut parts = Vec::new();
    parts.extend((spent.responses > 0).then(|| counted(spent.responses, "response")));
    parts.extend((spent.calls > 0).then(|| counted(spent.calls, "tool call")));
    parts.extend((spent.tokens.is_some() || spent.usd.is_some()).then(|| cost(spent)));
    parts.join(", ")
}

/// Returns who speaks in a message.
pub(super) fn speaker(message: &MessageRow<'_>, is_subagent: bool) -> String {
    let who = match message.kind {
        MessageKind::Prompt if is_subagent => "task".to_owned(),
        MessageKind::Prompt | MessageKind::Command => "you".to_owned(),
        MessageKind::Reply => message.model.unwrap_or("reply").to_owned(),
        kind => kind.as_str().replace('_', " "),
    };
    let attached = if message.attachments > 0 {
        format!(", {}", counted(message.attachments, "attachment"))
    } else {
        String::new()
    };
    let left = if message.is_abandoned { ", on a branch that was left" } else { "" };
    who + &attached + left
}

/// Returns the text of a message. Of a command, it is what the person typed.
pub(super) fn text(message: &MessageRow<'_>) -> String {
    let text = message.text.unwrap_or_default();
    if message.kind != MessageKind::Command {
        return text.to_owned();
    }
    let within = |tag: &str| {
        let (_, rest) = text.split_once(&format!("<{tag}>"))?;
        rest.split_once(&format!("</{tag}>")).map(|(inner, _)| inner.trim())
    };
    match (within("command-name"), within("command-args")) {
        (Some(name), arguments) => [name, arguments.unwrap_or_default()].join(" ").trim().to_owned(),
        (None, _) => within("bash-input").map_or_else(|| text.to_owned(), |typed| format!("!{typed}")),
    }
}

/// True if a message says nothing to a person who reads the conversation.
pub(super) fn is_noise(message: &MessageRow<'_>, spent: Option<&Spent>) -> bool {
    let is_blank = |text: Option<&str>| text.is_none_or(|text| text.trim().is_empty());
    match message.kind {
        MessageKind::Meta | MessageKind::Notice | MessageKind::Hook | MessageKind::Permission => true,
        MessageKind::ToolResult | MessageKind::Reply => {
            is_blank(message.text) && is_blank(message.thinking) && spent.is_none()
        }
        _ => false,
    }
}

/// Returns the number of words of a thinking.
pub(super) fn words(thinking: &str) -> String {
    let words = i64::try_from(thinking.split_whitespace().count()).unwrap_or(i64::MAX);
    counted(words, "word")
}

/// Returns what a call was asked to do.
pub(super) fn request(call: &ToolCallRow<'_>, project_path: Option<&str>) -> String {
    if let Some(command) = call.command.filter(|_| call.category == Category::Shell) {
        return command.to_owned();
    }
    let inner = |path: &'_ str| -> String {
        let below = project_path.and_then(|folder| path.strip_prefix(folder)?.strip_prefix('/'));
        below.unwrap_or(path).to_owned()
    };
    if let Some(path) = call.file_path {
        return inner(path);
    }
    let input = call.input.unwrap_or_default();
    let Ok(Value::Object(arguments)) = serde_json::from_str::<Value>(input) else { return input.to_owned() };
    let telling = TELLING.iter().find_map(|name| arguments.get(*name)?.as_str().filter(|text| !text.is_empty()));
    let only = || arguments.values().find_map(Value::as_str).filter(|_| arguments.len() == 1);
    match telling.or_else(only) {
        Some(text) => text.to_owned(),
        None if arguments.is_empty() => String::new(),
        None => input.to_owned(),
    }
}

/// Returns how a call ended, as far as it is recorded: status, exit code, duration, size.
pub(super) fn outcome(call: &ToolCallRow<'_>) -> Vec<String> {
    let status = match call.status {
        Status::Ok | Status::Error => None,
        status => Some(status.as_str().to_owned()),
    };
    let exit = call.exit_code.filter(|code| *code != 0).map(|code| format!("exit {code}"));
    let duration = call.duration_ms.map(value::duration);
    let size = call.output_bytes.map(value::size);
    [status, exit, duration, size].into_iter().flatten().collect()
}

/// True if a call did not do what was asked.
pub(super) fn is_failed(call: &ToolCallRow<'_>) -> bool {
    !matches!(call.status, Status::Ok | Status::Pending)
}

/// Returns what a subagent did.
pub(super) fn subagent(subagent: &Subagent) -> String {
    let kind = subagent.kind.as_deref().unwrap_or("subagent");
    format!("{kind}, {}, cost {}", counted(subagent.responses, "response"), usd(subagent.usd)).replace("cost $", "$")
}

/// Says that the beginning of the session is not shown.
pub(super) const LEFT_OUT: &str = "What comes before is left out; without --at, everything is shown.";

/// Says where the session goes on, if a limit left out the rest.
pub(super) fn next(facts: &Facts, next: i64) -> String {
    let short = facts.ids.short(&facts.session.session_id);
    format!("The session goes on at {next}: llrem show {short} --at {next}")
}

/// Returns the last line: which session follows.
pub(super) fn end(facts: &Facts, zone: Tz) -> String {
    let row = facts.row();
    let Some(project) = row.project.filter(|_| row.started_at.is_some()) else { return "End.".to_owned() };
    let Some(next) = &facts.next else { return format!("End. This is the newest session of {project}.") };
    let day = next.started_at.and_then(|start| value::day_of(start, zone)).map(|day| day.to_string());
    let told: Vec<String> = [day, next.title.clone()].into_iter().flatten().collect();
    format!("End. Next in {project}: llrem\u{a0}show\u{a0}{} ({})", next.short, told.join(", "))
}
