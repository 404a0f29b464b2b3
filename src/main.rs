//! The `llrem` program: parse, run, map the error to an exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    llrem::cli::main()
}
