//! The simplified form that was reported and that no known version writes: `metadata`, `user_turn`, `agent_response`,
//! `tool_result`.

use std::borrow::Cow;

use super::super::content::{Content, append};
use super::super::counts::Numbers;
use super::super::outcome::{End, milliseconds};
use super::super::record::{Item, Line};
use super::{Rollout, Spot};
use crate::extract::Reject;
use crate::source::records::Text;

impl Rollout<'_, '_> {
    pub(super) fn take_simple(&mut self, spot: Spot, kind: &str, line: &Line<'_>) -> Result<(), Reject> {
        match kind {
            "metadata" => {
                self.take_bare_meta(line);
                Ok(())
            }
            "user_turn" => {
                let text = text_of(line);
                self.take_announced(spot, &text)?;
                let content = serde_json::to_string(&text)
                    .ok()
                    .and_then(|json| serde_json::value::RawValue::from_string(json).ok());
                let role = Text(Some(Cow::Borrowed("user")));
                let content = crate::source::records::Raw(content.as_deref());
                self.take_user(spot, &Item { role, content, ..Item::default() })
            }
            "agent_response" => self.take_simple_reply(spot, line),
            _ => {
                let told = End {
                    exit_code: line.exit_code.0,
                    duration_ms: line.duration_ms.0.and_then(|ms| milliseconds(ms / 1000.0)),
                    ..End::of(line.status.get(), line.success.json())
                };
                let output = Content::of(line.output.json().or(line.content.json()), true).text;
                self.take_result(spot, line.call.get().or(line.id.get()).unwrap_or_default(), output, told, 0)
            }
        }
    }

    fn take_simple_reply(&mut self, spot: Spot, line: &Line<'_>) -> Result<(), Reject> {
        self.settle()?;
        self.set_model(line.model.get());
        let text = text_of(line);
        let reply = self.reply_for(spot, line.id.get(), &["assistant", &text], true)?;
        if !text.is_empty() {
            append(&mut reply.text, Cow::Owned(text.into_owned()));
        }
        for call in line.calls.0.iter().filter_map(|call| call.0.as_ref()) {
            self.open_call(spot, call.id.get(), call.name.get().unwrap_or("unknown"), call.arguments.json())?;
        }
        let Some(numbers) = line.usage.0.as_ref().map(Numbers::of).filter(|numbers| !numbers.is_nothing()) else {
            return Ok(());
        };
        let name = spot.moment.map_or_else(|| format!("line-{}", spot.number), |moment| format!("at-{moment}"));
        let id = self.first_free(format!("{}#{name}", self.session));
        self.bill(spot, id, numbers, false)
    }
}

fn text_of<'l>(line: &'l Line<'_>) -> Cow<'l, str> {
    let content = Content::of(line.content.json(), false).text;
    content.unwrap_or_else(|| Cow::Borrowed(line.text.get().unwrap_or_default()))
}
