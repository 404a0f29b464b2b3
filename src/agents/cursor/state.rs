//! `state.vscdb`: the global database, which has the composers of all workspaces since 0.45 and may grow to tens of
//! gigabytes, and the database of each workspace, which has the older composers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rusqlite::OptionalExtension;
use xxhash_rust::xxh3::Xxh3;

use super::database::{State, keep};
use super::keys::{self, BUBBLE, COMPOSER};
use super::listing::{self, Listing};
use super::{composer, items};
use crate::agents::kit;
use crate::extract::{Reject, Sink};
use crate::source::{Database, Scope, Section, Source};

/// Estimated size of a bubble, so that none has to be read for it. Bytes.
const BUBBLE_WEIGHT: u64 = 8 << 10;

/// Contents of a database, listed before its conversations are read.
struct Survey {
    listings: Arc<BTreeMap<String, Listing>>,
    /// Units that are read as one: a composer, by its key with or without a record, or a value that holds several
    /// conversations.
    sections: Vec<Section>,
    damage: Option<String>,
}

impl Survey {
    fn of(source: &Source<'_>, database: &Database) -> Result<Arc<Self>, Reject> {
        source.survey(|| {
            let mut damaged = None;
            let listings = keep(listing::of_database(database), &mut damaged)?.unwrap_or_default();
            let state = State::open(source, database, Arc::new(listings))?;
            let sections = state.list(&mut damaged);
            Ok(Self { listings: state.listings, sections, damage: damaged.map(|error| error.to_string()) })
        })
    }
}

/// Returns the parts of the database that are read separately.
pub(super) fn sections(source: &Source<'_>, database: &Database) -> Result<Vec<Section>, Reject> {
    Ok(Survey::of(source, database)?.sections.clone())
}

/// Reads the database, or one section of it. A damaged page loses only the rows stored on it.
pub(super) fn extract(source: &Source<'_>, database: &Database, out: &mut Sink<'_>) -> Result<(), Reject> {
    let survey = Survey::of(source, database)?;
    let state = State::open(source, database, Arc::clone(&survey.listings))?;
    let mut damaged = None;
    let mut damage = None;
    if let Scope::Section(key) = source.scope {
        keep(state.read(key, out), &mut damaged)?;
    } else {
        damage.clone_from(&survey.damage);
        let sections = survey.sections.iter().filter(|_| source.scope == Scope::Whole);
        for section in sections {
            keep(state.read(&section.id, out), &mut damaged)?;
        }
    }
    let Some(damage) = damage.or(damaged.map(|error| error.to_string())) else { return Ok(()) };
    let damage = kit::store::damaged(&damage);
    let is_part = match source.scope {
        Scope::Whole => false,
        Scope::Common => !survey.sections.is_empty(),
        Scope::Section(_) => true,
    };
    if out.report.lines == 0 && !is_part {
        return Err(Reject::Io(std::io::Error::other(damage)));
    }
    out.problem(out.report.lines.max(1), &damage);
    Ok(())
}

