//! The line editor: editing, completion and history.

use std::borrow::Cow;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use rustyline::completion::Completer;
use rustyline::config::{Behavior, BellStyle, ColorMode, CompletionType, Config};
use rustyline::error::{ReadlineError, Signal};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{Context, Editor, Helper};

use super::completion::Names;
use super::ending;
use crate::cli::output::Printer;
use crate::lake::fs;
use crate::{Error, Result};

/// Most entries of the history.
const HISTORY: usize = 5000;

/// Reads lines from the terminal.
pub(super) struct Lines {
    editor: Editor<Assistant, FileHistory>,
    history: Option<PathBuf>,
}

/// Result of reading a line.
pub(super) enum Line {
    /// The line.
    Text(String),
    /// Ctrl-C: the input was cancelled.
    Cancelled,
    /// Ctrl-D, or the terminal was closed.
    End,
}

impl Lines {
    /// Creates the editor, with the history in a file, if there is one.
    pub(super) fn open(names: Names, history: Option<PathBuf>, printer: Printer) -> Result<Self> {
        let colour = if printer.colour() { ColorMode::Forced } else { ColorMode::Disabled };
        // Prompts must not be mixed into redirected results.
        let behavior = if std::io::stdout().is_terminal() { Behavior::Stdio } else { Behavior::PreferTerm };
        let config = Config::builder()
            .auto_add_history(false)
            .history_ignore_space(true)
            .max_history_size(HISTORY)
            .map_err(unusable)?
            .completion_type(CompletionType::List)
            .bell_style(BellStyle::None)
            .color_mode(colour)
            .behavior(behavior)
            .build();
        let mut editor = Editor::with_config(config).map_err(unusable)?;
        editor.set_helper(Some(Assistant { names, earlier: String::new() }));
        let mut lines = Self { editor, history };
        lines.recall(printer);
        Ok(lines)
    }

    /// Reads the next line of an unfinished text.
    pub(super) fn read(&mut self, prompt: &str, earlier: &str) -> Result<Line> {
        if let Some(assistant) = self.editor.helper_mut() {
            earlier.clone_into(&mut assistant.earlier);
        }
        ending::at_prompt(true);
        let read = if ending::asked() { Err(ReadlineError::Interrupted) } else { self.editor.readline(prompt) };
        ending::at_prompt(false);
        match read {
            Ok(text) => Ok(Line::Text(text)),
            Err(ReadlineError::Interrupted | ReadlineError::Signal(Signal::Interrupt)) => Ok(Line::Cancelled),
            Err(ReadlineError::Eof) => Ok(Line::End),
            Err(error) => Err(unusable(error)),
        }
    }

    /// Adds to the history and at once to its file, so that a killed shell keeps it.
    pub(super) fn remember(&mut self, text: &str, printer: Printer) {
        let added = self.editor.add_history_entry(text);
        let Some(path) = self.history.take() else { return };
        match added.and_then(|_| self.editor.append_history(&path)) {
            Ok(()) => self.history = Some(path),
            Err(error) => warn(printer, "write", &path, &error),
        }
    }

    fn recall(&mut self, printer: Printer) {
        let Some(path) = self.history.take() else { return };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(Err(error)) = folder.map(fs::make_folder) {
            return printer.warn(&format!("the history is not kept: {error}"));
        }
        match self.editor.load_history(&path) {
            Err(error) if !is_absent(&error) => warn(printer, "read", &path, &error),
            _ => self.history = Some(path),
        }
    }
}

fn is_absent(error: &ReadlineError) -> bool {
    matches!(error, ReadlineError::Io(error) if error.kind() == std::io::ErrorKind::NotFound)
}

fn warn(printer: Printer, action: &str, path: &Path, error: &ReadlineError) {
    printer.warn(&format!("the history is not kept: cannot {action} `{}`: {error}", path.display()));
}

fn unusable(error: ReadlineError) -> Error {
    match error {
        ReadlineError::Io(error) => Error::io("read", Path::new("the terminal"))(error),
        error => Error::Usage(format!("cannot read from the terminal: {error}")),
    }
}

/// Completions and checks for the line editor.
struct Assistant {
    names: Names,
    /// The previous lines of the text.
    earlier: String,
}

impl Completer for Assistant {
    type Candidate = String;

    fn complete(&self, line: &str, cursor: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let text = format!("{}{line}", self.earlier);
        let (start, names) = self.names.complete(&text, self.earlier.len() + cursor);
        Ok((start.saturating_sub(self.earlier.len()), names))
    }
}

impl Highlighter for Assistant {
    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _: bool) -> Cow<'b, str> {
        Cow::Owned(format!("\u{1b}[1m{prompt}\u{1b}[0m"))
    }
}

impl Hinter for Assistant {
    type Hint = String;
}

impl Validator for Assistant {}

impl Helper for Assistant {}
