//! The end of `etl`: what was read, what it added to the lake, and what to do next.

use std::path::Path;

use indicatif::BinaryBytes;

use super::super::holdings::{self, Holding};
use super::super::output::{Cell, Column, Grid, Look, Role};
use super::super::settings::Settings;
use crate::agents::{AGENTS, USUAL_DEPTH, USUAL_ROOTS};
use crate::etl::{AgentSummary, Options, Summary};
use crate::shown::value::{duration, listed, plural, size};
use crate::shown::width::wrap;
use crate::shown::{in_home, one_line};

/// Most models, or kinds of secrets, that are named.
const NAMED: usize = 8;

/// Next steps after the first run.
const NEXT: [(&str, &str); 2] = [("llrem", "what you spent, and on what"), ("llrem detect", "what of it was wasted")];

/// A run, and what the lake held before and after it.
pub(super) struct Ended<'a> {
    pub(super) settings: &'a Settings,
    pub(super) options: &'a Options,
    pub(super) summary: &'a Summary,
    /// Counts in the lake before the run; `None` if there was no lake.
    pub(super) before: Option<Vec<Holding>>,
    pub(super) after: Vec<Holding>,
    /// Agents that are newer than what llrem was tested with, and write what it does not know.
    pub(super) unknown: Vec<String>,
}

/// Sources of an agent that a run read, and the rows that they added.
struct Added<'a> {
    agent: &'static str,
    files: u64,
    held: &'a Holding,
    added: Holding,
}

impl Ended<'_> {
    /// Returns the text.
    pub(super) fn text(&self, look: Look) -> String {
        if self.summary.agents.is_empty() {
            return nothing_found(self.options, look);
        }
        let mut parts = vec![look.prose(&self.head())];
        let added = self.added();
        if !added.is_empty() {
            parts.push(table(&added, look));
        }
        parts.push(self.notes(&added).iter().map(|note| note.drawn(look)).collect());
        if self.is_first() {
            parts.push(format!("{}\n", self.place()));
            parts.push(format!("Next:\n{}", look.commands(&NEXT)));
        } else if !added.is_empty() {
            // It stands below the notes, without a blank line.
            let standing = look.prose(&format!("The lake has {}.", holdings::total(&self.after).in_words()));
            if let Some(last) = parts.last_mut() {
                last.push_str(&standing);
            }
        }
        parts.retain(|part| !part.is_empty());
        parts.join("\n")
    }

    fn is_first(&self) -> bool {
        self.before.is_none()
    }

    /// Returns the first sentence, which is the whole answer for who reads no further.
    fn head(&self) -> String {
        let sum = |number: fn(&AgentSummary) -> u64| self.summary.agents.iter().map(number).sum::<u64>();
        let (new, changed, gone) = (sum(|it| it.new), sum(|it| it.changed), sum(|it| it.gone));
        let unchanged = sum(|it| it.unchanged);
        let (read, all) = (new + changed, new + changed + unchanged);
        #[expect(clippy::cast_possible_truncation, reason = "a run takes less than 300 million years")]
        let seconds = duration((self.summary.seconds * 1e3).round() as i64);
        let bytes = size(i64::try_from(self.summary.bytes_read).unwrap_or(i64::MAX));
        let gone = if gone > 0 { format!(", {gone} gone") } else { String::new() };
        if read == 0 {
            let total = holdings::total(&self.after);
            let newest = total.newest_in_words(&self.settings.clock);
            let newest = newest.map_or_else(String::new, |moment| format!(", the newest of {moment}"));
            let held = format!("The lake has {}{newest}.", total.in_words());
            return format!("Nothing new: {} unchanged{gone} ({seconds}). {held}", plural(unchanged, "file"));
        }
        if new == all {
            let agents = self.summary.agents.iter().filter(|agent| agent.new > 0).count();
            let agents = plural(agents as u64, "agent");
            return format!("Read {} ({bytes}) of {agents} in {seconds}; all are new.", plural(all, "file"));
        }
        let counts = [(new, "new"), (changed, "changed")].into_iter().filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts.map(|(count, what)| format!("{count} {what}")).collect();
        format!("Read {read} of {} ({bytes}) in {seconds}: {}{gone}.", plural(all, "file"), counts.join(", "))
    }

    /// Returns what was read and added, the most expensive agent first.
    fn added(&self) -> Vec<Added<'_>> {
        let none = Holding::default();
        let before = self.before.as_deref().unwrap_or_default();
        let rows = self.summary.agents.iter().filter(|agent| agent.new + agent.changed > 0).filter_map(|agent| {
            let held = self.after.iter().find(|held| held.agent == agent.agent)?;
            let known = before.iter().find(|held| held.agent == agent.agent).unwrap_or(&none);
            Some(Added { agent: agent.agent, files: agent.new + agent.changed, held, added: held.since(known) })
        });
        let mut rows: Vec<Added<'_>> = rows.collect();
        let key = |row: &Added<'_>| (row.added.usd.unwrap_or(-1.0), row.added.tokens.unwrap_or(-1));
        rows.sort_by(|one, other| {
            let (one, other) = (key(one), key(other));
            other.0.total_cmp(&one.0).then(other.1.cmp(&one.1))
        });
        rows
    }

    /// Returns what people should know about the figures, and about the sources.
    fn notes(&self, added: &[Added<'_>]) -> Vec<Note> {
        let summary = self.summary;
        let unknown = self.settings.printer.look().signs.unknown;
        let mut notes = Vec::new();
        if !summary.unpriced_models.is_empty() {
            let models = counted(&summary.unpriced_models, "response");
            let is_partial = added.iter().any(|row| row.added.usd.is_some() && row.added.unpriced > 0);
            let sign = if is_partial { "+ at least:" } else { unknown };
            notes.push(Note::faint(format!("{sign} no price is known for {models}")));
        }
        let silent = |is: fn(&Holding) -> bool| -> Vec<&str> {
            added.iter().filter(|row| is(row.held)).map(|row| row.agent).collect()
        };
        for (agents, what) in [
            (silent(|held| held.tokens.is_none() && held.usd.is_none()), "neither tokens nor cost"),
            (silent(|held| held.tokens.is_none() && held.usd.is_some()), "no tokens"),
        ] {
            if !agents.is_empty() {
                notes.push(Note::faint(format!("{unknown} the sessions of {} have {what}", listed(&agents))));
            }
        }
        if !summary.redactions.is_empty() {
            notes.push(Note::faint(format!("Secrets replaced: {}", counted(&summary.redactions, "time"))));
        }
        notes.extend(bad(summary, self.is_first()));
        notes.extend(self.unknown.iter().cloned().map(Note::faint));
        notes.extend(summary.skipped.iter().map(|path| {
            Note::warning(format!(
                "llrem was killed several times while it read only `{}`: it is skipped until it changes",
                path.display()
            ))
        }));
        if summary.damaged_files > 0 {
            let files = plural(summary.damaged_files, "file");
            let text = format!("lost or damaged: {files} of the lake; what their sources still hold was rewritten");
            notes.push(Note::warning(text));
        }
        if let Some((first, others)) = summary.missing.split_first() {
            let others = if others.is_empty() { String::new() } else { format!(" ({} more)", others.len()) };
            notes.push(Note::warning(format!(
                "rows are missing in the lake: {first}{others}; `llrem verify` lists all"
            )));
        }
        notes
    }

    /// Returns where the lake is, and how large.
    fn place(&self) -> String {
        let bytes = size(i64::try_from(self.summary.bytes_written).unwrap_or(i64::MAX));
        format!("The lake is {} ({bytes}).", one_line(&in_home(&self.options.lake.to_string_lossy())))
    }
}

