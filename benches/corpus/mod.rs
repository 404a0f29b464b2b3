//! Deterministic corpora of Claude Code sessions for benchmarks and tests: the same parameters give the same bytes on
//! every machine. Content is invented; fields, line sizes, record types and repetitions follow what real homes hold.

#![allow(
    unreachable_pub,
    dead_code,
    clippy::disallowed_methods,
    clippy::string_slice,
    reason = "shared by benches, tests and an example; it writes files of its own, and cuts texts of its own"
)]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "sizes, token counts and times are far from the limits of their types"
)]

mod docs;
mod era;
mod fork;
mod identity;
mod json;
mod lines;
mod rng;
mod session;
mod text;
mod thread;
mod tools;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use era::Era;
use fork::Ending;
use identity::Identity;
use json::{Put, days_of};
use lines::Usage;
use rng::Rng;
use text::Pools;
use thread::{Project, Thread};

/// The kind of content in a corpus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Profile {
    /// Sessions of all sizes and versions, sub-agents, forks and resumes.
    Realistic,
    /// Very many sessions of about 2 kB.
    SmallSources,
    /// One session of the given size.
    OneFile,
    /// An ordinary session with one line of the given size in its middle.
    BigLine,
}

/// Everything that decides the corpus.
#[derive(Clone, Debug)]
pub struct Params {
    /// The size to reach; the last turn, and whatever it starts, may go beyond it.
    pub bytes: u64,
    pub seed: u64,
    /// The number of days over which the sessions are spread.
    pub days: u32,
    /// The last of the days: year, month and day, UTC.
    pub end: (i32, u32, u32),
    /// The number of sessions, forks aside; where it is not given, it follows from the size.
    pub sessions: Option<u32>,
    pub profile: Profile,
}

impl Default for Params {
    fn default() -> Self {
        Self { bytes: 100_000_000, seed: 1, days: 180, end: (2026, 9, 30), sessions: None, profile: Profile::Realistic }
    }
}

/// Counts of the written corpus, taken while writing.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Summary {
    /// Transcripts (`*.jsonl`), empty ones included, sidecars not.
    pub files: u64,
    pub bytes: u64,
    pub lines: u64,
    /// Distinct message ids of assistant lines, `<synthetic>` ones excluded.
    pub responses: u64,
    /// This and the following are sums over the distinct responses; of several lines of one response the one with the
    /// greatest output counts.
    pub input_tokens: i64,
    pub cache_read: i64,
    pub cache_write_5m: i64,
    pub cache_write_1h: i64,
    pub output_tokens: i64,
}

impl Summary {
    fn add(&mut self, other: &Self) {
        self.files += other.files;
        self.bytes += other.bytes;
        self.lines += other.lines;
        self.responses += other.responses;
        self.input_tokens += other.input_tokens;
        self.cache_read += other.cache_read;
        self.cache_write_5m += other.cache_write_5m;
        self.cache_write_1h += other.cache_write_1h;
        self.output_tokens += other.output_tokens;
    }

    fn count_response(&mut self, usage: &Usage, output: i64) {
        self.responses += 1;
        self.input_tokens += usage.input;
        self.cache_read += usage.read;
        self.cache_write_5m += usage.write_5m;
        self.cache_write_1h += usage.write_1h;
        self.output_tokens += output;
    }
}

const DAY: i64 = 86_400_000;
const MEAN_SESSION: u64 = 900_000;
/// The size of small sessions: mostly one prompt and one answer, some with calls.
const SMALL_SESSION: u64 = 2500;

/// Writes a corpus below `dir`, which then looks like a home directory.
pub fn generate(dir: &Path, params: &Params) -> io::Result<Summary> {
    let corpus = Corpus::new(dir, params);
    let mut total = Summary::default();
    match params.profile {
        Profile::OneFile => _ = corpus.session(0, params.bytes, 0.7, &mut total)?,
        Profile::BigLine => corpus.big_line(&mut total)?,
        Profile::SmallSources => {
            let count = params.sessions.map_or((params.bytes / SMALL_SESSION).max(1), u64::from);
            for index in 0..count {
                let target = if index % 10 == 0 { 4000 } else { 0 };
                corpus.session(index, target, index as f64 / count as f64, &mut total)?;
            }
        }
        Profile::Realistic => match params.sessions {
            Some(count) => corpus.given_number(u64::from(count), &mut total)?,
            None => {
                for index in 0.. {
                    let left = params.bytes.saturating_sub(total.bytes);
                    if left == 0 {
                        break;
                    }
                    let progress = total.bytes as f64 / params.bytes as f64;
                    let target = corpus.session_size(index).min(left);
                    corpus.session_and_forks(index, target, progress, &mut total)?;
                }
            }
        },
    }
    Ok(total)
}

/// Appends whole turns of about `bytes` to a session file, under its own session id and directory and after its last
/// timestamp. The summary counts what was added, files of new sub-agents included.
pub fn append_turns(path: &Path, seed: u64, bytes: u64) -> io::Result<Summary> {
    let length = fs::metadata(path)?.len();
    let ending = Ending::read(path)?;
    let pools = Pools::new(seed, pool_size(bytes));
    let mut thread = Thread::new(&pools, Rng::derive(seed, length), ending.identity, ending.time, bytes);
    thread.parent = Some(ending.parent);
    thread.append_to(path)?;
    if !ending.has_newline {
        thread.buf.put("\n");
    }
    thread.wait(120_000.0);
    thread.turn_until_full()?;
    Ok(thread.finish()?.0)
}

