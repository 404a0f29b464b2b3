//! `llrem completions`: prints the completion script of a shell.

use super::args::Completions;
use super::output;
use super::settings::Settings;
use crate::Result;

/// Runs the command.
pub(super) fn run(settings: &Settings, typed: &Completions) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(typed.shell, &mut super::command(), "llrem", &mut script);
    output::raw(&settings.output, &script)
}
