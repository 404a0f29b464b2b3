//! Brings a lake to object storage, where a team's lakes lie side by side: only what changed, in an order that lets every
//! reader who globs be right at any moment.
//!
//! # What a reader sees
//!
//! A store replaces one object in one step, and never two. So:
//!
//! - A file that is new, or has every row it had and more, is put over its name. A reader sees it as it was or as it is.
//! - Where rows leave a file (days folded into one file when their month is over, a session that turned out to be another's)
//!   they come to another one, and no order of two writes is right in between. There all files of the agent that change are
//!   put beside (`_llrem/machines/…/staged`); then each folder that rows leave gets an object that ends in `.parquet` and
//!   is none, a barrier; then the files are copied into their places by the store itself, and the old ones removed; then the
//!   barriers are. Who lists a folder in between meets the barrier and fails, loudly; who listed it before finds the old
//!   files or misses one, loudly. Nobody counts a row twice, or misses one. The barriers are there for as long as the
//!   store takes to copy, which does not depend on the line. If the upload is killed right then, they stay until the next
//!   one: readers of these folders get an error that names it.
//! - Not promised: that several files are of one moment, as with a lake on a disk; and what a reader makes of a listing of
//!   many pages between two of which a whole exchange passes.
//!
//! # What a crash leaves
//!
//! The machine's manifest says what is there. Before anything else is written it is put, on condition that it is still the
//! one that was read, with the names of all files that are about to change; when they have changed it is put again. So an
//! upload that was cut off is known to the next one, which makes those files what they are to be, or removes them; and of
//! two uploads of one machine at the same time, the one whose condition fails stops. In between it is put every now and
//! then, so that a long upload goes on where it was.
//!
//! Each writing of it has a nonce, which the lake notes before: a manifest with one that the lake does not know is a copy's.

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
