//! `sessions.db`: all sessions since 2025-09.

use std::collections::{BTreeMap, HashMap};

use rusqlite::Row;

use super::conversation::{Conversation, StoredMessage};
use super::ledger::{self, Counts, Entry};
use super::record::{Block, Config, Visibility};
use super::stored_key;
use crate::agents::kit::store::{self, Listing, Records, bytes, damage, damaged, each, report, text};
use crate::agents::kit::thread::Position;
use crate::extract::{Facts, Kind, Reject, Sink, key};
use crate::source::records::{List, Object};
use crate::source::{Database, Scope, Section, Source, Statement, repair};
use crate::tables::{SessionKind, UsageGrain, UsageRow};
use crate::time::parse_iso;

/// Sessions between one and the outermost that started it, at most.
const GENERATIONS: usize = 32;

const SESSION_COLUMNS: [&str; 20] = [
    "id",
    "created_at",
    "updated_at",
    "name",
    "description",
    "session_type",
    "working_dir",
    "provider_name",
    "model_config_json",
    "parent_session_id",
    "accumulated_input_tokens",
    "accumulated_output_tokens",
    "accumulated_cache_read_tokens",
    "accumulated_cache_write_tokens",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "goose_mode",
    "archived_at",
];
const MESSAGE_COLUMNS: [&str; 6] = ["id", "message_id", "role", "content_json", "created_timestamp", "metadata_json"];

/// The facts about all sessions.
struct Survey {
    listing: Listing,
    parents: BTreeMap<String, String>,
    /// Subagents by the session that started them, and when each began. Microseconds since 1970.
    children: BTreeMap<String, Vec<(i64, String)>>,
}

impl Survey {
    fn of(database: &Database) -> Result<Self, Reject> {
        let records = [("messages", "session_id"), ("usage_ledger", "session_id")];
        let listing = Listing::of(database, "sessions", &SESSION_COLUMNS, &records, |row| moment(row, 1))?;
        let mut survey = Self { listing, parents: BTreeMap::new(), children: BTreeMap::new() };
        let Some(mut rows) = database.select("sessions", &["id", "created_at", "parent_session_id"], "")? else {
            return Ok(survey);
        };
        // The listing reports damaged rows.
        let _ = each(&mut rows, [], |row| {
            if let (Some(id), Some(parent)) = (text(row, 0), text(row, 2)) {
                let began = moment(row, 1).unwrap_or_default();
                survey.children.entry(parent.clone()).or_default().push((began, id.clone()));
                survey.parents.insert(id, parent);
            }
            Ok(())
        })?;
        survey.children.values_mut().for_each(|children| children.sort());
        Ok(survey)
    }

    fn root_of(&self, session: &str) -> Option<String> {
        let above = std::iter::successors(self.parents.get(session), |parent| self.parents.get(*parent));
        above.take(GENERATIONS).last().cloned()
    }
}

/// The sessions of the database.
pub(super) fn sections(source: &mut Source<'_>) -> Result<Vec<Section>, Reject> {
    let database = source.database()?;
    Ok(source.survey(|| Survey::of(&database))?.listing.sessions.clone())
}

/// Reads the database, or one session of it.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let database = source.database()?;
    let survey = source.survey(|| Survey::of(&database))?;
    let mut store = Store::open(&database, &survey)?;
    if let Scope::Section(session) = source.scope {
        return store.session(session, out);
    }
    survey.listing.read(source.scope, out, |session, out| store.session(session, out))
}

/// An open database, and what is asked of it for each session.
struct Store<'d> {
    survey: &'d Survey,
    session: Option<Statement<'d>>,
    messages: Option<Records<'d>>,
    replies: Option<Statement<'d>>,
    ledger: Option<Statement<'d>>,
}

/// The facts in a session's row.
struct Known {
    facts: Facts,
    /// Microseconds since 1970.
    created: Option<i64>,
    /// Microseconds since 1970.
    updated: Option<i64>,
    provider: Option<String>,
    model: Option<String>,
    sums: Counts,
    /// Counts of the last response alone.
    last: Counts,
}

impl<'d> Store<'d> {
    fn open(database: &'d Database, survey: &'d Survey) -> Result<Self, Reject> {
        let order = "created_timestamp, id";
        let replies = "WHERE session_id = ?1 AND role = 'assistant' ORDER BY created_timestamp, id";
        Ok(Self {
            survey,
            session: database.select("sessions", &SESSION_COLUMNS, "WHERE id = ?1")?,
            messages: Records::of(database, "messages", "session_id", order, &MESSAGE_COLUMNS)?,
            replies: database.select("messages", &["id", "message_id", "created_timestamp"], replies)?,
            ledger: database.select("usage_ledger", &ledger::COLUMNS, "WHERE session_id = ?1 ORDER BY id")?,
        })
    }

