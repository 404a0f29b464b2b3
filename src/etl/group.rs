//! One unit of work, and its result.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::RecordBatch;

use super::balance::Balance;
use super::read::{Planned, Read};
use crate::identity::KeyMap;
use crate::lake::layout::PartName;
use crate::lake::manifest::SessionEntry;
use crate::lake::table_writer::StagedFile;
use crate::tables::{PerTable, SessionColumns};

/// Bytes of sources whose sessions share a part: enough for few files, but few enough to rewrite one quickly.
pub(super) const PART_WEIGHT: u64 = 16 << 20;
/// Most sources whose sessions share a part, however small: each session takes some memory.
pub(super) const PART_SOURCES: usize = 250;

/// Sources to read, and the parts that hold their sessions.
#[derive(Clone, Default)]
pub(super) struct Group {
    pub(super) agent: &'static str,
    pub(super) parts: BTreeSet<PartName>,
    pub(super) sources: BTreeMap<Arc<str>, Arc<Planned>>,
    /// Sessions to rebuild although none of their sources has changed.
    pub(super) forced: BTreeSet<String>,
    /// True if its parts are rewritten although none of their sessions has changed.
    pub(super) is_outdated: bool,
}

impl Group {
    /// Returns the cost of the group: bytes to read.
    pub(super) fn cost(&self) -> u64 {
        self.sources.values().map(|planned| planned.cost()).sum()
    }

    /// Merges another group into this one.
    pub(super) fn absorb(&mut self, other: Self) {
        self.parts.extend(other.parts);
        self.sources.extend(other.sources);
        self.forced.extend(other.forced);
        self.is_outdated |= other.is_outdated;
    }

    /// True if a folded part is read again: its rows take as much memory as those of several groups.
    pub(super) fn is_folded(&self) -> bool {
        !self.parts.is_empty() && self.sources.len() > 1 && self.cost() > 2 * PART_WEIGHT
    }
}

/// The result of a group: parts in the staging folder.
pub(super) struct Outcome {
    pub(super) group: Group,
    pub(super) parts: Vec<NewPart>,
    pub(super) reads: Vec<Read>,
    /// Numbers of the group's replicas among the owners, with the hash of the verdict on each.
    pub(super) verdicts: Vec<(u32, u64)>,
    /// Calls that may have started a subagent that their own source does not name, with the name that others give.
    pub(super) children: KeyMap<Option<String>>,
}

/// A part to commit.
pub(super) struct NewPart {
    pub(super) name: PartName,
    /// The file of `sessions` holds the rebuilt sessions, without notes of other sources, until
    /// [`super::sessions::write`] completes it.
    pub(super) files: PerTable<Option<StagedFile>>,
    pub(super) claims: PathBuf,
    pub(super) claims_bytes: u64,
    pub(super) sessions: Vec<SessionOut>,
    /// Sums over the rows of the rebuilt sessions.
    pub(super) sums: SessionSums,
    /// Paths of projects that these sessions name.
    pub(super) projects: BTreeSet<String>,
    /// Responses of these sessions without a price, by model.
    pub(super) unpriced: BTreeMap<String, u64>,
    /// Change of the ledger.
    pub(super) balance: Balance,
}

/// A session of a part to commit.
pub(super) struct SessionOut {
    pub(super) entry: SessionEntry,
    /// True if this run rebuilt it.
    pub(super) is_new: bool,
}

/// Sums over rows of `sessions`.
#[derive(Default)]
pub(super) struct SessionSums {
    pub(super) sessions: u64,
    pub(super) tokens: i64,
    /// Known cost; `None` if no row has one. USD.
    pub(super) cost_usd: Option<f64>,
}

impl SessionSums {
    pub(super) fn of(rows: &RecordBatch) -> Self {
        let columns = SessionColumns::of(rows);
        let (mut tokens, mut cost_usd) = (0_i64, None);
        for row in 0..rows.num_rows() {
            tokens = tokens.saturating_add(columns.total_tokens(row).unwrap_or(0));
            if let Some(usd) = columns.cost_usd(row) {
                *cost_usd.get_or_insert(0.0) += usd;
            }
        }
        Self { sessions: rows.num_rows() as u64, tokens, cost_usd }
    }
}
