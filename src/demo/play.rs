//! Plays a script: gives each step its time and its tokens, and has it written in the form of an agent.

use std::path::PathBuf;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use super::Transcript;
use super::meter::{Meter, Tokens, tokens_of};
use super::script::{Step, Telling};

/// A tool, in the sense that all agents have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    Run,
    Read,
    Edit,
    Write,
    Search,
    Look,
    Task,
}

/// A call of a tool.
pub(super) struct Call {
    /// Number of the call in its session.
    pub(super) number: usize,
    pub(super) tool: Tool,
    /// The command, file, pattern, address or subagent.
    pub(super) target: String,
    pub(super) old: String,
    pub(super) new: String,
}

/// Outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Done,
    Failed,
    Declined,
}

/// The result of a call.
pub(super) struct Outcome {
    pub(super) ending: Ending,
    pub(super) text: String,
    pub(super) seconds: f64,
}

/// A response of the model.
pub(super) struct Response {
    /// Number of the response in its session.
    pub(super) number: usize,
    pub(super) model: Option<String>,
    pub(super) text: Option<String>,
    pub(super) call: Option<Call>,
    pub(super) tokens: Tokens,
}

/// Writes a session in the form of an agent.
pub(super) trait Form {
    fn prompt(&mut self, now: DateTime<Utc>, text: &str);
    fn response(&mut self, now: DateTime<Utc>, response: &Response);
    fn result(&mut self, now: DateTime<Utc>, call: &Call, outcome: &Outcome);
    /// Writes that the person stopped the agent.
    fn interruption(&mut self, now: DateTime<Utc>);
    /// Writes that a request failed.
    fn failure(&mut self, now: DateTime<Utc>, text: &str);
    /// Writes a compaction of a context of so many tokens.
    fn compaction(&mut self, now: DateTime<Utc>, tokens: i64, summary: &str);
    /// Continues before the n-th prompt.
    fn rewind(&mut self, prompt: usize);
    /// Returns the path below the home folder, and the text.
    fn finish(self) -> (PathBuf, String);
}

const SUMMARY: &str = "This session is being continued from a previous conversation. The person asked for the export of \
                       orders; the agent read the code, changed the query and the writer, and was about to run the tests.";
const DECLINED: &str = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the \
                        new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed.";

/// Plays a session.
pub(super) fn play(telling: &Telling<'_>, lines: impl Form) -> Transcript {
    let context = Meter::new(telling.script.context, telling.starts_at);
    let mut player = Player {
        telling,
        lines,
        now: telling.starts_at,
        meter: context,
        place: 0,
        responses: 0,
        calls: 0,
        before_prompts: Vec::new(),
    };
    for step in &telling.script.steps {
        for round in 1..=step.times.unwrap_or(1) {
            player.step(step, round);
        }
    }
    let ended_at = player.now.timestamp_micros();
    let (path, text) = player.lines.finish();
    Transcript { path, text, ended_at }
}

struct Player<'t, L> {
    telling: &'t Telling<'t>,
    lines: L,
    now: DateTime<Utc>,
    meter: Meter,
    place: usize,
    responses: usize,
    calls: usize,
    /// Tokens of the context before each prompt.
    before_prompts: Vec<i64>,
}

