//! Reads the description of a session: `meta.json`, or the `metadata` of a document.

use std::path::Path;

use serde_json::Value;

use super::{META, STORES};
use crate::agents::kit::values::At;
use crate::extract::Facts;
use crate::source::{Source, repair};
use crate::tables::{SessionKind, UsageGrain, UsageRow};

/// The description of a session.
#[derive(Default)]
pub(super) struct Meta(pub(super) Value);

/// Tokens that a session has spent so far.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct Spent {
    /// With what a cache held.
    input: i64,
    output: i64,
}

impl Meta {
    /// Reads the description of the session in a folder.
    pub(super) fn beside(source: &Source<'_>, folder: &Path) -> Self {
        let bytes = source.sidecar(&folder.join(META)).unwrap_or_default();
        Self(serde_json::from_str(&repair(&bytes)).unwrap_or_default())
    }

    pub(super) fn text(&self, pointer: &str) -> Option<String> {
        self.0.text_at(pointer).map(str::to_owned)
    }

    pub(super) fn moment(&self, pointer: &str) -> Option<i64> {
        self.0.moment_at(pointer)
    }

    /// Returns the facts about the session.
    pub(super) fn facts(&self, id: &str) -> Facts {
        Facts {
            session_id: id.to_owned(),
            project_path: self.text("/environment/working_directory"),
            git_branch: self.text("/git_branch"),
            git_commit: self.text("/git_commit"),
            title: self.text("/title"),
            first_moment: self.0.moment_at("/start_time"),
            ..Facts::default()
        }
    }

    /// The facts of a subagent's session.
    pub(super) fn facts_of_subagent(facts: Facts, parent: Option<String>, kind: Option<String>) -> Facts {
        Facts {
            kind: SessionKind::Subagent,
            is_subagent: true,
            parent_session_id: parent,
            subagent_type: kind,
            ..facts
        }
    }

    /// The model's name, and that of its provider: the description has an alias of the model.
    pub(super) fn model(&self) -> (Option<&str>, Option<&str>) {
        let alias = self.0.text_at("/config/model_name").or_else(|| self.0.text_at("/config/active_model"));
        let models = self.0.items_at("/config/models").iter();
        let mut named = models.filter(|model| [model.text_at("/alias"), model.text_at("/name")].contains(&alias));
        let Some(model) = named.next().filter(|_| alias.is_some()) else { return (alias, None) };
        (model.text_at("/name").or(alias), model.text_at("/provider"))
    }

    /// The tokens of the session. Both counts are 0 where nothing was spent.
    pub(super) fn spent(&self) -> Option<Spent> {
        let [input, output] = ["/stats/session_prompt_tokens", "/stats/session_completion_tokens"]
            .map(|pointer| self.0.count_at(pointer));
        let spent = Spent { input: input.unwrap_or(0), output: output.unwrap_or(0) };
        (spent != Spent::default()).then_some(spent)
    }

    /// The description of the session that this one continues, and its folder's name.
    pub(super) fn parent(&self, source: &Source<'_>) -> Option<Self> {
        let id = self.0.text_at("/parent_session_id")?;
        // The folder is `<session>/messages.jsonl` or `<session>/agents/<session>/messages.jsonl`.
        let sessions = source.path.parent()?.parent()?;
        let short = id.get(..8).unwrap_or(id);
        let names = source.names_in(sessions);
        let near = names.iter().filter(|name| name.contains(short) && *name != STORES);
        near.map(|name| Self::beside(source, &sessions.join(name)))
            .find(|meta| meta.0.text_at("/session_id") == Some(id))
    }
}

impl Spent {
    /// Returns what was spent after another session, whose counters this one took over.
    pub(super) fn after(self, before: Self) -> Option<Self> {
        let has_grown = self.input >= before.input && self.output >= before.output;
        has_grown.then(|| Self { input: self.input - before.input, output: self.output - before.output })
    }

    pub(super) fn row<'r>(self, id: &'r str, (model, provider): (Option<&'r str>, Option<&'r str>)) -> UsageRow<'r> {
        UsageRow {
            response_id: id,
            grain: UsageGrain::Session,
            model,
            provider,
            input_tokens: Some(self.input),
            output_tokens: Some(self.output),
            ..UsageRow::default()
        }
    }
}
