//! Text for people, as it arrives: through a pager on a terminal, or else to stdout or a file.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use super::look::Look;
use super::target::Target;
use super::{OutputSettings, Printer};
use crate::environment::{self, LLREM_PAGER, PAGER};
use crate::interrupt;
use crate::shown::Signs;
use crate::{Error, Result};

/// The pager, if none is named: it ends at once if the text fits on the screen, and leaves it there.
const USUAL: &str = "less";
/// Its options.
const USUAL_OPTIONS: &str = "-FRX";
/// Lines above the place at which a pager opens.
const ABOVE: &str = "-j5";

/// Receives text.
pub struct Reader {
    pager: Option<Pager>,
    target: Target,
    terminal: bool,
}

struct Pager {
    child: Child,
    input: Option<ChildStdin>,
}

impl Reader {
    /// Opens the destination of a text. `is_paged` asks for a pager on a terminal, and `place` is a pattern of the line at
    /// which it opens.
    pub fn open(settings: &OutputSettings, is_paged: bool, place: Option<&str>) -> Result<Self> {
        let terminal = settings.is_on_terminal();
        let pager = if terminal && is_paged { Pager::start(settings.printer, place) } else { None };
        let target = Target::open(settings, false)?;
        Ok(Self { pager, target, terminal })
    }

    /// True if a person reads it as it is written.
    pub fn is_on_terminal(&self) -> bool {
        self.terminal
    }

    /// Returns how text looks there.
    pub fn look(&self, settings: &OutputSettings) -> Look {
        let width = self.terminal.then(super::table::width_of_terminal);
        Look { width, paint: settings.printer.results_paint(), signs: Signs::of_environment() }
    }

    /// True if it opens at a place of its own.
    pub fn finds_places() -> bool {
        std::io::stdout().is_terminal() && command().is_some_and(|words| is_less(&words))
    }

    /// Writes some text, which must be escaped already if it goes to a terminal.
    pub fn write(&mut self, text: &str) -> Result<()> {
        match &mut self.pager {
            Some(pager) => pager.write(text),
            None => self.target.write_drawn(text).map_err(|error| self.target.blame(error)),
        }
    }

    /// Completes the text, and waits until the person has read it.
    pub fn finish(mut self) -> Result<()> {
        if let Some(pager) = self.pager.take() {
            return pager.wait();
        }
        self.target.finish()
    }
}

/// Returns the words of the pager's command, or `None` if there is to be none.
fn command() -> Option<Vec<String>> {
    let named = environment::value(LLREM_PAGER).or_else(|| environment::value(PAGER));
    let words: Vec<String> = named.as_deref().unwrap_or(USUAL).split_whitespace().map(str::to_owned).collect();
    let is_none = words.first().is_none_or(|program| program == "cat");
    (!is_none).then_some(words)
}

fn is_less(words: &[String]) -> bool {
    words.first().and_then(|program| Path::new(program).file_stem()).is_some_and(|name| name == USUAL)
}

impl Pager {
    /// Starts the pager. If that fails, the text goes to the terminal.
    fn start(printer: Printer, place: Option<&str>) -> Option<Self> {
        let mut words = command()?;
        if is_less(&words) {
            if words.len() == 1 && environment::value(environment::LESS).is_none() {
                words.push(USUAL_OPTIONS.to_owned());
            } else {
                words.push("-R".to_owned());
            }
            if let Some(place) = place {
                words.extend([ABOVE.to_owned(), format!("+/{place}")]);
            }
        }
        let (program, options) = words.split_first()?;
        let started = Command::new(program).args(options).stdin(Stdio::piped()).spawn();
        match started {
            Ok(mut child) => {
                // Ctrl-C belongs to the pager now.
                interrupt::go_on();
                let input = child.stdin.take();
                Some(Self { child, input })
            }
            Err(error) => {
                printer.detail(|| format!("cannot start the pager `{program}`: {error}"));
                None
            }
        }
    }

    fn write(&mut self, text: &str) -> Result<()> {
        let Some(input) = &mut self.input else { return Ok(()) };
        // Its end is the reader's wish.
        input.write_all(text.as_bytes()).map_err(Error::Output)
    }

    fn wait(mut self) -> Result<()> {
        drop(self.input.take());
        self.child.wait().map(drop).map_err(Error::Output)
    }
}

impl Drop for Pager {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}
