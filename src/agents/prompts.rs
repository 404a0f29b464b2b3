//! Prompts that an agent keeps apart from its transcripts. Those whose session left none are all that is known of it.

use std::collections::{BTreeMap, HashMap};

use xxhash_rust::xxh3::xxh3_64;

use crate::extract::{Facts, Kind, Reject, Sink};
use crate::tables::{MessageKind, MessageRow, Role, SessionKind};

/// One typed prompt.
pub(super) struct TypedPrompt {
    /// The claim by which a transcript supersedes this prompt, as a rule the session's own key.
    pub(super) claim: u64,
    /// When it was typed. Microseconds since 1970.
    pub(super) timestamp: Option<i64>,
    /// `prompt`, or `command` for what is not sent to the model.
    pub(super) kind: MessageKind,
    pub(super) text: String,
    /// Line of the source, from 1.
    pub(super) line: u64,
}

impl TypedPrompt {
    /// Returns a name that distinguishes the prompt from the session's other prompts. Its position does not, because
    /// agents drop the oldest prompts.
    fn name(&self) -> String {
        match self.timestamp {
            Some(moment) => moment.to_string(),
            None => format!("{:016x}", xxh3_64(self.text.as_bytes())),
        }
    }
}

/// Collects typed prompts by session.
#[derive(Default)]
pub(super) struct TypedPrompts {
    sessions: BTreeMap<String, Typed>,
    bytes: usize,
    /// Line of the first prompt that is not read, because those before take enough memory.
    left_out: Option<u64>,
    /// SHA-256 of the path of the project that all are of, where only that is known.
    project_hash: Option<String>,
}

#[derive(Default)]
struct Typed {
    project: Option<String>,
    prompts: Vec<TypedPrompt>,
}

impl TypedPrompts {
    const MOST_BYTES: usize = 96 << 20;
    /// Bytes of a prompt without its text.
    const PROMPT: usize = 512;

    /// Of a project of which only that hash may be known.
    pub(super) fn of_project_hash(project_hash: Option<String>) -> Self {
        Self { project_hash, ..Self::default() }
    }

    /// Adds a prompt; the project is the session's when it is the first that is named.
    pub(super) fn add(&mut self, session: String, project: &str, prompt: TypedPrompt) {
        self.bytes += Self::PROMPT + prompt.text.len();
        if self.bytes > Self::MOST_BYTES {
            self.left_out.get_or_insert(prompt.line);
            return;
        }
        let typed = self.sessions.entry(session).or_default();
        if !project.is_empty() {
            typed.project.get_or_insert_with(|| project.to_owned());
        }
        typed.prompts.push(prompt);
    }

    /// Hands them on, a session of kind `prompts` each. They are claimed weakly, so that any transcript that has them
    /// wins.
    pub(super) fn push(self, out: &mut Sink<'_>) -> Result<(), Reject> {
        if let Some(line) = self.left_out {
            out.problem(line, "the prompts before this one take 96 MiB; from here on, they are not read");
        }
        for (session, typed) in self.sessions {
            typed.push(&session, self.project_hash.as_deref(), out)?;
        }
        Ok(())
    }
}

impl Typed {
    fn push(&self, session: &str, project_hash: Option<&str>, out: &mut Sink<'_>) -> Result<(), Reject> {
        let mut equal: HashMap<String, u32> = HashMap::new();
        for (seq, prompt) in (0_i64..).zip(&self.prompts) {
            let name = prompt.name();
            let count = equal.entry(name.clone()).or_default();
            *count += 1;
            let id = if *count == 1 { format!("{session}#{name}") } else { format!("{session}#{name}-{count}") };
            let row = MessageRow {
                session_id: session,
                seq,
                message_id: &id,
                turn: Some(seq + 1),
                timestamp: prompt.timestamp,
                role: Role::User,
                kind: prompt.kind,
                text: Some(&prompt.text),
                cwd: self.project.as_deref(),
                source_line: i64::try_from(prompt.line).ok(),
                ..MessageRow::default()
            };
            out.message(row, true)?;
            out.yields_to(Kind::Message, &id, prompt.claim, None);
        }
        out.end_session(Facts {
            session_id: session.to_owned(),
            kind: SessionKind::Prompts,
            project_path: self.project.clone(),
            project_hash: project_hash.map(str::to_owned),
            first_moment: self.prompts.iter().filter_map(|prompt| prompt.timestamp).min(),
            ..Facts::default()
        })
    }
}