impl State<'_> {
    /// Returns all units, by keys and small columns alone: reads no bubble.
    fn list(&self, damaged: &mut Option<rusqlite::Error>) -> Vec<Section> {
        let mut units = Vec::new();
        let mut run = |list: Result<(), Reject>| drop(keep(list, damaged));
        if self.has_composers {
            let mut ids = BTreeSet::new();
            run(self.list_composers(&mut ids));
            run(self.list_owners_of_bubbles(&mut ids));
            for id in ids {
                match self.unit_of(&id) {
                    Ok(unit) => units.push(unit),
                    // Its rows are read one by one, and may be sound.
                    Err(_) => units.push(Section { id: format!("{COMPOSER}{id}"), ..Section::default() }),
                }
            }
        }
        if self.has_items {
            units.extend(self.list_items());
        }
        units
    }

    fn list_composers(&self, ids: &mut BTreeSet<String>) -> Result<(), Reject> {
        let query = "SELECT key FROM cursorDiskKV WHERE key >= 'composerData:' AND key < 'composerData;'";
        let mut statement = self.database.prepare(query)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let key: Option<String> = row.get(0).ok();
            ids.extend(key.and_then(|key| key.strip_prefix(COMPOSER).map(str::to_owned)).filter(|id| !id.is_empty()));
        }
        Ok(())
    }

    /// Lists composers of which only bubbles are left, with one index lookup for each.
    fn list_owners_of_bubbles(&self, ids: &mut BTreeSet<String>) -> Result<(), Reject> {
        let query = "SELECT key FROM cursorDiskKV WHERE key >= ?1 AND key < 'bubbleId;' ORDER BY key LIMIT 1";
        let mut statement = self.database.prepare(query)?;
        let mut from = BUBBLE.to_owned();
        while let Some(key) = statement.query_row([&from], |row| row.get::<_, String>(0)).optional()? {
            let owner = key.strip_prefix(BUBBLE).and_then(|rest| rest.split_once(':')).map(|(owner, _)| owner);
            from = match owner {
                Some(owner) => format!("{BUBBLE}{owner};"),
                None => format!("{key}\0"),
            };
            ids.extend(owner.filter(|owner| !owner.is_empty()).map(str::to_owned));
        }
        Ok(())
    }

    fn unit_of(&self, id: &str) -> Result<Section, Reject> {
        let key = format!("{COMPOSER}{id}");
        let query = "SELECT rowid, octet_length(value) FROM cursorDiskKV WHERE key = ?1";
        let of_record = self.database.prepare(query)?.query_row([&key], pair).optional()?.unwrap_or_default();
        let query = "SELECT count(*), max(rowid), total(rowid) FROM cursorDiskKV WHERE key >= ?1 AND key < ?2";
        let range = [format!("{BUBBLE}{id}:"), format!("{BUBBLE}{id};")];
        let (bubbles, last, sum) = self.database.prepare(query)?.query_row(range, |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, Option<i64>>(1)?.unwrap_or(0), row.get::<_, f64>(2)?))
        })?;
        let listing = match self.listings.get(id) {
            Some(listing) if listing.created.is_some() && listing.updated.is_some() => listing.clone(),
            listing => self.composer(id, Listing::of)?.unwrap_or_default().or(listing.cloned().unwrap_or_default()),
        };
        let mut stamp = Xxh3::new();
        let numbers = [of_record.0, of_record.1, bubbles, last, listing.updated.unwrap_or(0)];
        for number in numbers {
            stamp.update(&number.to_le_bytes());
        }
        stamp.update(&sum.to_le_bytes());
        stamp.update(&listing.hash.to_le_bytes());
        let count = |number: i64| u64::try_from(number).unwrap_or(0);
        let weight = count(of_record.1).saturating_add(count(bubbles).saturating_mul(BUBBLE_WEIGHT));
        Ok(Section { id: key, stamp: stamp.digest(), bytes: weight, began: listing.created, modified: listing.updated })
    }

    /// Lists the values of `ItemTable`, all with one stamp because they affect each other's rows.
    fn list_items(&self) -> Vec<Section> {
        let mut stamp = Xxh3::new();
        stamp.update(self.folder.as_deref().unwrap_or_default().as_bytes());
        let mut found = Vec::new();
        for key in keys::ITEMS {
            let mut weight = None;
            let take = |json: &str| {
                stamp.update(json.as_bytes());
                weight = Some(weight.unwrap_or(0) + json.len() as u64);
            };
            // Damage is reported when the values are read.
            let is_damaged = self.each_item(key, take).is_err();
            found.extend(weight.or(is_damaged.then_some(0)).map(|weight| (key, weight)));
        }
        let stamp = stamp.digest();
        let unit = |(key, bytes): (&str, u64)| Section { id: key.to_owned(), stamp, bytes, ..Section::default() };
        found.into_iter().map(unit).collect()
    }

    /// Reads one unit, independently of the rest of the database.
    fn read(&self, key: &str, out: &mut Sink<'_>) -> Result<(), Reject> {
        match key.strip_prefix(COMPOSER) {
            Some(id) => composer::read(self, id, out),
            None => items::read(self, key, out),
        }
    }
}

