//! Object storage: a URL becomes a store, and the prefix below which a lake lies in it.
//!
//! Credentials come from where each cloud's own tools take them, never from the URL or the configuration, and are in no
//! message: what a store answers is cut down to its code and text, and searched for them once more.

mod aws;
mod credentials;
mod leftovers;
pub(crate) mod manifest;
mod place;
mod retry;
mod store;
mod trouble;

pub use place::{Place, Scheme};
pub use store::{Options, Remote};
pub use trouble::Trouble;

pub(crate) use leftovers::leftovers;
pub(crate) use retry::persistently;
