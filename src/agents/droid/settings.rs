//! `<session>.settings.json`: the model, who sells it, and the session's running total of tokens, rewritten in place.

use std::path::{Path, PathBuf};

use super::model::model_name;
use super::record::{Settings, TagMetadata, TokenUsage};
use crate::source::records::TokenNumber;
use crate::source::{Fingerprint, Source, repair};
use crate::tables::{UsageGrain, UsageRow};

/// Path of the settings of a session.
pub(super) fn settings_of(session: &Path) -> PathBuf {
    session.with_extension("settings.json")
}

/// When the settings of a session were last written. Microseconds since 1970.
pub(super) fn written_at(session: &Path) -> Option<i64> {
    Fingerprint::of(&settings_of(session), &[]).ok().map(|print| print.modified_us())
}

/// The facts about a session that its settings file records.
#[derive(Debug, Default)]
pub(super) struct Companion {
    pub(super) model: Option<String>,
    pub(super) provider: Option<String>,
    pub(super) calling_session: Option<String>,
    pub(super) calling_call: Option<String>,
    /// Time that the model worked. Milliseconds.
    pub(super) active_ms: Option<i64>,
    pub(super) total: Option<Total>,
    pub(super) effort: Option<String>,
    /// Router that the settings name as the model.
    pub(super) router: Option<String>,
    pub(super) credits: Option<f64>,
}

/// Tokens of a whole session; each is null when it is not recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Total {
    pub(super) input: Option<i64>,
    pub(super) cache_read: Option<i64>,
    pub(super) cache_write: Option<i64>,
    /// Reasoning within.
    pub(super) output: Option<i64>,
    pub(super) reasoning: Option<i64>,
}

impl Companion {
    /// Reads the settings next to a session; nothing if there are none. False if they cannot be read.
    pub(super) fn beside(source: &Source<'_>) -> (Self, bool) {
        let Some(bytes) = source.sidecar(&settings_of(source.path)) else { return (Self::default(), true) };
        let text = repair(&bytes);
        match serde_json::from_str::<Settings<'_>>(&text) {
            Ok(settings) => (Self::of(&settings), true),
            Err(_) => (Self::default(), false),
        }
    }

    /// The total of another session, which is in the same folder, next to the folders as until 2025, or in the folder of
    /// another project.
    pub(super) fn total_of(source: &Source<'_>, session: &str) -> Option<Total> {
        let name = Some(format!("{session}.settings.json")).filter(|_| !session.contains(['/', '\\']))?;
        let root = source.path.ancestors().find(|folder| folder.ends_with("sessions"));
        let of_projects =
            root.into_iter().flat_map(|root| source.names_in(root).into_iter().map(|name| root.join(name)));
        let near = source.path.ancestors().skip(1).take(2).map(Path::to_path_buf);
        near.chain(of_projects).find_map(|folder| {
            let bytes = source.sidecar(&folder.join(&name))?;
            Self::of(&serde_json::from_str::<Settings<'_>>(&repair(&bytes)).ok()?).total
        })
    }

    fn of(settings: &Settings<'_>) -> Self {
        let metadata = || {
            let tags = settings.tags.0.iter().filter_map(|tag| tag.0.as_ref());
            tags.filter_map(|tag| tag.metadata.0.as_ref())
        };
        let of_tags = |field: fn(&TagMetadata<'_>) -> Option<String>| metadata().find_map(field);
        Self {
            model: model_of(settings).map(str::to_owned),
            provider: provider_of(settings).map(str::to_owned),
            calling_session: of_tags(|tag| tag.calling_session.owned()),
            calling_call: of_tags(|tag| tag.calling_call.owned()),
            active_ms: settings.active_ms.0.filter(|ms| *ms >= 0),
            total: settings.usage.0.as_ref().and_then(Total::of),
            effort: settings.effort.owned(),
            router: settings.model.owned().filter(|_| is_routed(settings)),
            credits: settings.usage.0.as_ref().and_then(|usage| usage.credits.0),
        }
    }
}

/// True if a router chose the model.
fn is_routed(settings: &Settings<'_>) -> bool {
    let routed_to = settings.routed_to.0.as_ref().and_then(|routed| routed.model.get());
    routed_to.is_some() && settings.model.get().is_some_and(|model| model.contains("router"))
}

/// The router is no model; what it chose is.
fn model_of<'s>(settings: &'s Settings<'_>) -> Option<&'s str> {
    let routed_to = settings.routed_to.0.as_ref().and_then(|routed| routed.model.get());
    settings.model.get().filter(|_| !is_routed(settings)).or(routed_to).map(model_name)
}

/// `generic-chat-completion-api` is a way of asking, not somebody who sells.
fn provider_of<'s>(settings: &'s Settings<'_>) -> Option<&'s str> {
    let provider = settings.provider.get();
    provider.filter(|provider| !provider.starts_with("generic-")).or(settings.api_provider.get()).or(provider)
}

impl Total {
    fn of(usage: &TokenUsage<'_>) -> Option<Self> {
        // Whoever the provider is, the output holds the thinking: Droid adds Google's itself. Of most providers it estimates
        // how much that is from the length of the text.
        let thinking = tokens(usage.thinking);
        let output = tokens(usage.output).or(thinking);
        let (input, cache_read) = (tokens(usage.input), tokens(usage.cache_read));
        let total =
            Self { input, cache_read, cache_write: tokens(usage.cache_write), output, reasoning: thinking.min(output) };
        let counts = [total.input, total.cache_read, total.cache_write, total.output];
        counts.into_iter().flatten().any(|count| count > 0).then_some(total)
    }

    /// True if it has at least the other's tokens of every kind.
    pub(super) fn holds(&self, other: &Self) -> bool {
        let counts = |total: &Self| [total.input, total.cache_read, total.cache_write, total.output, total.reasoning];
        counts(self).into_iter().zip(counts(other)).all(|(own, other)| own.unwrap_or(0) >= other.unwrap_or(0))
    }

    /// The row of a total, with only what it records.
    pub(super) fn row<'r>(&self, response_id: &'r str) -> UsageRow<'r> {
        UsageRow {
            response_id,
            input_tokens: self.input,
            cache_read_tokens: self.cache_read,
            cache_write_5m_tokens: self.cache_write,
            output_tokens: self.output,
            reasoning_tokens: self.reasoning,
            grain: UsageGrain::Session,
            ..UsageRow::default()
        }
    }
}

/// Tokens never are negative; what is, is damage.
pub(super) fn tokens(number: TokenNumber) -> Option<i64> {
    number.0
}
