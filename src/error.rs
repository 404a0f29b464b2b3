//! Errors, distinguished by what somebody can do about them.

use std::io;
use std::path::{Path, PathBuf};

pub use crate::remote::Trouble;
use crate::shown::value::plural;

/// An error that ends a command.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no lake at the given place.
    #[error("no lake at `{}`", path.display())]
    NoLake {
        /// The place.
        path: PathBuf,
    },
    /// The folder contains files that no `etl` of this machine wrote.
    #[error("`{}` is not a lake that `llrem etl` can write to: {reason}", path.display())]
    OthersLake {
        /// The folder.
        path: PathBuf,
        /// Description of the files.
        reason: &'static str,
    },
    /// Another process is writing to the lake, uploading it or printing its new findings.
    #[error("another `{command}` holds the lake `{}`{holder}", path.display())]
    Locked {
        /// Its command, which is also the one that failed.
        command: &'static str,
        /// The lake.
        path: PathBuf,
        /// The holder, if known; begins with a space.
        holder: String,
    },
    /// The lake was written by a newer llrem.
    #[error("the lake `{}` has layout {found}; this llrem reads up to {known}", path.display())]
    NewerLake {
        /// The lake.
        path: PathBuf,
        /// Layout version found.
        found: u32,
        /// Newest layout version known.
        known: u32,
    },
    /// A file of the lake's state cannot be read.
    #[error("`{}` is damaged: {reason}", path.display())]
    DamagedState {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A file of a part of the lake is missing or has changed.
    #[error("`{}` is lost or damaged: {reason}", path.display())]
    DamagedData {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// Reading or writing failed.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Io {
        /// The operation: `read`, `write`, …
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A commit failed after its journal was written. Nothing is lost, but not all files are in place.
    #[error("the lake `{}` has an incomplete commit: {source}", path.display())]
    Unfinished {
        /// The lake.
        path: PathBuf,
        /// The cause.
        source: Box<Error>,
    },
    /// The new rows are in the lake, but something after the commit failed.
    #[error("the new rows are in the lake `{}`, but the run failed after the commit: {source}", path.display())]
    Committed {
        /// The lake.
        path: PathBuf,
        /// The cause.
        source: Box<Error>,
    },
    /// The disk of the lake is full.
    #[error("{source}")]
    DiskFull {
        /// The path on that disk.
        path: PathBuf,
        /// Approximate bytes that the run writes before it deletes anything.
        needed: u64,
        /// Free bytes, if known.
        free: Option<u64>,
        /// The cause.
        source: Box<Error>,
    },
    /// Writing to stdout failed.
    #[error("cannot write the result: {0}")]
    Output(#[source] io::Error),
    /// A Parquet file cannot be read or written.
    #[error("cannot process `{}`: {source}", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: parquet::errors::ParquetError,
    },
    /// Columns do not have the expected types.
    #[error("cannot build rows: {0}")]
    Arrow(#[from] arrow::error::ArrowError),
    /// A query is wrong or failed.
    #[error("{0}")]
    Query(String),
    /// A command line argument or a configuration value is wrong.
    #[error("{0}")]
    Usage(String),
    /// A query, project, agent or model has not the name that was typed.
    #[error("{what}")]
    Unknown {
        /// Description of the problem.
        what: String,
        /// The nearest names.
        hint: String,
    },
    /// Some input was unreadable or partly bad, and `--strict` was given.
    #[error("{} unreadable or partly bad", sources_were(*count))]
    BadInput {
        /// Number of such sources.
        count: u64,
    },
    /// `llrem verify` found problems in the lake.
    #[error("the lake `{}` does not verify: {}", path.display(), plural(*count as u64, "problem"))]
    NotVerified {
        /// The lake.
        path: PathBuf,
        /// Number of problems.
        count: usize,
    },
    /// A program of the system failed.
    #[error("`{command}` failed: {reason}")]
    Command {
        /// The program and its arguments.
        command: String,
        /// The reason that it gave.
        reason: String,
    },
    /// No scheduler runs llrem.
    #[error("no schedule runs llrem")]
    NoSchedule,
    /// A step of the nightly run failed.
    #[error("the nightly run failed at `llrem {step}`: {reason}")]
    Job {
        /// The command.
        step: String,
        /// Its exit code.
        code: u8,
        /// The reason that it gave.
        reason: String,
    },
    /// `llrem doctor` found problems.
    #[error("llrem doctor found {}", plural(*count as u64, "problem"))]
    Unwell {
        /// Number of problems.
        count: usize,
    },
    /// `llrem detect` found findings of the severity to fail on.
    #[error("{} of the severity to fail on", plural(*count as u64, "finding"))]
    Found {
        /// Number of such findings.
        count: usize,
    },
    /// An operation of a store failed.
    #[error("cannot {action} `{url}`: {reason}")]
    Remote {
        /// The operation: `read`, `write`, …
        action: &'static str,
        /// The object or folder.
        url: String,
        /// Kind of the error.
        trouble: Trouble,
        /// The store's message, without secrets.
        reason: String,
    },
    /// Two uploads of one machine ran at the same time, and this one lost.
    #[error("another upload of the machine `{machine}` to `{url}` ran at the same time; this one stopped")]
    UploadConflict {
        /// The destination.
        url: String,
        /// The machine's name.
        machine: String,
    },
    /// Two lakes have the same machine's name.
    #[error("the machine `{machine}` at `{url}` belongs to another lake, last uploaded on {uploaded_at}")]
    OtherLake {
        /// Place of the other lake.
        url: String,
        /// The machine's name.
        machine: String,
        /// When the other lake was last uploaded.
        uploaded_at: String,
    },
    /// A lake and its copy were uploaded to one destination.
    #[error("the machine `{machine}` at `{url}` was last uploaded by a copy of this lake, on {uploaded_at}")]
    LakeCopy {
        /// The destination.
        url: String,
        /// The machine's name.
        machine: String,
        /// When the copy was last uploaded.
        uploaded_at: String,
    },
    /// The person interrupted the command.
    #[error("interrupted")]
    Interrupted,
}

/// Result with an [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The command that writes a lake.
    pub(crate) const ETL: &'static str = "llrem etl";

    /// Returns a function for `map_err` that creates an [`Error::Io`].
    pub fn io<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Self + 'a {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }

    /// Returns a function for `map_err` that creates an [`Error::Parquet`].
    pub fn parquet(path: &Path) -> impl FnOnce(parquet::errors::ParquetError) -> Self + '_ {
        move |source| Self::Parquet { path: path.to_owned(), source }
    }

    /// Returns a function for `map_err` that creates an [`Error::Committed`], unless the error itself says how the lake
    /// is.
    pub(crate) fn after_commit(lake: &Path) -> impl FnOnce(Self) -> Self + '_ {
        move |error| match error {
            Self::Interrupted | Self::Unfinished { .. } => error,
            error => Self::Committed { path: lake.to_owned(), source: Box::new(error) },
        }
    }

    /// Returns the system's error of a failed read or write.
    pub(crate) fn io_source(&self) -> Option<&io::Error> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::Parquet { source, .. } => io_source(source),
            _ => None,
        }
    }

    /// Returns the exit code of the command.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::Unknown { .. } => 2,
            Self::BadInput { .. } => 3,
            Self::Found { .. } => 4,
            Self::Job { code, .. } => *code,
            Self::NoLake { .. } => 10,
            Self::Locked { .. } => 11,
            Self::Interrupted => 130,
            _ => 1,
        }
    }

    /// True if the reader of the output has closed it, which is no failure.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Output(source) if source.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Returns a function for `map_err`, for a data file that cannot be read or has changed.
    pub(crate) fn damaged_parquet(path: &Path) -> impl FnOnce(parquet::errors::ParquetError) -> Self + '_ {
        move |source| match io_source(&source) {
            Some(error) if error.kind() != io::ErrorKind::UnexpectedEof => Self::parquet(path)(source),
            _ => Self::damaged(path)(source),
        }
    }

    /// Returns a function for `map_err` that creates an [`Error::DamagedData`].
    pub(crate) fn damaged<E: std::fmt::Display>(path: &Path) -> impl FnOnce(E) -> Self + '_ {
        move |reason| Self::DamagedData { path: path.to_owned(), reason: reason.to_string() }
    }

    /// Returns what to do about it, in one line.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoLake { path } if is_url(path) => {
                Some("check the URL; `llrem upload` uploads a machine's lake there".to_owned())
            }
            Self::NoLake { .. } => Some("run `llrem etl` first, or name the lake with --lake".to_owned()),
            Self::OthersLake { .. } => Some("name another folder with --lake, or an empty one".to_owned()),
            Self::Locked { command: Self::ETL, .. } => Some("wait for it to end, or run with `--wait 5m`".to_owned()),
            Self::Locked { .. } => Some("wait for it to end, then run it again".to_owned()),
            Self::NewerLake { .. } => Some("upgrade llrem, or name another lake with --lake".to_owned()),
            Self::DamagedState { path, .. } if is_url(path) => {
                Some("remove it, and run `llrem upload URL` on the machine that it is named after".to_owned())
            }
            Self::DamagedState { .. } => {
                Some("run `llrem etl --full` to extract what is still on disk into a new lake (--lake DIR)".to_owned())
            }
            Self::Unfinished { .. } => {
                Some("the new rows are safe; fix the cause, and the next `llrem etl` completes the commit".to_owned())
            }
            Self::Committed { .. } => Some("nothing is lost; fix the cause, then run `llrem etl` again".to_owned()),
            Self::DiskFull { path, needed, free, .. } => Some(room_hint(path, *needed, *free)),
            Self::Io { path, .. } | Self::Parquet { path, .. } => io_hint(self.io_source()?, path),
            Self::Unknown { hint, .. } => Some(hint.clone()),
            Self::NoSchedule => Some("`llrem schedule install` runs etl every night at 03:00".to_owned()),
            Self::BadInput { .. } => Some("`llrem sources --bad` lists them".to_owned()),
            Self::Remote { trouble, .. } => trouble.hint().map(str::to_owned),
            Self::UploadConflict { .. } => Some("run it again; of a lake and its copies, upload one".to_owned()),
            Self::OtherLake { .. } => Some(
                "give each machine its own name (`machine` in the configuration) and extract into a new lake; \
                 `--replace` replaces what is there with this lake"
                    .to_owned(),
            ),
            Self::LakeCopy { .. } => Some(
                "continue with one lake per machine: `--replace` replaces what is there with this one; \
                 two machines need different names (`machine` in the configuration) and new lakes"
                    .to_owned(),
            ),
            Self::NotVerified { path, .. } if is_url(path) => Some(
                "`llrem upload URL --full`, on the machine that a file is named after, uploads all its files again"
                    .to_owned(),
            ),
            Self::NotVerified { .. } | Self::DamagedData { .. } => {
                Some("`llrem etl --full` rewrites what is still on disk".to_owned())
            }
            _ => None,
        }
    }
}

