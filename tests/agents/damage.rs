//! Torn, damaged and random sources: rows may be missing, none may be invented, nothing fails.

use std::collections::BTreeSet;
use std::path::Path;

use arrow::array::{RecordBatch, StringArray};
use llrem::agents::{self, FoundSource};
use llrem::etl::Content;
use llrem::extract::{Context, Reject, Sink};
use llrem::pricing::{PriceTable, Pricer};
use llrem::redact::{Mode, Redactor};
use llrem::source::Source;
use proptest::prelude::*;

use crate::common::home::write;
use crate::common::{Case, Home};

/// Places at which each file is cut.
const CUTS: usize = 20;

/// The inputs of extractors.
pub(crate) struct Bench {
    redactor: Redactor,
    pricer: Pricer,
}

/// Ids of the messages, tool calls and responses that came out.
type Ids = [BTreeSet<String>; 3];

impl Bench {
    pub(crate) fn new() -> Self {
        Self { redactor: Redactor::new(Mode::Secrets, [7; 32]), pricer: Pricer::new(PriceTable::bundled()) }
    }

    /// Returns the ids of the rows from the first bytes of a source. Panics if the extractor refuses a text file.
    fn extract(&self, agent: &'static str, source: &FoundSource, bytes: u64) -> Ids {
        let (extracted, ids) = self.try_extract(agent, source, bytes);
        let may_refuse = source.kind == "database" || matches!(extracted, Err(Reject::Encrypted));
        assert!(extracted.is_ok() || may_refuse, "{extracted:?}");
        ids
    }

    /// Returns the extractor's result for the first bytes of a source, and the ids of the rows.
    fn try_extract(&self, agent: &'static str, source: &FoundSource, bytes: u64) -> (Result<(), Reject>, Ids) {
        let zone = chrono_tz::Tz::UTC;
        let context = Context { agent, redactor: &self.redactor, pricer: &self.pricer, content: Content::Full, zone };
        let mut sink = Sink::collect(&context);
        let extracted = agents::by_id(agent)
            .unwrap()
            .extract(&mut Source::new(&source.path, source.kind, bytes, &|_| {}), &mut sink);
        let mut ids = Ids::default();
        for session in &mut sink.sessions {
            let columns = ["message_id", "call_id", "response_id"];
            for ((ids, column), chunk) in ids.iter_mut().zip(columns).zip(session.finish().unwrap()) {
                ids.extend(texts(&chunk.batch, column));
            }
        }
        (extracted, ids)
    }
}

fn texts(batch: &RecordBatch, column: &str) -> Vec<String> {
    let texts = batch.column_by_name(column).unwrap().as_any().downcast_ref::<StringArray>().unwrap();
    texts.iter().flatten().map(str::to_owned).collect()
}

/// Every text source of every fixture, each in a home of its own.
fn texts_of_all() -> Vec<(Case, Home, FoundSource)> {
    sources_of_all(|path| !is_database(path))
}

/// The wanted sources of every fixture, each in a home of its own.
fn sources_of_all(is_wanted: impl Fn(&Path) -> bool) -> Vec<(Case, Home, FoundSource)> {
    let mut files = Vec::new();
    for case in Case::all() {
        let count = Home::of(&case).sources().len();
        for place in 0..count {
            let home = Home::of(&case);
            let source = home.sources().swap_remove(place);
            if is_wanted(&source.path) {
                files.push((case.clone(), home, source));
            }
        }
    }
    files
}

/// Whatever its agent calls it.
fn is_database(path: &Path) -> bool {
    std::fs::read(path).unwrap().starts_with(b"SQLite format 3\0")
}

#[test]
fn a_source_cut_anywhere_gives_no_row_that_the_whole_does_not() {
    let bench = Bench::new();
    for (case, _home, source) in texts_of_all() {
        let bytes = std::fs::metadata(&source.path).unwrap().len();
        let whole = bench.extract(case.agent, &source, bytes);
        for cut in 0..CUTS as u64 {
            // An odd multiplier spreads the cuts over the file, and moves them within lines.
            let cut = bytes * cut / CUTS as u64 + cut * 7 % (bytes / CUTS as u64 + 1);
            for (part, whole) in bench.extract(case.agent, &source, cut).iter().zip(&whole) {
                assert!(part.is_subset(whole), "{} {} cut at {cut}: {part:?}", case.name, source.path.display());
            }
        }
    }
}

