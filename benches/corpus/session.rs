//! The events of a session: turns of prompts, responses and calls, sub-agents and compactions.

use std::fs;
use std::io;

use super::Summary;
use super::era::Era;
use super::identity::Identity;
use super::json::Put;
use super::lines::{Block, Response, Usage};
use super::rng::Rng;
use super::text::Span;
use super::thread::Thread;
use super::tools::{AgentEnd, Call, Tool};

const CONTEXT_LIMIT: i64 = 160_000;

impl<'a> Thread<'a> {
    /// Turns until the session has the size it is meant to have.
    pub fn run(&mut self) -> io::Result<()> {
        self.write_start()?;
        self.turn_until_full()?;
        self.write_end()
    }

    pub fn turn_until_full(&mut self) -> io::Result<()> {
        loop {
            self.turn()?;
            if self.exhausted() {
                return Ok(());
            }
            self.wait(90_000.0);
        }
    }

    fn write_start(&mut self) -> io::Result<()> {
        if self.identity.era == Era::Inline && self.rng.chance(0.3) {
            let (leaf, text) = (self.rng.uuid(), self.pools.prose.passage(&mut self.rng, 40));
            self.buf.put("{\"type\":\"summary\",\"summary\":\"").raw(self.pools.prose.trimmed(&text));
            self.buf.put("\",\"leafUuid\":").uuid(leaf);
            self.end_record()?;
        }
        if self.identity.era == Era::AllFinal {
            self.write_record("mode", b",\"mode\":\"", b"normal")?;
        }
        Ok(())
    }

    fn write_end(&mut self) -> io::Result<()> {
        if self.identity.era == Era::AllFinal {
            let Summary { input_tokens, output_tokens, cache_read, .. } = self.summary;
            let written = self.summary.cache_write_5m + self.summary.cache_write_1h;
            let dollars = (input_tokens * 5 + output_tokens * 25 + cache_read / 2 + written * 10) / 1_000_000;
            self.buf.put("{\"type\":\"cost-state\",\"sessionId\":").uuid(self.identity.session);
            self.buf
                .field("totalCostUSD", dollars)
                .put(",\"modelUsage\":{\"")
                .put(self.model)
                .put("\":{\"inputTokens\":");
            self.buf.num(input_tokens).field("outputTokens", output_tokens).field("cacheReadInputTokens", cache_read);
            self.buf.field("cacheCreationInputTokens", written).field("costUSD", dollars).put("}}");
            self.end_record()?;
        }
        Ok(())
    }

    /// A prompt and everything up to the answer to it.
    pub fn turn(&mut self) -> io::Result<()> {
        let begun = self.time;
        self.prompt = self.rng.uuid();
        self.write_prompt()?;
        loop {
            let last = self.exhausted() || self.rng.chance(0.07);
            let cut = !last && self.rng.chance(0.004);
            self.respond(last, cut)?;
            if cut {
                self.write_user_text(b"[Request interrupted by user]", "")?;
            }
            if last || cut {
                break;
            }
            if self.context > CONTEXT_LIMIT {
                self.compact()?;
            }
        }
        self.write_turn_end(begun)
    }

    fn write_prompt(&mut self) -> io::Result<()> {
        let era = self.identity.era;
        let bytes = if self.rng.chance(0.08) { self.rng.skewed(3000.0, 0.8) } else { self.rng.skewed(90.0, 0.9) };
        let bytes = bytes.min(self.room() / 4 + 20);
        let span = self.pools.prose.passage(&mut self.rng, bytes);
        self.prompt_span = span.clone();
        let text = self.pools.prose.trimmed(&span);
        if era >= Era::SameFolder && self.rng.chance(0.25) {
            self.buf.put("{\"type\":\"queue-operation\",\"operation\":\"enqueue\",\"timestamp\":").time(self.time);
            self.buf.put(",\"sessionId\":").uuid(self.identity.session).put(",\"content\":\"").raw(text).put("\"");
            self.end_record()?;
        }
        if era >= Era::SameFolder {
            self.write_file_history()?;
        }
        if self.rng.chance(0.05) {
            self.write_user_text(
                b"<command-name>/model</command-name>\\n<command-message>model</command-message>\\n<command-args></command-args>",
                "",
            )?;
            self.write_user_text(b"<local-command-stdout>Set model</local-command-stdout>", "")?;
        }
        let extra =
            if era == Era::AllFinal { ",\"permissionMode\":\"default\",\"origin\":{\"kind\":\"human\"}" } else { "" };
        if self.room() > 50_000 && self.rng.chance(0.04) {
            let chars = self.rng.skewed(90_000.0, 1.2).clamp(9000, 10_000_000).min(self.room() / 3);
            self.write_user_image(&span, chars)?;
        } else {
            self.write_user_text(text, extra)?;
        }
        if self.hooks && era >= Era::LastFinal && self.room() > 20_000 {
            for _ in 0..self.rng.within(1, 7) {
                self.write_attachment()?;
            }
        }
        Ok(())
    }

