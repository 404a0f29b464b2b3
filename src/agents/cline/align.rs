//! Which request a message of the model's history belongs to, so that it has a time, a model and a cost.

use super::timeline::{Event, Timeline};

/// Walks through the requests along with the messages.
pub(super) struct Alignment<'t> {
    timeline: &'t Timeline,
    /// Requests that messages were found for, or passed by.
    passed: usize,
}

/// What a message is told by.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Place in the model's history, from 0.
    pub(super) index: i64,
    /// Milliseconds since 1970, where the message says so.
    pub(super) at: Option<i64>,
}

impl<'t> Alignment<'t> {
    pub(super) fn new(timeline: &'t Timeline) -> Self {
        Self { timeline, passed: 0 }
    }

    /// The request that a reply answers: the last before its moment; the one that was made two messages before it; or the
    /// next that was answered.
    pub(super) fn answered_by(&mut self, place: Place) -> Option<usize> {
        let requests = &self.timeline.requests;
        let found = match place.at {
            Some(at) => requests.iter().rposition(|request| request.at <= at),
            None if self.timeline.has_indices => self.made_at(place.index - 2),
            None => self.next_answered(),
        };
        let found = found.filter(|found| *found >= self.passed)?;
        self.passed = found + 1;
        Some(found)
    }

    /// The request that a message of the person or of tools is sent by.
    pub(super) fn sent_by(&self, place: Place) -> Option<usize> {
        if self.timeline.has_indices {
            return self.made_at(place.index - 1);
        }
        let next = (self.passed < self.timeline.requests.len()).then_some(self.passed);
        self.next_answered().or(next).filter(|_| place.at.is_none())
    }

    fn next_answered(&self) -> Option<usize> {
        let mut requests = self.timeline.requests.iter().enumerate().skip(self.passed);
        requests.find(|(_, request)| request.is_answered || request.is_billed()).map(|(place, _)| place)
    }

    /// The last request that was made when the model's history ended there.
    fn made_at(&self, index: i64) -> Option<usize> {
        self.timeline.requests.iter().rposition(|request| request.index == Some(index))
    }
}

/// Whether an event goes before a message.
pub(super) fn goes_before(event: &Event, place: Place, request: Option<usize>) -> bool {
    match (event.index, place.at) {
        (Some(index), _) => index < place.index,
        (None, Some(at)) => event.at <= at,
        (None, None) => request.is_some_and(|request| event.requests <= request),
    }
}
