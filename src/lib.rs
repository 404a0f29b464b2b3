//! Reads the session files that coding agents leave on disk, stores them as Parquet tables, and queries these with SQL.
//!
//! Data flows one way. [`agents`] find and read sources. [`extract`] collects their rows. [`etl`] plans a run, and
//! [`identity`] decides which session owns each record. [`lake`] commits the files. [`query`] runs SQL over a lake,
//! [`report`] renders a page, and [`upload`] copies the lake to object storage. `ARCHITECTURE.md` is the map.
//!
//! This program extracts the sessions of a home folder, and prints what each model cost:
//!
//! ```no_run
//! use arrow::{array::RecordBatch, datatypes::SchemaRef};
//! use llrem::etl::{self, Options};
//! use llrem::lake::{AnyLake, Lake};
//! use llrem::progress::Silent;
//! use llrem::query::{Engine, Receiver, Scope, Statement, findings::Detectors};
//!
//! struct Print;
//! impl Receiver for Print {
//!     fn schema(&mut self, _: &SchemaRef) -> llrem::Result<()> {
//!         Ok(())
//!     }
//!     fn batch(&mut self, rows: &RecordBatch) -> llrem::Result<()> {
//!         println!("{rows:?}");
//!         Ok(())
//!     }
//! }
//!
//! let options = Options { home: Some("/backup/home/ada".into()), ..Options::new("ada.lake".into()) };
//! etl::run(&options, &Silent)?;
//!
//! let lake = AnyLake::Local(Lake::open("ada.lake".as_ref())?);
//! let zone = chrono_tz::UTC;
//! let scope =
//!     Scope { lake: &lake, zone, prices: None, detectors: Detectors::All(&[]), scheduler: None, progress: &Silent };
//! let sql = "select model, sum(cost_usd) as usd from usage group by model".to_owned();
//! let query = Statement { sql, parameters: Vec::new() };
//! tokio::runtime::Runtime::new()?.block_on(Engine::open(scope)?.run(&query, &mut Print))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! With the feature `polars`, `Lake::scan` gives a lazy frame over a table instead.

pub mod agents;
pub mod cli;
#[doc(hidden)]
pub mod demo;
pub mod environment;
pub mod error;
pub mod etl;
pub mod extract;
pub mod identity;
pub mod interrupt;
pub mod lake;
pub mod pricing;
pub mod progress;
pub mod query;
mod random;
pub mod redact;
pub mod remote;
pub mod report;
pub mod shown;
pub mod source;
pub mod tables;
pub mod time;
pub mod upload;

pub use error::{Error, Result};
