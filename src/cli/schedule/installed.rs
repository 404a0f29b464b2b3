//! An installed schedule.

use super::super::args::System;
use super::super::time_of_day::TimeOfDay;

/// A schedule as a system has it.
#[derive(Debug, Clone)]
pub(in crate::cli) struct Installed {
    pub(in crate::cli) system: System,
    /// When it runs; `None` if somebody wrote a time that llrem does not.
    pub(in crate::cli) at: Option<TimeOfDay>,
    /// The command.
    pub(super) command: String,
    /// True if the system is going to run it.
    pub(in crate::cli) is_active: bool,
}
