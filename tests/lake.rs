//! The program on a home of the test's own: what it does to the lake, whatever it is given and whatever happens to it.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::panic,
    clippy::print_stdout,
    clippy::needless_for_each,
    clippy::non_octal_unix_permissions,
    clippy::duration_suboptimal_units,
    clippy::format_collect,
    reason = "what fails here fails a test; files are its own"
)]

mod common;
#[path = "../benches/corpus/mod.rs"]
mod corpus;
#[path = "common/bench.rs"]
mod lake;

#[path = "lake/children.rs"]
mod children;
#[cfg(unix)]
#[path = "lake/crash.rs"]
mod crash;
#[path = "lake/fold.rs"]
mod fold;
#[path = "lake/globs.rs"]
mod globs;
#[cfg(unix)]
#[path = "lake/hostile.rs"]
mod hostile;
#[cfg(feature = "polars")]
#[path = "lake/interop.rs"]
mod interop;
#[cfg(unix)]
#[path = "lake/interrupt.rs"]
mod interrupt;
#[cfg(unix)]
#[path = "lake/memory.rs"]
mod memory;
#[path = "lake/spent.rs"]
mod spent;
#[path = "lake/streamed.rs"]
mod streamed;
#[path = "lake/takeover.rs"]
mod takeover;
#[path = "lake/verify.rs"]
mod verify;
