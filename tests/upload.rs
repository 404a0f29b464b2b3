//! `llrem upload` to servers that speak the stores' own protocols: what arrives, what readers see meanwhile, and what
//! happens when something goes wrong.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::panic,
    clippy::print_stdout,
    clippy::needless_for_each,
    reason = "what fails here fails a test; files are its own"
)]

#[path = "common/bench.rs"]
mod lake;

#[path = "upload/azure.rs"]
mod azure;
#[path = "upload/crash.rs"]
mod crash;
#[path = "upload/errors.rs"]
mod errors;
#[path = "upload/faults.rs"]
mod faults;
#[path = "upload/identity.rs"]
mod identity;
#[path = "upload/proxy.rs"]
mod proxy;
#[path = "upload/readers.rs"]
mod readers;
#[path = "upload/server.rs"]
mod server;
#[path = "upload/sync.rs"]
mod sync;
