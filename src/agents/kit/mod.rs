//! Jobs that most agents share.

pub(super) mod facts;
pub(super) mod texts;
