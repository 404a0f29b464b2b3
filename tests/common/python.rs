//! Programs in Python, in the virtual environment that `tests/python/setup.sh` makes.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A script of `tests/python`, ready to run.
pub fn script(name: &str) -> Command {
    let mut command = Command::new(interpreter(&venv()));
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python").join(name));
    command
}

/// The same, in the environment of the engines for a team's lake.
pub fn team_script(name: &str) -> Command {
    let mut command = Command::new(interpreter(&venv().join("team")));
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python").join(name));
    command
}

fn venv() -> PathBuf {
    let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).join("target/test-venv");
    std::env::var_os("LLREM_TEST_VENV").map_or_else(usual, PathBuf::from)
}

fn interpreter(venv: &Path) -> PathBuf {
    let python = venv.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    assert!(python.exists(), "no Python environment at `{}`: run tests/python/setup.sh first", venv.display());
    python
}
