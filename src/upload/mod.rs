//! Uploads a lake to object storage, where the lakes of a team are next to each other. Only changes are uploaded, in an
//! order that keeps every reader that globs right at any moment.
//!
//! # Readers
//!
//! A store replaces one object in one step, never two. So:
//!
//! - A new file, or one that has all its rows and more, is written under its name. A reader sees the old or the new
//!   version.
//! - Sometimes rows move from one file to another (days that are folded into one file when their month is over, a
//!   session that turned out to belong to another). No order of two writes is right then. All changed files of the
//!   agent are staged first (`_llrem/machines/…/staged`). Then each folder that loses rows gets a barrier: an object
//!   that ends in `.parquet` and is no Parquet. Then the store itself copies the files into place, the old files are
//!   deleted, and finally the barriers. A reader that lists a folder meanwhile meets the barrier and fails. A reader
//!   that listed it before finds the old files, or fails because one is missing. Nobody counts a row twice or misses
//!   one. The barriers exist as long as the store takes to copy, which does not depend on the connection. If the upload
//!   is killed at that moment, they stay until the next one: readers of these folders get an error that names the
//!   barrier.
//! - Not guaranteed: one consistent view over several files, as with a local lake; and a correct listing of many pages
//!   if a whole exchange happens between two of them.
//!
//! # Crashes
//!
//! The machine's manifest records what is in the store. Before any other change, it is written with the names of all
//! files that are about to change, on condition that the store still has the version that was read. After the changes,
//! it is written again. So the next upload knows of an interrupted one, and uploads or deletes those files. Of two
//! uploads of one machine at the same time, the one whose condition fails stops. During a long upload, the manifest is
//! also saved at intervals, so that the next upload can continue.
//!
//! Each write of the manifest has a nonce, which the lake records before. A manifest with a nonce that the lake does
//! not know belongs to a copy.

mod exchange;
mod ledger;
mod options;
mod plan;
mod profile;
mod run;
mod send;
mod written;

pub use options::{Options, PlannedFile, Summary};
pub use profile::{Choice, Profile};
pub use run::run;
