//! Values of `ItemTable`: the chat before 0.43, the composers before 0.45, lists of later ones, typed prompts.

use std::collections::{BTreeMap, VecDeque};

use super::composer::{read_inline, take_raw};
use super::conversation::{Conversation, Known, Place};
use super::database::State;
use super::keys::{CHATS, COMPOSERS, GENERATIONS, PANES, PROMPTS};
use super::listing::{Listing, each_composer};
use super::record::{Bubble, ChatData, Composers, Generation, Tab, TypedText};
use super::{AGENT, transcript_key, value, workspace_key};
use crate::agents::ids::Prints;
use crate::agents::prompts::{TypedPrompt, TypedPrompts};
use crate::extract::{NoteField, Reject, Sink, session_key};
use crate::source::records::{List, Object};
use crate::tables::MessageKind;

/// Text before a composer's id in the state of its view.
const VIEW: &str = "aichat.view.";

/// Reads the value of one of the keys.
pub(super) fn read(state: &State<'_>, key: &str, out: &mut Sink<'_>) -> Result<(), Reject> {
    if key == PANES {
        return read_panes(state, out);
    }
    let read = state.with_item(key, |json| match key {
        COMPOSERS => read_composers(state, json, out),
        PROMPTS => read_prompts(state, json, out),
        _ => read_chats(state, json, out),
    })?;
    read.unwrap_or(Ok(()))
}

fn bad(out: &mut Sink<'_>, key: &str) {
    out.line();
    out.problem(out.report.lines, &format!("{key} is no sound JSON"));
}

fn read_chats(state: &State<'_>, json: &str, out: &mut Sink<'_>) -> Result<(), Reject> {
    let read = value::read::<ChatData<'static>, _>(json, |chats| {
        let tabs = chats.tabs.0.iter().filter_map(|tab| tab.0.as_ref());
        tabs.into_iter().try_for_each(|tab| read_tab(state, tab, out))
    });
    read.unwrap_or_else(|_| {
        bad(out, CHATS[0]);
        Ok(())
    })
}

/// Reads a tab, which records one time: that of its last prompt. Behind its messages is the input box, usually empty.
fn read_tab(state: &State<'_>, tab: &Tab<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let Some(id) = tab.id.get() else { return Ok(()) };
    let mut prints = Prints::default();
    let looks = tab.bubbles.0.iter().map(|raw| {
        let look = |bubble: &Bubble<'_>| {
            let own = bubble.id.get().or(bubble.old_id.get()).map(str::to_owned);
            let own = own.unwrap_or_else(|| format!("{id}#{}", bubble.print(&mut prints)));
            (own, bubble.is_users() == Some(true), bubble.shown().is_some())
        };
        raw.json().and_then(|json| value::read::<Bubble<'static>, _>(json, look).ok()).unwrap_or_default()
    });
    let looks: Vec<(String, bool, bool)> = looks.collect();
    let last = looks.iter().rposition(|(_, is_users, has_text)| *is_users && *has_text);
    let ends_with_box = looks.last().is_some_and(|(_, is_users, has_text)| *is_users && !has_text);
    let sent = looks.len() - usize::from(ends_with_box);
    let mut conversation = Conversation::new(out, Known { id: id.to_owned(), ..Known::default() });
    for (number, (raw, (id, ..))) in tab.bubbles.0.iter().zip(looks).take(sent).enumerate() {
        let moment = tab.sent.0.filter(|_| last == Some(number));
        take_raw(&mut conversation, *raw, &Place { id, moment, ..Place::default() })?;
    }
    let title = tab.title.owned();
    let listing = Listing { title, project: state.folder.clone(), ..Listing::default() };
    conversation.end(listing.facts(None), None, None, crate::source::records::Raw::default())?;
    Ok(())
}

/// Reads composers with their conversations, or later versions' lists of composers. From a list, notes the folder for
/// the sources that have the conversations.
fn read_composers(state: &State<'_>, json: &str, out: &mut Sink<'_>) -> Result<(), Reject> {
    let is_sound = each_composer(json, |composer, _| {
        if let Some(id) = composer.id.get() {
            note(state, id, Listing::of(composer).title.as_deref(), out);
        }
        let has_conversation =
            !composer.conversation.0.is_empty() || composer.by_id.json().is_some_and(|json| json != "{}");
        if has_conversation {
            return read_inline(state, composer, out);
        }
        out.line();
        Ok(())
    })?;
    if !is_sound {
        bad(out, COMPOSERS);
    }
    let _ = value::read::<Composers<'static>, _>(json, |composers| {
        composers.selected.0.iter().chain([&composers.shown]).filter_map(|id| id.get()).for_each(|id| {
            out.line();
            note(state, id, None, out);
        });
    });
    Ok(())
}

