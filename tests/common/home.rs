//! Homes: copies of fixtures in folders of their own.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use llrem::agents::{AGENTS, Found, FoundSource, Places};
use serde_json::Value;
use tempfile::TempDir;

/// Ids of all agents.
pub fn agents() -> impl Iterator<Item = &'static str> {
    AGENTS.iter().map(|agent| agent.about().id)
}

/// The repository, of which the test's crate may be a part.
pub fn root() -> &'static Path {
    let mut folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    folders.find(|folder| folder.join("fixtures").is_dir()).unwrap()
}

/// One fixture: what an agent left on disk, and what must come out.
#[derive(Clone, Debug)]
pub struct Case {
    pub agent: &'static str,
    pub name: String,
    pub folder: PathBuf,
}

impl Case {
    /// Every case of every agent, in order.
    pub fn all() -> Vec<Self> {
        agents().flat_map(Self::of).collect()
    }

    /// The cases of one agent, in order.
    pub fn of(agent: &'static str) -> Vec<Self> {
        let folder = root().join("fixtures").join(agent);
        let mut folders: Vec<PathBuf> = entries(&folder).into_iter().filter(|path| path.is_dir()).collect();
        folders.sort();
        let case = |folder: PathBuf| Self { agent, name: file_name(&folder), folder };
        folders.into_iter().map(case).collect()
    }

    /// The case of that name.
    pub fn named(name: &str) -> Self {
        Self::all().into_iter().find(|case| case.name == name).unwrap_or_else(|| panic!("no case {name}"))
    }

    pub fn expected(&self, file: &str) -> PathBuf {
        self.folder.join("expect").join(file)
    }
}

/// A copy of the home of an agent's case.
pub fn home_of(agent: &'static str, case: &str) -> Home {
    Home::of(Case::of(agent).iter().find(|it| it.name == case).unwrap())
}

/// A home folder that is gone when the test is over.
pub struct Home {
    folder: TempDir,
    path: PathBuf,
}

impl Home {
    /// Lies in memory where it can: hundreds of lakes are written and synced.
    pub fn empty() -> Self {
        let in_memory = Path::new("/dev/shm");
        let folder = if in_memory.is_dir() { TempDir::new_in(in_memory) } else { TempDir::new() }.unwrap();
        let path = folder.path().canonicalize().unwrap().join("home");
        fs::create_dir(&path).unwrap();
        Self { folder, path }
    }

    /// A copy of a case's home.
    pub fn of(case: &Case) -> Self {
        let home = Self::empty();
        copy_tree(&case.folder.join("home"), &home.path, &|_, name| name.to_owned());
        home
    }

    /// One home that holds the sessions of all cases of an agent. Of files that several cases have, it has the first;
    /// Claude Code's project folders, in which equal names are equal sessions, are named after their cases.
    pub fn merged(agent: &'static str) -> Self {
        let home = Self::empty();
        for case in Case::of(agent) {
            copy_tree(&case.folder.join("home"), &home.path, &|folder, name| {
                if agent == "claude-code" && folder.ends_with("projects") {
                    format!("{}{name}", case.name)
                } else {
                    name.to_owned()
                }
            });
        }
        home
    }

    /// Homes that together hold every file of every case: a case goes into the first one that has none of its files.
    pub fn of_all_cases() -> Vec<Self> {
        let mut homes: Vec<Self> = Vec::new();
        for case in Case::all() {
            let from = case.folder.join("home");
            let place = homes.iter().position(|home| files(&from).iter().all(|file| !home.path.join(file).exists()));
            let place = place.unwrap_or_else(|| {
                homes.push(Self::empty());
                homes.len() - 1
            });
            copy_tree(&from, &homes[place].path, &|_, name| name.to_owned());
        }
        homes
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A place beside the home, for a lake.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.path.with_file_name(name)
    }

    /// Has each text source say all its records twice.
    pub fn say_twice(&self) {
        for source in self.sources() {
            if let Some(twice) = fs::read_to_string(&source.path).ok().and_then(|text| said_twice(&text)) {
                write(&source.path, twice.as_bytes());
            }
        }
    }

    /// All sources that agents find in it, in order.
    pub fn sources(&self) -> Vec<FoundSource> {
        let mut found = Found::default();
        for agent in AGENTS {
            agent.discover(&Places::below(self.path.clone()), &mut found);
        }
        assert!(found.problems.is_empty(), "{:?}", found.problems);
        found.sources.sort();
        found.sources
    }
}

/// A document whose lists have each record twice, or lines of which each is there twice.
fn said_twice(text: &str) -> Option<String> {
    if let Ok(mut document) = serde_json::from_str::<Value>(text) {
        repeat_records(&mut document);
        return Some(document.to_string());
    }
    let is_record = |line: &str| serde_json::from_str::<Value>(line).is_ok_and(|record| record.is_object());
    let lines = || text.lines();
    lines().any(is_record).then(|| lines().flat_map(|line| [line, "\n", line, "\n"]).collect())
}

fn repeat_records(value: &mut Value) {
    match value {
        Value::Array(items) => {
            items.iter_mut().for_each(repeat_records);
            if items.iter().all(Value::is_object) {
                *items = items.iter().flat_map(|item| [item.clone(), item.clone()]).collect();
            }
        }
        Value::Object(fields) => fields.values_mut().for_each(repeat_records),
        _ => {}
    }
}

/// Writes a file as an agent would have: last changed when its last record was written.
pub fn write(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
    let moments = memchr::memmem::rfind(bytes, b"\"timestamp\":\"").and_then(|place| {
        let text = std::str::from_utf8(bytes.get(place + 13..place + 37)?).ok()?;
        llrem::time::parse_iso(text)
    });
    let micros = moments.and_then(|moment| u64::try_from(moment).ok()).unwrap_or(1_700_000_000_000_000);
    touch(path, Duration::from_micros(micros));
}

/// Sets when a file was last changed, as time since 1970.
pub fn touch(path: &Path, moment: Duration) {
    File::options().write(true).open(path).unwrap().set_modified(UNIX_EPOCH + moment).unwrap();
}

fn copy_file(from: &Path, to: &Path) {
    write(to, &fs::read(from).unwrap());
}

/// Copies what is not there yet; a script `NAME.sql` becomes the SQLite database `NAME`.
fn copy_tree(from: &Path, to: &Path, rename: &dyn Fn(&Path, &str) -> String) {
    fs::create_dir_all(to).unwrap();
    for path in entries(from) {
        let target = to.join(rename(from, &file_name(&path)));
        if path.is_dir() {
            copy_tree(&path, &target, rename);
        } else if target.extension().is_some_and(|extension| extension == "sql") {
            build_database(&path, &target.with_extension(""));
        } else if !target.exists() {
            copy_file(&path, &target);
        }
    }
}

/// The files that [`copy_tree`] makes of a folder, relative to it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = walkdir::WalkDir::new(folder).into_iter().filter_map(Result::ok);
    let files = entries.filter(|entry| entry.file_type().is_file());
    files
        .map(|file| {
            let name = file.path().strip_prefix(folder).unwrap();
            if name.extension().is_some_and(|extension| extension == "sql") {
                name.with_extension("")
            } else {
                name.into()
            }
        })
        .collect()
}

fn build_database(script: &Path, path: &Path) {
    if path.exists() {
        return;
    }
    let database = rusqlite::Connection::open(path).unwrap();
    database.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    database.execute_batch(&fs::read_to_string(script).unwrap()).unwrap();
    database.close().unwrap();
    touch(path, Duration::from_secs(1_744_300_000));
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(listing) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = listing.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

pub fn file_name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}
