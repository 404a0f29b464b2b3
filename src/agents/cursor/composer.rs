//! One composer: its record, the bubbles that it lists in order, and those that it left.

use std::collections::{BTreeMap, BTreeSet};

use super::bubble::{is_users, summary_of};
use super::conversation::{Conversation, Known, Place};
use super::database::State;
use super::listing::Listing;
use super::record::{Bubble, Composer, Entries};
use super::{AGENT, transcript_key, value, workspace_key};
use crate::agents::ids::Prints;
use crate::extract::{Facts, Kind, NoteField, Reject, Sink, key, session_key};
use crate::source::records::{Raw, Text};

/// Most sessions between one and its root; more are a cycle.
const DEPTH: usize = 32;

/// Reads one composer of the global database, bubble by bubble.
pub(super) fn read(state: &State<'_>, id: &str, out: &mut Sink<'_>) -> Result<(), Reject> {
    let listed = state.listing(id);
    let taken = state.with_value(&format!("composerData:{id}"), |json| {
        out.line();
        let number = out.report.lines;
        let read =
            value::read::<Composer<'static>, _>(json, |composer| read_all(state, id, composer, listed.clone(), out));
        read.unwrap_or_else(|error| {
            out.problem(number, &format!("composer {id} has no sound record, its bubbles were read: {error}"));
            read_all(state, id, &Composer::default(), listed.clone(), out)
        })
    });
    match taken {
        Ok(Some(taken)) => taken,
        // Its record is missing, null or on a damaged page.
        Ok(None) => read_all(state, id, &Composer::default(), listed, out),
        Err(error) => read_all(state, id, &Composer::default(), listed, out).and(Err(error)),
    }
}

/// Reads a composer with its conversation in its record: in the workspace's database before 0.45.
pub(super) fn read_inline(state: &State<'_>, composer: &Composer<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let Some(id) = composer.id.get() else { return Ok(()) };
    let folder = Listing { project: state.folder.clone(), ..Listing::default() };
    let listing = Listing::of(composer).or(folder);
    let known = Known { is_copy: true, ..known(id, composer, &listing) };
    let mut conversation = Conversation::new(out, known);
    let (places, inline) = order(composer, &mut conversation, listing.updated);
    for place in &places {
        take_json(&mut conversation, inline.get(&place.id).copied().unwrap_or_default(), place)?;
    }
    finish(conversation, state, id, composer, listing)
}

fn known(id: &str, composer: &Composer<'_>, listing: &Listing) -> Known {
    let model = composer.model.0.as_ref().and_then(|model| model.name.get());
    Known {
        id: id.to_owned(),
        began: listing.created,
        model: model.map(str::to_owned),
        context_window: composer.context_window.0.filter(|tokens| *tokens > 0),
        was_aborted: composer.status.is("aborted"),
        is_copy: false,
    }
}

fn read_all(
    state: &State<'_>,
    id: &str,
    composer: &Composer<'_>,
    listed: Listing,
    out: &mut Sink<'_>,
) -> Result<(), Reject> {
    let listing = Listing::of(composer).or(listed);
    let mut conversation = Conversation::new(out, known(id, composer, &listing));
    let (places, inline) = order(composer, &mut conversation, listing.updated);
    let mut damaged = None;
    for place in &places {
        let stored = state.bubble(id, &place.id, |json| take_json(&mut conversation, json, place));
        match (stored, inline.get(&place.id)) {
            (Ok(Some(taken)), _) => taken?,
            (Ok(None), Some(json)) => take_json(&mut conversation, json, place)?,
            (Ok(None), None) => conversation.sink().unknown("bubble that is listed and not stored"),
            (Err(Reject::Database(error)), _) => drop(damaged.get_or_insert(error)),
            (Err(error), _) => return Err(error),
        }
    }
    let listed: BTreeSet<&str> = places.iter().map(|place| place.id.as_str()).collect();
    let rest = match state.bubbles_of(id) {
        Ok(all) => all.into_iter().filter(|bubble| !listed.contains(bubble.as_str())).collect(),
        Err(Reject::Database(error)) => {
            damaged.get_or_insert(error);
            Vec::new()
        }
        Err(error) => return Err(error),
    };
    // Without a list, the stored bubbles are the conversation.
    for place in by_moment(state, id, rest, !places.is_empty(), &mut damaged)? {
        match state.bubble(id, &place.id, |json| take_json(&mut conversation, json, &place)) {
            Ok(taken) => taken.unwrap_or(Ok(()))?,
            Err(Reject::Database(error)) => drop(damaged.get_or_insert(error)),
            Err(error) => return Err(error),
        }
    }
    finish(conversation, state, id, composer, listing)?;
    damaged.map_or(Ok(()), |error| Err(Reject::Database(error)))
}

type Inline<'c> = BTreeMap<String, &'c str>;

