//! `chat_history.jsonl` of a session that has no log: what was said, without times and tokens.

use super::items::{arguments_of, name_of, text_of};
use super::record::{Item, Summary};
use super::updates::query;
use super::{facts_of, log_key, tools};
use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::kit::texts::join;
use crate::agents::kit::thread::{Position, Thread, blank};
use crate::extract::jsonl::RecordReader;
use crate::extract::{Kind, Reject, Sink};
use crate::source::Source;
use crate::tables::{MessageKind, MessageRow, Role, Status};

/// Reads a session.
pub(super) fn extract(source: &mut Source<'_>, summary: &Summary<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let mut chat = Chat { out, thread: Thread::new(facts_of(source, summary)), last_message: 0, thinking: None };
    chat.read_all(&mut source.lines()?)?;
    chat.thread.calls.interrupt_before(chat.last_message);
    chat.thread.finish(chat.out)
}

struct Chat<'o, 's> {
    out: &'o mut Sink<'s>,
    thread: Thread,
    last_message: i64,
    /// Thinking before the reply that it is of.
    thinking: Option<String>,
}

impl<'s> RecordReader<'s> for Chat<'_, 's> {
    type Record = Item<'static>;
    const STARTS: &'static [&'static str] = &["{\"type\"", "{\"role\""];

    fn sink(&mut self) -> &mut Sink<'s> {
        self.out
    }

    fn take(&mut self, item: &Item<'_>, line: u64) -> Result<(), Reject> {
        let kind = item.kind.get().unwrap_or_default();
        let text = text_of(item);
        let calls = item.calls.0.iter().filter_map(|used| used.0.as_ref()?.id.get());
        let texts = text.as_deref().into_iter().chain(calls).chain(item.call.get());
        let id = self.thread.print(kind, None, texts);
        let at = Position::on_line(&id, None, line);
        let shown = text.as_deref().map(query);
        match kind {
            "user" => {
                let is_typed = item.synthetic.get().is_none_or(|reason| reason == "interjection");
                let is_typed = is_typed && !shown.is_some_and(|text| text.starts_with("<user_info>"));
                if is_typed {
                    self.thread.begin_turn();
                }
                let kind = if is_typed { MessageKind::Prompt } else { MessageKind::Meta };
                let attachments = item.content.0.iter().filter(|block| block.kind.is("image")).count();
                let attachments = i64::try_from(attachments).unwrap_or(0);
                self.push(&at, MessageRow { text: shown, attachments, ..blank(Role::User, kind) })
            }
            "assistant" => {
                let thinking = self.thinking.take();
                let (thinking, model) = (thinking.as_deref(), item.model.get());
                let row = MessageRow { text: shown, thinking, model, ..blank(Role::Assistant, MessageKind::Reply) };
                self.push(&at, row)?;
                self.open(item, &at)
            }
            "tool_result" | "tool" => {
                self.push(&at, blank(Role::Tool, MessageKind::ToolResult))?;
                let Some(call) = self.thread.calls.take(item.call.get().unwrap_or_default()) else { return Ok(()) };
                let end = Outcome { status: Status::Ok, output: text, ..Outcome::default() };
                self.thread.close_call(&call, &end, self.out)
            }
            "reasoning" => {
                let texts = item.summary.0.iter().filter_map(|block| block.text.get());
                self.thinking = join(texts.map(Into::into)).map(std::borrow::Cow::into_owned);
                Ok(())
            }
            "system" | "backend_tool_call" => Ok(()),
            kind => {
                self.out.unknown(&format!("item {kind}"));
                Ok(())
            }
        }
    }
}

impl Chat<'_, '_> {
    fn push(&mut self, at: &Position<'_>, row: MessageRow<'_>) -> Result<(), Reject> {
        self.thread.message(at, row, self.out)?;
        self.last_message = self.thread.last_seq();
        self.mark_superseded(Kind::Message, at.id);
        Ok(())
    }

    fn open(&mut self, item: &Item<'_>, at: &Position<'_>) -> Result<(), Reject> {
        for used in item.calls.0.iter().filter_map(|used| used.0.as_ref()) {
            let Some(name) = used.id.get() else { continue };
            // The log has its own record of the call, to which this one yields.
            let id = format!("{}:{name}", at.id);
            if !self.thread.is_new(Kind::ToolCall, &id) {
                continue;
            }
            self.mark_superseded(Kind::ToolCall, &id);
            let call = tools::call(name_of(used), None, arguments_of(used).as_deref());
            let call = Call { id, message_id: Some(at.id.to_owned()), ..call };
            self.thread.open_named_call(at, Some(name), call, self.out)?;
        }
        Ok(())
    }

    fn mark_superseded(&mut self, kind: Kind, id: &str) {
        let log = log_key(self.out.agent(), self.thread.id());
        self.out.yields_to(kind, id, log, None);
    }
}
