//! Runs the program on a terminal of a given width.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::python;

/// A terminal of a person, with a fixed clock and zone.
pub struct Terminal {
    home: PathBuf,
    lake: PathBuf,
    now: String,
}

impl Terminal {
    pub fn new(home: &Path, lake: &Path, now: &str) -> Self {
        Self { home: home.to_owned(), lake: lake.to_owned(), now: now.to_owned() }
    }

    /// Returns the output of a command, stdout and stderr together, and its exit code if that is not 0.
    pub fn shows(&self, columns: usize, arguments: &[&str]) -> String {
        let output = self.command(columns, arguments).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        let home = self.home.parent().and_then(Path::to_str).unwrap();
        let text = text.replace(home, "[HOME]");
        match output.status.code() {
            Some(0) => text,
            code => format!("{text}[exit code {code:?}]\n"),
        }
    }

    fn command(&self, columns: usize, arguments: &[&str]) -> Command {
        let mut command = python::script("terminal.py");
        command
            .arg(columns.to_string())
            .arg(env!("CARGO_BIN_EXE_llrem"))
            .arg("--no-progress")
            .args(arguments)
            .current_dir(&self.home);
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.env_clear().env("PATH", path).env("HOME", &self.home).env("TERM", "xterm").env("NO_COLOR", "1");
        command.env("LLREM_LAKE", &self.lake).env("LLREM_NOW", &self.now).env("LLREM_TIMEZONE", "Europe/Berlin");
        command.env("LLREM_PAGER", "cat");
        command
    }
}
