//! What the agents that write pi's lines mean by them.

use super::record::Message;

/// Who wrote a message of role `assistant`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writer {
    /// A model, and the tokens beside it were billed.
    Model,
    /// A model, through another agent whose own files have the tokens.
    OtherAgent,
    /// The program itself, in the model's name.
    Program,
}

/// One agent's use of the lines.
pub(crate) struct Dialect {
    /// Value of the `agent` column.
    pub(crate) agent: &'static str,
    /// What a user message is, and its text without what the agent put before it.
    pub(crate) user: fn(&str) -> (&'static str, &str),
    /// Who wrote a message of role `assistant`.
    pub(crate) writer: fn(&Message<'_>) -> Writer,
}

/// As pi means them.
pub(crate) const fn plain(agent: &'static str) -> Dialect {
    Dialect { agent, user: |text| ("prompt", text), writer: |_| Writer::Model }
}
