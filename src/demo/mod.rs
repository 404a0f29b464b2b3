//! The sessions of `llrem demo`: invented, and written as three agents would have written them. The files in `sessions`
//! say what people ask and agents do; times, tokens and ids come by themselves. The same day gives the same files.

mod claude_code;
mod codex;
mod make;
mod meter;
mod pi;
mod play;
mod script;

use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use chrono::NaiveDate;
use chrono_tz::Tz;

use crate::lake::fs;
use crate::{Error, Result};
pub use make::{is_demo, make};
use script::{AgentName, Script, Scripts, Telling};

/// Name of the demo's machine in its lake.
pub const MACHINE: &str = "laptop";

/// The scripts: usual work, and work of which a part was wasted.
const SCRIPTS: [&str; 2] = [include_str!("sessions/work.toml"), include_str!("sessions/waste.toml")];

/// A file that an agent wrote.
struct Transcript {
    /// Its path, relative to the home folder.
    path: PathBuf,
    text: String,
    /// Time of the last record. Microseconds since 1970.
    ended_at: i64,
}

/// Writes the sessions below a folder, as if it were a home folder on that day.
///
/// # Errors
/// Fails if a file cannot be written.
pub fn write(home: &Path, today: NaiveDate, zone: Tz) -> Result<()> {
    for script in scripts()? {
        for telling in Telling::all(&script, today, zone) {
            store(home, &transcript(&telling))?;
        }
    }
    Ok(())
}

fn scripts() -> Result<Vec<Script>> {
    let damaged = |error: toml::de::Error| Error::Usage(format!("the demo's sessions cannot be read: {error}"));
    let files = SCRIPTS.iter().map(|text| toml::from_str::<Scripts>(text).map(|scripts| scripts.session));
    let scripts: Vec<Vec<Script>> = files.collect::<Result<_, _>>().map_err(damaged)?;
    Ok(scripts.into_iter().flatten().collect())
}

fn transcript(telling: &Telling<'_>) -> Transcript {
    match telling.script.agent {
        AgentName::ClaudeCode => play::play(telling, claude_code::Lines::new(telling)),
        AgentName::Codex => play::play(telling, codex::Lines::new(telling)),
        AgentName::Pi => play::play(telling, pi::Lines::new(telling)),
    }
}

/// Writes a file that was last changed when its last record was written.
fn store(home: &Path, transcript: &Transcript) -> Result<()> {
    let path = home.join(&transcript.path);
    fs::make_folder(path.parent().unwrap_or(home))?;
    let file = fs::write_unsynced(&path, transcript.text.as_bytes())?;
    let ended_at = UNIX_EPOCH + Duration::from_micros(u64::try_from(transcript.ended_at).unwrap_or(0));
    file.set_modified(ended_at).map_err(Error::io("write", &path))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn told(today: &str) -> Vec<Transcript> {
        let today = today.parse().unwrap();
        let scripts = scripts().unwrap();
        let tellings = scripts.iter().flat_map(|script| Telling::all(script, today, Tz::Europe__Berlin));
        tellings.map(|telling| transcript(&telling)).collect()
    }

    #[test]
    fn every_session_has_a_file_of_its_own_and_all_are_a_few_megabytes() {
        let files = told("2026-07-17");
        let paths: BTreeSet<&Path> = files.iter().map(|file| file.path.as_path()).collect();
        assert_eq!(paths.len(), files.len());
        let bytes: usize = files.iter().map(|file| file.text.len()).sum();
        assert!((1_000_000..6_000_000).contains(&bytes), "{bytes} bytes in {} files", files.len());
    }

    #[test]
    fn a_day_always_has_the_same_sessions() {
        let texts = |day| told(day).into_iter().map(|file| file.text).collect::<String>();
        assert_eq!(texts("2026-07-17"), texts("2026-07-17"));
        assert_ne!(texts("2026-07-17"), texts("2026-07-18"));
    }

    #[test]
    fn every_placeholder_is_replaced() {
        for file in told("2026-07-17") {
            for placeholder in ["{a}", "{b}", "{c}", "{n}", "{sha}", "{pr}"] {
                assert!(!file.text.contains(placeholder), "{}: {placeholder}", file.path.display());
            }
        }
    }

    /// Whatever the time of day: the sessions of a day are in its first hour, and no others are later.
    #[test]
    fn nothing_is_in_the_future_after_the_first_hour_of_the_day() {
        let midnight = chrono::DateTime::parse_from_rfc3339("2026-07-17T00:00:00+02:00").unwrap();
        let latest = told("2026-07-17").iter().map(|file| file.ended_at).max().unwrap();
        let minutes = (latest - midnight.timestamp_micros()) / 60_000_000;
        assert!((1..60).contains(&minutes), "{minutes}");
    }
}
