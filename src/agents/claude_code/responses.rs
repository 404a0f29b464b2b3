//! Billed responses of one transcript. The lines of each are joined; the fullest one counts.

use std::rc::Rc;

use super::provider::provider_of;
use super::record::{CacheCreation, Iteration, Line, Message, Usage};
use crate::extract::{KeyMap, Kind, key};
use crate::source::records::{Text, TokenNumber};
use crate::tables::UsageRow;

/// A response, joined from its lines.
#[derive(Default)]
pub(super) struct Response {
    id: Box<str>,
    request: Option<Box<str>>,
    message_id: Box<str>,
    pub(super) seq: i64,
    turn: Option<i64>,
    timestamp: Option<i64>,
    model: Option<Rc<str>>,
    numbers: Numbers,
    web_searches: Option<i64>,
    reasoning: Option<i64>,
    tier: Option<Rc<str>>,
    inference_geo: Option<Rc<str>>,
    effort: Option<Rc<str>>,
    requested_model: Option<Rc<str>>,
    skill: Option<Rc<str>>,
    cache_miss: Option<Rc<str>>,
    missed: Option<i64>,
    cost: Option<f64>,
    duration_ms: Option<i64>,
    stop_reason: Option<Rc<str>>,
    ended: bool,
    /// True if the version never stored the final count.
    never_final: bool,
    /// True if the program does not know its cached input.
    has_no_cache: bool,
    lines: i64,
    is_sidechain: bool,
    source_line: Option<i64>,
    pub(super) weak: bool,
    /// Request to an advisor model: the id of its row, the model, the tokens.
    advisor: Option<Box<(String, Option<String>, Numbers)>>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Numbers {
    input: i64,
    cache_read: i64,
    cache_write_5m: i64,
    cache_write_1h: i64,
    output: i64,
}

impl Numbers {
    fn of(
        input: TokenNumber,
        read: TokenNumber,
        write: TokenNumber,
        split: Option<&CacheCreation<'_>>,
        output: TokenNumber,
    ) -> Self {
        let count = |number| tokens(number).unwrap_or(0);
        let five_minutes = split.map_or(0, |split| count(split.five_minutes));
        let one_hour = split.map_or(0, |split| count(split.one_hour));
        let write = tokens(write).unwrap_or(five_minutes.saturating_add(one_hour));
        let split_fits = split.is_some() && five_minutes.saturating_add(one_hour) == write;
        Self {
            input: count(input),
            cache_read: count(read),
            cache_write_5m: if split_fits { five_minutes } else { write.saturating_sub(one_hour).max(0) },
            cache_write_1h: one_hour,
            output: count(output),
        }
    }

    fn of_usage(usage: &Usage<'_>) -> Self {
        Self::of(usage.input, usage.cache_read, usage.cache_write, usage.cache_creation.0.as_ref(), usage.output)
    }

    fn of_iteration(iteration: &Iteration<'_>) -> Self {
        let split = iteration.cache_creation.0.as_ref();
        Self::of(iteration.input, iteration.cache_read, iteration.cache_write, split, iteration.output)
    }

    fn is_zero(self) -> bool {
        self == Self::default()
    }

    fn add(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write_5m: self.cache_write_5m.saturating_add(other.cache_write_5m),
            cache_write_1h: self.cache_write_1h.saturating_add(other.cache_write_1h),
            output: self.output.saturating_add(other.output),
        }
    }
}

/// The responses of a transcript, in the order of their first lines.
#[derive(Default)]
pub(super) struct Responses {
    responses: Vec<Response>,
    places: KeyMap<u32>,
    names: Names,
}

/// Texts that many responses repeat, kept once.
#[derive(Default)]
struct Names(Vec<Rc<str>>);

impl Names {
    /// Most different texts to keep; in damaged files each may differ.
    const KEPT: usize = 16;

    fn keep(&mut self, text: &Text<'_>) -> Option<Rc<str>> {
        let text = text.get()?;
        if let Some(known) = self.0.iter().find(|known| &***known == text) {
            return Some(known.clone());
        }
        let text: Rc<str> = text.into();
        if self.0.len() < Self::KEPT {
            self.0.push(text.clone());
        }
        Some(text)
    }
}