/// Notes the workspace's folder and a composer's title for its conversation and its transcript.
fn note(state: &State<'_>, id: &str, title: Option<&str>, out: &mut Sink<'_>) {
    for key in [session_key(AGENT, id), transcript_key(id)] {
        if let Some(folder) = &state.folder {
            out.note(NoteField::ProjectPath, key, 0, folder);
        }
        if let Some(title) = title {
            out.note(NoteField::Title, key, 0, title);
        }
    }
}

/// Reads the composers that were shown in the workspace, by the state of their views.
fn read_panes(state: &State<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let (ids, read) = panes(state);
    for id in ids {
        out.line();
        note(state, &id, None, out);
    }
    read
}

/// Returns the ids of the composers whose views have a state, and the error that kept others from being read.
fn panes(state: &State<'_>) -> (Vec<String>, Result<(), Reject>) {
    let mut ids = Vec::new();
    let read = state.each_item(PANES, |json| {
        let places = memchr::memmem::find_iter(json.as_bytes(), VIEW.as_bytes());
        let found = places.filter_map(|place| json.get(place + VIEW.len()..place + VIEW.len() + 36));
        ids.extend(found.filter(|id| uuid::Uuid::try_parse(id).is_ok()).map(str::to_owned));
    });
    ids.sort();
    ids.dedup();
    (ids, read)
}

/// Returns true if the workspace has, or lists, any conversation.
fn has_chats(state: &State<'_>) -> Result<bool, Reject> {
    for key in CHATS {
        let has = |chats: &ChatData<'_>| !chats.tabs.0.is_empty();
        let read = state.with_item(key, |json| value::read::<ChatData<'static>, _>(json, has).unwrap_or(true))?;
        if read == Some(true) {
            return Ok(true);
        }
    }
    let lists = state.with_item(COMPOSERS, |json| {
        let mut count = 0;
        let is_sound = each_composer(json, |_, _| {
            count += 1;
            Ok(())
        });
        let selected = value::read::<Composers<'static>, _>(json, |it| !it.selected.0.is_empty()).unwrap_or(false);
        is_sound.map(|_| count > 0 || selected)
    })?;
    let (panes, read) = panes(state);
    read?;
    Ok(lists.unwrap_or(Ok(false))? || !panes.is_empty())
}

/// Reads the typed prompts of a workspace of which nothing else is known. Any composer that was opened there supersedes
/// them.
fn read_prompts(state: &State<'_>, json: &str, out: &mut Sink<'_>) -> Result<(), Reject> {
    if has_chats(state)? {
        return Ok(());
    }
    let Ok(typed) = serde_json::from_str::<List<Object<TypedText<'_>>>>(json) else {
        bad(out, PROMPTS);
        return Ok(());
    };
    let mut moments = moments(state)?;
    let session = format!("cursor-prompts:{}", state.workspace);
    let mut prompts = TypedPrompts::default();
    for prompt in typed.0.iter().filter_map(|prompt| prompt.0.as_ref()?.text.get()) {
        out.line();
        let prompt = TypedPrompt {
            claim: workspace_key(&state.workspace),
            timestamp: moments.get_mut(prompt).and_then(VecDeque::pop_front),
            kind: MessageKind::Prompt,
            text: prompt.to_owned(),
            line: out.report.lines,
        };
        prompts.add(session.clone(), state.folder.as_deref().unwrap_or_default(), prompt);
    }
    prompts.push(out)
}

/// Returns the times at which each text was sent, by the workspace's last requests. Microseconds since 1970.
fn moments(state: &State<'_>) -> Result<BTreeMap<String, VecDeque<i64>>, Reject> {
    let mut moments: BTreeMap<String, VecDeque<i64>> = BTreeMap::new();
    state.with_item(GENERATIONS, |json| {
        let all: List<Object<Generation<'_>>> = serde_json::from_str(json).unwrap_or_default();
        for generation in all.0.iter().filter_map(|generation| generation.0.as_ref()) {
            if let (Some(text), Some(at)) = (generation.text.get(), generation.at.0) {
                moments.entry(text.to_owned()).or_default().push_back(at);
            }
        }
    })?;
    Ok(moments)
}
