//! Output to stderr: errors, warnings, summaries.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};

use clap::error::ContextKind;

use super::table::terminal_width;
use super::{Bar, Look, Paint};
use crate::Error;
use crate::environment;
use crate::shown::width::{PROSE, wrap};
use crate::shown::{Signs, visible, with_urls};

/// Colours of stderr and stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    colour: bool,
    /// True if results are coloured.
    results: bool,
    choice: clap::ColorChoice,
}

impl Style {
    /// Reads `--color` and the environment, before the arguments are parsed, because errors of parsing are coloured
    /// too.
    pub fn of(arguments: &[OsString]) -> Self {
        let typed = arguments.iter().enumerate().find_map(|(at, argument)| match argument.to_str()? {
            "--color" => arguments.get(at + 1)?.to_str(),
            argument => argument.strip_prefix("--color="),
        });
        let dull = environment::value(environment::NO_COLOR).is_some()
            || environment::value(environment::TERM).is_some_and(|term| term == "dumb");
        let (colour, results, choice) = match typed {
            Some("always") => (true, true, clap::ColorChoice::Always),
            Some("never") => (false, false, clap::ColorChoice::Never),
            _ if dull => (false, false, clap::ColorChoice::Never),
            _ => (io::stderr().is_terminal(), io::stdout().is_terminal(), clap::ColorChoice::Auto),
        };
        Self { colour, results, choice }
    }

    /// Returns the same choice for clap.
    pub fn clap(self) -> clap::ColorChoice {
        self.choice
    }

    fn label(self, name: &str) -> String {
        let code = match name {
            "error" => "1;31",
            "warning" => "1;33",
            _ => "1;36",
        };
        if self.colour { format!("\u{1b}[{code}m{name}:\u{1b}[0m") } else { format!("{name}:") }
    }
}

/// Prints an error and its hint, in two lines.
pub fn report(style: Style, error: &Error, hint: Option<&str>) {
    let mut lines = labelled(style, "error", &error.to_string());
    if let Some(hint) = hint {
        lines.push_str(&labelled(style, "hint", hint));
    }
    write(&lines);
}

/// Prints clap's output: help to stdout, an error in two lines to stderr.
pub fn help(style: Style, error: &clap::Error) {
    if !error.use_stderr() || error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        // A closed reader is no failure.
        let _ = error.print();
        return;
    }
    let text = plain_reason(error).unwrap_or_else(|| error.render().to_string());
    let mut lines = text.lines().map(str::trim);
    let what: Vec<&str> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
    let tip = lines.clone().find_map(|line| line.strip_prefix("tip: "));
    let usage = lines.clone().find_map(|line| line.strip_prefix("Usage: "));
    let hint = match (tip, usage) {
        (Some(tip), _) => tip.to_owned(),
        (None, Some(usage)) => format!("usage: {usage}"),
        (None, None) => "see --help".to_owned(),
    };
    let what = what.join(" ");
    // The nearest one is in the hint.
    let what = tip.and_then(|_| what.split(" [possible values: ").next()).unwrap_or(&what);
    write(&(labelled(style, "error", what.trim_start_matches("error: ")) + &labelled(style, "hint", &hint)));
}

/// Returns a message for a value that should be a number; `None` for any other error.
fn plain_reason(error: &clap::Error) -> Option<String> {
    let source = std::error::Error::source(error)?;
    let context = |kind| error.get(kind).map(ToString::to_string);
    let (option, value) = (context(ContextKind::InvalidArg)?, context(ContextKind::InvalidValue)?);
    let number = match () {
        () if source.is::<std::num::ParseIntError>() && value == "0" => "a whole number above 0",
        () if source.is::<std::num::ParseIntError>() => "a whole number",
        () if source.is::<std::num::ParseFloatError>() => "a number",
        () => return None,
    };
    Some(format!("`{option}` takes {number}, not `{value}`"))
}

fn labelled(style: Style, label: &str, text: &str) -> String {
    let text = text.split('\n').map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    let text = format!("{label}: {}", safe(&text));
    let text = if io::stderr().is_terminal() { wrapped(&text, label.len() + 2) } else { text };
    text.replacen(&format!("{label}:"), &style.label(label), 1) + "\n"
}

