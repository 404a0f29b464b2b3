//! The facts about a session that its lines do not hold.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The facts about a session apart from its lines.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    /// Its id, whatever the header says.
    pub(crate) session_id: Option<String>,
    /// Its id where no header says one.
    pub(crate) fallback_id: String,
    pub(crate) title: Option<String>,
    pub(crate) is_subagent: bool,
    pub(crate) subagent_type: Option<String>,
    pub(crate) parent_session_id: Option<String>,
    pub(crate) root_session_id: Option<String>,
    pub(crate) forked_from: Option<String>,
    /// When it was forked: entries before it are copies. Microseconds since 1970.
    pub(crate) forked_at: Option<i64>,
    /// OpenClaw's key of a session that another started, if the list does not name that other session.
    pub(crate) key: Option<String>,
    /// Ids of sessions by the keys that OpenClaw calls them by.
    pub(crate) by_key: Arc<BTreeMap<String, String>>,
    /// Ids of the sessions that other agents' programs had for it, by the programs.
    pub(crate) programs: BTreeMap<&'static str, String>,
}
