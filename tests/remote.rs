//! Lakes in object storage, asked where they lie, over a server that speaks the store's own protocol.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::panic,
    clippy::print_stdout,
    reason = "what fails here fails a test; files are its own"
)]

#[path = "common/bench.rs"]
mod lake;

#[path = "remote/answers.rs"]
mod answers;
#[path = "remote/errors.rs"]
mod errors;
#[path = "remote/footers.rs"]
mod footers;
#[path = "upload/proxy.rs"]
#[allow(dead_code, reason = "shared")]
mod proxy;
#[path = "remote/replaced.rs"]
mod replaced;
#[path = "remote/requests.rs"]
mod requests;
#[path = "upload/server.rs"]
#[allow(dead_code, reason = "shared")]
mod server;
#[path = "remote/team.rs"]
mod team;
#[path = "remote/verified.rs"]
mod verified;
