//! The lines of a conversation apart from tool results: prompts, responses, progress and the records around them.

use std::io;

use super::era::Era;
use super::json::Put;
use super::text::Span;
use super::thread::{Message, Thread};
use super::tools::{Call, Tool};

/// One answer of the model, which is written as one line per block.
pub struct Response {
    pub id: String,
    pub request: String,
    pub usage: Usage,
    pub stop: &'static str,
    /// The stream was cut, so that the final usage never came.
    pub cut: bool,
    /// The last line has the final usage, where the era leaves that open.
    pub patched: bool,
}

#[derive(Clone, Copy, Default)]
pub struct Usage {
    pub input: i64,
    pub read: i64,
    pub write_5m: i64,
    pub write_1h: i64,
    pub output: i64,
    pub output_at_start: i64,
}

pub enum Block<'c> {
    Thinking(Span),
    Text(Span),
    Call(&'c Call),
}

impl Response {
    /// True if line `place` of `count` carries the final usage.
    pub fn is_final(&self, era: Era, place: usize, count: usize) -> bool {
        let last = place + 1 == count;
        !self.cut
            && match era {
                Era::Inline | Era::SameFolder => false,
                Era::Progress => last && self.patched,
                Era::LastFinal => last,
                Era::AllFinal => true,
            }
    }
}

