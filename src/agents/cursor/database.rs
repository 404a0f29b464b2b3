//! One open `state.vscdb`: finds its tables and takes their values.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::keys::{BUBBLE, COMPOSER, range_of};
use super::listing::Listing;
use super::record::Composer;
use super::{place, value};
use crate::extract::Reject;
use crate::source::{Database, Source};

/// One open database.
pub(super) struct State<'d> {
    pub(super) database: &'d Database,
    /// Folder of the database's workspace.
    pub(super) folder: Option<String>,
    /// Name of the database's folder, which is the workspace's id.
    pub(super) workspace: String,
    pub(super) listings: Arc<BTreeMap<String, Listing>>,
    pub(super) has_composers: bool,
    pub(super) has_items: bool,
}

impl<'d> State<'d> {
    /// Finds the tables of the database.
    pub(super) fn open(
        source: &Source<'_>,
        database: &'d Database,
        listings: Arc<BTreeMap<String, Listing>>,
    ) -> Result<Self, Reject> {
        let has = |table: &str| -> Result<bool, Reject> {
            let columns = database.columns(table)?;
            Ok(["key", "value"].iter().all(|name| columns.iter().any(|column| column == name)))
        };
        let folder_name = source.path.parent().and_then(|folder| folder.file_name()).unwrap_or_default();
        Ok(Self {
            database,
            folder: place::of_database(source),
            workspace: folder_name.to_string_lossy().into_owned(),
            has_composers: has("cursorDiskKV")?,
            has_items: has("ItemTable")?,
            listings,
        })
    }

    /// Passes on the values of `ItemTable` in the range of a key, in the order of their keys. A damaged page loses only
    /// the values stored on it; the first damage is returned.
    pub(super) fn each_item(&self, key: &'static str, mut take: impl FnMut(&str)) -> Result<(), Reject> {
        let mut damaged = None;
        let keys = keep(self.keys_of_items(key), &mut damaged)?.unwrap_or_default();
        for key in keys {
            keep(self.with_item(&key, &mut take), &mut damaged)?;
        }
        damaged.map_or(Ok(()), |error| Err(Reject::Database(error)))
    }

    /// Returns the keys in the range of a key. It reads only the index.
    fn keys_of_items(&self, key: &'static str) -> Result<Vec<String>, Reject> {
        let (_, first, end) = range_of(key);
        let query = "SELECT key FROM ItemTable WHERE key >= ?1 AND key <= ?2 ORDER BY key";
        let mut statement = self.database.prepare(query)?;
        Ok(statement.texts([first, end])?)
    }

    /// Returns the facts that the lists record of a composer.
    pub(super) fn listing(&self, id: &str) -> Listing {
        self.listings.get(id).cloned().unwrap_or_default()
    }

    /// Takes a composer's own record. Returns `None` if it is missing or cannot be read.
    pub(super) fn composer<R>(&self, id: &str, take: impl FnOnce(&Composer<'_>) -> R) -> Result<Option<R>, Reject> {
        let taken =
            self.with_value(&format!("{COMPOSER}{id}"), |json| value::read::<Composer<'static>, _>(json, take).ok())?;
        Ok(taken.flatten())
    }

    /// Takes the value of a key of `cursorDiskKV`. Returns `None` if it is missing or null.
    pub(super) fn with_value<R>(&self, key: &str, take: impl FnOnce(&str) -> R) -> Result<Option<R>, Reject> {
        self.with("SELECT value FROM cursorDiskKV WHERE key = ?1", key, take)
    }

    /// Takes the value of a key of `ItemTable`. Returns `None` if it is missing or null.
    pub(super) fn with_item<R>(&self, key: &str, take: impl FnOnce(&str) -> R) -> Result<Option<R>, Reject> {
        self.with("SELECT value FROM ItemTable WHERE key = ?1", key, take)
    }

    fn with<R>(&self, query: &str, key: &str, take: impl FnOnce(&str) -> R) -> Result<Option<R>, Reject> {
        let mut statement = self.database.prepare(query)?;
        let mut rows = statement.query([key])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        Ok(value::text_of(row.get_ref(0)?).map(|json| take(&json)))
    }

    /// Returns the ids of a composer's bubbles, from the index alone.
    pub(super) fn bubbles_of(&self, id: &str) -> Result<Vec<String>, Reject> {
        let prefix = format!("{BUBBLE}{id}:");
        let query = "SELECT key FROM cursorDiskKV WHERE key >= ?1 AND key < ?2 ORDER BY key";
        let mut statement = self.database.prepare(query)?;
        let mut rows = statement.query([&prefix, &format!("{BUBBLE}{id};")])?;
        let mut ids = Vec::new();
        while let Some(row) = rows.next()? {
            let key: Option<String> = row.get(0).ok();
            ids.extend(key.and_then(|key| key.strip_prefix(&prefix).map(str::to_owned)));
        }
        Ok(ids)
    }

    /// Takes a bubble's JSON.
    pub(super) fn bubble<R>(&self, id: &str, bubble: &str, take: impl FnOnce(&str) -> R) -> Result<Option<R>, Reject> {
        self.with_value(&format!("{BUBBLE}{id}:{bubble}"), take)
    }
}

/// Keeps the first damage; any other failure ends the reading.
pub(super) fn keep<T>(read: Result<T, Reject>, damaged: &mut Option<rusqlite::Error>) -> Result<Option<T>, Reject> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(Reject::Database(error)) => {
            damaged.get_or_insert(error);
            Ok(None)
        }
        Err(other) => Err(other),
    }
}