/// A line below the table.
struct Note {
    text: String,
    is_warning: bool,
}

impl Note {
    fn faint(text: String) -> Self {
        Self { text, is_warning: false }
    }

    fn warning(text: String) -> Self {
        Self { text, is_warning: true }
    }

    fn drawn(&self, look: Look) -> String {
        let text = wrap(&one_line(&self.text), look.prose_columns(), 2);
        let painted = |line: &str| if self.is_warning { look.paint.yellow(line) } else { look.paint.dim(line) };
        text.lines().map(|line| painted(line) + "\n").collect()
    }
}

/// Returns how many sources could not be read in full, apart for those that the run before has reported.
fn bad(summary: &Summary, is_first: bool) -> Vec<Note> {
    let (all, new) = summary.agents.iter().fold((0, 0), |(all, new), it| (all + it.bad, new + it.newly_bad));
    let mut notes = Vec::new();
    if let Some(line) = newly_bad(new, is_first) {
        notes.push(Note::warning(line));
    }
    match all - new {
        0 => {}
        old if new > 0 => notes.push(Note::faint(format!("{} on the list as before", plural(old, "file")))),
        old => notes.push(Note::faint(format!("{} could not be read in full, as before", plural(old, "file")))),
    }
    notes
}

/// Returns how many sources became bad, if any did.
pub(super) fn newly_bad(count: u64, is_first: bool) -> Option<String> {
    let list = match (is_first, count) {
        (true, _) => "",
        (false, 1) => ", and is new on the list",
        (false, _) => ", and are new on the list",
    };
    (count > 0)
        .then(|| format!("{} could not be read in full{list}: llrem\u{a0}sources\u{a0}--bad", plural(count, "file")))
}

