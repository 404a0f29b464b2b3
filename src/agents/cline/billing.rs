//! Usage of a task, from the requests in `ui_messages.json`, and messages made from its events.

use super::align::{Alignment, Place, goes_before};
use super::companion::Companion;
use super::dialect::Dialect;
use super::keys;
use super::rows::Rows;
use super::split::{Circumstances, Split};
use super::timeline::{Event, Request, Timeline, Total, moment};
use crate::agents::kit::thread::{Position, blank};
use crate::extract::{Kind, Reject};
use crate::tables::{MessageKind, MessageRow, Role, UsageGrain, UsageRow};

/// Emits the events of a timeline in order, along with a task's messages.
pub(super) struct Billing<'t> {
    dialect: &'static Dialect,
    companion: &'t Companion,
    timeline: &'t Timeline,
    pub(super) alignment: Alignment<'t>,
    billed: usize,
    noted: usize,
}

/// The message that answers a request.
#[derive(Clone, Copy)]
pub(super) struct Answer<'r> {
    pub(super) id: &'r str,
    pub(super) seq: i64,
    /// Model and provider that the message itself records.
    pub(super) model: Option<&'r str>,
    pub(super) provider: Option<&'r str>,
}

/// Seconds by which a removed request comes after the row before it, in microseconds: claims of presence are compared
/// by the second.
const REMOVED_AFTER: i64 = 2_000_000;

impl<'t> Billing<'t> {
    pub(super) fn new(dialect: &'static Dialect, companion: &'t Companion, timeline: &'t Timeline) -> Self {
        Self { dialect, companion, timeline, alignment: Alignment::new(timeline), billed: 0, noted: 0 }
    }

    /// Returns true if any event is a compaction. Then the history's record of it is its summary.
    pub(super) fn has_compactions(&self) -> bool {
        self.timeline.events.iter().any(|event| event.kind == MessageKind::Compaction)
    }

    /// Returns true if any request has token counts. Then the history's counts are ignored.
    pub(super) fn has_tokens(&self) -> bool {
        self.timeline.has_tokens()
    }

    /// Returns the time of a request. Microseconds since 1970.
    pub(super) fn moment_of(&self, request: Option<usize>) -> Option<i64> {
        moment(self.timeline.requests.get(request?)?.at)
    }

    /// Returns the identity of a request's usage, if it has token counts or a cost.
    pub(super) fn response_of(&self, session: &str, request: Option<usize>) -> Option<String> {
        let request = self.timeline.requests.get(request?)?;
        request.is_billed().then(|| format!("{session}:{}", request.name))
    }