    fn write_turn_end(&mut self, begun: i64) -> io::Result<()> {
        let era = self.identity.era;
        if self.hooks && era >= Era::Progress {
            self.write_system(
                "stop_hook_summary",
                ",\"hookCount\":1,\"hookInfos\":[{\"command\":\"callback\"}],\"hookErrors\":[],\"preventedContinuation\":false,\
                 \"stopReason\":\"\",\"hasOutput\":false,\"level\":\"suggestion\"",
            )?;
        }
        if era >= Era::Progress && self.rng.chance(0.5) {
            self.write_system("turn_duration", &format!(",\"durationMs\":{},\"isMeta\":false", self.time - begun))?;
        }
        if era >= Era::LastFinal {
            let prompt = self.prompt_span.clone();
            self.write_record("last-prompt", b",\"lastPrompt\":\"", self.pools.prose.trimmed(&prompt))?;
            if self.rng.chance(0.7) {
                self.write_record("custom-title", b",\"customTitle\":\"", self.pools.prose.line(prompt.start))?;
            }
        }
        if era >= Era::Progress && self.rng.chance(0.02) {
            let number = self.rng.within(1, 900);
            let mut fields =
                format!(",\"prNumber\":{number},\"prUrl\":\"https://example.org/acme/app/pull/{number}\"").into_bytes();
            fields.put(",\"timestamp\":").time(self.time).put(",\"prRepository\":\"");
            self.write_record("pr-link", &fields, b"acme/app")?;
        }
        if self.rng.chance(0.01) {
            self.write_synthetic("No response requested.", false)?;
        }
        Ok(())
    }

    fn respond(&mut self, last: bool, cut: bool) -> io::Result<()> {
        self.wait(5000.0);
        if self.rng.chance(0.002) {
            self.write_system(
                "api_error",
                ",\"level\":\"error\",\"error\":{\"status\":529},\"retryInMs\":600,\"retryAttempt\":1,\"maxRetries\":10",
            )?;
        }
        let room = self.room() / 3 + 60;
        let thinking = (self.rng.chance(0.48) && room > 3000).then(|| self.rng.skewed(330.0, 1.0).min(room));
        let text =
            (last || self.rng.chance(0.4)).then(|| self.rng.skewed(if last { 600.0 } else { 150.0 }, 0.9).min(room));
        let count = if last { 0 } else { 1 + self.rng.weighted(&[89, 8, 2, 1]) };
        let calls = (0..count).map(|_| self.plan_call(count > 1)).collect::<Vec<_>>();
        let prose = &self.pools.prose;
        let mut blocks = Vec::new();
        blocks.extend(thinking.map(|bytes| Block::Thinking(prose.passage(&mut self.rng, bytes))));
        blocks.extend(text.map(|bytes| Block::Text(prose.passage(&mut self.rng, bytes))));
        let written = thinking.unwrap_or(0) + text.unwrap_or(0);
        let response = self.response(written, &calls, cut);
        blocks.extend(calls.iter().map(Block::Call));

        self.write_response(&response, &blocks)?;
        calls.into_iter().try_for_each(|call| self.answer(call))
    }

    /// A response that consists of one call, and the answer to it.
    pub fn respond_with(&mut self, call: Call) -> io::Result<()> {
        let response = self.response(0, std::slice::from_ref(&call), false);
        self.write_response(&response, &[Block::Call(&call)])?;
        self.answer(call)
    }

    fn write_response(&mut self, response: &Response, blocks: &[Block]) -> io::Result<()> {
        let mut greatest = response.usage.output_at_start;
        for (place, block) in blocks.iter().enumerate() {
            self.write_block(response, block, place, blocks.len())?;
            if response.is_final(self.identity.era, place, blocks.len()) {
                greatest = greatest.max(response.usage.output);
            }
            self.wait(900.0);
        }
        self.summary.count_response(&response.usage, greatest);
        Ok(())
    }

    fn response(&mut self, text_bytes: usize, calls: &[Call], cut: bool) -> Response {
        let output = (text_bytes / 4 + calls.len() * self.rng.within(60, 180) + self.rng.within(4, 20)) as i64;
        let expired = self.rng.chance(0.02);
        let read = if expired { 0 } else { self.cached };
        let (write, input) = ((self.context - read).max(0), self.rng.within(1, 11) as i64);
        let (short_lived, long_lived) = match self.long_cache {
            true if self.rng.chance(0.03) => (write / 4, write - write / 4),
            true => (0, write),
            false => (write, 0),
        };
        self.cached = self.context;
        self.context += output;
        Response {
            id: self.rng.service_id("msg_"),
            request: self.rng.service_id("req_"),
            usage: Usage {
                input,
                read,
                write_5m: short_lived,
                write_1h: long_lived,
                output,
                output_at_start: self.rng.within(1, 9) as i64,
            },
            stop: if calls.is_empty() { "end_turn" } else { "tool_use" },
            cut,
            patched: self.rng.chance(0.35),
        }
    }

