//! What one query saw: which version of each file was listed, and what stopped it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use datafusion::object_store::path::Path;
use datafusion::object_store::{self, ObjectMeta};

use crate::Error;
use crate::remote::manifest::BARRIER;
use crate::remote::{Remote, Trouble};

/// What a query saw.
#[derive(Debug, Default)]
pub(super) struct Seen(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    listed: HashMap<Path, ObjectMeta>,
    stop: Option<Stop>,
}

/// What stopped a query in a remote store.
#[derive(Debug)]
pub(super) enum Stop {
    /// A file is not the one that was listed.
    Replaced,
    /// An upload keeps readers away for a moment.
    Uploading(Error),
    /// The store did not do what it was asked.
    Failed(Error),
}

impl Seen {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A query begins: it sees everything anew.
    pub(super) fn begin(&self) {
        *self.state() = State::default();
    }

    /// Notes a listed file.
    ///
    /// # Errors
    /// When the same query saw another version of it.
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

    /// The file as it was listed.
    pub(super) fn listed(&self, location: &Path) -> Option<ObjectMeta> {
        self.state().listed.get(location).cloned()
    }

    /// The store's mark of the version that was listed.
    pub(super) fn tag(&self, location: &Path) -> Option<String> {
        self.state().listed.get(location)?.e_tag.clone()
    }

    /// Makes sure that what is read is what was listed, or what was read before where the store lists no tags.
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

    /// Does not read what an upload put there to keep readers away.
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

    /// Notes what a store answered; the first counts.
    pub(super) fn stopped(&self, remote: &Remote, action: &'static str, location: &Path, error: &object_store::Error) {
        use object_store::Error as E;
        let told = remote.failed(action, &remote.key(location).unwrap_or_default(), error);
        let has_bucket = !matches!(told, Error::Remote { trouble: Trouble::NoBucket, .. });
        self.stop(match error {
            E::Precondition { .. } | E::NotModified { .. } => Stop::Replaced,
            E::NotFound { .. } if has_bucket => Stop::Replaced,
            _ => Stop::Failed(told),
        });
    }

    fn stop(&self, stop: Stop) {
        self.state().stop.get_or_insert(stop);
    }

    /// What stopped the query, if it was the store.
    pub(super) fn take_stop(&self) -> Option<Stop> {
        self.state().stop.take()
    }

    /// Whether the store stopped the query.
    pub(super) fn is_stopped(&self) -> bool {
        self.state().stop.is_some()
    }
}

/// Quotes do not count: some stores list tags without them.
fn is_same(one: Option<&str>, other: Option<&str>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.trim_matches('"') == other.trim_matches('"'),
        _ => true,
    }
}

/// That a file is not the one that was listed.
pub(super) fn replaced(location: &Path) -> object_store::Error {
    let source = "it is not the file that was listed".into();
    object_store::Error::Precondition { path: location.to_string(), source }
}
