//! `<session>.jsonl`: sessions until 2025-09. Goose copied them into its database and left the files.

use super::conversation::{Conversation, StoredMessage};
use super::ledger::Counts;
use super::record::{Line, Visibility};
use super::stored_key;
use crate::agents::kit::facts::fill;
use crate::agents::kit::thread::Position;
use crate::extract::jsonl::RecordReader;
use crate::extract::{Facts, Reject, Sink};
use crate::source::Source;
use crate::tables::{UsageGrain, UsageRow};

/// Reads a session.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let session = source.stem().to_owned();
    let fact = stored_key(out.agent(), &session);
    let mut conversation = Conversation::new(Facts { session_id: session, ..Facts::default() }, out);
    conversation.yields_to = Some(fact);
    let mut lines = Lines { conversation, sums: None };
    lines.read_all(&mut source.lines()?)?;
    lines.finish()
}

struct Lines<'o, 's> {
    conversation: Conversation<'o, 's>,
    /// The session's counts, and if they are those of the last response alone.
    sums: Option<(Counts, bool)>,
}

impl<'s> RecordReader<'s> for Lines<'_, 's> {
    type Record = Line<'static>;
    const STARTS: &'static [&'static str] = &["{\"working_dir\"", "{\"role\"", "{\"id\""];

    fn sink(&mut self) -> &mut Sink<'s> {
        self.conversation.out
    }

    fn take(&mut self, line: &Line<'_>, number: u64) -> Result<(), Reject> {
        let Some(role) = line.role.get() else {
            self.take_header(line);
            return Ok(());
        };
        let id = line.id.owned().unwrap_or_else(|| {
            let blocks = line.content.0.iter().filter_map(|block| block.0.as_ref());
            let texts = blocks.flat_map(|block| [block.text.get(), block.id.get()]).flatten();
            self.conversation.thread.print(role, line.created.0, texts)
        });
        let stored = StoredMessage {
            id: &id,
            role,
            moment: line.created.0,
            blocks: &line.content.0,
            visibility: Visibility::default(),
            line: i64::try_from(number).ok(),
        };
        self.conversation.take(&stored, None, None)
    }
}

impl Lines<'_, '_> {
    fn take_header(&mut self, line: &Line<'_>) {
        let facts = &mut self.conversation.thread.facts;
        fill(&mut facts.project_path, line.folder.get());
        fill(&mut facts.title, line.description.get());
        let counts = |input, output| Counts { input, output, ..Counts::default() };
        let sums = counts(line.all_input.0, line.all_output.0);
        let last = counts(line.input.0, line.output.0);
        self.sums = Some(if sums == Counts::default() { (last, true) } else { (sums, false) });
        self.conversation.thread.cwd.clone_from(&self.conversation.thread.facts.project_path);
    }

    fn finish(mut self) -> Result<(), Reject> {
        if let Some((counts, is_partial)) = self.sums.filter(|(counts, _)| !counts.is_zero()) {
            let id = format!("{}:rest", self.conversation.thread.id());
            let row = UsageRow { response_id: &id, grain: UsageGrain::Session, is_partial, ..counts.row() };
            let seq = self.conversation.thread.last_seq();
            self.conversation.bill(&Position::default(), row, seq)?;
        }
        self.conversation.finish()
    }
}