fn sources_were(count: u64) -> String {
    format!("{} {}", plural(count, "source"), if count == 1 { "was" } else { "were" })
}

fn is_url(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.contains("://"))
}

fn io_source(error: &parquet::errors::ParquetError) -> Option<&io::Error> {
    match error {
        parquet::errors::ParquetError::External(source) => source.downcast_ref(),
        _ => None,
    }
}

fn io_hint(source: &io::Error, path: &Path) -> Option<String> {
    match source.kind() {
        io::ErrorKind::PermissionDenied => Some(format!("check who owns `{}` and its mode", path.display())),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Some("free some space, then run `llrem etl` again; the lake is unchanged".to_owned())
        }
        io::ErrorKind::FileTooLarge => Some(
            "raise the limit on the size of files (`ulimit -f`), then run it again; the lake is unchanged".to_owned(),
        ),
        _ if is_out_of_descriptors(source) => Some(
            "raise the limit on open files (`ulimit -n 1024`), then run it again; the lake is unchanged".to_owned(),
        ),
        io::ErrorKind::NotFound => Some(format!("check that `{}` exists", path.display())),
        _ => None,
    }
}

/// True if the process, or the whole system, has too many files open.
fn is_out_of_descriptors(error: &io::Error) -> bool {
    #[cfg(unix)]
    {
        use rustix::io::Errno;
        [Errno::MFILE, Errno::NFILE].iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
    }
    #[cfg(not(unix))]
    {
        let _ = error;
        false
    }
}