fn pool_size(bytes: u64) -> usize {
    (bytes / 8).clamp(1 << 18, 8 << 20) as usize
}

struct Corpus<'p> {
    root: PathBuf,
    params: &'p Params,
    pools: Pools,
    projects: Vec<Project>,
}

impl<'p> Corpus<'p> {
    fn new(dir: &Path, params: &'p Params) -> Self {
        let pools = Pools::new(params.seed, pool_size(params.bytes));
        let mut rng = Rng::derive(params.seed, 2);
        let sessions = params.sessions.map_or(params.bytes / MEAN_SESSION, u64::from);
        let projects = (0..(sessions / 12).clamp(4, 200)).map(|_| Project::invent(&mut rng, &pools.names)).collect();
        Self { root: dir.join(".claude").join("projects"), params, pools, projects }
    }

    fn rng(&self, purpose: u64, index: u64) -> Rng {
        Rng::derive(self.params.seed, purpose << 40 | index)
    }

    fn session_size(&self, index: u64) -> u64 {
        self.rng(1, index).skewed(250_000.0, 1.6).clamp(2000, 60_000_000) as u64
    }

    /// Exactly `count` sessions, whose sizes are scaled so that they make up the bytes together.
    fn given_number(&self, count: u64, total: &mut Summary) -> io::Result<()> {
        let drawn = (0..count).map(|index| self.session_size(index)).sum::<u64>().max(1);
        let scale = self.params.bytes as f64 / drawn as f64;
        for index in 0..count {
            let target = (self.session_size(index) as f64 * scale) as u64;
            self.session_and_forks(index, target, index as f64 / count as f64, total)?;
        }
        Ok(())
    }

    fn session_and_forks(&self, index: u64, target: u64, progress: f64, total: &mut Summary) -> io::Result<()> {
        let path = self.session(index, target, progress, total)?;
        let mut rng = self.rng(2, index);
        if rng.chance(0.02) {
            fs::write(path.with_file_name(format!("{}.jsonl", thread::uuid_text(rng.uuid()))), "")?;
            total.files += 1;
        }
        if target > 30_000 && rng.chance(0.12) {
            let text = fs::read_to_string(&path)?;
            if let (Some(prefix), Some(folder)) = (fork::prefix(&text, &mut rng), path.parent()) {
                let own = rng.skewed(60_000.0, 1.0) as u64;
                if let Some(mut fork) = Thread::continue_from(&self.pools, rng, prefix, folder, own)? {
                    fork.latest = self.latest();
                    fork.turn_until_full()?;
                    total.add(&fork.finish()?.0);
                }
            }
        }
        Ok(())
    }

    fn session(&self, index: u64, target: u64, progress: f64, total: &mut Summary) -> io::Result<PathBuf> {
        let mut thread = self.thread(index, target, progress)?;
        if thread.identity.era == Era::SameFolder && target > 10_000 && thread.rng.chance(0.3) {
            thread.warm_up()?;
        }
        thread.run()?;
        let (summary, path) = thread.finish()?;
        total.add(&summary);
        Ok(path)
    }

    fn big_line(&self, total: &mut Summary) -> io::Result<()> {
        let around = 600_000;
        let mut thread = self.thread(0, around, 0.9)?;
        thread.turn_until_full()?;
        thread.write_huge_edit(self.params.bytes as usize)?;
        thread.target = thread.written() + around;
        thread.turn_until_full()?;
        total.add(&thread.finish()?.0);
        Ok(())
    }

    /// A session that begins after the part `progress` of the days.
    fn thread(&self, index: u64, target: u64, progress: f64) -> io::Result<Thread<'_>> {
        const SHARES: [f64; 4] = [0.08, 0.22, 0.60, 0.80];
        let mut rng = self.rng(3, index);
        let jitter = rng.below(1000) as f64 / 10_000.0 - 0.05;
        let era = Era::ALL[SHARES.iter().filter(|&&share| progress + jitter > share).count()];
        let frequent = 1 + rng.below(self.projects.len());
        let project = &self.projects[rng.below(frequent)];
        let mut word = || self.pools.names[rng.below(self.pools.names.len())].replace('_', "-");
        let slug = (era >= Era::Progress).then(|| format!("{}-{}-{}", word(), word(), word()));
        let identity = Identity {
            era,
            version: era.version().to_owned(),
            session: rng.uuid(),
            agent: None,
            cwd: project.cwd.clone(),
            separator: project.separator,
            branch: project.branches[rng.weighted(&[5, 3, 2])].clone(),
            slug,
        };
        let first = self.latest() + 1 - i64::from(self.params.days.max(1)) * DAY;
        let day = (progress * f64::from(self.params.days)) as i64;
        let wanted = first + day * DAY + 7 * DAY / 24 + rng.below((DAY / 2) as usize) as i64;
        let length = target as i64 * 3 / 2;
        let start = wanted.min(self.latest() - length).max(first);
        let mut thread = Thread::new(&self.pools, rng, identity, start, target);
        thread.hooks &= target > 10_000;
        thread.latest = self.latest();
        thread.pace = ((self.latest() - start) as f64 / length as f64).min(1.0);
        thread.open(&self.root.join(&project.folder))?;
        Ok(thread)
    }

    /// The last millisecond of the last day.
    fn latest(&self) -> i64 {
        (days_of(self.params.end) + 1) * DAY - 1
    }
}
