//! `llrem` alone: recent cost and waste by agent and project; without a lake, the agents found and the first command.

mod figures;
mod no_lake;
mod periods;
mod screen;

use std::path::PathBuf;

use chrono::{Days, NaiveDate};

use super::freshness::{self, Fed};
use super::holdings::{self, Holding};
use super::output::{Format, Output};
use super::settings::Settings;
use crate::lake::{AnyLake, Lake};
use crate::shown::value;
use crate::{Error, Result};
use figures::Figures;
use periods::Span;

/// Days over which waste is named in a sentence.
const LATELY: u64 = 30;

/// The first line if only the demo's lake is there.
const DEMO: &str = "There is no lake of your own yet. These are the invented sessions of llrem\u{a0}demo. To read your own: \
                    llrem\u{a0}etl";

/// Runs the command.
pub(super) fn run(settings: &Settings) -> Result<()> {
    let output = Output::new(&settings.output, Format::Csv)?;
    let mut demo = None;
    let lake = match settings.open_lake() {
        Err(Error::NoLake { .. }) if output.is_table() => {
            demo = settings.demo_instead();
            let Some(folder) = &demo else { return no_lake::print(settings) };
            let printer = settings.printer;
            printer.say_first(&printer.paint().yellow(&printer.wrapped(DEMO)));
            AnyLake::Local(Lake::open(folder)?)
        }
        Err(Error::NoLake { .. }) => {
            settings.printer.say("there is no lake yet: `llrem etl` makes one");
            return output.print(&Figures::default().rows(&[])?);
        }
        opened => opened?,
    };
    let overview = Overview { demo, ..Overview::read(settings, &lake)? };
    if output.is_table() && overview.held.sessions == 0 {
        return no_lake::print_nothing(settings);
    }
    if output.is_table() { overview.print() } else { output.print(&overview.figures.rows(&overview.spans)?) }
}

/// The data of the screen.
struct Overview<'a> {
    settings: &'a Settings,
    lake: &'a AnyLake,
    /// The folder of the demo's lake, if that is shown for want of another one.
    demo: Option<PathBuf>,
    fed: Fed,
    held: Holding,
    spans: Vec<Span>,
    /// The last days.
    lately: Span,
    /// The newest day, if nothing was used in the last days.
    newest: Option<NaiveDate>,
    figures: Figures,
}

impl<'a> Overview<'a> {
    fn read(settings: &'a Settings, lake: &'a AnyLake) -> Result<Self> {
        let today = settings.clock.today();
        let held = holdings::total(&holdings::read(settings, lake)?);
        let lately = Span { name: format!("last {LATELY} days"), first: today - Days::new(LATELY), last: today };
        let newest = held.newest.and_then(|moment| value::day_of(moment, settings.clock.zone));
        let newest = newest.filter(|day| *day < lately.first);
        let spans = match newest {
            Some(newest) => periods::last_used(newest, &figures::days(settings, lake)?, today),
            None => periods::usual(today),
        };
        let since = spans.iter().map(|span| span.first).chain([lately.first]).min().unwrap_or(today);
        let figures = Figures::read(settings, lake, since)?;
        let demo = None;
        Ok(Self {
            settings,
            lake,
            demo,
            fed: freshness::fed(lake, &settings.clock),
            held,
            spans,
            lately,
            newest,
            figures,
        })
    }
}
