//! Billed responses: records of each (0.153 and later), else running totals.

use super::super::counts::{Billed, Counted, Numbers};
use super::super::limits::Limits;
use super::super::record::{RateLimits, TokenInfo, UsageRecord};
use super::super::response_id;
use super::{LinePosition, Rollout};
use crate::extract::{Kind, Reject, key};

impl Rollout<'_, '_> {
    /// Takes running totals. They are written after each response, and again at changed limits, at compactions and in
    /// copies.
    pub(super) fn take_count(&mut self, position: LinePosition, info: Option<&TokenInfo<'_>>) -> Result<(), Reject> {
        let Some(info) = info else { return Ok(()) };
        let is_inherited = self.lineage.is_before_first_turn();
        if is_inherited {
            self.settle()?;
            self.drop_copies()?;
        }
        if is_inherited || self.lineage.is_copied() {
            self.totals.inherit(info);
            return Ok(());
        }
        self.context_window = info.context_window.0.or(self.context_window);
        match self.totals.read(info, !self.lineage.may_inherit()) {
            Counted::Nothing => Ok(()),
            Counted::Repeated => {
                if let Some(billed) = self.billed.as_mut().filter(|billed| billed.is_from_totals) {
                    billed.copies += 1;
                }
                Ok(())
            }
            Counted::Response { .. } if self.turn_has_records => Ok(()),
            Counted::Response { numbers, total } => {
                let name = match (total, position.moment) {
                    (Some(total), _) => total.to_string(),
                    (None, Some(moment)) => format!("at-{moment}"),
                    (None, None) => format!("line-{}", position.number),
                };
                let id = self.first_free(format!("{}#{name}", self.lineage.namespace(&self.session)));
                self.bill(position, id, numbers, true)
            }
        }
    }

    /// Notes the limits that were recorded with a count, unless they were copied from another thread.
    pub(super) fn take_limits(&mut self, position: LinePosition, recorded: Option<&RateLimits<'_>>) {
        if let Some(recorded) = recorded.filter(|_| !self.lineage.is_before_first_turn() && !self.lineage.is_copied()) {
            self.limits = Limits::of(recorded, position.moment);
        }
    }

    /// Takes the record of one response, which names its thread.
    pub(super) fn take_record(&mut self, position: LinePosition, record: &UsageRecord<'_>) -> Result<(), Reject> {
        self.out.unknown_fields("token_usage_record field ", &record.unknown);
        if let Some(thread) = record.thread.get() {
            self.lineage.named(thread == self.session);
            if thread != self.session {
                return Ok(());
            }
        }
        let Some(numbers) = record.usage.0.as_ref().map(Numbers::of) else { return Ok(()) };
        if self.lineage.is_copied() || numbers.is_nothing() {
            return Ok(());
        }
        self.turn_has_records = true;
        let id = match record.response.get() {
            Some(id) => response_id(id, &self.session),
            None => {
                let total = record.thread_total.0.as_ref().map_or(0, |total| Numbers::of(total).total);
                format!("{}#{total}", self.session)
            }
        };
        if self.responses.contains(&key("", Kind::Response, &id)) {
            if let Some(billed) = self.billed.as_mut().filter(|billed| billed.response_id == id) {
                billed.copies += 1;
            }
            return Ok(());
        }
        let weak = self.lineage.is_unclear();
        let recorded =
            self.billed.as_mut().filter(|billed| billed.is_from_totals && billed.numbers.is_same_as(numbers));
        if let Some(billed) = recorded {
            // The response keeps its name, because lakes filled before the record was written have it.
            (billed.is_from_totals, billed.weak) = (false, weak);
            self.responses.insert(key("", Kind::Response, &id));
            return Ok(());
        }
        self.bill(position, id, numbers, false)
    }

