//! `llrem schedule`: has the system's own scheduler run `etl` every night.

mod cron;
mod installed;
mod job;
mod launchd;
mod log;
mod night;
mod program;
mod status;
mod system;
mod systemd;
mod windows;

use std::path::{Path, PathBuf};

use super::args::{Schedule, ScheduleAction, System};
use super::holdings::moment_in_words;
use super::output;
use super::settings::{Settings, state_folder, system_clock};
use crate::shown::{in_home, one_line};
use crate::{Error, Result};
use installed::Installed;
use job::Job;
use log::Log;
use system::installed;

/// Runs the command.
pub(super) fn run(settings: &Settings, typed: &Schedule) -> Result<()> {
    refuse_unused(typed)?;
    match typed.action {
        ScheduleAction::Install => install(settings, typed),
        ScheduleAction::Status => status::print(settings, typed.by),
        ScheduleAction::Remove => remove(settings, typed.by),
        ScheduleAction::Print => print(settings, typed),
        ScheduleAction::Run => night::run(settings, typed),
    }
}

/// Refuses options that an action has no use for.
fn refuse_unused(typed: &Schedule) -> Result<()> {
    let sets = matches!(typed.action, ScheduleAction::Install | ScheduleAction::Print);
    let runs = sets || typed.action == ScheduleAction::Run;
    let refused = |name: &str| Err(Error::Usage(format!("`llrem schedule {}` takes no --{name}", typed.action.name())));
    match () {
        () if typed.at.is_some() && !sets => refused("at"),
        () if typed.upload.is_some() && !runs => refused("upload"),
        () if typed.report.is_some() && !runs => refused("report"),
        () if typed.by.is_some() && typed.action == ScheduleAction::Run => refused("by"),
        () if typed.due.is_some() && typed.action != ScheduleAction::Run => refused("due"),
        () => Ok(()),
    }
}

fn install(settings: &Settings, typed: &Schedule) -> Result<()> {
    settings.refuse_demo()?;
    let system = match typed.by {
        Some(system) => system,
        None => System::of_machine()?,
    };
    let job = Job::of(settings, typed)?;
    // Two schedulers would run everything twice.
    for other in installed(None)?.iter().filter(|other| other.system != system) {
        other.system.remove()?;
    }
    system.install(&job, settings.clock.today())?;
    let say = |line: &str| settings.printer.say(line);
    let clock = system_clock();
    let next =
        job.at.next(&clock).map_or_else(String::new, |next| format!("; next: {}", moment_in_words(next, &clock)));
    say(&format!("llrem runs daily at {}, by {}{next}", job.at, system.title()));
    for note in system.notes(&job) {
        say(&note);
    }
    say("see `llrem schedule status`; `llrem schedule run` runs it now");
    Ok(())
}

fn remove(settings: &Settings, by: Option<System>) -> Result<()> {
    let found = installed(by)?;
    for one in &found {
        one.system.remove()?;
        settings.printer.say(&format!("llrem no longer runs by {}", one.system.title()));
    }
    if found.is_empty() { Err(Error::NoSchedule) } else { Ok(()) }
}

fn print(settings: &Settings, typed: &Schedule) -> Result<()> {
    let system = match typed.by {
        Some(system) => system,
        None => System::of_machine()?,
    };
    let job = Job::of(settings, typed)?;
    let files = system.files(&job, settings.clock.today())?;
    let has_several = files.len() > 1;
    let text: Vec<String> = files
        .iter()
        .map(|(path, text)| if has_several { format!("# {}\n{text}", path.display()) } else { text.clone() })
        .collect();
    output::raw(&settings.output, text.join("\n").as_bytes())?;
    for note in system.notes(&job) {
        settings.printer.say(&note);
    }
    Ok(())
}

/// Returns the schedule of this machine, if there is one. A scheduler that cannot be asked counts as one without.
pub(super) fn known() -> Option<Installed> {
    installed(None).ok()?.into_iter().next()
}

/// Returns why the last nightly run failed, if it did.
pub(super) fn last_failure() -> Option<String> {
    let last = log().ok()?.entries().ok()?.pop()?;
    (!last.is_good()).then_some(last.text)
}

/// Returns the log of the nightly runs.
fn log() -> Result<Log> {
    let folder = state_folder();
    folder.map(|folder| Log::new(folder.join("schedule.log"))).ok_or_else(|| {
        Error::Usage("the home folder is unknown, so there is no place for the log; set HOME".to_owned())
    })
}

/// Makes a path absolute, because a scheduler starts elsewhere.
fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(Error::io("read", path))
}

fn shown(path: &Path) -> String {
    one_line(&in_home(&path.to_string_lossy()))
}
