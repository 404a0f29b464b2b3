//! Homes: copies of fixtures in folders of their own.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use llrem::agents::{AGENTS, Found, FoundSource, Places};
use tempfile::TempDir;

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
        AGENTS.iter().flat_map(|agent| Self::of(agent.about().id)).collect()
    }

    /// The cases of one agent, in order.
    pub fn of(agent: &'static str) -> Vec<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(agent);
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
        copy_tree(&case.folder.join("home"), &home.path, &|name| name.to_owned());
        build_database(case, &home.path);
        home
    }

    /// One home that holds the sessions of many cases, each in project folders of its own.
    pub fn merged(cases: &[Case]) -> Self {
        let home = Self::empty();
        for case in cases {
            for root in [".claude", ".config/claude"] {
                let projects = format!("{root}/projects");
                for project in entries(&case.folder.join("home").join(&projects)) {
                    let name = format!("{}{}", case.name, file_name(&project));
                    copy_tree(&project, &home.path.join(&projects).join(name), &|name| name.to_owned());
                }
            }
            let history = case.folder.join("home/.claude/history.jsonl");
            if history.is_file() {
                copy_file(&history, &home.path.join(".claude/history.jsonl"));
            }
            if !home.path.join(".claude/__store.db").exists() {
                build_database(case, &home.path);
            }
        }
        home
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A place beside the home, for a lake.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.path.with_file_name(name)
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

/// Writes a file as an agent would have: last changed when its last record was written.
pub fn write(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
    let moments = memchr::memmem::rfind(bytes, b"\"timestamp\":\"").and_then(|place| {
        let text = std::str::from_utf8(bytes.get(place + 13..place + 37)?).ok()?;
        llrem::time::parse_iso(text)
    });
    let micros = moments.and_then(|moment| u64::try_from(moment).ok()).unwrap_or(1_700_000_000_000_000);
    File::options().write(true).open(path).unwrap().set_modified(UNIX_EPOCH + Duration::from_micros(micros)).unwrap();
}

fn copy_file(from: &Path, to: &Path) {
    write(to, &fs::read(from).unwrap());
}

fn copy_tree(from: &Path, to: &Path, rename: &dyn Fn(&str) -> String) {
    fs::create_dir_all(to).unwrap();
    for path in entries(from) {
        let target = to.join(rename(&file_name(&path)));
        if path.is_dir() { copy_tree(&path, &target, rename) } else { copy_file(&path, &target) }
    }
}

fn build_database(case: &Case, home: &Path) {
    let Ok(script) = fs::read_to_string(case.folder.join("build.sql")) else { return };
    let path = home.join(".claude/__store.db");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let database = rusqlite::Connection::open(&path).unwrap();
    database.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    database.execute_batch(&script).unwrap();
    database.close().unwrap();
    let modified = UNIX_EPOCH + Duration::from_secs(1_744_300_000);
    File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
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
