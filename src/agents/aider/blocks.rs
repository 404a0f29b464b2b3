//! Divides a chat history into blocks: lines that the person typed, that Aider printed and that the model wrote.
//!
//! Aider writes typed text after `#### ` and printed text after `> `, and ends each of these lines with two spaces.
//! Lines of the model may begin the same way, but rarely end with two spaces.

use chrono::{NaiveDateTime, TimeDelta};

use super::{clock, tokens};

/// Beginning of a line that starts a run.
pub(super) const STARTED: &str = "# aider chat started at ";

/// Most lines to read into printed text whose end is not found.
const MAX_OPEN: usize = 5000;

/// A block of the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Block<'t> {
    /// A run of Aider begins.
    Started(NaiveDateTime),
    /// Text that the person typed.
    Typed(&'t str),
    /// Text that Aider printed.
    Printed(&'t str),
    /// The model's answer.
    Reply(&'t str),
    /// A heading with a time, in the form without runs.
    Heading(NaiveDateTime),
}

/// Takes blocks, with the line that each begins on.
pub(super) trait Take {
    type Error;
    fn take(&mut self, block: Block<'_>, line: u64) -> Result<(), Self::Error>;
}

/// Joins lines into blocks.
#[derive(Default)]
pub(super) struct Blocks {
    form: Form,
    state: State,
    text: String,
    line: u64,
    /// Lines of the open block; in a reply, the empty lines after its last line.
    count: usize,
    after_blank: bool,
    fence: Option<(char, usize)>,
    /// True if quoted lines of this run end with two spaces; an editor may have removed them.
    are_marked: Option<bool>,
    started: Option<NaiveDateTime>,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// No line has shown the form yet.
    #[default]
    Unknown,
    /// Runs, or the tail of one whose head was cut off.
    Runs,
    /// Headings with times: prompts after `> `, and no runs.
    Headings,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Between,
    Typed,
    /// Printed text whose last line is complete.
    Printed,
    /// Printed text whose last line has not come yet.
    Open,
    Reply,
}

impl Blocks {
    /// Adds a line and passes on the complete blocks.
    pub(super) fn line<T: Take>(&mut self, line: &str, number: u64, to: &mut T) -> Result<(), T::Error> {
        if let Some(moment) = self.start_of(line) {
            self.flush(to)?;
            *self = Self { form: Form::Runs, started: Some(moment), after_blank: true, ..Self::default() };
            return to.take(Block::Started(moment), number);
        }
        if self.form != Form::Runs
            && let Some(moment) = heading(line)
        {
            if self.form == Form::Headings {
                self.flush(to)?;
            }
            self.text.clear();
            self.state = State::Between;
            self.form = Form::Headings;
            return to.take(Block::Heading(moment), number);
        }
        match self.form {
            Form::Headings => self.line_below_heading(line, number, to)?,
            Form::Unknown | Form::Runs => self.line_of_run(line, number, to)?,
        }
        self.after_blank = line.trim().is_empty();
        Ok(())
    }

    /// Returns true if the kind of an unterminated last line is certain although part of the line may be missing. Text
    /// is certain once anything was said.
    pub(super) fn is_certain(&self, line: &str, has_content: bool) -> bool {
        let holds_content = self.form != Form::Unknown && matches!(self.state, State::Typed | State::Reply);
        let is_text = !line.starts_with(['>', '#']) && self.state != State::Open;
        let report = quoted(line, ">").filter(|text| tokens::begins(text));
        (is_text && (has_content || holds_content))
            || report.is_some_and(|text| tokens::read(text).is_some())
            || line.ends_with("  ")
    }

    /// Emits the last block. A text without typed or printed lines is not a history.
    pub(super) fn finish<T: Take>(mut self, to: &mut T) -> Result<(), T::Error> {
        if self.form == Form::Unknown { Ok(()) } else { self.flush(to) }
    }

    /// Returns the time of a line that starts a run. In a reply, a time long before the run's own is a quotation.
    fn start_of(&self, line: &str) -> Option<NaiveDateTime> {
        let moment = clock(line.strip_prefix(STARTED)?)?;
        let is_quoted =
            self.state == State::Reply && self.started.is_some_and(|started| moment + TimeDelta::hours(1) < started);
        (!is_quoted).then_some(moment)
    }

    fn line_of_run<T: Take>(&mut self, line: &str, number: u64, to: &mut T) -> Result<(), T::Error> {
        if let Some(text) = self.typed(line) {
            return self.quoted(State::Typed, text, number, to);
        }
        if self.state == State::Open && self.count < MAX_OPEN && self.may_go_on(line) {
            self.count += 1;
            self.append(line.strip_suffix("  ").unwrap_or(line));
            if line.ends_with("  ") {
                self.state = State::Printed;
            }
            return Ok(());
        }
        if let Some((text, is_whole)) = self.printed(line) {
            self.flush(to)?;
            self.begin(if is_whole { State::Printed } else { State::Open }, text, number);
            return Ok(());
        }
        if line.trim().is_empty() {
            self.count += usize::from(self.state == State::Reply);
            return Ok(());
        }
        if self.state == State::Printed && !self.after_blank && self.is_marked() {
            self.append(line.strip_suffix("  ").unwrap_or(line));
            return Ok(());
        }
        self.reply(line, number, to)
    }

    /// Returns the text of a line that the person typed.
    fn typed<'l>(&mut self, line: &'l str) -> Option<&'l str> {
        let text = quoted(line, "####")?;
        if self.state == State::Reply && !self.is_marked() && self.fence.is_some() {
            return None;
        }
        if !self.after_blank && !matches!(self.state, State::Typed | State::Between) {
            return None;
        }
        let is_marked = line.ends_with("  ");
        if self.state != State::Reply {
            self.are_marked.get_or_insert(is_marked);
        }
        (is_marked || !self.is_marked()).then(|| text.strip_suffix("  ").unwrap_or(text))
    }

    /// Returns the text of a line that Aider printed, and true if the printed text ends there.
    fn printed<'l>(&mut self, line: &'l str) -> Option<(&'l str, bool)> {
        let text = quoted(line, ">")?;
        let is_whole = line.ends_with("  ");
        if tokens::begins(text) {
            return Some((text.trim_end(), is_whole));
        }
        let in_reply = self.state == State::Reply;
        if !in_reply {
            self.are_marked.get_or_insert(is_whole);
        }
        let text = text.strip_suffix("  ").unwrap_or(text);
        if in_reply && self.fence.is_some() && !(is_whole && ends_reply(text)) {
            return None;
        }
        match (is_whole, self.is_marked()) {
            (true, _) | (_, false) => Some((text, true)),
            (false, true) => (!in_reply && !self.after_blank).then_some((text, false)),
        }
    }

    /// Returns true if a line may continue the printed text before it. A token report has at most one more line.
    fn may_go_on(&self, line: &str) -> bool {
        !tokens::begins(&self.text) || (self.count == 1 && line.starts_with("Cost: "))
    }

    fn is_marked(&self) -> bool {
        self.are_marked.unwrap_or(true)
    }

    fn quoted<T: Take>(&mut self, state: State, text: &str, number: u64, to: &mut T) -> Result<(), T::Error> {
        if self.state == state && !self.after_blank {
            self.append(text);
            return Ok(());
        }
        self.flush(to)?;
        self.begin(state, text, number);
        Ok(())
    }

    fn reply<T: Take>(&mut self, line: &str, number: u64, to: &mut T) -> Result<(), T::Error> {
        if self.state == State::Reply {
            for _ in 0..std::mem::take(&mut self.count) {
                self.text.push('\n');
            }
            self.append(line);
        } else {
            self.flush(to)?;
            let is_unknown = self.form == Form::Unknown;
            self.begin(State::Reply, line, number);
            if is_unknown {
                self.form = Form::Unknown;
            }
            self.count = 0;
        }
        self.fence = fence_after(self.fence, line);
        Ok(())
    }

    fn line_below_heading<T: Take>(&mut self, line: &str, number: u64, to: &mut T) -> Result<(), T::Error> {
        let line = line.trim_end();
        let text = quoted(line, ">");
        if let Some(report) = text.filter(|text| tokens::begins(text)) {
            self.flush(to)?;
            return to.take(Block::Printed(report), number);
        }
        match (self.state, text) {
            (State::Reply, _) => self.append(line),
            (_, None) if line.is_empty() => {}
            (State::Typed, Some(text)) => self.append(text),
            (_, Some(text)) => self.begin(State::Typed, text, number),
            (_, None) => {
                self.flush(to)?;
                self.begin(State::Reply, line, number);
            }
        }
        Ok(())
    }

    fn begin(&mut self, state: State, text: &str, number: u64) {
        if self.form == Form::Unknown {
            self.form = Form::Runs;
        }
        self.text.clear();
        self.text.push_str(text);
        self.state = state;
        self.line = number;
        self.count = 1;
    }

    fn append(&mut self, line: &str) {
        self.text.push('\n');
        self.text.push_str(line);
    }

    /// Emits the block that is complete.
    fn flush<T: Take>(&mut self, to: &mut T) -> Result<(), T::Error> {
        let state = std::mem::take(&mut self.state);
        self.fence = None;
        self.count = 0;
        let taken = match state {
            State::Between => Ok(()),
            State::Typed => to.take(Block::Typed(&self.text), self.line),
            State::Printed | State::Open => to.take(Block::Printed(&self.text), self.line),
            State::Reply => to.take(Block::Reply(self.text.trim_end()), self.line),
        };
        self.text.clear();
        taken
    }
}