    /// Takes a billed response. It belongs to the open reply, or to the next one if counts come before their replies.
    pub(super) fn bill(
        &mut self,
        position: LinePosition,
        id: String,
        numbers: Numbers,
        is_from_totals: bool,
    ) -> Result<(), Reject> {
        self.flush_user()?;
        self.flush_billed()?;
        self.has_rows = true;
        self.responses.insert(key("", Kind::Response, &id));
        let reply = self.reply.as_mut().filter(|reply| reply.response_id.is_none());
        let waits = is_from_totals && *self.counts_come_first.get_or_insert(reply.is_none());
        let (mut message_id, mut seq) = (None, self.seq);
        if let Some(reply) = reply.filter(|_| !waits) {
            reply.response_id = Some(id.clone());
            reply.is_counted = is_from_totals;
            (message_id, seq) = (Some(reply.id.clone()), reply.seq);
        }
        if message_id.is_none() || !is_from_totals {
            self.close_reply()?;
        }
        self.billed = Some(Billed {
            response_id: id,
            message_id,
            seq,
            turn: self.turn,
            timestamp: position.moment,
            model: self.model.clone(),
            service_tier: self.service_tier.clone(),
            effort: self.effort.clone(),
            context_window: self.context_window,
            web_searches: std::mem::take(&mut self.web_searches),
            numbers,
            is_first: std::mem::take(&mut self.awaits_first),
            first_token_ms: None,
            source_line: i64::try_from(position.number).ok(),
            copies: 0,
            weak: self.lineage.is_unclear(),
            is_from_totals,
            waits,
        });
        Ok(())
    }

    /// Returns the response of a new reply, if its count came before it.
    pub(super) fn waiting_response(&mut self, message: &str, seq: i64) -> Option<String> {
        let billed = self.billed.as_mut().filter(|billed| billed.waits)?;
        billed.waits = false;
        billed.message_id = Some(message.to_owned());
        billed.seq = seq;
        Some(billed.response_id.clone())
    }

    /// Notes a web search of the open reply's response if that is counted already, else of the next response.
    pub(super) fn count_web_search(&mut self) {
        let reply = self.reply.as_ref().and_then(|reply| reply.response_id.as_ref());
        match self.billed.as_mut().filter(|billed| Some(&billed.response_id) == reply) {
            Some(billed) => billed.web_searches += 1,
            None => self.web_searches += 1,
        }
    }

    /// Notes that the following items do not belong to the last counted response.
    pub(super) fn stop_waiting(&mut self) {
        if let Some(billed) = &mut self.billed {
            billed.waits = false;
        }
    }

    /// Emits the last billed response.
    pub(super) fn flush_billed(&mut self) -> Result<(), Reject> {
        let limits = std::mem::take(&mut self.limits);
        match self.billed.take() {
            Some(billed) if billed.is_first && billed.first_token_ms.is_none() => {
                self.flush_first()?;
                self.first = Some((billed, limits));
                Ok(())
            }
            Some(billed) => self.push_billed(&billed, &limits),
            None => Ok(()),
        }
    }

    /// Notes the time to the turn's first token.
    pub(super) fn take_first_token(&mut self, ms: Option<i64>) -> Result<(), Reject> {
        let first = self.first.as_mut().map(|(billed, _)| billed);
        if let Some(billed) = first.or(self.billed.as_mut().filter(|billed| billed.is_first)) {
            billed.first_token_ms = ms;
        }
        self.flush_first()
    }

    /// Emits the first billed response of the turn.
    pub(super) fn flush_first(&mut self) -> Result<(), Reject> {
        let first = self.first.take();
        first.map_or(Ok(()), |(billed, limits)| self.push_billed(&billed, &limits))
    }

    fn push_billed(&mut self, billed: &Billed, limits: &Limits) -> Result<(), Reject> {
        let row = limits.fill(billed.row(&self.session, self.provider.as_deref()));
        self.out.usage(row, billed.seq, billed.weak)?;
        self.note_unclear(Kind::Response, &billed.response_id, billed.weak);
        Ok(())
    }

    /// Returns a name that no response of the file has, because counters may restart.
    pub(super) fn first_free(&mut self, name: String) -> String {
        let is_free = |name: &String| !self.responses.contains(&key("", Kind::Response, name));
        if is_free(&name) {
            return name;
        }
        // No number below the last one given is free.
        let last = self.repeats.entry(key("", Kind::Response, &name)).or_insert(1);
        loop {
            *last += 1;
            let counted = format!("{name}.{last}");
            if is_free(&counted) {
                return counted;
            }
        }
    }
}