fn table(rows: &[Added<'_>], look: Look) -> String {
    let columns = [
        ("agent", Role::Whole),
        ("files", Role::Number),
        ("sessions", Role::Number),
        ("prompts", Role::Number),
        ("tokens", Role::Tokens),
        ("cost", Role::Money),
    ];
    let mut grid = Grid::new(columns.map(|(name, role)| Column::new(name, role)).to_vec());
    let cells = |name: &str, files: u64, added: &Holding| {
        let cost = Cell::or_unknown(added.usd, Cell::usd);
        vec![
            Cell::text(name),
            Cell::count(i64::try_from(files).unwrap_or(i64::MAX)),
            Cell::count(added.sessions),
            Cell::count(added.prompts),
            Cell::or_unknown(added.tokens, Cell::tokens),
            if added.unpriced > 0 { cost.at_least() } else { cost },
        ]
    };
    for row in rows {
        grid.push(cells(row.agent, row.files, &row.added));
    }
    if rows.len() > 1 {
        let added: Vec<Holding> = rows.iter().map(|row| row.added.clone()).collect();
        grid.set_total(cells("total", rows.iter().map(|row| row.files).sum(), &holdings::total(&added)));
    }
    grid.set_bars(5);
    let drawn = grid.draw(look);
    let notes = drawn.notes.iter().map(|note| look.paint.dim(note) + "\n");
    drawn.text + &notes.collect::<String>()
}

/// Returns one line about an agent's sources, and the rows that a run wrote for it.
pub(super) fn agent_line(agent: &AgentSummary, dry_run: bool) -> String {
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
    format!("{sources}; wrote {}, {} usage", rows.join(", "), agent.usage)
}

/// Returns the lines of a dry run.
pub(super) fn of_dry_run(summary: &Summary, options: &Options, look: Look) -> String {
    if summary.agents.is_empty() {
        return nothing_found(options, look);
    }
    let mut lines: Vec<String> = summary.agents.iter().map(|agent| agent_line(agent, true)).collect();
    if !summary.would_look_for.is_empty() {
        let agents = listed(&summary.would_look_for);
        lines.push(format!("projects that their sessions name would be searched for files of {agents}"));
    }
    lines.push(format!("{} of these sources would be read; nothing was written", summary.would_read.len()));
    lines.join("\n") + "\n"
}

/// Returns what the run did, for `--verbose`.
pub(super) fn work_line(summary: &Summary, lake: &Path) -> String {
    let rate = summary.bytes_read as f64 / 1e6 / summary.seconds;
    let rate = if rate >= 1.0 && rate.is_finite() { format!(" ({rate:.0} MB/s)") } else { String::new() };
    format!(
        "read {} in {:.2} s{rate}, wrote {}, {}, in `{}`",
        BinaryBytes(summary.bytes_read),
        summary.seconds,
        plural(summary.files_written, "file"),
        BinaryBytes(summary.bytes_written),
        lake.display()
    )
}

/// Says where nothing was found.
pub(in crate::cli) fn nothing_found(options: &Options, look: Look) -> String {
    let home = match &options.home {
        Some(home) => format!("in `{}`", one_line(&home.to_string_lossy())),
        None => "in your home folder".to_owned(),
    };
    let agents = match options.agents.as_slice() {
        [] => plural(AGENTS.len() as u64, "agent"),
        named => listed(named),
    };
    let looks_for_aider = options.agents.is_empty() || options.agents.iter().any(|agent| agent == "aider");
    let roots: Vec<String> = match options.project_roots.as_slice() {
        _ if options.home.is_some() || !looks_for_aider => Vec::new(),
        [] => USUAL_ROOTS.map(|root| format!("~/{root}")).to_vec(),
        named => named.iter().map(|root| in_home(&root.to_string_lossy()).into_owned()).collect(),
    };
    let depth = if options.project_roots.is_empty() { format!(", {USUAL_DEPTH} levels deep") } else { String::new() };
    let roots: Vec<&str> = roots.iter().map(String::as_str).collect();
    let aider = if roots.is_empty() { String::new() } else { format!(", and for aider in {}{depth}", listed(&roots)) };
    let looked = format!("llrem looked in the usual places of {agents} {home}{aider}.");
    let ways = [
        ("llrem etl --home DIR", "another home folder, such as a backup"),
        ("llrem etl --source AGENT=PATH", "a file or folder of one agent"),
        ("project_roots = [\"~/repos\"]", "in the config file: where aider was used"),
        ("llrem agents --all", "every place that was looked in"),
        ("llrem demo", "a lake of invented sessions, to look around"),
    ];
    let head = look.prose("No agent's sessions were found.");
    format!("{head}\n{}\nIf they are elsewhere:\n{}", look.prose(&looked), look.commands(&ways))
}

fn counted(counts: &[(String, u64)], unit: &str) -> String {
    let shown = counts.iter().take(NAMED).map(|(name, count)| format!("{name} ({})", plural(*count, unit)));
    let mut shown: Vec<String> = shown.collect();
    if counts.len() > NAMED {
        shown.push(format!("{} more", counts.len() - NAMED));
    }
    shown.join(", ")
}
