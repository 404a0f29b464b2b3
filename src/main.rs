//! The `llrem` program: parse, run, map the error to an exit code.

use std::process::ExitCode;

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    llrem::cli::main()
}