    /// Reads one session. A damaged page loses only the rows stored on it.
    fn session(&mut self, session: &str, out: &mut Sink<'_>) -> Result<(), Reject> {
        let known = match self.known(session) {
            Ok(known) => known,
            Err(error) => {
                damage(&error, out);
                None
            }
        };
        let known = known.unwrap_or_else(|| Known::nothing(session));
        let mut entries = self.entries(session, known.model.as_deref(), out)?;
        let of_messages = self.messages_of(session, &entries)?;
        let mut conversation = Conversation::new(known.facts.clone(), out);
        conversation.created = known.created;
        conversation.children = self.survey.children.get(session).cloned().unwrap_or_default().into();
        let mut first_message = None;
        if let Some(messages) = &mut self.messages {
            let read = messages.each(session, |place, row| {
                conversation.out.line();
                let number = conversation.out.report.lines;
                let row = match row {
                    Ok(row) => row,
                    Err(error) => {
                        conversation.out.problem(number, &format!("{}: {}", place.name(), damaged(error)));
                        return Ok(());
                    }
                };
                let id = message_id(session, row);
                let (content, metadata) = (repair(bytes(row, 3)), repair(bytes(row, 5)));
                let blocks = match serde_json::from_str::<List<Object<Block<'_>>>>(&content) {
                    Ok(List(blocks)) => blocks,
                    Err(error) => {
                        conversation.out.problem(number, &format!("{id}: no JSON list: {error}"));
                        return Ok(());
                    }
                };
                let visibility: Visibility<'_> = serde_json::from_str(&metadata).unwrap_or_default();
                let role = text(row, 2).unwrap_or_default();
                let moment = store::moment(row, 4);
                let stored = StoredMessage { id: &id, role: &role, moment, blocks: &blocks, visibility, line: None };
                let entry = of_messages.get(&id).and_then(|place| entries.get_mut(*place));
                first_message.get_or_insert_with(|| id.clone());
                conversation.take(&stored, entry, known.provider.as_deref())
            })?;
            report(read, conversation.out);
        }
        bill_rest(&known, &entries, first_message.as_deref(), &mut conversation)?;
        if conversation.thread.has_rows {
            conversation.out.claim(stored_key(conversation.out.agent(), session), false);
        }
        conversation.finish()
    }

    fn known(&mut self, session: &str) -> Result<Option<Known>, rusqlite::Error> {
        let Some(statement) = &mut self.session else { return Ok(None) };
        let mut rows = statement.query([session])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let kind = text(row, 5);
        let (is_subagent, is_hidden) = (kind.as_deref() == Some("sub_agent"), kind.as_deref() == Some("hidden"));
        let config = repair(bytes(row, 8));
        let config: Config<'_> = serde_json::from_str(&config).unwrap_or_default();
        let title = text(row, 3).or_else(|| text(row, 4)).filter(|title| !UNTITLED.contains(&title.as_str()));
        let facts = Facts {
            session_id: session.to_owned(),
            kind: match (is_subagent, is_hidden) {
                (true, _) => SessionKind::Subagent,
                (_, true) => SessionKind::SideAgent,
                _ => SessionKind::Session,
            },
            entrypoint: kind.filter(|_| !is_subagent && !is_hidden),
            project_path: text(row, 6),
            title,
            parent_session_id: text(row, 9),
            root_session_id: self.survey.root_of(session),
            is_subagent,
            ..Facts::default()
        };
        Ok(Some(Known {
            facts,
            created: moment(row, 1),
            updated: moment(row, 2),
            provider: text(row, 7),
            model: config.model.owned(),
            sums: Counts::of(row, [10, 11, 12, 13]),
            last: Counts::of(row, [14, 15, 16, 17]),
        }))
    }

    fn entries(&mut self, session: &str, model: Option<&str>, out: &mut Sink<'_>) -> Result<Vec<Entry>, Reject> {
        let mut entries = Vec::new();
        if let Some(ledger) = &mut self.ledger {
            let read = each(ledger, [session], |row| {
                out.line();
                entries.push(Entry::of(row, session, model));
                Ok(())
            })?;
            report(read, out);
        }
        Ok(entries)
    }

    /// The row of the ledger that each reply is of, by the reply's id: the first one after it and before the next reply.
    /// Of replies of the same second, none has one.
    fn messages_of(&mut self, session: &str, entries: &[Entry]) -> Result<HashMap<String, usize>, Reject> {
        let mut replies: Vec<(i64, String)> = Vec::new();
        if let Some(statement) = &mut self.replies {
            // The reading of messages reports damaged rows.
            let _ = each(statement, [session], |row| {
                let id = message_id(session, row);
                replies.extend(store::moment(row, 2).map(|moment| (moment, id)));
                Ok(())
            })?;
        }
        let mut places: Vec<usize> = (0..entries.len()).collect();
        places.sort_by_key(|place| entries.get(*place).and_then(|entry| entry.moment));
        let mut of_messages = HashMap::new();
        for place in places {
            let Some(entry) = entries.get(place).filter(|entry| !entry.is_rest && !entry.is_compaction) else {
                continue;
            };
            let Some(moment) = entry.moment else { continue };
            let after = replies.partition_point(|(at, _)| *at <= moment);
            let at = |place: Option<usize>| place.and_then(|place| replies.get(place));
            let (last, before) = (at(after.checked_sub(1)), at(after.checked_sub(2)));
            if let Some((_, id)) = last.filter(|last| before.is_none_or(|before| before.0 < last.0)) {
                of_messages.entry(id.clone()).or_insert(place);
            }
        }
        Ok(of_messages)
    }
}

