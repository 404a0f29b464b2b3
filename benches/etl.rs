//! Measures how fast sources become rows: parsing, extraction, writing, a whole run, and a run after one session grew.
//!
//! `LLREM_BENCH_BYTES` sets the size of the corpus (64 MB), so that the same benches run on gigabytes.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "what fails here ends the bench; files are its own")]

mod corpus;

use std::hint::black_box;
use std::path::{Path, PathBuf};

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use llrem::agents::AGENTS;
use llrem::etl::{self, Content, Options, Silent};
use llrem::extract::{Context, Sink};
use llrem::lake::{PartWriter, Syncer};
use llrem::pricing::{PriceTable, Pricer};
use llrem::redact::{Mode, Redactor};
use llrem::source::Source;
use tempfile::TempDir;
use walkdir::WalkDir;

fn corpus_bytes() -> u64 {
    std::env::var("LLREM_BENCH_BYTES").ok().and_then(|bytes| bytes.parse().ok()).unwrap_or(64 << 20)
}

/// A home with a realistic corpus, and its transcripts.
fn home(bytes: u64, profile: corpus::Profile) -> (TempDir, Vec<PathBuf>) {
    let home = tempfile::tempdir().unwrap();
    corpus::generate(home.path(), &corpus::Params { bytes, profile, ..corpus::Params::default() }).unwrap();
    let files = WalkDir::new(home.path()).sort_by_file_name().into_iter().map(|entry| entry.unwrap().into_path());
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl")).collect();
    (home, files)
}

fn total(files: &[PathBuf]) -> u64 {
    files.iter().map(|path| path.metadata().unwrap().len()).sum()
}

fn options(home: &Path, lake: &Path) -> Options {
    Options { home: Some(home.to_owned()), machine: Some("bench".to_owned()), ..Options::new(lake.to_owned()) }
}

fn parse(criterion: &mut Criterion) {
    let (_home, files) = home(corpus_bytes().min(64 << 20), corpus::Profile::Realistic);
    let mut group = criterion.benchmark_group("parse");
    group.throughput(Throughput::Bytes(total(&files))).sample_size(10);
    group.bench_function("lines", |bencher| {
        bencher.iter(|| {
            for file in &files {
                let mut source = Source::new(file, "transcript", u64::MAX, &|_| {});
                let mut lines = source.lines().unwrap();
                while let Some(line) = lines.next_line() {
                    black_box(line.bytes);
                }
            }
        });
    });
    group.finish();
}

fn extract(criterion: &mut Criterion) {
    let (_home, files) = home(corpus_bytes().min(64 << 20), corpus::Profile::Realistic);
    let pricer = Pricer::new(PriceTable::bundled());
    let mut group = criterion.benchmark_group("extract");
    group.throughput(Throughput::Bytes(total(&files))).sample_size(10);
    for (name, mode) in [("claude-code", Mode::Secrets), ("claude-code, redact none", Mode::None)] {
        let redactor = Redactor::new(mode, [7; 32]);
        let context = Context {
            agent: "claude-code",
            redactor: &redactor,
            pricer: &pricer,
            content: Content::Full,
            zone: chrono_tz::Tz::UTC,
        };
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                for file in &files {
                    black_box(read(file, &context));
                }
            });
        });
    }
    group.finish();
}

/// Rows of a transcript: messages, tool calls and usage of each session.
fn read(file: &Path, context: &Context<'_>) -> Vec<[arrow::array::RecordBatch; 3]> {
    let agent = AGENTS.iter().find(|agent| agent.about().id == context.agent).unwrap();
    let kind = agent.claims(file).unwrap();
    let mut sink = Sink::collect(context);
    let mut source = Source::new(file, kind, u64::MAX, &|_| {});
    agent.extract(&mut source, &mut sink).unwrap_or_else(|_| unreachable!("generated transcripts are whole"));
    sink.sessions.iter_mut().map(|session| session.finish().unwrap().map(|chunk| chunk.batch)).collect()
}

