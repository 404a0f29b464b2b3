//! `llrem sources --unknown`: lists record types and fields that no reader knew. It shows names and counts, and no content, so
//! that a user can attach it to a report.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};

use super::super::runner::Runner;
use super::super::session::text;
use super::super::settings::Settings;
use super::super::versions;
use crate::Result;
use crate::agents;
use crate::lake::AnyLake;
use crate::query::Statement;
use crate::shown::one_line;
use crate::shown::value::plural;
use crate::tables::SourceColumns;

const VERSIONS: &str = "select source_path, agent_version from sessions
where agent_version is not null group by source_path, agent_version";

/// Stands for a name that is none of a field or record type: it may be content.
const ODD: &str = "(a name of other characters)";

/// Longest name that is shown. Characters.
const LONGEST: usize = 100;

/// The agent, the newest version that wrote the source, and the name.
type Key = (String, Option<String>, String);

/// Occurrences of an unknown name.
struct Occurrences {
    count: u64,
    sources: i64,
    /// One of these sources.
    place: String,
}

/// Returns every unknown name, the most frequent of each agent and version first.
pub(super) fn rows(settings: &Settings, lake: &AnyLake) -> Result<RecordBatch> {
    let mut all: Vec<(Key, Occurrences)> = list(settings, lake)?.into_iter().collect();
    all.sort_by(|((agent, version, name), here), ((other_agent, other_version, other_name), there)| {
        let of = (agent, version).cmp(&(other_agent, other_version));
        of.then(there.count.cmp(&here.count)).then_with(|| name.cmp(other_name))
    });
    let texts = |text: fn(&(Key, Occurrences)) -> Option<&str>| -> ArrayRef {
        Arc::new(all.iter().map(text).collect::<StringArray>())
    };
    let numbers = |number: fn(&Occurrences) -> i64| -> ArrayRef {
        Arc::new(all.iter().map(|(_, here)| Some(number(here))).collect::<Int64Array>())
    };
    Ok(RecordBatch::try_from_iter([
        ("agent", texts(|((agent, ..), _)| Some(agent))),
        ("agent_version", texts(|((_, version, _), _)| version.as_deref())),
        ("name", texts(|((_, _, name), _)| Some(name))),
        ("count", numbers(|here| i64::try_from(here.count).unwrap_or(i64::MAX))),
        ("sources", numbers(|here| here.sources)),
        ("place", texts(|(_, here)| Some(&here.place))),
    ])?)
}

/// Says which of these agents are newer than what llrem was tested with, if they write what no reader knows.
pub(in crate::cli) fn of_newer_versions(settings: &Settings, read: &[&str]) -> Result<Vec<String>> {
    if read.is_empty() {
        return Ok(Vec::new());
    }
    let unknown = list(settings, &settings.open_lake()?)?;
    let notes = read.iter().filter_map(|id| {
        let about = agents::by_id(id)?.about();
        let of_agent = || unknown.iter().filter(|((agent, ..), _)| agent == id);
        let (version, tested) = versions::newer(about, of_agent().filter_map(|((_, version, _), _)| version.as_deref()))?;
        let count = of_agent().filter(|((_, written_by, _), _)| written_by.as_deref() == Some(version)).count();
        Some(format!(
            "{id} {} is newer than what llrem was tested with ({tested}): {}, listed by llrem\u{a0}sources\u{a0}--unknown",
            one_line(version),
            plural(count as u64, "unknown name"),
        ))
    });
    Ok(notes.collect())
}

fn list(settings: &Settings, lake: &AnyLake) -> Result<BTreeMap<Key, Occurrences>> {
    let sources = lake.sources()?;
    let columns = SourceColumns::of(&sources);
    let strange: Vec<(usize, &str)> =
        (0..sources.num_rows()).filter_map(|row| Some((row, columns.unknown(row)?))).collect();
    let mut all: BTreeMap<Key, Occurrences> = BTreeMap::new();
    if strange.is_empty() {
        return Ok(all);
    }
    let versions = newest_versions(settings, lake)?;
    for (row, names) in strange {
        let (agent, path) = (columns.agent(row), columns.path(row));
        let counts = names.split(", ").filter_map(|item| item.rsplit_once(": "));
        for (name, count) in counts.filter_map(|(name, count)| Some((name, count.parse::<u64>().ok()?))) {
            let key = (agent.to_owned(), versions.get(path).cloned(), shown(name).to_owned());
            let first = || Occurrences { count: 0, sources: 0, place: place(path) };
            let here = all.entry(key).or_insert_with(first);
            here.count += count;
            here.sources += 1;
        }
    }
    Ok(all)
}

/// Returns the newest version that wrote each source.
fn newest_versions(settings: &Settings, lake: &AnyLake) -> Result<BTreeMap<String, String>> {
    let statement = Statement { sql: VERSIONS.to_owned(), parameters: Vec::new() };
    let rows = Runner::quiet(settings, lake)?.rows(&statement)?;
    let mut newest: BTreeMap<String, String> = BTreeMap::new();
    for row in 0..rows.num_rows() {
        let (Some(path), Some(version)) = (text(&rows, "source_path", row), text(&rows, "agent_version", row)) else {
            continue;
        };
        let known = newest.entry(path.to_owned()).or_insert_with(|| version.to_owned());
        if versions::is_newer(version, known) {
            version.clone_into(known);
        }
    }
    Ok(newest)
}

/// Returns a name, if it looks like one of a field or record type.
fn shown(name: &str) -> &str {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || " _-.:/$@[]()".contains(letter);
    if name.len() <= LONGEST && name.chars().all(is_plain) { name } else { ODD }
}

/// Returns a file's name, after that of its folder if it is an id. The folders above may name a project.
fn place(path: &str) -> String {
    let path = Path::new(path);
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let is_id =
        |name: &String| name.len() >= 8 && name.chars().all(|letter| letter.is_ascii_hexdigit() || letter == '-');
    let file = name(path).unwrap_or_default();
    match path.parent().and_then(name).filter(is_id) {
        Some(folder) => format!("{folder}/{file}"),
        None => file,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_may_be_content_is_not_shown() {
        assert_eq!(shown("record turn_context.new-field"), "record turn_context.new-field");
        for odd in ["/home/alice/Ünternehmen", "password=hunter2", "two\nlines", &"x".repeat(LONGEST + 1)] {
            assert_eq!(shown(odd), ODD);
        }
    }

    #[test]
    fn a_place_names_no_project() {
        assert_eq!(place("/home/alice/.claude/projects/-home-alice-secret/3f2a.jsonl"), "3f2a.jsonl");
        assert_eq!(place("/home/alice/tasks/1712345678901/ui_messages.json"), "1712345678901/ui_messages.json");
    }
}
