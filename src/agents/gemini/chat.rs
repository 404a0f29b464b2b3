//! One chat: looked at twice, so that memory holds one version of each message's numbers and none of its texts. What is
//! small is read once.

use super::AGENT;
use super::kinds::{is_message, kind_of};
use super::look::{Counter, Look, stream_document, take_document, take_item, take_record};
use super::place::Origin;
use super::record::Record;
use super::rows::Rows;
use super::survey::{Place, Survey};
use super::tokens::Numbers;
use crate::agents::ids::Prints;
use crate::agents::kit::facts::{fill, keep_earlier};
use crate::extract::jsonl::RecordReader;
use crate::extract::{Facts, NoteField, Reject, Sink, session_key};
use crate::source::{Lines, Source, repair};
use crate::tables::{MessageKind, SessionKind};

/// Reads a chat into the sink.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let origin = Origin::of(source);
    let mut first = FirstLook {
        out,
        survey: Survey::default(),
        header: Header::default(),
        counter: Counter::default(),
        snapshot: None,
    };
    let bytes = if origin.is_document { source.document()? } else { None };
    let text = bytes.as_deref().map(repair);
    let (is_whole, held) = match &text {
        Some(text) => {
            let (is_whole, messages) = take_document(&mut first, text)?;
            (is_whole, Held::Messages(messages))
        }
        None if origin.is_document => (stream_document(&mut first, source)?, Held::Nothing),
        None => {
            let mut lines = source.lines()?;
            first.read_all(&mut lines)?;
            (true, Held::Lines(lines))
        }
    };
    let FirstLook { mut survey, header, .. } = first;
    // A document whose tear is before the session's name may be of any session.
    let named = header.session.clone().or_else(|| is_whole.then(|| source.stem().to_owned()));
    let Some(session) = named.filter(|_| survey.has_conversation()) else {
        out.discard_session();
        return Ok(());
    };
    let session_id = origin.session_id(&session);
    let versions = survey.settle();
    let mut second = SecondLook {
        rows: Rows::new(out, &session_id, &survey, &origin),
        survey: &survey,
        counter: Counter::default(),
        versions: &versions,
    };
    second.read(source, held)?;
    second.rows.finish()?;
    header.report(&session_id, origin, source, out)
}

