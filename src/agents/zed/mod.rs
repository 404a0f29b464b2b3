//! Zed: the threads of its own agent, in a database. Agents that run inside Zed keep their own files.

mod thread;
mod tools;

use std::path::{Path, PathBuf};

use rusqlite::Row;
use xxhash_rust::xxh3::xxh3_64;

use super::folders::entries;
use super::kit::store::{each_row, text};
use super::{About, Agent, Found, Grain, Places, Records, RestsOn};
use crate::extract::{Reject, Sink};
use crate::source::{Scope, Section, Source, decompress, repair, value_bytes};
use crate::time::parse_iso;

/// The kind of source.
const STORE: &str = "database";

/// Folders of the program's data below the home, on Linux, macOS and Windows.
const DATA: [&str; 3] = [".local/share/zed", "Library/Application Support/Zed", "AppData/Local/Zed"];
/// Folder of the data of Flatpak's programs.
const FLATPAK: &str = ".var/app";
/// The database below the program's data.
const DATABASE: &str = "threads/threads.db";

/// The agent.
pub struct Zed;

static ABOUT: About = About {
    id: "zed",
    title: "Zed",
    paths: &["~/.local/share/zed/threads", "~/Library/Application Support/Zed/threads"],
    environment: &["XDG_DATA_HOME"],
    versions: "2025-07 to 2026",
    rests_on: RestsOn::Source,
    records: Records { tokens: Grain::Session, cost: Grain::Absent, durations: Grain::Absent, ..Records::EXACT },
    parser_version: 2,
    sectioned: &[STORE],
    has_totals: true,
    ..About::NEW
};

impl Agent for Zed {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        let mut data: Vec<PathBuf> = DATA.iter().map(|folder| places.home.join(folder)).collect();
        data.extend(places.environment("XDG_DATA_HOME").map(|folder| PathBuf::from(folder).join("zed")));
        for program in entries(&places.home.join(FLATPAK), found) {
            if program.name().is_some_and(|name| name.starts_with("dev.zed.Zed")) {
                data.push(program.path.join("data/zed"));
            }
        }
        data.sort();
        data.dedup();
        for folder in data {
            found.add_file(folder.join(DATABASE), STORE);
        }
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        path.ends_with(DATABASE).then_some(STORE)
    }

    fn sections(&self, source: &mut Source<'_>) -> Result<Vec<Section>, Reject> {
        let database = source.database()?;
        let mut sections = Vec::new();
        each_row(&database, "threads", &["id", "summary", "updated_at", "created_at", "parent_id"], "", |row| {
            let texts = [0, 1, 2, 3, 4].map(|column| text(row, column));
            let stamp = xxh3_64(format!("{texts:?}").as_bytes());
            let [id, _, updated, created, _] = texts;
            let moment = |text: Option<String>| text.and_then(|text| parse_iso(&text));
            let (began, modified) = (moment(created), moment(updated));
            sections.extend(id.map(|id| Section { id, stamp, bytes: 0, began, modified }));
            Ok(())
        })?;
        let share = source.bytes / (sections.len() as u64).max(1);
        for section in &mut sections {
            section.bytes = share;
        }
        Ok(sections)
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        let database = source.database()?;
        if source.scope == Scope::Common {
            return Ok(());
        }
        let rest = if matches!(source.scope, Scope::Section(_)) { "WHERE id = ?1" } else { "WHERE ?1 = ''" };
        let Some(mut statement) = database.select("threads", &COLUMNS, rest)? else { return Ok(()) };
        let section = match source.scope {
            Scope::Section(id) => id,
            _ => "",
        };
        let mut rows = statement.query([section])?;
        while let Some(row) = rows.next()? {
            take(row, out)?;
        }
        Ok(())
    }
}

/// Columns of a thread, in the order in which they are read.
const COLUMNS: [&str; 9] = [
    "id",
    "summary",
    "updated_at",
    "created_at",
    "parent_id",
    "folder_paths",
    "folder_paths_order",
    "data_type",
    "data",
];

/// Reads a thread: a document, compressed as a rule.
fn take(row: &Row<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    out.line();
    let line = out.report.lines;
    let Some(id) = text(row, 0) else {
        out.problem(line, "a thread without an id");
        return Ok(());
    };
    let data = row.get_ref(8).ok().and_then(value_bytes).unwrap_or_default();
    let is_compressed = text(row, 7).is_some_and(|kind| kind == "zstd");
    let unpacked = if is_compressed { decompress(data) } else { Ok(data.to_vec()) };
    let document = unpacked.ok().and_then(|bytes| serde_json::from_str(&repair(&bytes)).ok());
    let Some(document) = document else {
        out.problem(line, "a thread that cannot be read");
        return Ok(());
    };
    let folders = text(row, 5).unwrap_or_default();
    let order = text(row, 6).unwrap_or_default();
    let first = order.split(',').next().and_then(|place| place.trim().parse::<usize>().ok());
    let folder = folders.lines().nth(first.unwrap_or(0)).or_else(|| folders.lines().next());
    let described = thread::Described {
        title: text(row, 1),
        updated: text(row, 2).and_then(|text| parse_iso(&text)),
        created: text(row, 3).and_then(|text| parse_iso(&text)),
        parent: text(row, 4),
        folder: folder.map(str::to_owned),
    };
    thread::push(&id, described, &document, out)
}
