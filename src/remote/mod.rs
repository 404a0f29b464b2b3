//! Object storage: turns a URL into a store and the prefix of a lake.
//!
//! Credentials come from where each cloud's own tools take them, never from the URL or the configuration. No message
//! contains them: a store's response is reduced to its code and text, and searched for them.

mod aws;
mod credentials;
mod leftovers;
pub(crate) mod manifest;
mod place;
mod retry;
mod store;
mod trouble;

pub use place::Place;
pub use store::{Options, Remote};
pub use trouble::{Scheme, Trouble};

pub(crate) use leftovers::leftovers;
pub(crate) use retry::persistently;