/// Names that say nothing.
const UNTITLED: [&str; 2] = ["New Chat", "ACP Session"];

impl Known {
    fn nothing(session: &str) -> Self {
        Self {
            facts: Facts { session_id: session.to_owned(), ..Facts::default() },
            created: None,
            updated: None,
            provider: None,
            model: None,
            sums: Counts::default(),
            last: Counts::default(),
        }
    }
}

/// Bills the ledger's rows that are of no message, and what the sums of the session have beyond the ledger.
fn bill_rest(
    known: &Known,
    entries: &[Entry],
    first_message: Option<&str>,
    conversation: &mut Conversation<'_, '_>,
) -> Result<(), Reject> {
    let seq = conversation.thread.last_seq();
    let provider = known.provider.as_deref();
    for entry in entries.iter().filter(|entry| !entry.is_billed && !entry.counts.is_zero()) {
        let turn = entry.moment.filter(|_| !entry.is_rest).and_then(|moment| conversation.turn_at(moment));
        conversation.bill(&Position::new("", entry.moment), UsageRow { turn, ..entry.row(provider) }, seq)?;
    }
    let session = &known.facts.session_id;
    let agent = conversation.out.agent();
    let is_summed = known.sums != Counts::default();
    let rest = if is_summed || !entries.is_empty() { known.sums.without(entries) } else { known.last };
    // An imported session has no ledger, and the sums of the session that was exported.
    let sums = first_message.filter(|_| is_summed || entries.is_empty());
    let sums = sums.map(|first| key(agent, Kind::Presence, &format!("sums:{first}:{:?}", known.sums)));
    let is_import = conversation.is_copy() && entries.is_empty();
    if let Some(sums) = sums.filter(|_| !is_import) {
        conversation.out.claim(sums, false);
    }
    let settled = key(agent, Kind::Presence, &format!("settled:{session}"));
    if rest.is_zero() {
        // Sums that were deleted say nothing about what the ledger counts.
        if is_summed {
            conversation.out.claim(settled, false);
        }
        return Ok(());
    }
    let id = format!("{session}:rest");
    let row = UsageRow {
        response_id: &id,
        model: known.model.as_deref(),
        provider,
        grain: UsageGrain::Session,
        is_partial: !is_summed,
        ..rest.row()
    };
    conversation.bill(&Position::new("", known.updated), row, seq)?;
    for _ in entries {
        conversation.out.from_companion(Kind::Response, &id);
    }
    conversation.out.yields_to(Kind::Response, &id, settled, None);
    if let Some(sums) = sums.filter(|_| is_import) {
        conversation.out.yields_to(Kind::Response, &id, sums, None);
    }
    Ok(())
}

/// The id of a message: its first two columns. Those of the first versions get the one that Goose gave them later.
fn message_id(session: &str, row: &Row<'_>) -> String {
    text(row, 1).unwrap_or_else(|| format!("msg_{session}_{}", text(row, 0).unwrap_or_default()))
}

/// A moment that is a text in UTC. Microseconds since 1970.
fn moment(row: &Row<'_>, column: usize) -> Option<i64> {
    let text = text(row, column)?;
    parse_iso(&format!("{}Z", text.replacen(' ', "T", 1))).or_else(|| parse_iso(&text))
}
