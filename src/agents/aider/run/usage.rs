//! Tokens and cost: one row for each report that Aider prints, which sums up a send.

use super::Run;
use crate::agents::aider::analytics::{Send, provider};
use crate::agents::aider::companions::{Companions, MOST_PASSED};
use crate::agents::aider::tokens::{Count, Printed};
use crate::extract::{Kind, Reject, Sink};
use crate::tables::{UsageGrain, UsageRow};

/// A report that comes before its reply, as until about 0.36.
pub(super) struct Ahead {
    pub(super) printed: Printed,
    pub(super) line: u64,
}

impl Run {
    pub(super) fn push_usage(
        &mut self,
        printed: &Printed,
        line: u64,
        out: &mut Sink<'_>,
        companions: &Companions,
    ) -> Result<(), Reject> {
        let logged = self.logged(printed, out, companions);
        let exact = |count: Count, exact: Option<i64>| exact.map_or(count, |tokens| Count { tokens, precision: 0 });
        let printed = Printed {
            sent: exact(printed.sent, logged.map(|send| send.sent)),
            received: exact(printed.received, logged.map(|send| send.received)),
            cost: logged.and_then(|send| send.cost).or(printed.cost),
            ..printed.clone()
        };
        let moment = logged.map(|send| send.time);
        self.moment = moment.or(self.moment);
        let id = self.record_id(line);
        let reply = self.reply.as_mut().filter(|reply| reply.response.is_none());
        let message = reply.map(|reply| {
            reply.response = Some(id.clone());
            reply.timestamp = moment;
            (reply.id.clone(), reply.seq)
        });
        let numbers = printed.numbers(self.model.as_deref(), self.tuple_version());
        // Only a provider's own count includes caches; the count of a stream is Aider's estimate.
        let is_estimate = self.streams && numbers.cache_read.is_none();
        let Some(session) = &self.id else { return Ok(()) };
        let row = UsageRow {
            session_id: session,
            message_id: message.as_ref().map(|(id, _)| id.as_str()),
            response_id: &id,
            turn: (self.turn > 0).then_some(self.turn),
            timestamp: self.moment,
            model: self.model.as_deref(),
            provider: self.model.as_deref().and_then(provider),
            input_tokens: Some(numbers.input),
            cache_read_tokens: numbers.cache_read,
            cache_write_5m_tokens: numbers.cache_write,
            output_tokens: Some(numbers.output),
            cost_usd: printed.cost,
            grain: UsageGrain::Turn,
            is_partial: printed.is_rounded() || numbers.is_guess || is_estimate,
            source_line: i64::try_from(line).ok(),
            ..UsageRow::default()
        };
        let seq = message.as_ref().map_or(self.seq - 1, |(_, seq)| *seq);
        out.usage(row, seq, false)?;
        for _ in [logged.is_some(), self.is_timed(out)].into_iter().filter(|is_more| *is_more) {
            out.from_companion(Kind::Response, &id);
        }
        Ok(())
    }

    /// Returns the event of a send in the analytics log. Its events have the same order, within the run's time.
    fn logged(&mut self, printed: &Printed, out: &Sink<'_>, companions: &Companions) -> Option<Send> {
        let from = out.local_moment(self.started?)?;
        let until = self.until.and_then(|until| out.local_moment(until)).unwrap_or(i64::MAX);
        let begun = companions.sends.partition_point(|send| send.time < from).max(self.next_send);
        let left = companions.sends.get(begun..)?;
        let place = left.iter().take(MOST_PASSED).position(|send| {
            (from..until).contains(&send.time)
                && printed.sent.may_be(send.sent)
                && printed.received.may_be(send.received)
        })?;
        self.next_send = begun + place + 1;
        left.get(place).copied()
    }
}
