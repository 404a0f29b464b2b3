//! Tool calls and their results, in the shapes that `toolUseResult` has for each tool.

use std::cell::Cell;
use std::io;

use super::docs::{Doc, patch_line};
use super::era::Era;
use super::json::Put;
use super::text::Span;
use super::thread::Thread;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    Bash,
    Edit,
    Read,
    Grep,
    Glob,
    Write,
    Todo,
    Mcp,
    WebFetch,
    Agent,
}

impl Tool {
    const ALL: [Self; 10] = [
        Self::Bash,
        Self::Edit,
        Self::Read,
        Self::Grep,
        Self::Glob,
        Self::Write,
        Self::Todo,
        Self::Mcp,
        Self::WebFetch,
        Self::Agent,
    ];
    const WEIGHTS: [usize; 10] = [3600, 2500, 2000, 900, 165, 230, 800, 320, 80, 200];
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Done,
    ExitCode(u8),
    Invalid,
    Rejected,
}

/// The part of a call's result that a sub-agent leaves.
pub struct AgentEnd {
    pub id: String,
    pub tokens: i64,
    pub calls: u64,
    pub millis: i64,
}

pub struct Call {
    pub tool: Tool,
    pub id: String,
    pub asked_by: Cell<u128>,
    pub outcome: Outcome,
    pub prose: Span,
    pub logs: Span,
    pub agent: Option<AgentEnd>,
    doc: usize,
    old: Span,
    new: Span,
}

const REJECTION: &str = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a \
    file edit, the new_string was NOT written to the file). ";