/// The part of a chat that is held after the first reading.
enum Held<'t, 's> {
    /// Messages of a document.
    Messages(Vec<&'t str>),
    /// Lines, from the first.
    Lines(Lines<'s>),
    /// Nothing of a large document.
    Nothing,
}

/// The facts about its session that a chat records.
#[derive(Default)]
struct Header {
    session: Option<String>,
    project_hash: Option<String>,
    begun: Option<i64>,
    updated: Option<i64>,
    summary: Option<String>,
    is_subagent: bool,
}

impl Header {
    fn take(&mut self, record: &Record<'_>) {
        fill(&mut self.session, record.session.get());
        fill(&mut self.project_hash, record.project_hash.get());
        self.summary = record.summary.owned().or(self.summary.take());
        keep_earlier(&mut self.begun, record.begun.0);
        self.updated = self.updated.max(record.updated.0);
        self.is_subagent |= record.chat_kind.is("subagent");
    }

    /// Completes the session. Its summary becomes a note: of the files of one session only some have it.
    fn report(self, session_id: &str, origin: Origin, source: &Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        let key = session_key(AGENT, session_id);
        if let Some(summary) = &self.summary {
            out.note(NoteField::Title, key, self.updated.unwrap_or(0), summary);
        }
        let (project_path, project_hash) = origin.project(source, self.project_hash.as_deref());
        let is_subagent = self.is_subagent || origin.parent.is_some();
        out.claim(key, false);
        out.end_session(Facts {
            session_id: session_id.to_owned(),
            kind: if is_subagent { SessionKind::Subagent } else { SessionKind::Session },
            project_path,
            project_hash,
            root_session_id: origin
                .parent
                .as_deref()
                .map(|parent| parent.split('/').next().unwrap_or(parent).to_owned()),
            parent_session_id: origin.parent,
            is_subagent,
            first_moment: self.begun,
            ..Facts::default()
        })
    }
}

/// Finds out which version of each message counts.
struct FirstLook<'o, 's> {
    out: &'o mut Sink<'s>,
    survey: Survey,
    header: Header,
    counter: Counter,
    /// While a copy of the history is read: what it takes the place of, and whether it begins with a summary that is
    /// new.
    snapshot: Option<Snapshot>,
}

struct Snapshot {
    before: Vec<u32>,
    sums_up: Option<bool>,
}

impl<'s> Look<'s> for FirstLook<'_, 's> {
    fn out(&mut self) -> &mut Sink<'s> {
        self.out
    }

    fn counter(&mut self) -> &mut Counter {
        &mut self.counter
    }

    fn wants(&self, _place: Place) -> bool {
        true
    }

    fn message(&mut self, record: &Record<'_>, place: Place, in_snapshot: bool) -> Result<(), Reject> {
        self.count_unknown(record);
        let id = id_of(record);
        if let Some(snapshot) = &mut self.snapshot
            && snapshot.sums_up.is_none()
            && record.kind.is("user")
        {
            snapshot.sums_up = match kind_of(record) {
                MessageKind::Compaction => Some(!self.survey.knows(&id)),
                MessageKind::Prompt => Some(false),
                _ => None,
            };
        }
        self.survey.take(record, &id, place, in_snapshot);
        self.header.begun = self.header.begun.into_iter().chain(record.timestamp.0).min();
        Ok(())
    }

    fn facts(&mut self, record: &Record<'_>) {
        record.unknown.iter().for_each(|field| self.out.unknown(&format!("field {field}")));
        self.header.take(record);
    }

    fn rewind(&mut self, id: &str) {
        self.survey.rewind(id);
    }

    fn begin_snapshot(&mut self) {
        self.snapshot = Some(Snapshot { before: self.survey.begin_snapshot(), sums_up: None });
    }

    fn end_snapshot(&mut self) {
        if let Some(snapshot) = self.snapshot.take() {
            self.survey.end_snapshot(&snapshot.before, snapshot.sums_up == Some(true));
        }
    }

    fn other(&mut self, record: &Record<'_>) {
        let kind = record.kind.get().unwrap_or("without a type");
        self.out.unknown(&format!("record {kind}"));
    }
}

impl FirstLook<'_, '_> {
    fn count_unknown(&mut self, record: &Record<'_>) {
        let kind = record.kind.get();
        if !is_message(kind) && kind != Some("message_update") {
            self.out.unknown(&format!("message {}", kind.unwrap_or("without a type")));
        }
        record.unknown.iter().for_each(|field| self.out.unknown(&format!("field {field}")));
        let calls = record.calls.0.iter().filter_map(|call| call.0.as_ref());
        calls.flat_map(|call| &call.unknown).for_each(|field| self.out.unknown(&format!("field toolCalls.{field}")));
        if record.tokens.0.as_ref().and_then(Numbers::of).is_some_and(|(_, differs)| differs) {
            self.out.unknown("tokens.total that is not their sum");
        }
    }
}

impl<'s> RecordReader<'s> for FirstLook<'_, 's> {
    type Record = Record<'static>;
    const STARTS: &'static [&'static str] = STARTS;

    fn sink(&mut self) -> &mut Sink<'s> {
        self.out
    }

    fn take(&mut self, record: &Record<'_>, line: u64) -> Result<(), Reject> {
        take_record(self, record, line)
    }
}

/// Starts of the objects that may follow a torn one on its line.
const STARTS: &[&str] = &["{\"id\"", "{\"$set\"", "{\"sessionId\"", "{\"$rewindTo\""];

