//! Jobs that most agents share.

pub(super) mod calls;
pub(super) mod facts;
pub(super) mod shown;
pub(super) mod store;
pub(super) mod texts;
pub(super) mod thread;
pub(super) mod values;
