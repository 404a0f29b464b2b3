//! An agent of launchd, for one user of macOS. launchd makes up for what was missed during sleep, not while the machine
//! was off. So the job also starts at each login, and ends at once unless it is due.

use std::borrow::Cow;
use std::path::PathBuf;

use quick_xml::escape::{escape, unescape};

use super::super::args::System;
use super::installed::Installed;
use super::job::Job;
use super::program::{ask, tell};
use crate::lake::fs;
use crate::{Error, Result};

const LABEL: &str = "llrem";

/// Returns the file of the agent.
pub(super) fn path() -> Result<PathBuf> {
    let home = etcetera::home_dir().map_err(|_| Error::Usage("the home folder is unknown; set HOME".to_owned()))?;
    Ok(home.join("Library").join("LaunchAgents").join(format!("{LABEL}.plist")))
}

pub(super) fn install(job: &Job) -> Result<()> {
    let path = path()?;
    if let Some(folder) = path.parent() {
        fs::make_folder(folder)?;
    }
    fs::write(&path, plist(job).as_bytes())?;
    // An agent that is loaded already has to be unloaded first. If there is none, that fails, as it should.
    let _ = ask(&["launchctl", "bootout", &target()], None)?;
    tell(&["launchctl", "bootstrap", &domain(), &path.to_string_lossy()], None)
}

pub(super) fn remove() -> Result<()> {
    let _ = ask(&["launchctl", "bootout", &target()], None)?;
    fs::remove(&path()?)
}

pub(super) fn installed() -> Result<Option<Installed>> {
    let Some(bytes) = fs::read(&path()?)? else { return Ok(None) };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let words = words(&text);
    let at = words.iter().skip_while(|word| *word != "--due").nth(1).and_then(|time| time.parse().ok());
    let is_active = ask(&["launchctl", "print", &target()], None)?.is_some_and(|answer| answer.is_good);
    Ok(Some(Installed { system: System::Launchd, at, command: words.join(" "), is_active }))
}

/// Returns the words of the command.
fn words(plist: &str) -> Vec<String> {
    let array = plist.split_once("<array>").and_then(|(_, rest)| rest.split_once("</array>")).map_or("", |(it, _)| it);
    let texts = array.split("<string>").skip(1).filter_map(|rest| Some(rest.split_once("</string>")?.0));
    texts.map(|text| unescape(text).map_or_else(|_| text.to_owned(), Cow::into_owned)).collect()
}

fn domain() -> String {
    #[cfg(unix)]
    let user = rustix::process::getuid().as_raw();
    #[cfg(not(unix))]
    let user = 0;
    format!("gui/{user}")
}

fn target() -> String {
    format!("{}/{LABEL}", domain())
}

/// Returns the agent's file.
pub(super) fn plist(job: &Job) -> String {
    let words = job.words_if_due();
    let element = |word: &String| format!("    <string>{}</string>\n", escape(word));
    let words: String = words.iter().map(element).collect();
    let variables = job
        .environment
        .iter()
        .map(|(name, value)| format!("    <key>{}</key>\n    <string>{}</string>\n", escape(name), escape(value)));
    let variables: String = variables.collect();
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>{LABEL}</string>
  <key>ProgramArguments</key>
  <array>
{words}  </array>
  <key>EnvironmentVariables</key>
  <dict>
{variables}  </dict>
  <key>StartCalendarInterval</key>
  <dict>
    <key>Hour</key>
    <integer>{}</integer>
    <key>Minute</key>
    <integer>{}</integer>
  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>ProcessType</key>
  <string>Background</string>
  <key>LowPriorityIO</key>
  <true/>
  <key>Umask</key>
  <integer>63</integer>
</dict>
</plist>
"#,
        job.at.hour(),
        job.at.minute()
    )
}

#[cfg(test)]
mod tests {
    use super::super::job::example;
    use super::*;

    #[test]
    fn the_words_of_the_command_can_be_read_back() {
        let job = example();
        assert_eq!(words(&plist(&job)), job.words_if_due());
    }
}