/// Properties of random cases.
mod random {
    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(256)) })]

        #[test]
        fn any_cut_gives_no_row_that_the_whole_does_not(pick in any::<prop::sample::Index>(), cut in any::<prop::sample::Index>()) {
            FILES.with(|(bench, files)| {
                let (case, _, source) = pick.get(files);
                let bytes = std::fs::metadata(&source.path).unwrap().len();
                let whole = bench.extract(case.agent, source, bytes);
                let part = bench.extract(case.agent, source, cut.index(bytes as usize + 1) as u64);
                for (part, whole) in part.iter().zip(&whole) {
                    prop_assert!(part.is_subset(whole), "{}: {:?}", case.name, part);
                }
                Ok(())
            })?;
        }

        #[test]
        fn mutated_sources_never_fail(
            pick in any::<prop::sample::Index>(),
            changes in prop::collection::vec((any::<prop::sample::Index>(), change()), 1..12),
        ) {
            FILES.with(|(bench, files)| {
                let (case, home, source) = pick.get(files);
                let mut bytes = std::fs::read(&source.path).unwrap();
                for (place, change) in &changes {
                    change.apply(&mut bytes, place);
                }
                let path = beside(home, &source.path);
                write(&path, &bytes);
                bench.extract(case.agent, &FoundSource { path, kind: source.kind }, bytes.len() as u64);
            });
        }

        #[test]
        fn random_sources_never_fail(pick in any::<prop::sample::Index>(), bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
            FILES.with(|(bench, files)| {
                let (case, home, source) = pick.get(files);
                let path = beside(home, &source.path);
                write(&path, &bytes);
                bench.extract(case.agent, &FoundSource { path, kind: source.kind }, bytes.len() as u64);
            });
        }

        #[test]
        fn damaged_databases_never_panic(
            pick in any::<prop::sample::Index>(),
            cut in prop::option::weighted(0.2, any::<prop::sample::Index>()),
            places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        ) {
            DATABASES.with(|(bench, databases)| {
                let (case, home, source) = pick.get(databases);
                let mut bytes = std::fs::read(&source.path).unwrap();
                for (place, byte) in &places {
                    let at = place.index(bytes.len());
                    bytes[at] = *byte;
                }
                bytes.truncate(cut.map_or(bytes.len(), |cut| cut.index(bytes.len())));
                let path = beside(home, &source.path);
                write(&path, &bytes);
                let _ = bench.try_extract(case.agent, &FoundSource { path, kind: source.kind }, bytes.len() as u64);
            });
        }
    }
}

thread_local! {
    static FILES: (Bench, Vec<(Case, Home, FoundSource)>) = (Bench::new(), texts_of_all());
    static DATABASES: (Bench, Vec<(Case, Home, FoundSource)>) = (Bench::new(), sources_of_all(is_database));
}

/// A few by default; `PROPTEST_CASES` may ask for more.
pub(crate) fn cases(default: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(default)
}

fn beside(home: &Home, path: &Path) -> std::path::PathBuf {
    home.beside("mutated").join(path.strip_prefix(home.path()).unwrap())
}

/// One way in which bytes go wrong.
#[derive(Clone, Debug)]
enum Change {
    Set(u8),
    Insert(Vec<u8>),
    Remove(usize),
    Repeat(usize),
}

fn change() -> impl Strategy<Value = Change> {
    let pieces: Vec<Vec<u8>> = [
        "\"",
        "{",
        "}",
        "[",
        "null",
        "\n",
        "\\",
        "\\ud800",
        "1e999",
        "-1",
        "\0",
        "\"type\":\"user\"",
        ",",
        "{}",
        "\u{feff}",
    ]
    .iter()
    .map(|piece| piece.as_bytes().to_vec())
    .collect();
    prop_oneof![
        any::<u8>().prop_map(Change::Set),
        prop::sample::select(pieces).prop_map(Change::Insert),
        (1_usize..200).prop_map(Change::Remove),
        (1_usize..400).prop_map(Change::Repeat),
    ]
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>, place: &prop::sample::Index) {
        if bytes.is_empty() {
            return;
        }
        let at = place.index(bytes.len());
        match self {
            Self::Set(byte) => bytes[at] = *byte,
            Self::Insert(piece) => drop(bytes.splice(at..at, piece.iter().copied())),
            Self::Remove(length) => drop(bytes.drain(at..bytes.len().min(at + length))),
            Self::Repeat(length) => {
                let piece = bytes[at..bytes.len().min(at + length)].to_vec();
                drop(bytes.splice(at..at, piece));
            }
        }
    }
}
