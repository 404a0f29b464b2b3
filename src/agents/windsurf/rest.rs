//! Files that are counted and not read: rules that people wrote, events of agents, the program's memories of
//! conversations.

use rusqlite::types::ValueRef;

use crate::agents::base64;
use crate::agents::document::Torn;
use crate::agents::protobuf::next_field;
use crate::extract::{Reject, Sink};
use crate::source::records::Text;
use crate::source::{Source, repair};

/// The key that all of it is kept under.
const STATE: &str = "codeium.windsurf";
/// The prefix of summaries' keys; the rest names the workspace.
const SUMMARIES: &str = "windsurf.state.cachedTrajectorySummaries:";

/// Counts the lines of a file.
pub(super) fn count_lines(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let mut lines = source.lines()?;
    while let Some(line) = lines.next_line() {
        if !line.bytes.trim_ascii().is_empty() {
            out.line();
        }
    }
    if lines.failed() {
        out.remark("the file could not be read to its end");
    }
    Ok(())
}

/// Counts the conversations that the program remembers the titles of. They are messages of a protocol whose fields are
/// known from looking at them only: nothing is made of them.
pub(super) fn count_summaries(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let database = source.database()?;
    if database.columns("ItemTable")?.is_empty() {
        return Ok(());
    }
    let mut statement = database.prepare("SELECT value FROM ItemTable WHERE key = ?1")?;
    let mut rows = statement.query([STATE])?;
    while let Some(row) = rows.next()? {
        let (ValueRef::Text(bytes) | ValueRef::Blob(bytes)) = row.get_ref(0)? else { continue };
        let json = repair(bytes);
        let state = Torn::read(&json, "");
        let names: Vec<&str> = state.names().filter(|name| name.starts_with(SUMMARIES)).collect();
        for name in names {
            let text: Text<'_> = state.field(name);
            let Some(text) = text.get() else { continue };
            let decoded = base64::decode(text);
            let Some(count) = decoded.as_deref().and_then(entries) else {
                out.line();
                let line = out.report.lines;
                out.problem(line, "summaries of conversations that cannot be counted");
                continue;
            };
            (0..count).for_each(|_| out.line());
        }
    }
    Ok(())
}

/// Counts the fields of a message that hold bytes, such as other messages; `None` if the message is torn.
fn entries(mut bytes: &[u8]) -> Option<usize> {
    let mut count = 0;
    while !bytes.is_empty() {
        count += usize::from(next_field(&mut bytes)?.1.is_some());
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_within_a_message_are_counted() {
        assert_eq!(entries(&[0x0a, 2, 0x08, 1, 0x0a, 0, 0x10, 0x96, 0x01]), Some(2));
        assert_eq!(entries(&[]), Some(0));
        assert_eq!(entries(&[0x0a, 9, 1]), None);
        assert_eq!(entries(&[0xff; 12]), None);
    }
}
