//! `llrem` with the feature `ballista`, of the same build as the cluster that it asks.

use std::process::ExitCode;

fn main() -> ExitCode {
    llrem::cli::main()
}
