//! `llrem show`: reads a session from the lake as a conversation.

mod html;
mod markdown;
mod read;
mod text;
mod words;

use std::collections::{BTreeSet, VecDeque};
use std::path::Path;

use datafusion::scalar::ScalarValue;

use super::args::Show;
use super::output::{Format, Limit, OutputSettings, Reader};
use super::query;
use super::runner::Runner;
use super::session;
use super::settings::Settings;
use crate::Result;
use crate::query::Statement;
use crate::tables::{FindingRow, MessageRow, ToolCallRow};
use read::{Entry, Facts, Part, Spending, Spent, Subagent, check_place, own, range};

/// All messages and tool calls as rows.
const ROWS: &str = include_str!("rows.sql");

/// Contents that are shown in full rather than folded.
#[derive(Debug, Clone, Copy, Default)]
struct Folded {
    thinking: bool,
    output: bool,
}

/// Writes the parts of a session in one form. Each part is text that was not taken yet.
trait Writer {
    /// Writes which session it is.
    fn head(&mut self, facts: &Facts);
    /// Writes that what comes before is left out.
    fn left_out(&mut self);
    /// Writes the beginning of a turn.
    fn turn(&mut self, turn: i64, spent: Spent);
    /// Writes a message.
    fn message(&mut self, message: &MessageRow<'_>, spent: Option<&Spent>);
    /// Writes a tool call, and the subagent that it started.
    fn call(&mut self, facts: &Facts, call: &ToolCallRow<'_>, subagent: Option<&Subagent>);
    /// Writes a finding.
    fn finding(&mut self, finding: &FindingRow<'_>);
    /// Writes the end, with the subagents that no call names, and the position of the next entry if the limit left it out.
    fn end(&mut self, facts: &Facts, loose: &[&Subagent], next: Option<i64>);
    /// Drops what was written and not taken.
    fn clear(&mut self);
    /// Takes what was written.
    fn take(&mut self) -> String;
}

/// Runs the command.
pub(super) fn run(settings: &Settings, typed: &Show) -> Result<()> {
    let lake = settings.open_lake()?;
    let mut runner = Runner::start(settings, &lake)?;
    let form = Form::of(&settings.output, typed)?;
    if let Form::Rows = form {
        let session = session::find(&mut runner, &typed.session)?;
        if let Some(at) = typed.at {
            check_place(range(&mut runner, &session)?, at)?;
        }
        let mut output = query::destination(settings, typed.limit)?;
        let mut statement = Statement { sql: ROWS.to_owned(), ..own(&session, "", "") };
        statement.parameters.push(("at".to_owned(), ScalarValue::Int64(Some(typed.at.unwrap_or(i64::MIN)))));
        let outcome = runner.run(&statement, &mut output);
        return output.end(outcome);
    }
    let facts = Facts::read(settings, &lake, &mut runner, &typed.session)?;
    if let Some(at) = typed.at {
        check_place(facts.range, at)?;
    }
    let folded = Folded { thinking: typed.thinking, output: typed.outputs };
    let zone = settings.clock.zone;
    let left = typed.limit.unwrap_or(Limit::OFF).rows();
    let mut choice = Choice { all: typed.all, at: typed.at, starts_at: typed.at, left };
    match form {
        Form::Html(path) => {
            let target = OutputSettings { path: Some(path.to_owned()), ..settings.output.clone() };
            let reader = Reader::open(&target, false, None)?;
            let writer = html::Html::new(&facts, settings.clock, folded);
            write(&mut runner, facts, folded, choice, writer, reader)?;
            if let Some(path) = target.file() {
                settings.printer.say(&format!("wrote `{}`", path.display()));
            }
            Ok(())
        }
        Form::Markdown => {
            let reader = Reader::open(&settings.output, false, None)?;
            let writer = markdown::Markdown::new(&facts, zone, folded);
            write(&mut runner, facts, folded, choice, writer, reader)
        }
        Form::Text | Form::Rows => {
            let is_whole = left == usize::MAX;
            let finds = is_whole && settings.output.path.is_none() && Reader::finds_places();
            let place = typed.at.filter(|_| finds).map(|at| format!("^{}  ", facts.shown_place(at)));
            let reader = Reader::open(&settings.output, true, place.as_deref())?;
            let writer = text::Text::new(&facts, reader.look(&settings.output), zone, folded);
            choice.starts_at = typed.at.filter(|_| !finds);
            write(&mut runner, facts, folded, choice, writer, reader)
        }
    }
}

/// The form of a session.
enum Form<'t> {
    Text,
    Markdown,
    Html(&'t Path),
    Rows,
}

impl<'t> Form<'t> {
    fn of(output: &'t OutputSettings, typed: &'t Show) -> Result<Self> {
        if let Some(path) = &typed.html {
            return Ok(Self::Html(path));
        }
        let format = match (output.format, output.file()) {
            (Some(format), _) => format,
            (None, Some(path)) if path.extension().is_some_and(|suffix| suffix == "html") => {
                return Ok(Self::Html(path));
            }
            (None, Some(path)) => Format::of_suffix(path)?,
            (None, None) => Format::Table,
        };
        Ok(match format {
            Format::Table => Self::Text,
            Format::Markdown => Self::Markdown,
            _ => Self::Rows,
        })
    }
}

/// A walk through a session, from its first message to its last.
struct Walk<'f, W> {
    facts: &'f Facts,
    spending: Spending,
    writer: W,
    /// Findings that were not written yet, in their order.
    findings: VecDeque<FindingRow<'f>>,
    /// Subagents that were written with their calls.
    named: BTreeSet<String>,
    turn: Option<i64>,
    choice: Choice,
    /// True if something before the place was left out.
    is_cut: bool,
    /// The position of the first entry beyond the limit.
    next: Option<i64>,
}

/// Selection of the entries that are shown.
#[derive(Debug, Clone, Copy)]
struct Choice {
    /// True if nothing is left out as noise.
    all: bool,
    /// The position that was asked for, which is no noise.
    at: Option<i64>,
    /// The position before which everything but the last message is left out.
    starts_at: Option<i64>,
    /// Messages and calls that may still be written.
    left: usize,
}

/// Writes a session, part by part.
fn write(
    runner: &mut Runner<'_>,
    mut facts: Facts,
    folded: Folded,
    choice: Choice,
    mut writer: impl Writer,
    mut reader: Reader,
) -> Result<()> {
    writer.head(&facts);
    let spending = std::mem::take(&mut facts.spending);
    let mut walk = Walk {
        facts: &facts,
        spending,
        writer,
        findings: facts.findings().collect(),
        named: BTreeSet::new(),
        turn: None,
        choice,
        is_cut: false,
        next: None,
    };
    walk.findings_until(None);
    let outcome = walk.write_all(runner, folded, &mut reader);
    outcome.and_then(|()| reader.finish())
}

impl<W: Writer> Walk<'_, W> {
    fn write_all(&mut self, runner: &mut Runner<'_>, folded: Folded, reader: &mut Reader) -> Result<()> {
        reader.write(&self.writer.take())?;
        for range in self.facts.parts() {
            let part = Part::read(runner, &self.facts.session, range, folded.output)?;
            for entry in part.entries() {
                self.entry(&entry, reader)?;
                if self.next.is_some() {
                    self.writer.end(self.facts, &[], self.next);
                    return reader.write(&self.writer.take());
                }
            }
            if self.choice.starts_at.is_none() {
                reader.write(&self.writer.take())?;
            }
        }
        self.findings_until(Some(i64::MAX));
        let loose = |subagent: &&Subagent| !self.named.contains(&subagent.session_id);
        let loose: Vec<&Subagent> = self.facts.subagents.iter().filter(loose).collect();
        self.writer.end(self.facts, &loose, None);
        reader.write(&self.writer.take())
    }

    fn entry(&mut self, entry: &Entry<'_>, reader: &mut Reader) -> Result<()> {
        let seq = entry.seq();
        let spent = match entry {
            Entry::Message(message) => self.spending.take(message),
            Entry::Call(_) => None,
        };
        let is_noise = matches!(entry, Entry::Message(message) if words::is_noise(message, spent.as_ref()));
        if is_noise && !self.choice.all && self.choice.at != Some(seq) {
            return Ok(());
        }
        match self.choice.starts_at {
            Some(at) if seq >= at => self.begin(reader)?,
            Some(_) if matches!(entry, Entry::Message(_)) => self.forget(seq),
            _ => {}
        }
        if self.choice.starts_at.is_none() {
            let Some(left) = self.choice.left.checked_sub(1) else {
                self.next = Some(seq);
                return Ok(());
            };
            self.choice.left = left;
        }
        self.findings_until(Some(seq - 1));
        let turn = entry.turn().unwrap_or(0);
        if self.turn != Some(turn) {
            self.turn = Some(turn);
            self.writer.turn(turn, self.facts.turn(turn));
        }
        match entry {
            Entry::Message(message) => self.writer.message(message, spent.as_ref()),
            Entry::Call(call) => {
                let subagent = call.child_session_id.and_then(|id| self.facts.subagent(id));
                self.named.extend(subagent.map(|subagent| subagent.session_id.clone()));
                self.writer.call(self.facts, call, subagent);
            }
        }
        self.findings_until(Some(seq));
        Ok(())
    }

    /// Drops everything before a message, which is before the place that was asked for.
    fn forget(&mut self, seq: i64) {
        self.is_cut |= self.turn.is_some();
        self.turn = None;
        self.writer.clear();
        self.findings.retain(|finding| finding.first_seq.is_none_or(|first| first >= seq));
    }

    /// Begins with the last message before the place that was asked for.
    fn begin(&mut self, reader: &mut Reader) -> Result<()> {
        self.choice.starts_at = None;
        let kept = self.writer.take();
        if self.is_cut {
            self.writer.left_out();
            reader.write(&self.writer.take())?;
        }
        reader.write(&kept)
    }

    /// Writes the findings that begin at a position or before; with `None`, those of the whole session.
    fn findings_until(&mut self, seq: Option<i64>) {
        while let Some(finding) = self.findings.pop_front_if(|finding| finding.first_seq <= seq) {
            self.writer.finding(&finding);
        }
    }
}
