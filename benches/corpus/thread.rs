//! One conversation being written: its envelope, clock, context and buffer.

use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::Summary;
use super::docs::Doc;
use super::era::Era;
use super::identity::Identity;
use super::json::Put;
use super::rng::Rng;
use super::text::Pools;

/// A directory in which sessions are started. All texts are escaped for JSON.
pub struct Project {
    pub cwd: String,
    pub folder: String,
    pub separator: &'static str,
    pub branches: Vec<String>,
}

impl Project {
    pub fn invent(rng: &mut Rng, names: &[String]) -> Self {
        let mut part = || rng.pick(&names.iter().collect::<Vec<_>>()).replace('_', "-");
        let (user, group, name, topics) = (part(), part(), part(), [part(), part()]);
        let place = rng.weighted(&[45, 35, 20]);
        let plain = match place {
            0 => format!("/Users/{user}/work/{group}/{name}"),
            1 => format!("/home/{user}/{name}.v{}", rng.within(1, 9)),
            _ => format!("C:\\Users\\{user}\\source\\{name}"),
        };
        Self {
            folder: folder_of(&plain),
            cwd: plain.replace('\\', "\\\\"),
            separator: if place == 2 { "\\\\" } else { "/" },
            branches: vec!["main".to_owned(), format!("feat/{}", topics[0]), format!("fix/{}", topics[1])],
        }
    }
}

/// The name of the folder that holds the sessions of a directory.
fn folder_of(cwd: &str) -> String {
    cwd.encode_utf16()
        .map(|unit| u8::try_from(unit).map_or('-', char::from))
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect()
}

/// A message of a sub-agent, kept so that progress lines of its parent can repeat it.
pub struct Message {
    pub kind: &'static str,
    pub object: Range<usize>,
    pub uuid: u128,
    pub time: i64,
}

/// A conversation and the file it goes to.
pub struct Thread<'a> {
    pub pools: &'a Pools,
    pub rng: Rng,
    pub identity: Identity,
    pub model: &'static str,
    /// A plan under which the prompt cache is kept for an hour.
    pub long_cache: bool,
    pub hooks: bool,
    pub parent: Option<u128>,
    pub line: u128,
    pub prompt: u128,
    pub time: i64,
    pub latest: i64,
    /// The speed of the clock relative to people, so that a huge session fits into the days it is given.
    pub pace: f64,
    pub context: i64,
    pub cached: i64,
    pub target: u64,
    pub docs: Vec<Doc>,
    pub prompt_span: Range<usize>,
    pub messages: Vec<Message>,
    pub buf: Vec<u8>,
    /// Counts of this conversation; its bytes are known at the end.
    pub summary: Summary,
    pub todos: Vec<Range<usize>>,
    pub todos_done: usize,
    pub path: PathBuf,
    file: Option<File>,
    flushed: u64,
    head: Vec<u8>,
    tail: Vec<u8>,
}

const FLUSH_AT: usize = 1 << 20;

impl<'a> Thread<'a> {
    /// A conversation that is kept in memory until [`Thread::open`] or [`Thread::append_to`] gives it a file.
    pub fn new(pools: &'a Pools, mut rng: Rng, identity: Identity, time: i64, target: u64) -> Self {
        let mut thread = Self {
            pools,
            model: rng.pick(identity.era.models()),
            long_cache: identity.agent.is_none() && identity.era >= Era::Progress && rng.chance(0.75),
            hooks: rng.chance(0.6),
            parent: None,
            line: 0,
            prompt: rng.uuid(),
            time,
            latest: i64::MAX,
            pace: 1.0,
            context: 12_000 + rng.below(12_000) as i64,
            cached: 0,
            target,
            docs: Vec::new(),
            prompt_span: 0..1,
            messages: Vec::new(),
            buf: Vec::with_capacity(1 << 14),
            summary: Summary::default(),
            todos: Vec::new(),
            todos_done: 0,
            path: PathBuf::new(),
            file: None,
            flushed: 0,
            head: Vec::new(),
            tail: Vec::new(),
            rng,
            identity,
        };
        thread.compose_envelope();
        thread
    }

    /// Begins the file of a new session in `folder`.
    pub fn open(&mut self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        self.path = folder.join(format!("{}.jsonl", uuid_text(self.identity.session)));
        self.file = Some(File::create(&self.path)?);
        self.summary.files += 1;
        Ok(())
    }