/// Removes credentials and, on a terminal, escapes control characters.
fn safe(text: &str) -> String {
    let text = with_urls(text);
    if io::stderr().is_terminal() { visible(&text).into_owned() } else { text.into_owned() }
}

/// Wraps prose for the terminal at stderr. Lines after the first are indented.
fn wrapped(text: &str, hang: usize) -> String {
    let columns = terminal_size_of_stderr().min(PROSE);
    wrap(&visible(text), columns, hang)
}

fn terminal_size_of_stderr() -> usize {
    let reported = terminal_size::terminal_size_of(io::stderr()).map(|(width, _)| width.0);
    terminal_width(reported, environment::value(environment::COLUMNS))
}

/// Writes to stderr. Ignores errors.
fn write(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Prints messages as far as the options want them.
#[derive(Debug, Clone, Copy)]
pub struct Printer {
    quiet: bool,
    verbose: u8,
    progress: bool,
    style: Style,
}

impl Printer {
    /// Creates a printer for the options.
    pub fn new(quiet: bool, verbose: u8, progress: bool, style: Style) -> Self {
        Self { quiet, verbose, progress, style }
    }

    /// Prints one line of a summary.
    pub fn say(&self, line: &str) {
        if !self.quiet {
            write(&format!("{}\n", safe(line)));
        }
    }

    /// Prints the answer to a request, also with `--quiet`.
    pub fn answer(&self, line: &str) {
        Self { quiet: false, ..*self }.say(line);
    }

    /// Prints an error that does not end the program, and its hint.
    pub fn report(&self, error: &Error, hint: Option<&str>) {
        report(self.style, error, hint);
    }

    /// Returns the colours of results.
    pub fn results_paint(&self) -> Paint {
        Paint(self.style.results)
    }

    /// Returns the colours of everything else.
    pub fn paint(&self) -> Paint {
        Paint(self.style.colour)
    }

    /// Prints a warning above everything else.
    pub fn say_first(&self, text: &str) {
        write(&format!("{text}\n\n"));
    }

    /// Returns the look of what is drawn on stderr.
    pub fn look(&self) -> Look {
        let width = io::stderr().is_terminal().then(terminal_size_of_stderr);
        let signs = if width.is_some() { Signs::of_environment() } else { Signs::UNICODE };
        Look { width, paint: self.paint(), signs }
    }

    /// Prints a drawn text, which must be escaped already.
    pub fn say_drawn(&self, text: &str) {
        if !self.quiet {
            write(text);
        }
    }

    /// Wraps a sentence for the terminal at stderr, with what is untrusted escaped.
    pub fn wrapped(&self, text: &str) -> String {
        wrapped(text, 0)
    }

    /// Prints a title above a result, if stderr is a terminal.
    pub fn title(&self, text: &str) {
        if self.is_for_people() {
            write(&format!("{}\n\n", self.paint().bold(&wrapped(text, 0))));
        }
    }

    /// Prints sentences below a result, if stderr is a terminal.
    pub fn notes(&self, notes: &[String]) {
        if self.is_for_people() && !notes.is_empty() {
            let lines = notes.iter().map(|note| self.paint().dim_lines(&wrapped(note, 2)));
            write(&format!("\n{}", lines.collect::<String>()));
        }
    }

    /// True if stderr is a terminal and not quiet.
    pub fn is_for_people(&self) -> bool {
        !self.quiet && io::stderr().is_terminal()
    }

    /// True if output is coloured.
    pub fn colour(&self) -> bool {
        self.style.colour
    }

    /// True if summaries and warnings are off.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Prints a warning.
    pub fn warn(&self, text: &str) {
        if !self.quiet {
            write(&labelled(self.style, "warning", text));
        }
    }

    /// Prints a sentence, wrapped if stderr is a terminal.
    pub fn say_wrapped(&self, text: &str) {
        match self.is_for_people() {
            true => write(&format!("{}\n", wrapped(text, 0))),
            false => self.say(text),
        }
    }

    /// Prints a detail for `--verbose`.
    pub fn detail(&self, line: impl FnOnce() -> String) {
        if self.verbose > 0 {
            self.say(&line());
        }
    }

    /// Returns a progress bar, unless it is off or stderr is no terminal.
    pub fn bar(&self) -> Bar {
        Bar::new(self.progress && !self.quiet && io::stderr().is_terminal(), self.style.colour)
    }
}
