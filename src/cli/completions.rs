//! `llrem completions`: prints the completion script of a shell.

use std::fmt::Write as _;

use clap_complete::Shell;

use super::args::Completions;
use super::output;
use super::settings::Settings;
use crate::Result;

/// Runs the command.
pub(super) fn run(settings: &Settings, typed: &Completions) -> Result<()> {
    let mut script = Vec::new();
    let mut command = super::command();
    clap_complete::generate(typed.shell, &mut command, "llrem", &mut script);
    if typed.shell == Shell::Fish {
        script.extend(names_in_fish(&command).into_bytes());
    }
    output::raw(&settings.output, &script)
}

/// Returns lines that complete names without an option before them, such as `llrem detect NAME`: clap's script for fish has none.
fn names_in_fish(command: &clap::Command) -> String {
    let mut lines = String::new();
    for subcommand in command.get_subcommands() {
        let values = subcommand.get_positionals().flat_map(clap::Arg::get_possible_values);
        let names: Vec<String> = values.map(|value| value.get_name().to_owned()).collect();
        if !names.is_empty() {
            let (name, names) = (subcommand.get_name(), names.join(" "));
            let _ = writeln!(lines, "complete -c llrem -n \"__fish_llrem_using_subcommand {name}\" -f -a \"{names}\"");
        }
    }
    lines
}
