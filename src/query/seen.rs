//! State of one query: the listed version of each file, and the reason why it stopped.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use datafusion::object_store::path::Path;
use datafusion::object_store::{self, ObjectMeta};

use crate::Error;
use crate::remote::manifest::BARRIER;
use crate::remote::{Remote, Trouble};

/// The state of a query.
#[derive(Debug, Default)]
pub(super) struct Seen(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    listed: HashMap<Path, ObjectMeta>,
    stop: Option<Stop>,
}

/// Reason why a query in a remote store stopped.
#[derive(Debug)]
pub(super) enum Stop {
    /// A file has another version than the listed one.
    Replaced,
    /// An upload blocks readers for a moment.
    Uploading(Error),
    /// A request failed.
    Failed(Error),
}

impl Seen {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a query: forgets what the last one saw.
    pub(super) fn begin(&self) {
        *self.state() = State::default();
    }

    /// Records a listed file.
    ///
    /// # Errors
    /// Fails if the same query saw another version of it.
    pub(super) fn note(&self, file: &ObjectMeta) -> Result<(), object_store::Error> {
        let mut state = self.state();
        let Some(before) = state.listed.get(&file.location) else {
            state.listed.insert(file.location.clone(), file.clone());
            return Ok(());
        };
        let is_same = is_same(before.e_tag.as_deref(), file.e_tag.as_deref())
            && (before.size, before.last_modified) == (file.size, file.last_modified);
        if is_same { Ok(()) } else { Err(replaced(&file.location)) }
    }

    /// Returns the file as listed.
    pub(super) fn listed(&self, location: &Path) -> Option<ObjectMeta> {
        self.state().listed.get(location).cloned()
    }

    /// Returns the store's tag of the listed version.
    pub(super) fn tag(&self, location: &Path) -> Option<String> {
        self.state().listed.get(location)?.e_tag.clone()
    }

    /// Checks that the version that is read is the listed one or, if the store lists no tags, the one that was read
    /// before.
    pub(super) fn check(&self, location: &Path, found: &ObjectMeta) -> Result<(), object_store::Error> {
        let mut state = self.state();
        let Some(file) = state.listed.get_mut(location) else { return Ok(()) };
        if !is_same(file.e_tag.as_deref(), found.e_tag.as_deref()) || file.size != found.size {
            return Err(replaced(location));
        }
        if file.e_tag.is_none() {
            file.e_tag.clone_from(&found.e_tag);
        }
        Ok(())
    }

    /// Refuses objects by which an upload blocks readers.
    pub(super) fn refuse_barrier(&self, remote: &Remote, location: &Path) -> Result<(), object_store::Error> {
        if location.filename() != Some(BARRIER) {
            return Ok(());
        }
        let key = remote.key(location).unwrap_or_default();
        let folder = key.trim_end_matches(BARRIER).trim_end_matches('/');
        let reason = "an upload is exchanging files there; run it again in a moment. If this stays for more than a minute, \
                      that upload was cut off, and the machine's next one ends it";
        let error = Error::Remote {
            action: "read",
            url: remote.place.shown(folder),
            trouble: Trouble::Other,
            reason: reason.to_owned(),
        };
        self.stop(Stop::Uploading(error));
        Err(replaced(location))
    }

    /// Records the first failure of a store, and returns the error.
    pub(super) fn stopped(&self, remote: &Remote, action: &'static str, location: &Path, error: &object_store::Error) {
        use object_store::Error as E;
        let failure = remote.failed(action, &remote.key(location).unwrap_or_default(), error);
        let has_bucket = !matches!(failure, Error::Remote { trouble: Trouble::NoBucket, .. });
        self.stop(match error {
            E::Precondition { .. } | E::NotModified { .. } => Stop::Replaced,
            E::NotFound { .. } if has_bucket => Stop::Replaced,
            _ => Stop::Failed(failure),
        });
    }

    fn stop(&self, stop: Stop) {
        self.state().stop.get_or_insert(stop);
    }

    /// Returns the reason why the store stopped the query.
    pub(super) fn take_stop(&self) -> Option<Stop> {
        self.state().stop.take()
    }

    /// True if the store stopped the query.
    pub(super) fn is_stopped(&self) -> bool {
        self.state().stop.is_some()
    }
}

/// Removes quotes: some stores list tags without them.
fn is_same(one: Option<&str>, other: Option<&str>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.trim_matches('"') == other.trim_matches('"'),
        _ => true,
    }
}

/// Returns the error for a file with another version than the listed one.
pub(super) fn replaced(location: &Path) -> object_store::Error {
    let source = "the file was replaced after it was listed".into();
    object_store::Error::Precondition { path: location.to_string(), source }
}
