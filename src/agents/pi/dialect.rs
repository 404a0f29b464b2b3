//! The meaning of pi's lines for each agent that writes them.

use super::known::Known;
use super::record::Message;
use crate::tables::MessageKind;

/// The author of a message of role `assistant`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writer {
    /// A model, and its tokens were billed.
    Model,
    /// A model, through another agent whose own files have the tokens: where the session there is known, the tokens
    /// count until that session is, which claims this key. Otherwise nothing shows if they are counted there.
    OtherAgent(Option<u64>),
    /// The program itself, in the model's name.
    Program,
}

/// One agent's use of the lines.
pub(crate) struct Dialect {
    /// Returns the kind of a user message, and its text without the agent's prefix.
    pub(crate) user: fn(&str) -> (MessageKind, &str),
    /// Returns the author of a message of role `assistant`.
    pub(crate) writer: fn(&Message<'_>, &Known) -> Writer,
}

/// As pi means them.
pub(crate) static PLAIN: Dialect = Dialect { user: |text| (MessageKind::Prompt, text), writer: |_, _| Writer::Model };