    pub fn append_to(&mut self, path: &Path) -> io::Result<()> {
        path.clone_into(&mut self.path);
        self.file = Some(File::options().append(true).open(path)?);
        Ok(())
    }

    /// The folder of what belongs to this session alone.
    pub fn own_folder(&self) -> PathBuf {
        self.path.with_extension("")
    }

    pub fn written(&self) -> u64 {
        self.flushed + self.buf.len() as u64
    }

    pub fn exhausted(&self) -> bool {
        self.written() >= self.target
    }

    /// Returns the bytes that may still be written; results keep within them.
    pub fn room(&self) -> usize {
        usize::try_from(self.target.saturating_sub(self.written())).unwrap_or(usize::MAX)
    }

    pub fn wait(&mut self, median_millis: f64) {
        let step = self.rng.skewed(median_millis, 1.0) as f64 * self.pace;
        self.time = (self.time + step as i64).min(self.latest);
    }

    /// The front of a line of the conversation, up to the fields of its type.
    pub fn begin(&mut self) -> &mut Vec<u8> {
        self.line = self.rng.uuid();
        self.buf.put("{\"parentUuid\":");
        match self.parent {
            Some(parent) => self.buf.uuid(parent),
            None => self.buf.put("null"),
        };
        self.envelope_head()
    }

    pub fn envelope_head(&mut self) -> &mut Vec<u8> {
        let sidechain = self.identity.agent.is_some();
        self.buf.put(if sidechain { ",\"isSidechain\":true" } else { ",\"isSidechain\":false" });
        self.buf.extend_from_slice(&self.head);
        &mut self.buf
    }

    /// `uuid` and `timestamp`, which most types have side by side.
    pub fn stamp(&mut self) {
        self.buf.put(",\"uuid\":").uuid(self.line).put(",\"timestamp\":").time(self.time);
    }

    /// Ends a line of the conversation, which the next one then follows.
    pub fn end(&mut self) -> io::Result<()> {
        self.buf.extend_from_slice(&self.tail);
        self.parent = Some(self.line);
        self.end_record()
    }

    /// Ends a line that stands outside the conversation.
    pub fn end_record(&mut self) -> io::Result<()> {
        self.buf.put("}\n");
        self.summary.lines += 1;
        if self.buf.len() >= FLUSH_AT && self.file.is_some() { self.flush() } else { Ok(()) }
    }

    pub fn flush(&mut self) -> io::Result<()> {
        if let Some(file) = &mut self.file {
            file.write_all(&self.buf)?;
            self.flushed += self.buf.len() as u64;
            self.buf.clear();
        }
        Ok(())
    }

    /// Adds the lines of a conversation that has no file of its own.
    pub fn absorb(&mut self, other: &Thread) -> io::Result<()> {
        self.buf.extend_from_slice(&other.buf);
        self.summary.add(&other.summary);
        self.flush()
    }

    /// Writes out what is left. All bytes of this file and of those beside it are then in the summary.
    pub fn finish(mut self) -> io::Result<(Summary, PathBuf)> {
        self.flush()?;
        self.summary.bytes += self.flushed;
        Ok((self.summary, self.path))
    }

    /// Composes what lines repeat, anew after a change of the identity.
    pub fn compose_envelope(&mut self) {
        let Identity { era, version, session, agent, cwd, branch, slug, .. } = &self.identity;
        let mut place = Vec::new();
        place.put(",\"cwd\":\"").put(cwd).put("\",\"sessionId\":").uuid(*session);
        place.put(",\"version\":\"").put(version).put("\",\"gitBranch\":\"").put(branch).put("\"");
        let mut agent_field = Vec::new();
        if let Some(id) = agent.as_ref().filter(|_| *era != Era::Inline) {
            agent_field.put(",\"agentId\":\"").put(id).put("\"");
        }
        let mut slug_field = Vec::new();
        if let Some(slug) = slug {
            slug_field.put(",\"slug\":\"").put(slug).put("\"");
        }
        self.head.clear();
        self.tail.clear();
        if *era == Era::AllFinal {
            self.head.raw(&agent_field);
            self.tail.put(",\"userType\":\"external\",\"entrypoint\":\"cli\"").raw(&place).raw(&slug_field);
        } else {
            self.head.put(",\"userType\":\"external\"").raw(&place).raw(&agent_field).raw(&slug_field);
        }
    }
}

pub fn uuid_text(id: u128) -> String {
    let mut text = Vec::new();
    text.uuid(id);
    String::from_utf8_lossy(&text[1..37]).into_owned()
}
