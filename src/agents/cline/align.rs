//! Matches messages of the model's history to requests, which have times, models and costs.

use std::collections::HashMap;

use super::timeline::{Event, Timeline};

/// Walks through the requests along with the messages.
pub(super) struct Alignment<'t> {
    timeline: &'t Timeline,
    /// The last request made when the model's history ended at a message.
    made_at: HashMap<i64, usize>,
    /// Requests that the model answered, by place.
    answered: Vec<usize>,
    /// Number of requests that are matched or passed.
    passed: usize,
}

/// Position of a message in the model's history and in time.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Place in the model's history, from 0.
    pub(super) index: i64,
    /// Time, if the message records it. Milliseconds since 1970.
    pub(super) at: Option<i64>,
}

impl<'t> Alignment<'t> {
    pub(super) fn new(timeline: &'t Timeline) -> Self {
        let requests = || timeline.requests.iter().enumerate();
        let answered = requests().filter(|(_, request)| request.is_answered || request.is_billed());
        Self {
            timeline,
            made_at: requests().filter_map(|(place, request)| Some((request.index?, place))).collect(),
            answered: answered.map(|(place, _)| place).collect(),
            passed: 0,
        }
    }

    /// Returns the request that a reply answers: the last before its time; the one made two messages before it; or the
    /// next answered one.
    pub(super) fn answered_by(&mut self, place: Place) -> Option<usize> {
        let found = match place.at {
            Some(at) => self.timeline.moments.place(at),
            None if self.timeline.has_indices => self.made_at.get(&(place.index - 2)).copied(),
            None => self.next_answered(),
        };
        let found = found.filter(|found| *found >= self.passed)?;
        self.passed = found + 1;
        Some(found)
    }

    /// Returns the request that sends a message of the person or of tools. Roo Code dates the message a little after its
    /// request. A request that was answered, or that the person stopped before, sent another one.
    pub(super) fn sent_by(&self, place: Place) -> Option<usize> {
        if self.timeline.has_indices {
            return self.made_at.get(&(place.index - 1)).copied();
        }
        if let Some(at) = place.at {
            let next = self.timeline.moments.place(at).map_or(0, |last| last + 1);
            let last = next.checked_sub(1).filter(|last| *last >= self.passed);
            let last = last.filter(|last| self.timeline.is_undisturbed(*last, at));
            return last.or(Some(next));
        }
        let next = (self.passed < self.timeline.requests.len()).then_some(self.passed);
        self.next_answered().or(next)
    }

    fn next_answered(&self) -> Option<usize> {
        let next = self.answered.partition_point(|place| *place < self.passed);
        self.answered.get(next).copied()
    }
}

/// Returns true if an event comes before a message. If `request` sends the message, the event of that request comes
/// after it, whichever of the two has the earlier time.
pub(super) fn goes_before(event: &Event, place: Place, request: Option<usize>) -> bool {
    match (event.index, place.at) {
        (Some(index), _) => index < place.index,
        (None, Some(at)) => event.at <= at && request.is_none_or(|request| event.requests <= request),
        (None, None) => request.is_some_and(|request| event.requests <= request),
    }
}