impl<L: Form> Player<'_, L> {
    fn step(&mut self, step: &Step, round: usize) {
        self.place += 1;
        if let Some(number) = step.rewind {
            let context = number.checked_sub(1).and_then(|at| self.before_prompts.get(at)).copied();
            self.meter.return_to(context.unwrap_or(self.telling.script.context));
            self.lines.rewind(number);
        }
        if let Some(text) = &step.prompt {
            let text = self.telling.fill(text, round);
            // Nobody waits before the first prompt.
            let usual = if self.responses == 0 { 0.0 } else { 20.0 + self.some(90) };
            self.wait(step.after.unwrap_or(usual));
            self.before_prompts.push(self.meter.context());
            self.meter.add(&text);
            self.lines.prompt(self.now, &text);
        }
        let tool = tool(step).map(|(tool, target)| (tool, self.telling.fill(target, round)));
        if step.reply.is_some() || tool.is_some() {
            self.respond(step, round, tool);
        }
        if let Some(text) = &step.failure {
            self.wait(step.after.unwrap_or(4.0));
            self.lines.failure(self.now, text);
        }
        if step.compact {
            self.wait(step.after.unwrap_or(25.0));
            let tokens = self.meter.context();
            self.meter.compact(SUMMARY);
            self.lines.compaction(self.now, tokens, SUMMARY);
        }
        if step.interrupt {
            self.wait(step.after.unwrap_or(8.0));
            self.lines.interruption(self.now);
        }
    }

    fn respond(&mut self, step: &Step, round: usize, tool: Option<(Tool, String)>) {
        let text = step.reply.as_ref().map(|text| self.telling.fill(text, round));
        let call = tool.map(|(tool, target)| {
            self.calls += 1;
            let [old, new] = [&step.old, &step.new].map(|text| self.telling.fill(text, round));
            Call { number: self.calls, tool, target, old, new }
        });
        let said = text.as_deref().map_or(0, tokens_of);
        let asked =
            call.as_ref().map_or(0, |call| 60 + tokens_of(&call.target) + tokens_of(&call.old) + tokens_of(&call.new));
        let output = step.output.unwrap_or_else(|| said + asked + 40 + self.some_tokens(360));
        // A model writes some 70 tokens a second.
        self.wait(if step.prompt.is_some() {
            4.0
        } else {
            step.after.unwrap_or(2.0 + self.some(4) + output as f64 / 70.0)
        });
        self.responses += 1;
        let tokens = self.meter.bill(self.now, output, step.cold);
        let model = step.model.clone().or_else(|| self.telling.script.model.clone());
        let response = Response { number: self.responses, model, text, call, tokens };
        self.lines.response(self.now, &response);
        let Some(call) = response.call.filter(|_| !step.pending) else { return };
        let outcome = self.outcome(step, round, &call);
        self.wait(outcome.seconds);
        self.meter.add(&outcome.text);
        self.lines.result(self.now, &call, &outcome);
    }

    fn outcome(&self, step: &Step, round: usize, call: &Call) -> Outcome {
        let usual = match call.tool {
            Tool::Run => 1.5 + self.some(6),
            Tool::Task => 95.0,
            _ => 0.2,
        };
        let seconds = step.took.unwrap_or(usual);
        let (ending, text) = match (&step.error, step.rejected) {
            (_, true) => (Ending::Declined, DECLINED.to_owned()),
            (Some(error), _) => (Ending::Failed, self.telling.fill(error, round)),
            (None, _) => (Ending::Done, self.telling.fill(step.ok.as_deref().unwrap_or_default(), round)),
        };
        let text = text + &filler(call, step.lines);
        let text = match (call.tool, text.is_empty()) {
            (Tool::Edit, true) => format!("The file {} has been updated.", call.target),
            (Tool::Write, true) => format!("File created successfully at: {}", call.target),
            _ => text,
        };
        Outcome { ending, text, seconds }
    }

    fn some(&self, most: u64) -> f64 {
        self.telling.chance(self.place, most) as f64
    }

    fn some_tokens(&self, most: u64) -> i64 {
        i64::try_from(self.telling.chance(self.place, most)).unwrap_or(0)
    }

    fn wait(&mut self, seconds: f64) {
        self.now += TimeDelta::from_std(Duration::from_secs_f64(seconds)).unwrap_or_default();
    }
}

fn tool(step: &Step) -> Option<(Tool, &str)> {
    let tools = [
        (Tool::Run, &step.run),
        (Tool::Read, &step.read),
        (Tool::Edit, &step.edit),
        (Tool::Write, &step.write),
        (Tool::Search, &step.search),
        (Tool::Look, &step.look),
        (Tool::Task, &step.task),
    ];
    tools.into_iter().find_map(|(tool, target)| Some((tool, target.as_deref()?)))
}

/// Returns lines of a file, or of a log.
fn filler(call: &Call, count: usize) -> String {
    let name = call.target.rsplit('/').next().unwrap_or_default();
    let stem = name.split(['.', ' ']).next().unwrap_or_default();
    let line = |number: usize| match call.tool {
        Tool::Read if number.is_multiple_of(9) => String::new(),
        Tool::Read => format!("    {stem}_{number} = load(\"{stem}\", step={number})  # as the tests expect"),
        Tool::Search => format!("src/part{}/{stem}.py:{number}: {stem}_{}", number % 7, number + call.number),
        // No two runs take the same time.
        _ => format!("[{number:>5}] checked step {number} of {stem} in {} ms", (number * 7 + call.number) % 43),
    };
    (1..=count).flat_map(|number| ["\n".to_owned(), line(number)]).collect()
}
