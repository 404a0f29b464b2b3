//! Going on from lines already written: sessions that are appended to, and sessions that begin with a copy of another.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::era::Era;
use super::identity::Identity;
use super::json::{Put, parse_time};
use super::rng::Rng;
use super::text::Pools;
use super::thread::{Thread, uuid_text};

/// The end of a session, from which another goes on.
pub struct Ending {
    pub identity: Identity,
    pub parent: u128,
    pub time: i64,
    pub has_newline: bool,
}

impl Ending {
    /// Reads only as much of the end of the file as it takes to see a line of the conversation.
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        let mut reach = 1 << 16;
        loop {
            file.seek(SeekFrom::Start(length.saturating_sub(reach)))?;
            let mut tail = Vec::new();
            file.read_to_end(&mut tail)?;
            if let Some(ending) = Self::parse(&String::from_utf8_lossy(&tail)) {
                return Ok(ending);
            }
            if reach >= length {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("no conversation in {}", path.display()),
                ));
            }
            reach *= 8;
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        let line = text.lines().rev().find(|line| line.starts_with("{\"parentUuid\":") && line.ends_with('}'))?;
        let (version, cwd) = (last_value(line, "version")?, last_value(line, "cwd")?);
        Some(Self {
            identity: Identity {
                era: Era::of(version),
                version: version.to_owned(),
                session: parse_uuid(last_value(line, "sessionId")?)?,
                agent: None,
                cwd: cwd.to_owned(),
                separator: if cwd.contains('\\') { "\\\\" } else { "/" },
                branch: last_value(line, "gitBranch").unwrap_or_default().to_owned(),
                slug: last_value(line, "slug").map(str::to_owned),
            },
            parent: parse_uuid(last_value(line, "uuid")?)?,
            time: parse_time(last_value(line, "timestamp")?)?,
            has_newline: text.ends_with('\n'),
        })
    }
}

/// The value of the last string field `key`. Text inside of messages cannot be taken for one: its quotation marks are
/// escaped.
fn last_value<'t>(line: &'t str, key: &str) -> Option<&'t str> {
    let opening = format!("\"{key}\":\"");
    let value = &line[line.rfind(&opening)? + opening.len()..];
    Some(&value[..value.find('"')?])
}

fn parse_uuid(text: &str) -> Option<u128> {
    u128::from_str_radix(&text.replace('-', ""), 16).ok()
}

/// The beginning of a session that another one goes on from: whole turns, so that no response is copied in part.
pub fn prefix<'t>(text: &'t str, rng: &mut Rng) -> Option<&'t str> {
    let from = rng.within(text.len() / 4, text.len() * 3 / 4);
    let from = from + text.as_bytes()[from..].iter().position(|&byte| byte == b'\n')? + 1;
    let mut end = from;
    text[from..].split_inclusive('\n').find(|line| {
        let is_prompt =
            line.contains("\"message\":{\"role\":\"user\",\"content\":\"") && !line.contains("\"isSidechain\":true");
        end += if is_prompt { 0 } else { line.len() };
        is_prompt
    })?;
    Some(&text[..end])
}

impl<'a> Thread<'a> {
    /// A session that begins with the lines of `prefix`, as its version writes them, and is not yet run.
    pub fn continue_from(
        pools: &'a Pools,
        mut rng: Rng,
        prefix: &str,
        folder: &Path,
        target: u64,
    ) -> io::Result<Option<Self>> {
        let Some(ending) = Ending::parse(prefix) else { return Ok(None) };
        let old = ending.identity.session;
        let identity = Identity { session: rng.uuid(), ..ending.identity };
        let mut thread = Self::new(pools, rng, identity, ending.time, target + prefix.len() as u64);
        thread.parent = Some(ending.parent);
        thread.context = 60_000;
        thread.open(folder)?;
        for line in prefix.lines() {
            thread.copy_line(line, old)?;
        }
        thread.wait(3_600_000.0);
        Ok(Some(thread))
    }

    fn copy_line(&mut self, line: &str, old: u128) -> io::Result<()> {
        let in_conversation = line.starts_with("{\"parentUuid\":");
        let is_copied = match self.identity.era {
            Era::Inline => !line.contains("\"isSidechain\":true"),
            Era::AllFinal => in_conversation,
            _ => true,
        };
        let Some(body) = line.strip_suffix('}').filter(|_| is_copied) else { return Ok(()) };
        if self.identity.era == Era::Inline {
            self.buf.put(body);
            return self.end_record();
        }
        let old_field = format!("\"sessionId\":\"{}\"", uuid_text(old));
        let new_field = format!("\"sessionId\":\"{}\"", uuid_text(self.identity.session));
        let mut rest = body;
        while let Some((before, after)) = rest.split_once(&old_field) {
            self.buf.put(before).put(&new_field);
            rest = after;
        }
        self.buf.put(rest);
        if self.identity.era == Era::AllFinal {
            self.buf.put(",\"forkedFrom\":{\"sessionId\":").uuid(old).put(",\"messageUuid\":\"");
            self.buf.put(last_value(line, "uuid").unwrap_or_default()).put("\"}");
        }
        self.end_record()
    }
}