    fn answer(&mut self, mut call: Call) -> io::Result<()> {
        if call.tool == Tool::Agent {
            self.run_agent(&mut call)?;
        }
        self.write_progress(&call)?;
        self.wait(1500.0);
        self.write_result(&call)
    }

    /// A sub-agent at work: in a file of its own, or among the lines of this session where there was no such file yet.
    fn run_agent(&mut self, call: &mut Call) -> io::Result<()> {
        let target = self.rng.skewed(40_000.0, 1.0).min(self.room() / 2).min(2_000_000) as u64;
        let mut agent = self.sub_agent(target);
        let begun = agent.time;
        agent.write_user_text(self.pools.prose.trimmed(&call.prose), "")?;
        while !agent.exhausted() {
            agent.respond(false, false)?;
        }
        agent.respond(true, false)?;
        self.time = agent.time;
        if self.identity.era == Era::Progress {
            self.write_agent_progress(&agent, call)?;
        }
        call.agent = Some(AgentEnd {
            id: agent.identity.agent.clone().unwrap_or_default(),
            tokens: agent.context,
            calls: agent.summary.responses - 1,
            millis: agent.time - begun,
        });
        self.store_agent(&agent, &format!(",\"description\":\"Explore\",\"toolUseId\":\"{}\"", call.id))
    }

    fn sub_agent(&mut self, target: u64) -> Thread<'a> {
        let random = self.rng.next();
        let id = match self.identity.era {
            Era::Inline | Era::SameFolder => format!("{:08x}", random >> 32),
            Era::Progress => format!("a{:06x}", random >> 40),
            Era::LastFinal | Era::AllFinal => format!("a{random:016x}"),
        };
        let identity = Identity { agent: Some(id), ..self.identity.clone() };
        let mut agent = Thread::new(self.pools, Rng::new(random), identity, self.time, target);
        if self.identity.era >= Era::SameFolder {
            agent.model = "claude-haiku-4-5-20251001";
        }
        (agent.latest, agent.pace) = (self.latest, self.pace);
        agent
    }

    fn store_agent(&mut self, agent: &Thread, meta_fields: &str) -> io::Result<()> {
        let id = agent.identity.agent.as_deref().unwrap_or_default();
        let folder = match self.identity.era {
            Era::Inline => return self.absorb(agent),
            Era::SameFolder => self.path.with_file_name(""),
            _ => self.own_folder().join("subagents"),
        };
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(format!("agent-{id}.jsonl")), &agent.buf)?;
        if self.identity.era == Era::AllFinal {
            let meta = format!("{{\"agentType\":\"Explore\"{meta_fields},\"spawnDepth\":1}}");
            fs::write(folder.join(format!("agent-{id}.meta.json")), meta)?;
        }
        self.summary.add(&agent.summary);
        self.summary.files += 1;
        self.summary.bytes += agent.written();
        Ok(())
    }

    /// Two agents that early versions ran at the start of each session.
    pub fn warm_up(&mut self) -> io::Result<()> {
        for _ in 0..2 {
            let mut agent = self.sub_agent(0);
            agent.write_user_text(b"Warmup", "")?;
            agent.respond(true, false)?;
            self.store_agent(&agent, "")?;
        }
        Ok(())
    }

    fn compact(&mut self) -> io::Result<()> {
        let before = self.context;
        let bytes = self.rng.skewed(9000.0, 0.3).min(self.room() / 4 + 200);
        let span: Span = self.pools.prose.passage(&mut self.rng, bytes);
        self.wait(60_000.0);
        if self.identity.era > Era::Inline {
            let logical = self.parent.take();
            self.line = self.rng.uuid();
            self.buf.put("{\"parentUuid\":null");
            if let Some(logical) = logical {
                self.buf.put(",\"logicalParentUuid\":").uuid(logical);
            }
            self.envelope_head();
            self.finish_system(
                "compact_boundary",
                &format!(
                    ",\"content\":\"Conversation compacted\",\"isMeta\":false,\"level\":\"info\",\
                     \"compactMetadata\":{{\"trigger\":\"auto\",\"preTokens\":{before}}}"
                ),
            )?;
        } else {
            self.parent = None;
        }
        self.docs.clear();
        (self.context, self.cached) = (18_000, 14_000);
        let mut text =
            b"This session is being continued from a previous conversation that ran out of context. ".to_vec();
        text.raw(self.pools.prose.trimmed(&span));
        let visible = if self.identity.era > Era::Inline { ",\"isVisibleInTranscriptOnly\":true" } else { "" };
        self.write_user_text(&text, &format!("{visible},\"isCompactSummary\":true"))
    }
}