impl Responses {
    /// Adds a line of a response.
    #[expect(clippy::too_many_arguments, reason = "a line and its place, unpacked once")]
    pub(super) fn add(
        &mut self,
        id: &str,
        message_id: &str,
        line: &Line<'_>,
        message: &Message<'_>,
        number: u64,
        seq: i64,
        turn: Option<i64>,
        weak: bool,
    ) {
        let Some(usage) = message.usage.0.as_ref() else { return };
        let numbers = Numbers::of_usage(usage);
        if numbers.is_zero() {
            return;
        }
        let Ok(next) = u32::try_from(self.responses.len()) else { return };
        let place = *self.places.entry(key("", Kind::Response, id)).or_insert(next);
        if place == next {
            let response = Response::begin(id, message_id, line, number, seq, turn, weak);
            self.responses.push(response);
        }
        if let Some(response) = self.responses.get_mut(place as usize) {
            if response.replays(line) {
                // A side question's copy comes before the original.
                let lines = response.lines;
                *response = Response { lines, ..Response::begin(id, message_id, line, number, seq, turn, weak) };
            }
            response.add(line, message, usage, numbers, &mut self.names);
        }
    }

    /// Drops the counts of cached input if all of them are 0 and only say that the program does not know them.
    pub(super) fn drop_unknown_cache(&mut self) {
        if self.responses.iter().all(|response| response.numbers.cache_read == 0) {
            let is_claude = |model: &str| provider_of(model) == Some("anthropic");
            for response in &mut self.responses {
                response.has_no_cache = !response.model.as_deref().is_some_and(is_claude);
            }
        }
    }

    /// Returns the rows, each with its response.
    pub(super) fn rows<'r>(&'r self, session_id: &'r str) -> impl Iterator<Item = (&'r Response, UsageRow<'r>)> {
        self.responses.iter().flat_map(move |response| {
            let advisor = response.advisor_row(session_id);
            std::iter::once((response, response.row(session_id))).chain(advisor.map(|row| (response, row)))
        })
    }
}

impl Response {
    fn begin(
        id: &str,
        message_id: &str,
        line: &Line<'_>,
        number: u64,
        seq: i64,
        turn: Option<i64>,
        weak: bool,
    ) -> Self {
        Self {
            id: id.into(),
            message_id: message_id.into(),
            seq,
            turn,
            timestamp: line.timestamp.0,
            numbers: Numbers { output: -1, ..Numbers::default() },
            is_sidechain: line.is_sidechain.0,
            source_line: i64::try_from(number).ok(),
            weak,
            ..Self::default()
        }
    }

    /// Returns true if the lines so far are a side question's copy of this line's response.
    fn replays(&self, line: &Line<'_>) -> bool {
        self.is_sidechain && !line.is_sidechain.0 && self.is_of_other_request(line)
    }

    fn is_of_other_request(&self, line: &Line<'_>) -> bool {
        self.request.is_some() && line.request.get().is_some_and(|request| Some(request) != self.request.as_deref())
    }

    fn add(&mut self, line: &Line<'_>, message: &Message<'_>, usage: &Usage<'_>, numbers: Numbers, names: &mut Names) {
        self.lines += 1;
        if line.is_sidechain.0 && !self.is_sidechain && self.is_of_other_request(line) {
            return;
        }
        self.request = self.request.take().or(line.request.get().map(Box::from));
        self.cost = self.cost.or(line.cost.0);
        self.duration_ms = self.duration_ms.or(line.duration.0.filter(|ms| *ms >= 0));
        self.effort = self.effort.take().or_else(|| names.keep(&line.effort));
        self.requested_model = self.requested_model.take().or_else(|| names.keep(&line.requested_model));
        self.skill = self.skill.take().or_else(|| names.keep(&line.skill));
        if let Some(miss) = message.diagnostics.0.as_ref().and_then(|diagnostics| diagnostics.cache_miss.0.as_ref()) {
            self.cache_miss = self.cache_miss.take().or_else(|| names.keep(&miss.kind));
            self.missed = self.missed.or(tokens(miss.tokens));
        }
        self.ended |= message.stop_reason.get().is_some();
        self.never_final |= line.version.get().is_some_and(never_stores_final_count);
        let has_reason = message.stop_reason.get().is_some();
        let is_fuller = numbers.output > self.numbers.output
            || (numbers.output == self.numbers.output && (has_reason || self.stop_reason.is_none()));
        if !is_fuller {
            return;
        }
        self.numbers = numbers;
        self.model = names.keep(&message.model).or(self.model.take());
        self.stop_reason = names.keep(&message.stop_reason).or(self.stop_reason.take());
        self.reasoning = usage
            .output_details
            .0
            .as_ref()
            .and_then(|details| tokens(details.thinking))
            .map(|thinking| thinking.min(numbers.output));
        self.web_searches = usage.server_tools.0.as_ref().and_then(|tools| tokens(tools.web_searches));
        self.tier = names.keep(if usage.speed.is("fast") { &usage.speed } else { &usage.service_tier });
        self.inference_geo = names.keep(&usage.inference_geo).filter(|geo| &**geo != "not_available");
        let own = |text: &Text<'_>| text.owned();
        let advised = usage.iterations.0.iter().filter(|iteration| iteration.kind.is("advisor_message"));
        let advised = advised.fold(None, |sum, iteration| {
            let (model, numbers) = sum.unwrap_or((own(&line.advisor), Numbers::default()));
            Some((model.or(own(&iteration.model)), numbers.add(Numbers::of_iteration(iteration))))
        });
        self.advisor = advised.map(|(model, numbers)| Box::new((format!("{}#advisor", self.id), model, numbers)));
    }

