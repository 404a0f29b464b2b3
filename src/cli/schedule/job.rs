//! The job of a scheduler: command, variables and time.

use std::path::{Path, PathBuf};

use super::super::args::Schedule;
use super::super::settings::Settings;
use super::super::time_of_day::TimeOfDay;
use super::absolute;
use crate::agents::AGENTS;
use crate::environment;
use crate::{Error, Result};

/// Variables of llrem that change what a run stores. Others have an option in the command.
const OWN: [&str; 5] =
    [environment::MACHINE, environment::REDACT, environment::CONTENT, environment::JOBS, environment::PROFILE];
/// Variables that move folders. A job without them would read other ones than the person does.
const FOLDERS: [&str; 4] = ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"];
/// A variable that Windows sets for every program.
const GIVEN: &str = "APPDATA";

/// The job of a scheduler.
#[derive(Debug, Clone)]
pub(super) struct Job {
    /// The program.
    pub(super) program: String,
    /// Its arguments.
    arguments: Vec<String>,
    /// Variables that are set here and that a scheduler does not know.
    pub(super) environment: Vec<(String, String)>,
    pub(super) at: TimeOfDay,
    pub(super) uploads: bool,
}

impl Job {
    /// Returns the job that was asked for.
    pub(super) fn of(settings: &Settings, typed: &Schedule) -> Result<Self> {
        let mut arguments = settings.repeated()?;
        arguments.extend(["schedule", "run"].map(str::to_owned));
        if let Some(url) = &typed.upload {
            arguments.extend(["--upload".to_owned(), url.clone()]);
        }
        if let Some(path) = &typed.report {
            arguments.extend(["--report".to_owned(), text_of(&absolute(path)?)?]);
        }
        let job = Self {
            program: text_of(&program()?)?,
            arguments,
            environment: environment(),
            at: typed.at.unwrap_or_default(),
            uploads: typed.upload.is_some(),
        };
        job.refuse_control_characters()?;
        Ok(job)
    }

    /// Returns the arguments.
    pub(super) fn arguments(&self) -> &[String] {
        &self.arguments
    }

    /// Returns the whole command for a scheduler that starts it more often than once a day: it ends at once if there was
    /// a run since the last time that it was due. Only a failure prints something.
    pub(super) fn words_if_due(&self) -> Vec<String> {
        let (program, quiet) = (self.program.clone(), "--quiet".to_owned());
        let due = ["--due".to_owned(), self.at.to_string()];
        [program, quiet].into_iter().chain(self.arguments.iter().cloned()).chain(due).collect()
    }

    /// A line break would begin a new setting in the file of a scheduler.
    fn refuse_control_characters(&self) -> Result<()> {
        let values = self.environment.iter().map(|(_, value)| value);
        let texts = self.arguments.iter().chain(values).chain([&self.program]);
        match texts.into_iter().find(|text| text.chars().any(char::is_control)) {
            Some(text) => Err(Error::Usage(format!("`{}` cannot be in a schedule", crate::shown::visible(text)))),
            None => Ok(()),
        }
    }
}

fn environment() -> Vec<(String, String)> {
    let agents = AGENTS.iter().flat_map(|agent| agent.about().environment.iter().copied());
    let mut names: Vec<&str> = agents.chain(OWN).chain(FOLDERS).filter(|name| *name != GIVEN).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().filter_map(|name| Some((name.to_owned(), environment::value(name)?))).collect()
}

/// Returns the path by which the person calls the program: a package manager may move the file behind it with each
/// version.
fn program() -> Result<PathBuf> {
    let own = std::env::current_exe().map_err(Error::io("find", Path::new("llrem")))?;
    let is_own = |path: &PathBuf| path.is_absolute() && path.canonicalize().ok() == own.canonicalize().ok();
    let folders = std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect::<Vec<_>>());
    let name = own.file_name().unwrap_or_default();
    let called = folders.into_iter().flatten().map(|folder| folder.join(name)).find(is_own);
    Ok(called.unwrap_or(own))
}

fn text_of(path: &Path) -> Result<String> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Error::Usage(format!("`{}` is not UTF-8, so it cannot be in a schedule", path.display())))
}

#[cfg(test)]
pub(super) fn example() -> Job {
    Job {
        program: "/opt/my tools/llrem".to_owned(),
        arguments: ["--lake", "/home/ada/50% \"lake\"", "schedule", "run", "--upload", "s3://b/$x?a=1&b=2"]
            .map(str::to_owned)
            .to_vec(),
        environment: vec![("CODEX_HOME".to_owned(), "/home/ada/a <b> & 'c' $d %h".to_owned())],
        at: "03:05".parse().unwrap_or_default(),
        uploads: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_break_is_refused() {
        let job = Job { arguments: vec!["a\nExecStart=/bin/sh".to_owned()], ..example() };
        assert!(job.refuse_control_characters().is_err());
        assert!(example().refuse_control_characters().is_ok());
    }
}
