//! The form of the scripts, and when each session was.

use chrono::{DateTime, Datelike, Days, NaiveDate, NaiveTime, Utc, Weekday};
use chrono_tz::Tz;
use serde::Deserialize;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::time::in_zone;

/// A file of scripts.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scripts {
    pub(super) session: Vec<Script>,
}

/// The agents of the demo.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case")]
pub(super) enum AgentName {
    ClaudeCode,
    Codex,
    Pi,
}

/// A session, which may have occurred on several days.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Script {
    /// Its name, which decides its ids.
    pub(super) name: String,
    pub(super) agent: AgentName,
    /// Folder below the home of `ada`.
    pub(super) project: String,
    #[serde(default = "main")]
    branch: String,
    #[serde(default)]
    pub(super) model: Option<String>,
    /// Ages of its runs. It runs once for each. Days.
    days: Vec<u64>,
    /// Local time of its start: `09:40`.
    at: String,
    /// Words for `{a}`, `{b}` and `{c}`, for each of the days.
    #[serde(default)]
    words: Vec<Vec<String>>,
    /// Tokens that the first request carries.
    #[serde(default = "usual_context")]
    pub(super) context: i64,
    /// The session whose subagent this is.
    #[serde(default)]
    pub(super) parent: Option<String>,
    /// The program that started the agent.
    #[serde(default)]
    pub(super) entrypoint: Option<String>,
    pub(super) steps: Vec<Step>,
}

/// A step: a prompt, a reply, a call with its result, or an event. A reply with a call is one response.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Step {
    /// Seconds since the previous step.
    pub(super) after: Option<f64>,
    /// Repeats the step, so many times in all. `{n}` in its texts is the number, from 1.
    pub(super) times: Option<usize>,
    /// The person writes.
    pub(super) prompt: Option<String>,
    /// The agent writes.
    pub(super) reply: Option<String>,
    /// The agent runs a command.
    pub(super) run: Option<String>,
    /// The agent reads a file of the project.
    pub(super) read: Option<String>,
    /// The agent replaces `old` by `new` in a file of the project.
    pub(super) edit: Option<String>,
    pub(super) old: String,
    pub(super) new: String,
    /// The agent writes a file of the project, with the content `new`.
    pub(super) write: Option<String>,
    /// The agent searches the project for a pattern.
    pub(super) search: Option<String>,
    /// The agent looks at a page in a browser.
    pub(super) look: Option<String>,
    /// The agent starts the subagent of that name, with `new` as its prompt.
    pub(super) task: Option<String>,
    /// Result of the call.
    pub(super) ok: Option<String>,
    /// The call fails with this result.
    pub(super) error: Option<String>,
    /// Lines of a file or log that follow the result's text.
    pub(super) lines: usize,
    /// The person declines the call.
    pub(super) rejected: bool,
    /// The call never gets a result.
    pub(super) pending: bool,
    /// Seconds from the call to its result.
    pub(super) took: Option<f64>,
    /// Model of the response.
    pub(super) model: Option<String>,
    /// Tokens of the response, if they are not those of its texts and some thinking.
    pub(super) output: Option<i64>,
    /// The provider has lost its cache.
    pub(super) cold: bool,
    /// The context is compacted.
    pub(super) compact: bool,
    /// The person stops the agent.
    pub(super) interrupt: bool,
    /// The person goes back to before the n-th prompt.
    pub(super) rewind: Option<usize>,
    /// The request fails with this text.
    pub(super) failure: Option<String>,
}

fn main() -> String {
    "main".to_owned()
}

const fn usual_context() -> i64 {
    27_500
}

/// One occurrence of a session.
pub(super) struct Telling<'s> {
    pub(super) script: &'s Script,
    /// Its number among those of its script.
    number: usize,
    pub(super) starts_at: DateTime<Utc>,
    pub(super) id: String,
}

impl<'s> Telling<'s> {
    /// Returns all occurrences of a session.
    pub(super) fn all(script: &'s Script, today: NaiveDate, zone: Tz) -> impl Iterator<Item = Self> {
        let time = NaiveTime::parse_from_str(&script.at, "%H:%M").unwrap_or_default();
        script.days.iter().enumerate().filter_map(move |(number, back)| {
            let day = working_day(today.checked_sub_days(Days::new(*back))?, *back);
            let starts_at = in_zone(day.and_time(time), zone)?;
            Some(Self { script, number, starts_at, id: id_of(&script.name, number) })
        })
    }

    /// Returns the id of the session whose subagent it is.
    pub(super) fn parent(&self) -> Option<String> {
        self.script.parent.as_ref().map(|name| id_of(name, self.number))
    }

    /// Returns the id of a subagent that it starts.
    pub(super) fn subagent(&self, name: &str) -> String {
        short_id(&id_of(name, self.number))
    }

    /// Returns the branch on which it was.
    pub(super) fn branch(&self) -> String {
        self.fill(&self.script.branch, 1)
    }

    /// Returns the folder of the project.
    pub(super) fn cwd(&self) -> String {
        format!("/home/ada/{}", self.script.project)
    }

    /// Returns a text with its placeholders replaced.
    pub(super) fn fill(&self, text: &str, round: usize) -> String {
        if !text.contains('{') {
            return text.to_owned();
        }
        let hash = xxh3_64(self.id.as_bytes());
        let words = self.script.words.get(self.number).map_or(&[][..], Vec::as_slice);
        let names = ["{a}", "{b}", "{c}"].into_iter().zip(words.iter().map(String::as_str));
        let text = names.fold(text.to_owned(), |text, (name, word)| text.replace(name, word));
        text.replace("{n}", &round.to_string())
            .replace("{sha}", &short_id(&format!("{hash:016x}")))
            .replace("{pr}", &(100 + hash % 400).to_string())
    }

    /// Returns a number below `most` that is always the same for this place of the session.
    pub(super) fn chance(&self, place: usize, most: u64) -> u64 {
        xxh3_64(format!("{} {place}", self.id).as_bytes()) % most
    }
}

/// Puts work of a weekend on the Friday before, unless it is that of the last days, which should not be empty.
fn working_day(day: NaiveDate, back: u64) -> NaiveDate {
    let weekend = match day.weekday() {
        _ if back <= 7 => 0,
        Weekday::Sat => 1,
        Weekday::Sun => 2,
        _ => 0,
    };
    day.checked_sub_days(Days::new(weekend)).unwrap_or(day)
}

/// The session that the README shows.
const SHOWN: (&str, &str) = ("header", "53ea1606-7c1f-4b57-9d0e-2f6f0c1d8a44");

fn id_of(name: &str, number: usize) -> String {
    match (SHOWN, number) {
        ((shown, id), 0) if shown == name => id.to_owned(),
        _ => uuid(&format!("{name} {number}")),
    }
}

/// Returns an id in the form of a random one that is always the same for a name.
pub(super) fn uuid(name: &str) -> String {
    uuid::Builder::from_random_bytes(xxh3_128(name.as_bytes()).to_be_bytes()).into_uuid().to_string()
}

/// Returns the first digits of an id.
pub(super) fn short_id(id: &str) -> String {
    id.chars().take(8).collect()
}