/// Returns the rest of a line that begins with a mark and a space, or is the mark alone.
fn quoted<'l>(line: &'l str, mark: &str) -> Option<&'l str> {
    let rest = line.strip_prefix(mark)?;
    match rest.strip_prefix(' ') {
        Some(text) => Some(text),
        None => rest.is_empty().then_some(rest),
    }
}

/// Returns the time of a heading in the form without runs.
fn heading(line: &str) -> Option<NaiveDateTime> {
    let text = line.strip_prefix("#### ")?.trim_end();
    let with_seconds = if text.len() == 16 { clock(&format!("{text}:00")) } else { None };
    with_seconds.or_else(|| clock(text))
}

/// Returns true if a line shows that a reply has ended, even within an open fence.
fn ends_reply(text: &str) -> bool {
    ["^C", "Applied edit to ", "Commit ", "litellm.", "Only ", "Retrying in ", "The LLM did not conform"]
        .iter()
        .any(|beginning| text.starts_with(beginning))
}

/// Returns the fence that is open after a line.
fn fence_after(open: Option<(char, usize)>, line: &str) -> Option<(char, usize)> {
    let line = line.trim();
    let Some(mark) = line.chars().next().filter(|mark| matches!(mark, '`' | '~')) else { return open };
    let length = line.chars().take_while(|letter| *letter == mark).count();
    match open {
        _ if length < 3 => open,
        None => Some((mark, length)),
        Some((opened, least)) if opened == mark && length >= least && line.len() == length => None,
        Some(_) => open,
    }
}
