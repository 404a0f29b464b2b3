//! A task of the Task Scheduler of Windows.

use std::borrow::Cow;
use std::io::Write;
use std::path::Path;

use chrono::NaiveDate;
use quick_xml::escape::{escape, unescape};

use super::super::args::System;
use super::installed::Installed;
use super::job::Job;
use super::program::{ask, tell};
use crate::{Error, Result};

const NAME: &str = "llrem";

pub(super) fn install(job: &Job, today: NaiveDate) -> Result<()> {
    let failed = |error: std::io::Error| Error::io("write", Path::new("llrem.xml"))(error);
    let mut file = tempfile::Builder::new().prefix("llrem").suffix(".xml").tempfile().map_err(failed)?;
    file.write_all(&utf16(&task(job, today))).and_then(|()| file.flush()).map_err(failed)?;
    let path = file.into_temp_path();
    tell(&["schtasks", "/create", "/tn", NAME, "/xml", &path.to_string_lossy(), "/f"], None)
}

pub(super) fn remove() -> Result<()> {
    tell(&["schtasks", "/delete", "/tn", NAME, "/f"], None)
}

pub(super) fn installed() -> Result<Option<Installed>> {
    let answer = ask(&["schtasks", "/query", "/tn", NAME, "/xml"], None)?.filter(|answer| answer.is_good);
    let Some(answer) = answer else { return Ok(None) };
    let text = answer.text();
    let at = element(&text, "StartBoundary").and_then(|moment| moment.get(11..16)?.parse().ok());
    let [command, arguments] = ["Command", "Arguments"].map(|name| element(&text, name).unwrap_or_default());
    let is_active = element(&text, "Settings").is_none_or(|settings| !settings.contains("<Enabled>false<"));
    Ok(Some(Installed { system: System::Windows, at, command: format!("{command} {arguments}"), is_active }))
}

fn element(xml: &str, name: &str) -> Option<String> {
    let (_, rest) = xml.split_once(&format!("<{name}>"))?;
    let (text, _) = rest.split_once(&format!("</{name}>"))?;
    Some(unescape(text).map_or_else(|_| text.to_owned(), Cow::into_owned))
}

/// The Task Scheduler takes only files in this encoding for what they are, whatever they declare.
fn utf16(text: &str) -> Vec<u8> {
    let mark = std::iter::once(0xfeff);
    mark.chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}

/// Returns the definition of the task.
pub(super) fn task(job: &Job, today: NaiveDate) -> String {
    let arguments: Vec<String> = job.arguments().iter().map(|word| quoted(word)).collect();
    format!(
        r#"<?xml version="1.0"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>Reads the sessions of coding agents into the lake</Description>
  </RegistrationInfo>
  <Triggers>
    <CalendarTrigger>
      <StartBoundary>{today}T{}:00</StartBoundary>
      <Enabled>true</Enabled>
      <ScheduleByDay>
        <DaysInterval>1</DaysInterval>
      </ScheduleByDay>
    </CalendarTrigger>
  </Triggers>
  <Principals>
    <Principal id="Author">
      <LogonType>InteractiveToken</LogonType>
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <StartWhenAvailable>true</StartWhenAvailable>
    <ExecutionTimeLimit>PT4H</ExecutionTimeLimit>
    <Priority>7</Priority>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>{}</Command>
      <Arguments>{}</Arguments>
    </Exec>
  </Actions>
</Task>
"#,
        job.at,
        escape(&job.program),
        escape(arguments.join(" "))
    )
}

/// Quotes a word as programs of Windows read their command line: a backslash counts only before a quote.
fn quoted(word: &str) -> String {
    let is_plain = !word.is_empty() && !word.contains([' ', '\t', '"']);
    if is_plain {
        return word.to_owned();
    }
    let mut text = String::from('"');
    let mut backslashes = 0;
    for letter in word.chars() {
        match letter {
            '\\' => backslashes += 1,
            '"' => {
                text.push_str(&"\\".repeat(backslashes + 1));
                backslashes = 0;
            }
            _ => backslashes = 0,
        }
        text.push(letter);
    }
    text.push_str(&"\\".repeat(backslashes));
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_as_windows_reads_them() {
        for (word, expected) in [
            ("--lake", "--lake"),
            (r"C:\my lake\", r#""C:\my lake\\""#),
            (r#"a "b" c"#, r#""a \"b\" c""#),
            (r#"a\"b"#, r#""a\\\"b""#),
            ("", r#""""#),
        ] {
            assert_eq!(quoted(word), expected, "{word}");
        }
    }

    #[test]
    fn a_task_is_written_with_its_byte_order() {
        assert_eq!(utf16("<é"), [0xff, 0xfe, b'<', 0, 0xe9, 0]);
    }
}