    fn row<'r>(&'r self, session_id: &'r str) -> UsageRow<'r> {
        UsageRow {
            session_id,
            message_id: Some(&self.message_id),
            response_id: &self.id,
            request_id: self.request.as_deref(),
            turn: self.turn,
            timestamp: self.timestamp,
            model: self.model.as_deref(),
            provider: self.model.as_deref().and_then(provider_of),
            input_tokens: Some(self.numbers.input),
            cache_read_tokens: Some(self.numbers.cache_read).filter(|_| !self.has_no_cache),
            cache_write_5m_tokens: Some(self.numbers.cache_write_5m),
            cache_write_1h_tokens: Some(self.numbers.cache_write_1h),
            output_tokens: Some(self.numbers.output),
            reasoning_tokens: self.reasoning,
            web_searches: self.web_searches,
            cost_usd: self.cost,
            duration_ms: self.duration_ms,
            stop_reason: self.stop_reason.as_deref(),
            service_tier: self.tier.as_deref(),
            inference_geo: self.inference_geo.as_deref(),
            reasoning_effort: self.effort.as_deref(),
            requested_model: self.requested_model.as_deref(),
            skill: self.skill.as_deref(),
            cache_miss_reason: self.cache_miss.as_deref(),
            cache_missed_tokens: self.missed,
            is_partial: !self.ended || self.never_final,
            copies: self.lines - 1,
            is_sidechain: self.is_sidechain,
            source_line: self.source_line,
            ..UsageRow::default()
        }
    }

    /// Returns the row of an advisor model's request within the response, which is billed separately.
    fn advisor_row<'r>(&'r self, session_id: &'r str) -> Option<UsageRow<'r>> {
        let (id, model, numbers) = self.advisor.as_deref()?;
        (!numbers.is_zero()).then(|| UsageRow {
            response_id: id,
            model: model.as_deref(),
            provider: model.as_deref().and_then(provider_of),
            input_tokens: Some(numbers.input),
            cache_read_tokens: Some(numbers.cache_read),
            cache_write_5m_tokens: Some(numbers.cache_write_5m),
            cache_write_1h_tokens: Some(numbers.cache_write_1h),
            output_tokens: Some(numbers.output),
            reasoning_tokens: None,
            web_searches: None,
            cost_usd: None,
            duration_ms: None,
            stop_reason: None,
            service_tier: None,
            reasoning_effort: None,
            requested_model: None,
            cache_miss_reason: None,
            cache_missed_tokens: None,
            is_partial: false,
            ..self.row(session_id)
        })
    }
}

/// 1.0.10 to 2.1.29 stored the count at the start of the stream, and nothing later.
fn never_stores_final_count(version: &str) -> bool {
    let mut parts = version.split(['.', '-', '+']).map(|part| part.parse::<u32>().unwrap_or(0));
    let version = (parts.next().unwrap_or(0), parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    ((1, 0, 10)..(2, 1, 30)).contains(&version)
}

/// Returns billed tokens. They are never negative; a negative number is damage.
fn tokens(number: TokenNumber) -> Option<i64> {
    number.0
}