fn write(criterion: &mut Criterion) {
    let (_home, files) = home(corpus_bytes().min(64 << 20), corpus::Profile::Realistic);
    let pricer = Pricer::new(PriceTable::bundled());
    let redactor = Redactor::new(Mode::Secrets, [7; 32]);
    let context = Context {
        agent: "claude-code",
        redactor: &redactor,
        pricer: &pricer,
        content: Content::Full,
        zone: chrono_tz::Tz::UTC,
    };
    let sessions: Vec<_> = files.iter().flat_map(|file| read(file, &context)).collect();
    let folder = tempfile::tempdir().unwrap();
    let mut group = criterion.benchmark_group("write");
    group.throughput(Throughput::Bytes(total(&files))).sample_size(10);
    let syncer = Syncer::start();
    group.bench_function("part", |bencher| {
        bencher.iter(|| {
            let mut writer = PartWriter::new(folder.path(), "part", &syncer);
            for batches in &sessions {
                for (table, batch) in (1..).zip(batches) {
                    writer.write(table, batch).unwrap();
                }
            }
            black_box(writer.finish().unwrap())
        });
    });
    group.finish();
}

fn run(criterion: &mut Criterion) {
    let (home, files) = home(corpus_bytes(), corpus::Profile::Realistic);
    let mut group = criterion.benchmark_group("etl");
    group.throughput(Throughput::Bytes(total(&files))).sample_size(10);
    group.bench_function("first run", |bencher| {
        bencher.iter_batched(
            || tempfile::tempdir().unwrap(),
            |lake| {
                black_box(etl::run(&options(home.path(), lake.path()), &Silent).unwrap());
                lake
            },
            BatchSize::PerIteration,
        );
    });
    let lake = tempfile::tempdir().unwrap();
    let options = options(home.path(), lake.path());
    etl::run(&options, &Silent).unwrap();
    group.bench_function("nothing changed", |bencher| bencher.iter(|| etl::run(&options, &Silent).unwrap()));
    let middle = files.get(files.len() / 2).unwrap();
    let mut seed = 0;
    group.throughput(Throughput::Bytes(64 << 10));
    group.bench_function(BenchmarkId::new("one session grew by", "64 KiB"), |bencher| {
        bencher.iter_batched(
            || {
                seed += 1;
                corpus::append_turns(middle, seed, 64 << 10).unwrap()
            },
            |_| etl::run(&options, &Silent).unwrap(),
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

fn many_sources(criterion: &mut Criterion) {
    let (home, files) = home(20_000_000, corpus::Profile::SmallSources);
    let lake = tempfile::tempdir().unwrap();
    let options = options(home.path(), lake.path());
    etl::run(&options, &Silent).unwrap();
    let mut group = criterion.benchmark_group("etl, small sources");
    group.throughput(Throughput::Elements(files.len() as u64)).sample_size(10);
    group.bench_function("nothing changed", |bencher| bencher.iter(|| etl::run(&options, &Silent).unwrap()));
    group.finish();
}

/// A source by the agent's id, its path below the home, and its text by the number of its records.
type Shape = (&'static str, &'static str, fn(usize) -> String);

/// Sources that took time by the square of their records once.
const SHAPES: [Shape; 3] = [
    ("claude-code", ".claude/projects/-p/s.jsonl", chain_of_parents),
    ("codex", ".codex/sessions/rollout-2026-08-01T10-00-00-019fbcc4-2900-7000-8000-000000000001.jsonl", equal_counts),
    ("cline", "saoudrizwan.claude-dev/tasks/1760000000000/api_conversation_history.json", open_tags),
];

/// Every message hangs below all lines that became no message.
fn chain_of_parents(count: usize) -> String {
    let line = |kind: &str, number: usize, parent: usize, rest: &str| {
        format!("{{\"type\":\"{kind}\",\"uuid\":\"{kind}{number}\",\"parentUuid\":\"attachment{parent}\",{rest}}}\n")
    };
    let attached =
        (1..count).map(|number| line("attachment", number, number - 1, "\"attachment\":{\"type\":\"file\"}"));
    let said = (0..count).map(|number| line("user", number, count - 1, "\"message\":{\"content\":\"x\"}"));
    attached.chain(said).collect()
}

/// Counts without a total, all of one moment.
fn equal_counts(count: usize) -> String {
    let counts = (1..=count).map(|tokens| {
        format!(
            "{{\"timestamp\":\"2026-08-01T10:00:00Z\",\"type\":\"event_msg\",\"payload\":{{\"type\":\"token_count\",\
             \"info\":{{\"total_token_usage\":{{\"input_tokens\":{tokens}}},\
             \"last_token_usage\":{{\"input_tokens\":1}}}}}}}}\n"
        )
    });
    counts.collect()
}

/// Calls in a reply that do not end.
fn open_tags(count: usize) -> String {
    let tags = "<read_file> ".repeat(count);
    format!("[{{\"role\":\"user\",\"content\":\"hi\"}},{{\"role\":\"assistant\",\"content\":\"{tags}\"}}]")
}

/// Twice the records take twice the time.
fn growth(criterion: &mut Criterion) {
    let home = tempfile::tempdir().unwrap();
    let (pricer, redactor) = (Pricer::new(PriceTable::bundled()), Redactor::new(Mode::Secrets, [7; 32]));
    let mut group = criterion.benchmark_group("growth");
    group.sample_size(10);
    for (agent, path, text) in SHAPES {
        let zone = chrono_tz::Tz::UTC;
        let context = Context { agent, redactor: &redactor, pricer: &pricer, content: Content::Full, zone };
        let file = home.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        for count in [10_000, 20_000, 40_000] {
            std::fs::write(&file, text(count)).unwrap();
            group.throughput(Throughput::Elements(count as u64));
            group.bench_function(BenchmarkId::new(agent, count), |bencher| {
                bencher.iter(|| black_box(read(&file, &context)));
            });
        }
    }
    group.finish();
}

/// The content of a home, and the text of its file with a number.
type Kind = (&'static str, fn(usize) -> String);

/// Homes that took time by the square of their files once.
const KINDS: [Kind; 3] = [("forks of one session", fork), ("copies of one session", copy), ("small sessions", small)];

fn said(session: &str, numbers: std::ops::Range<usize>) -> String {
    let line = |number: usize| {
        let (kind, second) = (["user", "assistant"][number % 2], number % 60);
        let usage = "\"usage\":{\"input_tokens\":5,\"output_tokens\":3}";
        format!(
            "{{\"type\":\"{kind}\",\"uuid\":\"u{number}\",\"sessionId\":\"{session}\",\
             \"timestamp\":\"2026-01-01T10:00:{second:02}Z\",\"message\":{{\"role\":\"{kind}\",\"id\":\"m{number}\",\
             \"model\":\"claude-sonnet-4-5\",\"content\":\"message {number}\",{usage}}}}}\n"
        )
    };
    numbers.map(line).collect()
}

/// All have the first messages.
fn fork(number: usize) -> String {
    let session = format!("fork-{number}");
    said(&session, 0..50) + &said(&session, 1000 + 2 * number..1002 + 2 * number)
}

fn copy(_: usize) -> String {
    said("one", 0..50)
}

fn small(number: usize) -> String {
    said(&format!("small-{number}"), 2 * number..2 * number + 2)
}

/// Twice the files take twice the time, in the first run and when all are read anew.
fn growth_by_files(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("growth by files");
    group.sample_size(10);
    for (kind, text) in KINDS {
        for count in [1000, 2000, 4000] {
            let (home, lake) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            let folder = home.path().join(".claude/projects/-p");
            std::fs::create_dir_all(&folder).unwrap();
            for number in 0..count {
                std::fs::write(folder.join(format!("{number:08x}-0000-4000-8000-000000000000.jsonl")), text(number))
                    .unwrap();
            }
            group.throughput(Throughput::Elements(count as u64));
            let first = |lake: TempDir| etl::run(&options(home.path(), lake.path()), &Silent).map(|_| lake).unwrap();
            group.bench_function(BenchmarkId::new(kind, count), |bencher| {
                bencher.iter_batched(|| tempfile::tempdir().unwrap(), first, BatchSize::PerIteration);
            });
            let lake = first(lake);
            let all = Options { full: true, ..options(home.path(), lake.path()) };
            group.bench_function(BenchmarkId::new(format!("{kind}, --full"), count), |bencher| {
                bencher.iter(|| etl::run(&all, &Silent).unwrap());
            });
        }
    }
    group.finish();
}

criterion_group!(benches, parse, extract, write, run, many_sources, growth, growth_by_files);
criterion_main!(benches);
