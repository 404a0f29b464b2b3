//! A canned query with the values of its parameters.

use super::super::settings::Settings;
use super::super::when::Period;
use super::value_of;
use crate::Result;
use crate::query::canned::Canned;

/// A canned query and the values that were given for its parameters.
#[derive(Clone, Copy)]
pub(in crate::cli) struct Asked<'a> {
    pub(in crate::cli) canned: &'a Canned,
    pub(in crate::cli) given: &'a [(String, String)],
}

impl<'a> Asked<'a> {
    /// Returns the time that was asked for.
    pub(super) fn period(self, settings: &Settings) -> Result<Period> {
        settings.clock.period(self.value("since"), self.value("until"))
    }

    /// Returns the value that was given for a parameter.
    pub(super) fn value(self, name: &str) -> Option<&'a str> {
        value_of(self.given, name)
    }
}
