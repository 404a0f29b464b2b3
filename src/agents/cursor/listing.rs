//! Facts of a composer other than its bubbles, from its own record and from lists of composers.

use std::collections::BTreeMap;

use xxhash_rust::xxh3::xxh3_64;

use super::place;
use super::record::{Composer, Composers, StartedBy};
use super::value;
use crate::agents::kit::store::each_row;
use crate::extract::{Facts, Reject};
use crate::source::Database;
use crate::source::records::{List, Object, Raw, record};
use crate::tables::SessionKind;

/// Facts of a composer from one place.
#[derive(Debug, Clone, Default)]
pub(super) struct Listing {
    /// Microseconds since 1970.
    pub(super) created: Option<i64>,
    /// Microseconds since 1970.
    pub(super) updated: Option<i64>,
    pub(super) title: Option<String>,
    pub(super) project: Option<String>,
    /// Name of the folder of its workspace database.
    pub(super) workspace: Option<String>,
    pub(super) repository: Option<String>,
    pub(super) branch: Option<String>,
    pub(super) parent: Option<String>,
    pub(super) root: Option<String>,
    /// Call that started it.
    pub(super) call: Option<String>,
    pub(super) subagent_type: Option<String>,
    pub(super) is_subagent: bool,
    /// Hash that changes with the listed facts.
    pub(super) hash: u64,
}

record! {
    /// A bare list of composers, under a name.
    Bare<'a> { all: List<Raw<'a>> = "all" }
    ignores []
}

impl Listing {
    /// Returns the facts in a record.
    pub(super) fn of(composer: &Composer<'_>) -> Self {
        let (repository, branch) = place::of_repositories(&composer.repositories);
        let title =
            composer.name.get().map(|name| name.split(['\n', '\r']).map(str::trim).collect::<Vec<_>>().join(" "));
        let listing = Self {
            created: composer.created.0,
            updated: composer.updated.0,
            title: title.map(|title| title.trim().to_owned()).filter(|title| !title.is_empty()),
            project: place::of_workspace(&composer.workspace),
            workspace: composer.workspace.0.as_ref().and_then(|it| it.id.get()).map(str::to_owned),
            repository,
            branch,
            is_subagent: composer.is_subagent.0,
            ..Self::default()
        };
        listing.started_by(&composer.started_by)
    }

    /// Adds the facts of the session's starter.
    pub(super) fn started_by(self, info: &Object<StartedBy<'_>>) -> Self {
        let Some(info) = info.0.as_ref() else { return self };
        Self {
            parent: info.parent.owned(),
            root: info.root.owned(),
            call: info.call.owned(),
            subagent_type: info.kind.owned(),
            is_subagent: true,
            ..self
        }
    }

    /// Fills missing facts with those of another place.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            created: self.created.or(other.created),
            updated: self.updated.or(other.updated),
            title: self.title.or(other.title),
            project: self.project.or(other.project),
            workspace: self.workspace.or(other.workspace),
            repository: self.repository.or(other.repository),
            branch: self.branch.or(other.branch),
            parent: self.parent.or(other.parent),
            root: self.root.or(other.root),
            call: self.call.or(other.call),
            subagent_type: self.subagent_type.or(other.subagent_type),
            is_subagent: self.is_subagent || other.is_subagent,
            hash: self.hash ^ other.hash,
        }
    }

    /// Returns the session's facts, with the root if it is known.
    pub(super) fn facts(self, root: Option<String>) -> Facts {
        Facts {
            kind: if self.is_subagent { SessionKind::Subagent } else { SessionKind::Session },
            project_path: self.project.or_else(|| self.repository.clone()),
            git_branch: self.branch,
            git_repo: self.repository,
            title: self.title,
            root_session_id: root.or(self.root),
            parent_session_id: self.parent,
            is_subagent: self.is_subagent,
            subagent_type: self.subagent_type,
            ..Facts::default()
        }
    }
}

/// Takes each composer of a list: `{"allComposers":[…]}`, or a bare list.
pub(super) fn each_composer(
    json: &str,
    mut take: impl FnMut(&Composer<'_>, &str) -> Result<(), Reject>,
) -> Result<bool, Reject> {
    let mut list = |all: &List<Raw<'_>>| -> Result<(), Reject> {
        for json in all.0.iter().filter_map(Raw::json) {
            if let Ok(taken) = value::read::<Composer<'static>, _>(json, |composer| take(composer, json)) {
                taken?;
            }
        }
        Ok(())
    };
    let read = if json.trim_start().starts_with('[') {
        value::read::<Bare<'static>, _>(&format!("{{\"all\":{json}}}"), |bare| list(&bare.all))
    } else {
        value::read::<Composers<'static>, _>(json, |composers| list(&composers.all))
    };
    match read {
        Ok(taken) => taken.map(|()| true),
        Err(_) => Ok(false),
    }
}

/// Returns the composers that the global database lists, in a value or, in some installations of 3.x, in a table.
pub(super) fn of_database(database: &Database) -> Result<BTreeMap<String, Listing>, Reject> {
    let mut listings = BTreeMap::new();
    if !database.columns("ItemTable")?.is_empty() {
        let mut statement = database.prepare("SELECT value FROM ItemTable WHERE key = 'composer.composerHeaders'")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let Some(json) = value::text_of(row.get_ref(0)?) else { continue };
            each_composer(&json, |composer, json| {
                add(&mut listings, composer, json);
                Ok(())
            })?;
        }
    }
    of_table(database, &mut listings)?;
    Ok(listings)
}

fn add(listings: &mut BTreeMap<String, Listing>, composer: &Composer<'_>, json: &str) {
    let Some(id) = composer.id.get() else { return };
    let listing = Listing { hash: xxh3_64(json.as_bytes()), ..Listing::of(composer) };
    let known = listings.remove(id).unwrap_or_default();
    listings.insert(id.to_owned(), listing.or(known));
}

fn of_table(database: &Database, listings: &mut BTreeMap<String, Listing>) -> Result<(), Reject> {
    let columns = ["composerId", "value", "createdAt", "lastUpdatedAt", "workspaceId", "isSubagent"];
    each_row(database, "composerHeaders", &columns, "ORDER BY 1", |row| {
        let Ok(id) = row.get::<_, String>(0) else { return Ok(()) };
        let moment = |place: usize| row.get::<_, f64>(place).ok().and_then(crate::time::from_epoch);
        let columns = Listing {
            created: moment(2),
            updated: moment(3),
            workspace: row.get(4).ok(),
            is_subagent: row.get::<_, i64>(5).is_ok_and(|flag| flag == 1),
            ..Listing::default()
        };
        let json = value::text_of(row.get_ref(1)?);
        let stored = json.and_then(|json| {
            let hash = xxh3_64(json.as_bytes());
            let listing = value::read::<Composer<'static>, _>(&json, Listing::of).ok()?;
            Some(Listing { hash, ..listing })
        });
        let known = listings.remove(&id).unwrap_or_default();
        listings.insert(id, stored.unwrap_or_default().or(columns).or(known));
        Ok(())
    })
}