impl Thread<'_> {
    /// `type` of a user line, and what the newest versions put before it.
    pub fn user_type(&mut self) {
        if self.identity.era == Era::AllFinal {
            self.buf.put(",\"promptId\":").uuid(self.prompt);
        }
        self.buf.put(",\"type\":\"user\"");
    }

    /// Keeps where a message of a sub-agent stands.
    pub fn note_message(&mut self, kind: &'static str, object: Span) {
        if self.identity.agent.is_some() {
            self.messages.push(Message { kind, object, uuid: self.line, time: self.time });
        }
    }

    /// A user line whose content is a text already escaped, with `extra` fields after it.
    pub fn write_user_text(&mut self, text: &[u8], extra: &str) -> io::Result<()> {
        self.begin();
        self.user_type();
        let object = self.buf.len() + ",\"message\":".len();
        self.buf.put(",\"message\":{\"role\":\"user\",\"content\":\"").raw(text).put("\"}");
        self.context += text.len() as i64 / 4;
        self.note_message("user", object..self.buf.len());
        self.stamp();
        self.buf.put(extra);
        self.end()
    }

    /// A prompt with a pasted screenshot.
    pub fn write_user_image(&mut self, text: &Span, chars: usize) -> io::Result<()> {
        self.begin();
        self.user_type();
        self.buf.put(",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"");
        self.buf.raw(self.pools.prose.trimmed(text));
        self.buf.put("\"},{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":\"iVBORw0KGgo");
        self.buf.base64(&mut self.rng, chars / 4 * 4 + 1).put("\"}}]}");
        self.context += 1500;
        self.stamp();
        self.buf.put(",\"imagePasteIds\":[1]");
        self.end()
    }

    pub fn write_block(&mut self, response: &Response, block: &Block, place: usize, count: usize) -> io::Result<()> {
        self.begin();
        self.buf.put(",\"message\":");
        let object = self.buf.len();
        let (era, model) = (self.identity.era, self.model);
        if era == Era::Inline {
            self.buf
                .put("{\"id\":\"")
                .put(&response.id)
                .put("\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"")
                .put(model);
        } else {
            self.buf.put("{\"model\":\"").put(model).put("\",\"id\":\"").put(&response.id);
            self.buf.put("\",\"type\":\"message\",\"role\":\"assistant");
        }
        self.buf.put("\",\"content\":[");
        let prose = &self.pools.prose;
        match block {
            Block::Thinking(span) => {
                let chars = self.rng.skewed(420.0, 0.6).clamp(200, 2400);
                self.buf
                    .put("{\"type\":\"thinking\",\"thinking\":\"")
                    .raw(prose.trimmed(span))
                    .put("\",\"signature\":\"E");
                self.buf.base64(&mut self.rng, chars / 4 * 4 + 3).put("\"}");
            }
            Block::Text(span) => _ = self.buf.put("{\"type\":\"text\",\"text\":\"").raw(prose.trimmed(span)).put("\"}"),
            Block::Call(call) => self.write_call(call),
        }
        let is_final = response.is_final(era, place, count);
        self.buf.put("],\"stop_reason\":");
        if is_final {
            self.buf.put("\"").put(response.stop).put("\"");
        } else {
            self.buf.put("null");
        }
        self.buf.put(if era == Era::AllFinal {
            ",\"stop_sequence\":null,\"stop_details\":null"
        } else {
            ",\"stop_sequence\":null"
        });
        self.write_usage(response.usage, is_final);
        self.buf.put(if era == Era::AllFinal { ",\"diagnostics\":null}" } else { "}" });
        self.note_message("assistant", object..self.buf.len());
        self.buf.put(",\"requestId\":\"").put(&response.request).put("\",\"type\":\"assistant\"");
        self.stamp();
        self.end()
    }

    fn write_usage(&mut self, usage: Usage, is_final: bool) {
        let era = self.identity.era;
        let written = usage.write_5m + usage.write_1h;
        let output = if is_final { usage.output } else { usage.output_at_start };
        let out = &mut self.buf;
        out.put(",\"usage\":{\"input_tokens\":").num(usage.input).field("cache_creation_input_tokens", written);
        out.field("cache_read_input_tokens", usage.read);
        if era == Era::AllFinal {
            out.field("output_tokens", output);
            out.put(",\"server_tool_use\":{\"web_search_requests\":0,\"web_fetch_requests\":0},\"service_tier\":\"standard\"");
            out.put(",\"cache_creation\":{\"ephemeral_1h_input_tokens\":").num(usage.write_1h);
            out.field("ephemeral_5m_input_tokens", usage.write_5m).put("},\"inference_geo\":\"not_available\"");
            out.put(",\"iterations\":[{\"input_tokens\":").num(usage.input).field("output_tokens", output);
            out.field("cache_read_input_tokens", usage.read).field("cache_creation_input_tokens", written);
            out.put(",\"cache_creation\":{\"ephemeral_5m_input_tokens\":").num(usage.write_5m);
            out.field("ephemeral_1h_input_tokens", usage.write_1h)
                .put("},\"type\":\"message\"}],\"speed\":\"standard\"}");
            return;
        }
        if era > Era::Inline {
            out.put(",\"cache_creation\":{\"ephemeral_5m_input_tokens\":").num(usage.write_5m);
            out.field("ephemeral_1h_input_tokens", usage.write_1h).put("}");
        }
        out.field("output_tokens", output).put(",\"service_tier\":\"standard\"");
        out.put(if era >= Era::Progress { ",\"inference_geo\":\"not_available\"}" } else { "}" });
    }

    /// Lines that show a command or hooks at work.
    pub fn write_progress(&mut self, call: &Call) -> io::Result<()> {
        if !self.identity.era.has_progress() || self.identity.agent.is_some() {
            return Ok(());
        }
        if self.hooks {
            self.write_hook_progress("PreToolUse", call)?;
            self.write_hook_progress("PostToolUse", call)?;
        }
        let shown =
            if call.tool == Tool::Bash && self.rng.chance(0.45) { self.rng.skewed(4.0, 0.9).min(60) } else { 0 };
        for second in 1..=shown {
            let output = call.logs.start..call.logs.start + (call.logs.len() * second / (shown + 1)).clamp(1, 24);
            let text = self.pools.logs.trimmed(&output);
            let tail = self.pools.logs.trimmed(&(output.end.saturating_sub(5).max(output.start)..output.end));
            self.wait(1000.0);
            self.begin();
            self.buf.put(",\"type\":\"progress\",\"data\":{\"type\":\"bash_progress\",\"output\":\"").raw(tail);
            self.buf.put("\",\"fullOutput\":\"").raw(text).put("\"").field("elapsedTimeSeconds", second as u64 + 1);
            self.buf
                .field("totalLines", output.len() as u64)
                .put("},\"toolUseID\":\"bash-progress-")
                .num(second as u64 - 1);
            self.end_progress(&call.id)?;
        }
        Ok(())
    }

    /// Hooks run beside the conversation, so that their lines may come late.
    fn write_hook_progress(&mut self, event: &str, call: &Call) -> io::Result<()> {
        let now = self.time;
        self.time -= if self.rng.chance(0.3) { self.rng.below(800) as i64 } else { 0 };
        self.begin();
        self.buf.put(",\"type\":\"progress\",\"data\":{\"type\":\"hook_progress\",\"hookEvent\":\"").put(event);
        self.buf
            .put("\",\"hookName\":\"")
            .put(event)
            .put(":Bash\",\"command\":\"callback\"},\"toolUseID\":\"")
            .put(&call.id);
        self.end_progress(&call.id)?;
        self.time = now;
        Ok(())
    }

    /// Writes the lines of a sub-agent that the session which started it repeats.
    pub fn write_agent_progress(&mut self, agent: &Thread, call: &Call) -> io::Result<()> {
        for (place, message) in agent.messages.iter().enumerate() {
            let object = &agent.buf[message.object.clone()];
            if object.len() > 20_000 {
                continue;
            }
            self.begin();
            self.buf
                .put(",\"type\":\"progress\",\"data\":{\"message\":{\"type\":\"")
                .put(message.kind)
                .put("\",\"timestamp\":");
            self.buf.time(message.time).put(",\"message\":").raw(object).put(",\"uuid\":").uuid(message.uuid);
            self.buf.put("},\"normalizedMessages\":[],\"type\":\"agent_progress\",\"prompt\":\"");
            if place == 0 {
                self.buf.raw(self.pools.prose.trimmed(&call.prose));
            }
            self.buf.put("\",\"agentId\":\"").put(agent.identity.agent.as_deref().unwrap_or_default());
            self.buf.put("\"},\"toolUseID\":\"agent_").put(&call.id);
            self.end_progress(&call.id)?;
        }
        Ok(())
    }

    fn end_progress(&mut self, call: &str) -> io::Result<()> {
        self.buf.put("\",\"parentToolUseID\":\"").put(call).put("\"");
        self.stamp();
        self.end()
    }

    pub fn write_attachment(&mut self) -> io::Result<()> {
        let bytes = self.rng.skewed(500.0, 1.2).min(9000);
        let span = self.pools.prose.passage(&mut self.rng, bytes);
        let kind = self.rng.weighted(&[35, 25, 15, 12, 13]);
        let text = self.pools.prose.trimmed(&span);
        self.begin();
        self.buf.put(",\"attachment\":{\"type\":");
        match kind {
            0 => _ = self.buf.put("\"task_reminder\",\"content\":[],\"itemCount\":0"),
            1 => {
                self.buf.put("\"hook_additional_context\",\"content\":[\"").raw(text);
                self.buf.put("\"],\"hookName\":\"UserPromptSubmit\",\"hookEvent\":\"UserPromptSubmit\"");
            }
            2 => _ = self.buf.put("\"nested_memory\",\"path\":\"CLAUDE.md\",\"content\":\"").raw(text).put("\""),
            3 => _ = self.buf.put("\"edited_text_file\",\"filename\":\"README.md\",\"snippet\":\"").raw(text).put("\""),
            _ => _ = self.buf.put("\"skill_listing\",\"content\":\"").raw(text).put("\""),
        }
        self.buf.put("},\"type\":\"attachment\"");
        self.stamp();
        self.end()
    }

    /// A `system` line; `fields` are what its subtype adds.
    pub fn write_system(&mut self, subtype: &str, fields: &str) -> io::Result<()> {
        self.begin();
        self.finish_system(subtype, fields)
    }

    pub fn finish_system(&mut self, subtype: &str, fields: &str) -> io::Result<()> {
        self.buf.put(",\"type\":\"system\",\"subtype\":\"").put(subtype).put("\"").put(fields);
        self.buf.put(",\"timestamp\":").time(self.time).put(",\"uuid\":").uuid(self.line);
        self.end()
    }

    /// The line that Claude Code itself writes in the model's name.
    pub fn write_synthetic(&mut self, text: &str, is_error: bool) -> io::Result<()> {
        let id = self.rng.uuid();
        self.begin();
        self.buf.put(",\"type\":\"assistant\"");
        self.stamp();
        self.buf
            .put(",\"message\":{\"id\":")
            .uuid(id)
            .put(",\"container\":null,\"model\":\"<synthetic>\",\"role\":\"assistant\"");
        self.buf.put(",\"stop_reason\":\"stop_sequence\",\"stop_sequence\":\"\",\"type\":\"message\",\"usage\":{\"input_tokens\":0");
        self.buf.put(",\"output_tokens\":0,\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":0},\"content\":[{\"type\":");
        self.buf.put("\"text\",\"text\":\"").put(text).put("\"}]},\"isApiErrorMessage\":").put(if is_error {
            "true"
        } else {
            "false"
        });
        self.end()
    }

    pub fn write_file_history(&mut self) -> io::Result<()> {
        let (snapshot, count) = (self.rng.uuid(), self.docs.len().min(8));
        self.buf
            .put("{\"type\":\"file-history-snapshot\",\"messageId\":")
            .uuid(snapshot)
            .put(",\"snapshot\":{\"messageId\":");
        self.buf.uuid(snapshot).put(",\"trackedFileBackups\":{");
        for (place, doc) in self.docs[..count].iter().enumerate() {
            self.buf.put(if place > 0 { ",\"" } else { "\"" }).put(&place.to_string()).put("/").put(&doc.relative);
            self.buf
                .put("\":{\"backupFileName\":\"")
                .hex(self.rng.next(), 16)
                .put("@v1\",\"version\":1,\"backupTime\":");
            self.buf.time(self.time).put("}");
        }
        self.buf.put("},\"timestamp\":").time(self.time).put("},\"isSnapshotUpdate\":").put(if count > 0 {
            "true"
        } else {
            "false"
        });
        self.end_record()
    }

    /// A record outside the conversation that names its session last.
    pub fn write_record(&mut self, kind: &str, fields: &[u8], text: &[u8]) -> io::Result<()> {
        self.buf
            .put("{\"type\":\"")
            .put(kind)
            .put("\"")
            .raw(fields)
            .raw(text)
            .put("\",\"sessionId\":")
            .uuid(self.identity.session);
        self.end_record()
    }
}
