//! What coding agents did, cost and wasted: their session files as Parquet and SQL.
//!
//! Data goes one way: [`agents`] find and read sources, [`extract`] collects their rows, [`etl`] plans and resolves,
//! [`lake`] writes and commits, [`query`] asks, [`report`] shows, [`upload`] brings it to where a team can ask.

pub mod agents;
pub mod cli;
pub mod environment;
pub mod error;
pub mod etl;
pub mod extract;
pub mod identity;
pub mod interrupt;
pub mod lake;
pub mod pricing;
pub mod query;
pub mod redact;
pub mod remote;
pub mod report;
pub mod shown;
pub mod source;
pub mod tables;
pub mod time;
pub mod upload;

pub use error::{Error, Result};
