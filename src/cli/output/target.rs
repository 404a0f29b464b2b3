//! Destination of a result: stdout, or a file that gets its name when it is complete.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Stdout, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow::error::ArrowError;
use tempfile::NamedTempFile;

use super::OutputSettings;
use super::escape::Escaping;
use crate::{Error, Result};

/// A handle of the destination. Clones share it, and remember why writing failed.
#[derive(Clone)]
pub(super) struct Target(Arc<Mutex<Inner>>);

struct Inner {
    sink: Sink,
    terminal: bool,
    failure: Option<io::Error>,
}

enum Sink {
    Stdout(BufWriter<Stdout>),
    Terminal(Escaping<BufWriter<Stdout>>),
    /// A device, pipe or socket: written in place.
    Special(BufWriter<File>, PathBuf),
    File(BufWriter<NamedTempFile>, PathBuf),
    Done(PathBuf),
    #[cfg(test)]
    Memory(Vec<u8>),
}

impl Target {
    /// Opens the file of the settings, or stdout.
    pub(super) fn open(settings: &OutputSettings, is_json: bool) -> Result<Self> {
        settings.file().map_or_else(|| Ok(Self::stdout(settings.is_on_terminal(), is_json)), Self::file)
    }

    fn stdout(terminal: bool, is_json: bool) -> Self {
        let writer = BufWriter::with_capacity(1 << 16, io::stdout());
        let sink = if terminal { Sink::Terminal(Escaping::new(writer, is_json)) } else { Sink::Stdout(writer) };
        Self::of(sink, terminal)
    }

    fn file(path: &Path) -> Result<Self> {
        let write = |error| Error::io("write", path)(error);
        // Follows a link, and replaces its target.
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if real.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            #[expect(clippy::disallowed_methods, reason = "writes the result into a device that the user named")]
            let file = OpenOptions::new().write(true).open(&real).map_err(write)?;
            return Ok(Self::of(Sink::Special(BufWriter::new(file), real), false));
        }
        let folder = real.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let file = tempfile::Builder::new().prefix(".llrem-").tempfile_in(folder);
        let file = file.map_err(|error| refused(path, folder, &error))?;
        Ok(Self::of(Sink::File(BufWriter::with_capacity(1 << 16, file), real), false))
    }

    fn of(sink: Sink, terminal: bool) -> Self {
        Self(Arc::new(Mutex::new(Inner { sink, terminal, failure: None })))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if people read it as it arrives.
    pub(super) fn is_terminal(&self) -> bool {
        self.inner().terminal
    }

    /// Returns the failure that caused a writer's error, if there is one.
    pub(super) fn blame(&self, error: impl Into<ArrowError>) -> Error {
        let mut inner = self.inner();
        match inner.failure.take() {
            Some(failure) => inner.sink.failed(failure),
            None => Error::Arrow(error.into()),
        }
    }

    /// Writes text that is escaped already, with the colours that were added to it.
    pub(super) fn write_drawn(&mut self, text: &str) -> io::Result<()> {
        let mut inner = self.inner();
        let written = match &mut inner.sink {
            Sink::Terminal(writer) => writer.write_unescaped(text.as_bytes()),
            sink => sink.write_all(text.as_bytes()),
        };
        written.map_err(|error| inner.remember(error))
    }

    /// Completes the output: a file gets its name.
    pub(super) fn finish(&self) -> Result<()> {
        let mut inner = self.inner();
        let flushed = inner.sink.flush();
        flushed.map_err(|error| inner.sink.failed(error))?;
        match std::mem::replace(&mut inner.sink, Sink::Done(PathBuf::new())) {
            Sink::File(writer, path) => {
                let file = writer.into_inner().map_err(|error| Error::io("write", &path)(error.into_error()))?;
                file.persist(&path).map(drop).map_err(|error| Error::io("write", &path)(error.error))
            }
            other => {
                inner.sink = other;
                Ok(())
            }
        }
    }
}

/// Returns the reason why a file cannot be created, in terms of its folder instead of the temporary name.
fn refused(path: &Path, folder: &Path, error: &io::Error) -> Error {
    if folder.exists() {
        return Error::io("write into", folder)(error.kind().into());
    }
    let missing = format!("there is no folder `{}`", folder.display());
    Error::io("write", path)(io::Error::other(missing))
}

impl Sink {
    fn failed(&self, error: io::Error) -> Error {
        match self {
            Self::Special(_, path) | Self::File(_, path) | Self::Done(path) => Error::io("write", path)(error),
            _ => Error::Output(error),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(writer) => writer.write(bytes),
            Self::Terminal(writer) => writer.write(bytes),
            Self::Special(writer, _) => writer.write(bytes),
            Self::File(writer, _) => writer.write(bytes),
            Self::Done(_) => Ok(bytes.len()),
            #[cfg(test)]
            Self::Memory(buffer) => buffer.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(writer) => writer.flush(),
            Self::Terminal(writer) => writer.flush(),
            Self::Special(writer, _) => writer.flush(),
            Self::File(writer, _) => writer.flush(),
            Self::Done(_) => Ok(()),
            #[cfg(test)]
            Self::Memory(_) => Ok(()),
        }
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut inner = self.inner();
        let written = inner.sink.write(bytes);
        written.map_err(|error| inner.remember(error))
    }

    /// Format writers flush after each batch. Only [`Target::finish`] really flushes, except on a terminal.
    fn flush(&mut self) -> io::Result<()> {
        let mut inner = self.inner();
        if !inner.terminal {
            return Ok(());
        }
        let flushed = inner.sink.flush();
        flushed.map_err(|error| inner.remember(error))
    }
}

impl Inner {
    fn remember(&mut self, error: io::Error) -> io::Error {
        let kind = error.kind();
        if kind != io::ErrorKind::Interrupted {
            self.failure = Some(error);
        }
        kind.into()
    }
}

#[cfg(test)]
impl Target {
    pub(super) fn memory(terminal: bool) -> Self {
        Self::of(Sink::Memory(Vec::new()), terminal)
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        match &self.inner().sink {
            Sink::Memory(bytes) => bytes.clone(),
            _ => Vec::new(),
        }
    }
}