fn room_hint(path: &Path, needed: u64, free: Option<u64>) -> String {
    let mebibytes = |bytes: u64| bytes.div_ceil(1 << 20);
    let free = free.map(|free| format!(", {} MiB are free", mebibytes(free))).unwrap_or_default();
    format!(
        "the run needs about {} MiB on the disk of `{}`{free}; free that much, then run `llrem etl` again; the lake is unchanged",
        mebibytes(needed),
        path.display()
    )
}

#[cfg(all(test, unix))]
mod tests {
    use parquet::errors::ParquetError;

    use super::*;

    #[test]
    fn a_file_that_cannot_be_opened_is_not_damaged() {
        let path = Path::new("/lake/usage.parquet");
        let reason = |errno: rustix::io::Errno| ParquetError::External(Box::new(io::Error::from(errno)));
        let error = Error::damaged_parquet(path)(reason(rustix::io::Errno::MFILE));
        assert!(matches!(error, Error::Parquet { .. }), "{error}");
        assert!(error.hint().unwrap().contains("ulimit -n"), "{error}");
        let cut = io::Error::from(io::ErrorKind::UnexpectedEof);
        let error = Error::damaged_parquet(path)(ParquetError::External(Box::new(cut)));
        assert!(matches!(error, Error::DamagedData { .. }), "{error}");
    }
}