fn pair(row: &rusqlite::Row<'_>) -> Result<(i64, i64), rusqlite::Error> {
    Ok((row.get(0)?, row.get::<_, Option<i64>>(1)?.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extract::{Content, Context};
    use crate::pricing::{PriceTable, Pricer};
    use crate::redact::{Mode, Redactor};
    use crate::source::RunCache;

    const SCHEMA: &str = "CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
        CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);";
    const TALKS: &str = r#"
        INSERT INTO cursorDiskKV VALUES ('composerData:a', '{"createdAt":1769940000000,"fullConversationHeadersOnly":[{"bubbleId":"a1","type":1}]}');
        INSERT INTO cursorDiskKV VALUES ('bubbleId:a:a1', '{"type":1,"text":"one"}');
        INSERT INTO cursorDiskKV VALUES ('composerData:b', '{"createdAt":1769950000000,"fullConversationHeadersOnly":[{"bubbleId":"b1","type":1}]}');
        INSERT INTO cursorDiskKV VALUES ('bubbleId:b:b1', '{"type":1,"text":"two"}');
        INSERT INTO cursorDiskKV VALUES ('bubbleId:c:c1', '{"type":1,"text":"three"}');
        INSERT INTO ItemTable VALUES ('workbench.panel.aichat.view.aichat.chatdata', '{"tabs":[{"tabId":"t","bubbles":[{"type":"user","id":"t1","text":"four"}]}]}');"#;

    /// The units of a database after some changes, and the texts of the sessions that reading each alone gives.
    fn units(changes: &[&str]) -> Vec<(Section, Vec<String>)> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.vscdb");
        let connection = rusqlite::Connection::open(&path).unwrap();
        for change in changes {
            connection.execute_batch(change).unwrap();
        }
        connection.close().unwrap();
        let mut source = Source::new(&path, "database", 0, &|_| ());
        let database = source.database().unwrap();
        let sections = sections(&source, &database).unwrap();
        let (redactor, pricer) = (Redactor::new(Mode::Secrets, [7; 32]), Pricer::new(PriceTable::bundled()));
        let (content, zone) = (Content::Full, chrono_tz::Tz::UTC);
        let context = Context { agent: "cursor", redactor: &redactor, pricer: &pricer, content, zone };
        let cache = RunCache::default();
        let read = |unit: Section| {
            let mut out = Sink::collect(&context);
            let source = source.again().within(&cache).scoped(Scope::Section(&unit.id));
            extract(&source, &database, &mut out).unwrap();
            let ids = out.sessions.iter().map(|session| session.facts.session_id.clone()).collect();
            (unit, ids)
        };
        sections.into_iter().map(read).collect()
    }

    #[test]
    fn each_unit_is_listed_and_can_be_read_alone() {
        let units = units(&[SCHEMA, TALKS]);
        let sessions: Vec<&str> = units.iter().flat_map(|(_, sessions)| sessions).map(String::as_str).collect();
        assert_eq!(sessions, ["a", "b", "c", "t"]);
        let began: Vec<bool> = units.iter().map(|(unit, _)| unit.began.is_some()).collect();
        assert_eq!(began, [true, true, false, false]);
        assert!(units.iter().all(|(unit, _)| unit.bytes > 0));
    }

    #[test]
    fn only_the_stamp_of_what_changed_changes() {
        let before = units(&[SCHEMA, TALKS]);
        for (change, changed) in [
            ("INSERT INTO cursorDiskKV VALUES ('bubbleId:b:b1', '{\"type\":1,\"text\":\"new\"}')", "composerData:b"),
            ("INSERT INTO cursorDiskKV VALUES ('bubbleId:a:a2', NULL)", "composerData:a"),
            ("DELETE FROM cursorDiskKV WHERE key = 'composerData:a'", "composerData:a"),
            ("UPDATE cursorDiskKV SET value = '{}' WHERE key = 'composerData:b'", "composerData:b"),
        ] {
            let after = units(&[SCHEMA, TALKS, change]);
            let changes: Vec<&str> = before
                .iter()
                .zip(&after)
                .filter(|(before, after)| before.0.stamp != after.0.stamp)
                .map(|(_, after)| after.0.id.as_str())
                .collect();
            assert_eq!(changes, [changed], "{change}");
        }
    }
}