    /// Returns the visible thinking that was shown for a request.
    pub(super) fn thinking_of(&self, request: Option<usize>) -> Option<&'t str> {
        let thinking = self.timeline.requests.get(request?)?.thinking.as_str();
        (!thinking.is_empty()).then_some(thinking)
    }

    /// Returns true if an event says that a request failed or that the person cancelled it.
    pub(super) fn is_interrupted(&self, request: Option<usize>) -> bool {
        request.and_then(|request| self.timeline.requests.get(request)).is_some_and(|made| made.is_interrupted)
    }

    /// Returns the task's model by the index, for tasks without a nearer source.
    pub(super) fn indexed(&self) -> Option<&'t str> {
        self.companion.indexed.as_deref()
    }

    /// Returns the model and the provider of a request.
    pub(super) fn model_of(&self, request: Option<usize>) -> (Option<&'t str>, Option<&'t str>) {
        let Some((place, request)) = request.and_then(|place| Some((place, self.timeline.requests.get(place)?))) else {
            return (None, None);
        };
        let next = self.timeline.requests.get(place + 1).map(|next| next.at);
        let used = || self.companion.model_before(next);
        let total = || self.companion.totals.as_ref()?.model.as_deref();
        let model = request.model.as_deref().or_else(|| used()?.model.as_deref()).or_else(total);
        (model, request.provider.as_deref().or_else(|| used()?.provider.as_deref()))
    }

    /// Emits the events before a message.
    pub(super) fn note_before(
        &mut self,
        rows: &mut Rows<'_, '_>,
        place: Place,
        at: Option<usize>,
    ) -> Result<(), Reject> {
        while let Some(event) = self.timeline.events.get(self.noted) {
            if !goes_before(event, place, at) {
                break;
            }
            self.note(rows, event)?;
        }
        Ok(())
    }

    /// Emits the events of the rows before one.
    pub(super) fn note_before_row(&mut self, rows: &mut Rows<'_, '_>, place: u64) -> Result<(), Reject> {
        while let Some(event) = self.timeline.events.get(self.noted).filter(|event| event.place < place) {
            self.note(rows, event)?;
        }
        Ok(())
    }

    fn note(&mut self, rows: &mut Rows<'_, '_>, event: &Event) -> Result<(), Reject> {
        self.noted += 1;
        let id = format!("{}:{}", rows.thread.id(), event.id);
        let at = moment(event.at);
        let row = MessageRow {
            text: event.text.as_deref(),
            is_error: matches!(event.kind, MessageKind::ApiError | MessageKind::Notice),
            ..blank(Role::System, event.kind)
        };
        let seq = rows.say(&Position::new(&id, at), row)?;
        if event.cost.is_some() {
            let (model, provider) = self.model_of(event.requests.checked_sub(1));
            let response = format!("{}:{}:compaction", rows.thread.id(), event.name);
            let row = UsageRow {
                response_id: &response,
                message_id: Some(&id),
                timestamp: at,
                model,
                provider,
                cost_usd: event.cost,
                ..UsageRow::default()
            };
            rows.bill(row, Some(seq), false)?;
        }
        Ok(())
    }

    /// Bills a request with the message that answers it, and the unanswered requests before it.
    pub(super) fn bill(
        &mut self,
        rows: &mut Rows<'_, '_>,
        request: usize,
        reply: Option<Answer<'_>>,
        model: Option<&str>,
    ) -> Result<(), Reject> {
        while self.billed <= request {
            let place = self.billed;
            self.billed += 1;
            let Some(made) = self.timeline.requests.get(place).filter(|made| made.is_billed()) else { continue };
            let reply = reply.filter(|_| place == request);
            self.bill_one(rows, place, made, reply, model)?;
        }
        Ok(())
    }

    /// Bills the unanswered requests before one, but for those that sent the same message: between them and the request,
    /// the person did nothing.
    pub(super) fn bill_before(
        &mut self,
        rows: &mut Rows<'_, '_>,
        request: Option<usize>,
        model: Option<&str>,
    ) -> Result<(), Reject> {
        let Some(request) = request else { return Ok(()) };
        let heard = self.timeline.requests.get(request).map_or(usize::MAX, |made| made.heard);
        let same = self.timeline.requests.partition_point(|made| made.heard < heard);
        match same.min(request).checked_sub(1) {
            Some(last) => self.bill(rows, last, None, model),
            None => Ok(()),
        }
    }

    fn bill_one(
        &self,
        rows: &mut Rows<'_, '_>,
        place: usize,
        made: &Request,
        reply: Option<Answer<'_>>,
        model: Option<&str>,
    ) -> Result<(), Reject> {
        let id = format!("{}:{}", rows.thread.id(), made.name);
        let (known, provider) = self.model_of(Some(place));
        let provider = reply.and_then(|reply| reply.provider).or(provider);
        let of = Circumstances {
            provider,
            protocol: made.protocol.as_deref(),
            at: made.at,
            is_sdk_build: self.companion.is_sdk_build(made.at),
        };
        let row = UsageRow {
            response_id: &id,
            message_id: reply.map(|reply| reply.id),
            timestamp: moment(made.at),
            model: reply.and_then(|reply| reply.model).or(known).or(model),
            provider,
            is_partial: made.recorded.is_unknown_split(self.dialect, &of),
            ..made.recorded.split(self.dialect, &of).row(made.output, made.cost)
        };
        rows.bill(row, reply.map(|reply| reply.seq), false)?;
        // If the request is removed later, a sum will include it.
        let removals = self.timeline.totals.iter().filter(|total| !total.is_of_subagents).count();
        if made.removals == removals {
            let removal = keys::removal(self.dialect.agent, rows.thread.id(), removals);
            rows.out.yields_to(Kind::Response, &id, removal, moment(made.at));
        }
        Ok(())
    }

    /// Emits the remaining events, requests and totals.
    pub(super) fn finish(mut self, rows: &mut Rows<'_, '_>, model: Option<&str>) -> Result<(), Reject> {
        self.note_before_row(rows, u64::MAX)?;
        if let Some(last) = self.timeline.requests.len().checked_sub(1) {
            self.bill(rows, last, None, model)?;
        }
        let mut removals = 0;
        for total in &self.timeline.totals {
            self.sum_up(rows, total, &mut removals)?;
        }
        if self.timeline.has_tokens() {
            rows.out.claim(keys::requests(self.dialect.agent, rows.thread.id()), false);
        }
        Ok(())
    }

    fn sum_up(&self, rows: &mut Rows<'_, '_>, total: &Total, removals: &mut usize) -> Result<(), Reject> {
        let agent = self.dialect.agent;
        let what = if total.is_of_subagents { "subagents" } else { "removed" };
        let id = format!("{}:{}:{what}", rows.thread.id(), total.name);
        let (_, provider) = self.model_of(self.timeline.moments.place(total.at));
        let of = Circumstances {
            provider,
            protocol: None,
            at: total.at,
            is_sdk_build: self.companion.is_sdk_build(total.at),
        };
        let recorded = total.recorded;
        // Subagents' input is recorded as one sum.
        let split = if total.is_of_subagents {
            Split { input: recorded.input, cache_read: None, cache_write: None }
        } else {
            recorded.split(self.dialect, &of)
        };
        let row = UsageRow {
            response_id: &id,
            timestamp: moment(total.at),
            provider,
            grain: UsageGrain::Session,
            ..split.row(total.output, total.cost)
        };
        rows.bill(row, None, false)?;
        if total.is_of_subagents {
            let subagents = keys::subagents(agent, rows.thread.id());
            rows.out.yields_to(Kind::Response, &id, subagents, None);
        } else {
            let since = total.previous.and_then(moment).map(|previous| previous.saturating_add(REMOVED_AFTER));
            rows.out.claim_since(keys::removal(agent, rows.thread.id(), *removals), since);
            *removals += 1;
        }
        Ok(())
    }
}
