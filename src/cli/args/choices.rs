//! Values that options take: a few words, or names that are offered.

use std::ffi::OsStr;

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};

use super::super::output::Format;
use crate::agents::AGENTS;
use crate::tables::{LAKE_TABLES, STATE_TABLES};

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The secrets to replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Redact {
    /// Certain credentials
    Secrets,
    /// Also whatever looks like a credential
    Strict,
    /// Nothing
    None,
}

/// The texts to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Content {
    /// Everything
    Full,
    /// Counts, times and tokens only
    None,
}

pub(super) fn agent_names() -> PossibleValuesParser {
    PossibleValuesParser::new(agent_ids())
}

pub(super) fn agent_ids() -> Vec<&'static str> {
    AGENTS.iter().map(|agent| agent.about().id).collect()
}

pub(super) fn format_names() -> Vec<&'static str> {
    Format::ALL.map(Format::name).to_vec()
}

pub(super) fn table_names() -> Vec<&'static str> {
    LAKE_TABLES.into_iter().chain(STATE_TABLES).map(|table| table.name).collect()
}

/// A parser that offers names in completions and accepts every value. The command checks the value later.
#[derive(Debug, Clone)]
pub(super) struct Offered(pub(super) fn() -> Vec<&'static str>);

impl TypedValueParser for Offered {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue>>> {
        Some(Box::new((self.0)().into_iter().map(PossibleValue::new)))
    }
}