/// Returns the places of a composer's bubbles in order, and the bubbles in its record. If a conversation records no
/// times at all, its last bubble has the time of its last change.
fn order<'c>(
    composer: &Composer<'c>,
    conversation: &mut Conversation<'_, '_>,
    updated: Option<i64>,
) -> (Vec<Place>, Inline<'c>) {
    let mut inline = Inline::new();
    let mut stated = Vec::new();
    let mut has_moments = false;
    let mut last = None;
    let by_id: Entries<'c> = composer.by_id.json().and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
    let in_list = composer.conversation.0.iter().filter_map(|raw| raw.json().map(|json| (None, json)));
    let in_map = by_id.0.iter().map(|(id, raw)| (Some(id.as_ref()), raw.get()));
    let composer_id = composer.id.get().unwrap_or_default();
    let mut prints = Prints::default();
    for (id, json) in in_list.chain(in_map) {
        let look = value::read::<Bubble<'static>, _>(json, |bubble| {
            let id = id.or(bubble.id.get()).map(str::to_owned);
            let id = id.unwrap_or_else(|| format!("{composer_id}#{}", bubble.print(&mut prints)));
            (id, bubble.moment().is_some(), bubble.shown().is_some())
        });
        let Ok((id, has_moment, is_shown)) = look else {
            conversation.sink().line();
            let number = conversation.sink().report.lines;
            conversation.sink().problem(number, "a bubble that is no JSON object");
            continue;
        };
        has_moments |= has_moment;
        if is_shown {
            last = Some(stated.len());
        }
        if inline.insert(id.clone(), json).is_none() {
            stated.push(Place { id, ..Place::default() });
        }
    }
    if let Some(place) = last.filter(|_| !has_moments && stated.len() > 1).and_then(|last| stated.get_mut(last)) {
        place.moment = updated;
    }
    let headers = composer.headers.0.iter().filter_map(|header| header.0.as_ref());
    let listed: Vec<Place> = headers
        .filter_map(|header| {
            Some(Place {
                id: header.id.get()?.to_owned(),
                is_users: header.kind.get().and_then(is_users),
                moment: header.created.0,
                is_left: false,
            })
        })
        .collect();
    if listed.is_empty() { (stated, inline) } else { (listed, inline) }
}

/// Returns the bubbles that no list orders, by their times.
fn by_moment(
    state: &State<'_>,
    id: &str,
    bubbles: Vec<String>,
    are_left: bool,
    damaged: &mut Option<rusqlite::Error>,
) -> Result<Vec<Place>, Reject> {
    let mut places = Vec::new();
    for bubble in bubbles {
        let look = |json: &str| value::read::<Bubble<'static>, _>(json, moment_of).ok().flatten();
        let moment = match state.bubble(id, &bubble, look) {
            Ok(moment) => moment.flatten(),
            Err(Reject::Database(error)) => {
                damaged.get_or_insert(error);
                continue;
            }
            Err(error) => return Err(error),
        };
        places.push(Place { id: bubble, moment, is_left: are_left, ..Place::default() });
    }
    places.sort_by(|a, b| (a.moment.unwrap_or(i64::MAX), &a.id).cmp(&(b.moment.unwrap_or(i64::MAX), &b.id)));
    Ok(places)
}

fn moment_of(bubble: &Bubble<'_>) -> Option<i64> {
    bubble.moment()
}

fn take_json(conversation: &mut Conversation<'_, '_>, json: &str, place: &Place) -> Result<(), Reject> {
    conversation.sink().line();
    let number = conversation.sink().report.lines;
    let taken = value::read::<Bubble<'static>, _>(json, |bubble| conversation.take(bubble, place));
    taken.unwrap_or_else(|error| {
        conversation.sink().problem(number, &format!("bubble {} is no JSON object: {error}", place.id));
        Ok(())
    })
}

/// Ends a conversation. If nothing of it is stored, its known facts go to its transcript, if there is one.
fn finish(
    mut conversation: Conversation<'_, '_>,
    state: &State<'_>,
    id: &str,
    composer: &Composer<'_>,
    listing: Listing,
) -> Result<(), Reject> {
    let root = root_of(state, &listing);
    let call = listing.call.clone().or_else(|| id.strip_prefix("task-").map(str::to_owned));
    if let Some(call) = call {
        conversation.sink().note(NoteField::ChildSession, key(AGENT, Kind::ToolCall, &call), 0, id);
    }
    let top = root.as_deref().unwrap_or(id);
    for child in composer.subagents.0.iter().chain(&composer.subordinates.0).filter_map(Text::get) {
        // Not all of them record their starter themselves.
        if child != id && child != top {
            conversation.sink().note(NoteField::Parent, session_key(AGENT, child), 0, id);
            conversation.sink().note(NoteField::Root, session_key(AGENT, child), 0, top);
        }
    }
    let is_subagent = listing.is_subagent || id.starts_with("task-");
    let workspace = listing.workspace.as_deref().map(workspace_key);
    if let Some(root) = &root {
        conversation.sink().note(NoteField::Root, session_key(AGENT, id), 0, root);
    }
    let root = listing.root.clone();
    let facts = Facts { root_session_id: root, ..Listing { is_subagent, ..listing }.facts(None) };
    let unused = conversation.end(facts.clone(), summary_of(composer.summary), workspace, composer.costs)?;
    if let Some(out) = unused {
        let transcript = transcript_key(id);
        for (field, text) in [(NoteField::Title, &facts.title), (NoteField::ProjectPath, &facts.project_path)] {
            if let Some(text) = text {
                out.note(field, transcript, 0, text);
            }
        }
    }
    Ok(())
}

/// Returns the outermost of the composers that started one another.
fn root_of(state: &State<'_>, listing: &Listing) -> Option<String> {
    let mut root = listing.parent.clone()?;
    for _ in 0..DEPTH {
        let listed = state.listing(&root).parent;
        let parent = match listed {
            Some(parent) => Some(parent),
            None => state.composer(&root, |composer| Listing::of(composer).parent).ok().flatten().flatten(),
        };
        match parent {
            Some(parent) if parent != root => root = parent,
            _ => break,
        }
    }
    Some(root)
}

/// Takes a bubble of a list without a record, as in the chat before 0.43.
pub(super) fn take_raw(conversation: &mut Conversation<'_, '_>, raw: Raw<'_>, place: &Place) -> Result<(), Reject> {
    raw.json().map_or(Ok(()), |json| take_json(conversation, json, place))
}
