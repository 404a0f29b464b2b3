//! Timers of systemd, for one user.

use std::path::{Path, PathBuf};

use super::super::args::System;
use super::installed::Installed;
use super::job::Job;
use super::program::{ask, tell};
use crate::lake::fs;
use crate::{Error, Result};

const SERVICE: &str = "llrem.service";
const TIMER: &str = "llrem.timer";
/// Start of the line with the time.
const AT: &str = "OnCalendar=*-*-* ";
const COMMAND: &str = "ExecStart=";

/// True if the user has an instance of systemd that can be asked.
pub(super) fn is_here() -> bool {
    let answer = ask(&["systemctl", "--user", "show-environment"], None);
    answer.ok().flatten().is_some_and(|answer| answer.is_good)
}

/// Returns the units.
pub(super) fn files(job: &Job) -> Result<Vec<(PathBuf, String)>> {
    let folder = folder()?;
    Ok(vec![(folder.join(SERVICE), service(job)), (folder.join(TIMER), timer(job))])
}

/// Writes the units and starts the timer.
pub(super) fn install(job: &Job) -> Result<()> {
    fs::make_folder(&folder()?)?;
    for (path, text) in files(job)? {
        fs::write(&path, text.as_bytes())?;
    }
    tell(&["systemctl", "--user", "daemon-reload"], None)?;
    tell(&["systemctl", "--user", "enable", TIMER], None)?;
    // A timer that runs already does not read its new time otherwise.
    tell(&["systemctl", "--user", "restart", TIMER], None)
}

/// Stops the timer and removes the units.
pub(super) fn remove() -> Result<()> {
    // A system that cannot be asked has nothing to stop.
    if is_here() {
        tell(&["systemctl", "--user", "disable", "--now", TIMER], None)?;
    }
    let folder = folder()?;
    let link = folder.join("timers.target.wants").join(TIMER);
    [link, folder.join(TIMER), folder.join(SERVICE)].iter().try_for_each(|path| fs::remove(path))?;
    if is_here() { tell(&["systemctl", "--user", "daemon-reload"], None) } else { Ok(()) }
}

pub(super) fn installed() -> Result<Option<Installed>> {
    let Ok(folder) = folder() else { return Ok(None) };
    let read =
        |path: &Path| fs::read(path).map(|bytes| bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()));
    let Some(timer) = read(&folder.join(TIMER))? else { return Ok(None) };
    let service = read(&folder.join(SERVICE))?.unwrap_or_default();
    let at = value(&timer, AT).and_then(|time| time.strip_suffix(":00")).and_then(|time| time.parse().ok());
    let command = value(&service, COMMAND).unwrap_or_default().to_owned();
    let answer = ask(&["systemctl", "--user", "is-active", TIMER], None)?;
    let is_active = answer.is_some_and(|answer| answer.text().trim() == "active");
    Ok(Some(Installed { system: System::Systemd, at, command, is_active }))
}

fn value<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim)
}

fn folder() -> Result<PathBuf> {
    use etcetera::BaseStrategy;
    let strategy = etcetera::base_strategy::Xdg::new();
    let strategy = strategy.map_err(|_| Error::Usage("the home folder is unknown; set HOME".to_owned()))?;
    Ok(strategy.config_dir().join("systemd").join("user"))
}

fn service(job: &Job) -> String {
    let words = [&job.program].into_iter().chain(job.arguments()).map(|word| quoted(word, true));
    let variables = job.environment.iter();
    let variables =
        variables.map(|(name, value)| format!("Environment={}\n", quoted(&format!("{name}={value}"), false)));
    format!(
        "[Unit]\nDescription=Read the sessions of coding agents into the lake\n\n\
         [Service]\nType=oneshot\n{COMMAND}{}\n{}\
         Nice=10\nIOSchedulingClass=idle\nUMask=0077\nNoNewPrivileges=true\n",
        words.collect::<Vec<_>>().join(" "),
        variables.collect::<String>()
    )
}

fn timer(job: &Job) -> String {
    format!(
        "[Unit]\nDescription=Read the sessions of coding agents every night\n\n\
         [Timer]\n{AT}{}:00\nPersistent=true\n\n\
         [Install]\nWantedBy=timers.target\n",
        job.at
    )
}

/// Quotes a word. `%` begins a specifier everywhere, `$` a variable in commands only.
fn quoted(word: &str, is_in_command: bool) -> String {
    let word = word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    let word = if is_in_command { word.replace('$', "$$") } else { word };
    format!("\"{word}\"")
}

#[cfg(test)]
mod tests {
    use super::super::job::example;
    use super::*;

    #[test]
    fn units_say_what_runs_and_when() {
        insta::assert_snapshot!(service(&example()), @r#"
        [Unit]
        Description=Read the sessions of coding agents into the lake

        [Service]
        Type=oneshot
        ExecStart="/opt/my tools/llrem" "--lake" "/home/ada/50%% \"lake\"" "schedule" "run" "--upload" "s3://b/$$x?a=1&b=2"
        Environment="CODEX_HOME=/home/ada/a <b> & 'c' $d %%h"
        Nice=10
        IOSchedulingClass=idle
        UMask=0077
        NoNewPrivileges=true
        "#);
        insta::assert_snapshot!(timer(&example()), @r"
        [Unit]
        Description=Read the sessions of coding agents every night

        [Timer]
        OnCalendar=*-*-* 03:05:00
        Persistent=true

        [Install]
        WantedBy=timers.target
        ");
        let timer = timer(&example());
        assert_eq!(value(&timer, AT), Some("03:05:00"));
    }
}