impl Thread<'_> {
    /// Decides what to call, and what will come of it. Calls made `together` leave files alone.
    pub fn plan_call(&mut self, together: bool) -> Call {
        let tool = match Tool::ALL[self.rng.weighted(&Tool::WEIGHTS)] {
            Tool::Edit | Tool::Write | Tool::Todo | Tool::Agent if together => Tool::Read,
            Tool::Agent if self.identity.agent.is_some() || self.room() < 30_000 => Tool::Bash,
            tool => tool,
        };
        let lines = self.lines_of_a_file(tool);
        if self.docs.is_empty() || self.rng.chance(0.12) && self.docs.len() < 40 || tool == Tool::Write || lines > 4000
        {
            self.docs.push(Doc::invent(self.pools, &mut self.rng, &self.identity, lines));
        }
        let recent = self.docs.len().min(4);
        let doc = match tool {
            _ if lines > 4000 || tool == Tool::Write => self.docs.len() - 1,
            _ if self.rng.chance(0.7) => self.docs.len() - 1 - self.rng.below(recent),
            _ => self.rng.below(self.docs.len()),
        };
        let longest = if tool == Tool::Edit { self.rng.skewed(6.0, 0.9) } else { self.rng.within(30, 400) };
        let from = self.rng.below(self.docs[doc].lines.saturating_sub(longest.min(self.docs[doc].lines)).max(1));
        let old = match tool {
            Tool::Read if self.rng.chance(0.55) => 0..self.docs[doc].lines.min(2000),
            _ => from..(from + longest.max(1)).min(self.docs[doc].lines),
        };
        let count = 1 + self.rng.skewed(8.0, 0.9);
        let log_bytes = match tool {
            Tool::Mcp | Tool::WebFetch => self.rng.skewed(1500.0, 1.2),
            _ => self.rng.skewed(450.0, 1.5),
        };
        let log_bytes = log_bytes.min(30_000).min(self.room() / 8 + 60);
        let prose_bytes = if matches!(tool, Tool::Agent | Tool::WebFetch) { self.rng.within(400, 4000) } else { 60 };
        Call {
            tool,
            id: self.rng.service_id("toolu_"),
            asked_by: Cell::new(0),
            outcome: self.outcome(tool),
            prose: self.pools.prose.passage(&mut self.rng, prose_bytes),
            logs: self.pools.logs.passage(&mut self.rng, log_bytes),
            agent: None,
            doc,
            old,
            new: self.pools.code.pieces(&mut self.rng, count),
        }
    }

    /// An edit of a file of `bytes`, whose result repeats the whole file in one line.
    pub fn write_huge_edit(&mut self, bytes: usize) -> io::Result<()> {
        let bytes_per_line = self.pools.code.bytes(&(0..self.pools.code.end())).len() / self.pools.code.end();
        let doc = Doc::invent(self.pools, &mut self.rng, &self.identity, bytes / bytes_per_line);
        self.docs.push(doc);
        let mut call = self.plan_call(false);
        (call.tool, call.outcome, call.doc, call.old) = (Tool::Edit, Outcome::Done, self.docs.len() - 1, 10..14);
        self.respond_with(call)
    }

    fn lines_of_a_file(&mut self, tool: Tool) -> usize {
        let lines = match tool {
            Tool::Write => self.rng.skewed(70.0, 0.9),
            Tool::Edit if self.rng.chance(0.0006) => self.rng.within(15_000, 200_000),
            _ => self.rng.skewed(165.0, 1.1).min(4000),
        };
        lines.clamp(4, self.room() / 250 + 5)
    }

    fn outcome(&mut self, tool: Tool) -> Outcome {
        match (self.rng.below(1000), tool) {
            (0..8, _) => Outcome::Invalid,
            (8..18, Tool::Bash | Tool::Edit | Tool::Write) => Outcome::Rejected,
            (18..120, Tool::Bash) => Outcome::ExitCode([1, 1, 1, 2, 101, 127, 128][self.rng.below(7)]),
            _ => Outcome::Done,
        }
    }

    fn tool_name(&self, tool: Tool) -> &'static str {
        match tool {
            Tool::Bash => "Bash",
            Tool::Edit => "Edit",
            Tool::Read => "Read",
            Tool::Grep => "Grep",
            Tool::Glob => "Glob",
            Tool::Write => "Write",
            Tool::Todo if self.identity.era < Era::Progress => "TodoWrite",
            Tool::Todo => "TaskUpdate",
            Tool::Mcp => "mcp__context7__query_docs",
            Tool::WebFetch => "WebFetch",
            Tool::Agent if self.identity.era < Era::LastFinal => "Task",
            Tool::Agent => "Agent",
        }
    }

    /// The `tool_use` block of a call.
    pub fn write_call(&mut self, call: &Call) {
        call.asked_by.set(self.line);
        let name = self.tool_name(call.tool);
        let (pools, doc, out) = (self.pools, &self.docs[call.doc], &mut self.buf);
        out.put("{\"type\":\"tool_use\",\"id\":\"").put(&call.id).put("\",\"name\":\"").put(name).put("\",\"input\":{");
        let topic = &pools.names[call.new.start % pools.names.len()];
        match call.tool {
            Tool::Bash => {
                let verb =
                    ["cargo test", "npm run build --", "git diff", "rg -n", "pytest -x", "ls -la"][call.old.start % 6];
                out.put("\"command\":\"cd ").put(&self.identity.cwd).put(" && ").put(verb).put(" ").put(topic);
                out.put(" 2>&1 | tail -40\",\"description\":\"").raw(pools.prose.trimmed(&call.prose)).put("\"");
            }
            Tool::Edit => {
                out.put("\"replace_all\":false,\"file_path\":\"").put(&doc.path).put("\",\"old_string\":\"");
                doc.write_lines(&pools.code, &call.old, out);
                out.put("\",\"new_string\":\"").raw(pools.code.trimmed(&call.new)).put("\"");
            }
            Tool::Read => {
                out.put("\"file_path\":\"").put(&doc.path).put("\"");
                if call.old.start > 0 {
                    out.field("offset", call.old.start as u64).field("limit", call.old.len() as u64);
                }
            }
            Tool::Grep => {
                out.put("\"pattern\":\"").put(topic).put("\",\"path\":\"").put(&self.identity.cwd);
                out.put("\",\"output_mode\":\"content\",\"-n\":true");
            }
            Tool::Glob => _ = out.put("\"pattern\":\"**/*").put(topic).put("*\""),
            Tool::Write => {
                out.put("\"file_path\":\"").put(&doc.path).put("\",\"content\":\"");
                doc.write(&pools.code, out);
                out.put("\"");
            }
            Tool::Todo if self.identity.era >= Era::Progress => {
                out.put("\"taskId\":\"").num(call.old.start as u64 % 12).put("\",\"status\":\"completed\"");
            }
            Tool::Todo => self.write_todos("\"todos\":", self.todos_done + 1),
            Tool::Mcp => {
                _ = out
                    .put("\"libraryId\":\"/")
                    .put(topic)
                    .put("\",\"query\":\"")
                    .raw(pools.prose.trimmed(&call.prose))
                    .put("\"");
            }
            Tool::WebFetch => {
                out.put("\"url\":\"https://docs.example.org/").put(topic).put("\",\"prompt\":\"");
                out.raw(pools.prose.line(call.prose.start)).put("\"");
            }
            Tool::Agent => {
                out.put("\"subagent_type\":\"Explore\",\"description\":\"").put(topic).put("\",\"prompt\":\"");
                out.raw(pools.prose.trimmed(&call.prose)).put("\"");
            }
        }
        let direct = self.identity.era >= Era::Progress;
        self.buf.put(if direct { "},\"caller\":{\"type\":\"direct\"}}" } else { "}}" });
    }

    /// The user line that answers a call.
    pub fn write_result(&mut self, call: &Call) -> io::Result<()> {
        self.begin();
        self.user_type();
        let object = self.buf.len() + ",\"message\":".len();
        self.buf.put(",\"message\":{\"role\":\"user\",\"content\":[{\"tool_use_id\":\"").put(&call.id);
        self.buf.put("\",\"type\":\"tool_result\",\"content\":");
        let start = self.buf.len();
        self.write_content(call);
        let content = start..self.buf.len();
        self.context += content.len() as i64 / 4;
        self.buf.put(match (call.outcome, call.tool) {
            (Outcome::Done, Tool::Bash) => ",\"is_error\":false}]}",
            (Outcome::Done, _) => "}]}",
            _ => ",\"is_error\":true}]}",
        });
        self.note_message("user", object..self.buf.len());
        self.stamp();
        if self.identity.agent.is_none() {
            self.buf.put(",\"toolUseResult\":");
            self.write_structured(call, content);
            if call.outcome == Outcome::Rejected && self.identity.era == Era::AllFinal {
                self.buf.put(",\"toolDenialKind\":\"user-rejected\"");
            }
        }
        if self.identity.era >= Era::Progress {
            self.buf.put(",\"sourceToolAssistantUUID\":").uuid(call.asked_by.get());
        }
        self.end()?;
        self.apply(call);
        Ok(())
    }

    fn write_content(&mut self, call: &Call) {
        let (pools, doc, out) = (self.pools, &self.docs[call.doc], &mut self.buf);
        let logs = pools.logs.trimmed(&call.logs);
        match (call.outcome, call.tool) {
            (Outcome::Rejected, _) if call.old.start.is_multiple_of(2) => {
                out.put("\"")
                    .put(REJECTION)
                    .put("STOP what you are doing and wait for the user to tell you how to proceed.\"");
            }
            (Outcome::Rejected, _) => {
                out.put("\"").put(REJECTION).put("To tell you how to proceed, the user said:\\n");
                out.raw(pools.prose.line(call.prose.start)).put("\"");
            }
            (Outcome::Invalid, _) => {
                out.put("\"<tool_use_error>File has not been read yet. Read it first before writing to it.</tool_use_error>\"");
            }
            (Outcome::ExitCode(code), _) if self.identity.era == Era::Inline => {
                out.put("\"error: ")
                    .raw(pools.prose.line(call.prose.start))
                    .put("\\nExit code ")
                    .num(code)
                    .put("\\n")
                    .raw(logs)
                    .put("\"");
            }
            (Outcome::ExitCode(code), _) => _ = out.put("\"Exit code ").num(code).put("\\n").raw(logs).put("\""),
            (Outcome::Done, Tool::Bash | Tool::Grep | Tool::Glob) => _ = out.put("\"").raw(logs).put("\""),
            (Outcome::Done, Tool::Read) => {
                out.put("\"");
                doc.write_numbered(&pools.code, &call.old, out);
                out.put("\"");
            }
            (Outcome::Done, Tool::Edit) => {
                out.put("\"The file ")
                    .put(&doc.path)
                    .put(" has been updated. Here's the result of running `cat -n`:\\n");
                doc.write_numbered(&pools.code, &call.old, out);
                out.put("\"");
            }
            (Outcome::Done, Tool::Write) => _ = out.put("\"File created successfully at: ").put(&doc.path).put("\""),
            (Outcome::Done, Tool::Todo) => {
                out.put("\"Todos have been modified successfully. Ensure that you continue to use the todo list to track your \
                    progress. Please proceed with the current tasks if applicable\"");
            }
            (Outcome::Done, Tool::Mcp) => _ = out.put("[{\"type\":\"text\",\"text\":\"").raw(logs).put("\"}]"),
            (Outcome::Done, Tool::WebFetch | Tool::Agent) => {
                out.put("[{\"type\":\"text\",\"text\":\"").raw(pools.prose.trimmed(&call.prose)).put("\"}]");
            }
        }
    }

    /// The value of `toolUseResult`; `content` is where the same result stands for the model.
    fn write_structured(&mut self, call: &Call, content: Span) {
        let (pools, doc, out) = (self.pools, &self.docs[call.doc], &mut self.buf);
        let inner = content.start + 1..content.end - 1;
        match (call.outcome, call.tool) {
            (Outcome::Rejected, _) if self.identity.era < Era::LastFinal => _ = out.put("\"User rejected tool use\""),
            (Outcome::Rejected | Outcome::Invalid | Outcome::ExitCode(_), _) => {
                out.put("\"Error: ").extend_from_within(inner);
                out.put("\"");
            }
            (Outcome::Done, Tool::Bash) => {
                out.put("{\"stdout\":").extend_from_within(content);
                out.put(",\"stderr\":\"\",\"interrupted\":false,\"isImage\":false");
                out.put(if self.identity.era >= Era::Progress { ",\"noOutputExpected\":false}" } else { "}" });
            }
            (Outcome::Done, Tool::Read) => {
                out.put("{\"type\":\"text\",\"file\":{\"filePath\":\"").put(&doc.path).put("\",\"content\":\"");
                doc.write_lines(&pools.code, &call.old, out);
                out.put("\"").field("numLines", call.old.len() as u64).field("startLine", call.old.start as u64 + 1);
                out.field("totalLines", doc.lines as u64).put("}}");
            }
            (Outcome::Done, Tool::Edit) => self.write_edit(call),
            (Outcome::Done, Tool::Write) => {
                out.put("{\"type\":\"create\",\"filePath\":\"").put(&doc.path).put("\",\"content\":\"");
                doc.write(&pools.code, out);
                out.put("\",\"structuredPatch\":[],\"originalFile\":null}");
            }
            (Outcome::Done, Tool::Grep) => {
                out.put("{\"mode\":\"content\",\"numFiles\":0,\"filenames\":[],\"content\":")
                    .extend_from_within(content);
                out.field("numLines", call.logs.len() as u64).put("}");
            }
            (Outcome::Done, Tool::Glob) => {
                out.put("{\"filenames\":[\"")
                    .put(&doc.path)
                    .put("\"]")
                    .field("durationMs", call.old.start as u64 % 900);
                out.put(",\"numFiles\":1,\"truncated\":false}");
            }
            (Outcome::Done, Tool::Todo) if self.identity.era >= Era::Progress => {
                out.put("{\"success\":true,\"taskId\":\"")
                    .num(call.old.start as u64 % 12)
                    .put("\",\"updatedFields\":[\"status\"]}");
            }
            (Outcome::Done, Tool::Todo) => {
                self.write_todos("{\"oldTodos\":", self.todos_done);
                self.write_todos(",\"newTodos\":", self.todos_done + 1);
                self.buf.put("}");
            }
            (Outcome::Done, Tool::Mcp) => out.extend_from_within(content),
            (Outcome::Done, Tool::WebFetch) => {
                out.put("{\"bytes\":48213,\"code\":200,\"codeText\":\"OK\",\"result\":\"")
                    .raw(pools.prose.trimmed(&call.prose));
                out.put("\"")
                    .field("durationMs", 400 + call.old.start as u64)
                    .put(",\"url\":\"https://docs.example.org/\"}");
            }
            (Outcome::Done, Tool::Agent) => self.write_agent_end(call, content),
        }
    }

    fn write_edit(&mut self, call: &Call) {
        let (pools, doc, out) = (self.pools, &self.docs[call.doc], &mut self.buf);
        out.put("{\"filePath\":\"").put(&doc.path).put("\",\"oldString\":\"");
        doc.write_lines(&pools.code, &call.old, out);
        out.put("\",\"newString\":\"").raw(pools.code.trimmed(&call.new)).put("\",\"originalFile\":\"");
        doc.write(&pools.code, out);
        let before = call.old.start.saturating_sub(3)..call.old.start;
        let after = call.old.end..(call.old.end + 3).min(doc.lines);
        let context = before.len() + after.len();
        out.put("\",\"structuredPatch\":[{\"oldStart\":").num(before.start as u64 + 1);
        out.field("oldLines", (context + call.old.len()) as u64).field("newStart", before.start as u64 + 1);
        out.field("newLines", (context + call.new.len()) as u64).put(",\"lines\":[");
        doc.write_patch_lines(&pools.code, &before, " ", out);
        doc.write_patch_lines(&pools.code, &call.old, "-", out);
        call.new.clone().for_each(|index| patch_line(&pools.code, index, "+", out));
        doc.write_patch_lines(&pools.code, &after, " ", out);
        out.put("]}],\"userModified\":false,\"replaceAll\":false}");
    }

    fn write_agent_end(&mut self, call: &Call, content: Span) {
        let out = &mut self.buf;
        out.put("{\"status\":\"completed\",\"prompt\":\"").raw(self.pools.prose.trimmed(&call.prose)).put("\"");
        if let Some(agent) = &call.agent {
            if self.identity.era > Era::Inline {
                out.put(",\"agentId\":\"").put(&agent.id).put("\"");
            }
            out.field("totalDurationMs", agent.millis).field("totalTokens", agent.tokens);
            out.field("totalToolUseCount", agent.calls);
        }
        out.put(",\"content\":").extend_from_within(content);
        out.put("}");
    }

    fn write_todos(&mut self, key: &str, done: usize) {
        self.buf.put(key).put("[");
        for (place, span) in self.todos.iter().enumerate() {
            let text = self.pools.prose.trimmed(span);
            self.buf.put(if place > 0 { ",{" } else { "{" }).put("\"content\":\"").raw(text).put("\",\"status\":\"");
            self.buf.put(["completed", "in_progress", "pending"][(place + 1).saturating_sub(done).min(2)]);
            self.buf.put("\",\"activeForm\":\"Doing ").raw(text).put("\"}");
        }
        self.buf.put("]");
    }

    /// The change that a successful call leaves behind.
    fn apply(&mut self, call: &Call) {
        match call.tool {
            Tool::Edit if call.outcome == Outcome::Done => self.docs[call.doc].replace(&call.old, call.new.clone()),
            Tool::Todo if self.todos_done >= self.todos.len() => {
                self.todos = (0..self.rng.within(3, 8)).map(|_| self.pools.prose.passage(&mut self.rng, 40)).collect();
                self.todos_done = 0;
            }
            Tool::Todo => self.todos_done += 1,
            _ => {}
        }
        if self.docs.last().is_some_and(|doc| doc.lines > 4000) {
            self.docs.pop();
        }
    }
}
