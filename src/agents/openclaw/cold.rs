//! `sessions/cold/<hash>.jsonl.zst`: events of sessions that nobody has used for long, moved out of the database.

use super::dialect::DIALECT;
use super::names::session_of;
use crate::agents::pi::{Entry, Known, Transcript};
use crate::extract::jsonl::RecordReader;
use crate::extract::{Reject, Sink};
use crate::source::Source;
use crate::source::records::{Object, Text, record};

record! {
    /// One line: the header that names the session, or a row of `transcript_events`.
    ColdLine<'a> {
        kind: Text<'a> = "kind",
        session: Text<'a> = "sessionId",
        row: Object<ColdRow<'a>> = "row",
    }
    ignores ["version", "generation"]

    /// A row of the database.
    ColdRow<'a> { event: Text<'a> = "event_json" }
}

struct Cold<'o, 'a>(Transcript<'o, 'a>);

impl<'a> RecordReader<'a> for Cold<'_, 'a> {
    type Record = ColdLine<'static>;
    const STARTS: &'static [&'static str] = &["{\"kind\""];

    fn sink(&mut self) -> &mut Sink<'a> {
        self.0.sink()
    }

    fn take(&mut self, line: &ColdLine<'_>, number: u64) -> Result<(), Reject> {
        match (line.kind.get(), line.row.0.as_ref().and_then(|row| row.event.get())) {
            (Some("header"), _) => self.0.call_session(line.session.get().unwrap_or_default()),
            (_, Some(event)) => match serde_json::from_str::<Entry<'_>>(event) {
                Ok(entry) => self.0.take(&entry, number)?,
                Err(error) => self.sink().problem(number, &format!("no JSON object: {error}")),
            },
            (kind, None) => self.sink().unknown(&format!("cold record {}", kind.unwrap_or_default())),
        }
        Ok(())
    }
}

/// Reads one file of moved events.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let (stem, _) = session_of(source.path);
    let known = Known { fallback_id: stem.to_owned(), ..Known::default() };
    let mut cold = Cold(Transcript::new(&DIALECT, known, out));
    cold.read_all(&mut source.lines()?)?;
    cold.0.finish()
}