/// Makes rows of the versions that count.
struct SecondLook<'r, 'o, 's> {
    rows: Rows<'r, 'o, 's>,
    survey: &'r Survey,
    counter: Counter,
    /// Versions that are still to come, in their order.
    versions: &'r [(Place, u32)],
}

impl SecondLook<'_, '_, '_> {
    /// Reads the chat again; what is wrong with it is counted already.
    fn read<'f>(&mut self, source: &Source<'f>, held: Held<'_, 'f>) -> Result<(), Reject> {
        let report = &self.rows.out.report;
        let (lines, bad_lines, problems) = (report.lines, report.bad_lines, report.problems.len());
        match held {
            Held::Messages(messages) => self.read_messages(&messages)?,
            Held::Lines(lines) => self.read_lines(source.lines_again(lines)?)?,
            Held::Nothing => {
                stream_document(self, &mut source.again())?;
            }
        }
        let report = &mut self.rows.out.report;
        (report.lines, report.bad_lines) = (lines, bad_lines);
        report.problems.truncate(problems);
        Ok(())
    }

    fn read_messages(&mut self, messages: &[&str]) -> Result<(), Reject> {
        for (place, _) in self.versions {
            let message = usize::try_from(place.item).ok().and_then(|item| messages.get(item));
            message.map_or(Ok(()), |json| take_item(self, json, *place, false))?;
        }
        Ok(())
    }

    fn read_lines(&mut self, mut lines: Lines<'_>) -> Result<(), Reject> {
        while let Some(line) = lines.next_line() {
            self.pass(Place { line: line.number, item: 0 });
            match self.versions.first() {
                Some((place, _)) if place.line == line.number => self.read_line(&line)?,
                Some(_) => {}
                None => break,
            }
        }
        Ok(())
    }

    /// Passes over versions before a place: the file is no longer what it was at the first look.
    fn pass(&mut self, place: Place) {
        while let Some(((first, _), rest)) = self.versions.split_first()
            && *first < place
        {
            self.versions = rest;
        }
    }
}

impl<'s> Look<'s> for SecondLook<'_, '_, 's> {
    fn out(&mut self) -> &mut Sink<'s> {
        self.rows.out
    }

    fn counter(&mut self) -> &mut Counter {
        &mut self.counter
    }

    fn wants(&self, place: Place) -> bool {
        self.versions.iter().take_while(|(next, _)| *next <= place).any(|(next, _)| *next == place)
    }

    fn message(&mut self, record: &Record<'_>, place: Place, _in_snapshot: bool) -> Result<(), Reject> {
        self.pass(place);
        let Some(((next, at), rest)) = self.versions.split_first() else { return Ok(()) };
        if *next != place {
            return Ok(());
        }
        self.versions = rest;
        let entry = self.survey.entries.get(*at as usize).filter(|entry| *entry.id == *id_of(record));
        entry.map_or(Ok(()), |entry| self.rows.push(record, entry))
    }
}

impl<'s> RecordReader<'s> for SecondLook<'_, '_, 's> {
    type Record = Record<'static>;
    const STARTS: &'static [&'static str] = STARTS;

    fn sink(&mut self) -> &mut Sink<'s> {
        self.rows.out
    }

    fn take(&mut self, record: &Record<'_>, line: u64) -> Result<(), Reject> {
        take_record(self, record, line)
    }
}

/// The id of a message; one that has none is named by what it says, so that equal ones are one.
fn id_of<'r>(record: &'r Record<'_>) -> std::borrow::Cow<'r, str> {
    record.id.get().map_or_else(
        || {
            let texts = record
                .content
                .json()
                .into_iter()
                .chain(record.calls.0.iter().filter_map(|call| call.0.as_ref()?.id.get()));
            Prints::default().name(record.kind.get().unwrap_or_default(), record.timestamp.0, texts).into()
        },
        Into::into,
    )
}
