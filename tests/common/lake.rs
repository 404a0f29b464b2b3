//! Lakes made of homes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use llrem::etl::{self, Options, Silent, Summary};

use super::{Home, Rows};

/// A lake and the home it is made of.
pub struct Built<'h> {
    home: &'h Home,
    pub path: PathBuf,
}

impl<'h> Built<'h> {
    /// A place for a lake; nothing is there yet.
    pub fn new(home: &'h Home, name: &str) -> Self {
        Self { home, path: home.beside(name) }
    }

    /// A lake made in one run.
    pub fn full(home: &'h Home) -> Self {
        let lake = Self::new(home, "full");
        lake.run();
        lake
    }

    /// Extracts what has changed in the home.
    pub fn run(&self) -> Summary {
        self.run_with(|_| {})
    }

    /// Extracts what has changed, once the files' times are old enough to tell whether somebody is writing to them.
    pub fn run_after_a_while(&self) -> Summary {
        std::thread::sleep(std::time::Duration::from_millis(25));
        self.run()
    }

    /// Returns the problems that `llrem verify --read-data` finds.
    pub fn problems(&self) -> Vec<String> {
        llrem::lake::Lake::open(&self.path).unwrap().verify(true).unwrap()
    }

    /// Extracts these sources alone.
    pub fn run_only(&self, sources: &[PathBuf]) -> Summary {
        let named: Vec<_> = sources.iter().map(|path| (None, path.clone())).collect();
        self.run_with(|options| options.sources = named)
    }

    pub fn run_with(&self, change: impl FnOnce(&mut Options)) -> Summary {
        let mut options = Options {
            home: Some(self.home.path().to_owned()),
            jobs: Some(2),
            machine: Some("test".to_owned()),
            ..Options::new(self.path.clone())
        };
        change(&mut options);
        etl::run(&options, &Silent).unwrap()
    }

    /// The rows of `usage`.
    pub fn usage(&self) -> Vec<serde_json::Value> {
        self.rows().values("usage")
    }

    pub fn rows(&self) -> Rows {
        Rows::of(&self.path, self.home.path())
    }

    /// Every data file with the hash of its bytes.
    pub fn files(&self) -> BTreeMap<PathBuf, String> {
        let files = walkdir::WalkDir::new(&self.path).into_iter().map(Result::unwrap);
        let parquet = files.filter(|entry| has_extension(entry.path(), "parquet"));
        parquet
            .map(|entry| {
                let name = entry.path().strip_prefix(&self.path).unwrap().to_owned();
                (name, blake3::hash(&std::fs::read(entry.path()).unwrap()).to_hex().to_string())
            })
            .collect()
    }
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}
