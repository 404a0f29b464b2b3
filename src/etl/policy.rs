//! The settings, besides the sources, that decide which rows a lake has. A change makes the next run read its sources
//! again.

use serde::{Deserialize, Serialize};

use super::Options;
use crate::extract::Content;
use crate::lake::manifest::Manifest;
use crate::{pricing, redact, tables};

/// Raised if this program stores something else of every source.
const VERSION: u32 = 2;

/// The settings that affect rows. Stored in the manifest as JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Policy {
    version: u32,
    /// Fingerprint of all prices.
    prices: String,
    redact: String,
    content: String,
    /// Fingerprint of all columns.
    tables: String,
}

impl Policy {
    /// Returns the policy of a run.
    pub(super) fn of(options: &Options) -> Self {
        let redact = match options.redact {
            redact::Mode::Secrets => "secrets",
            redact::Mode::Strict => "strict",
            redact::Mode::None => "none",
        };
        let content = match options.content {
            Content::Full => "full",
            Content::None => "none",
        };
        Self {
            version: VERSION,
            prices: pricing::fingerprint(options.prices.as_deref()),
            redact: redact.to_owned(),
            content: content.to_owned(),
            tables: tables::fingerprint(),
        }
    }

    /// Returns the policy with which a lake was last brought up to date.
    pub(super) fn of_lake(manifest: &Manifest) -> Self {
        serde_json::from_str(&manifest.policy).unwrap_or_else(|_| Self::of_words(&manifest.policy))
    }

    /// Reads the form of the first version: `prices=… redact=Secrets content=Full tables=…`.
    fn of_words(stored: &str) -> Self {
        let word = |name: &str| {
            let mut values = stored.split(' ').filter_map(|word| word.strip_prefix(name)?.strip_prefix('='));
            values.next_back().unwrap_or_default().to_lowercase()
        };
        Self {
            version: u32::from(!stored.is_empty()),
            prices: word("prices"),
            redact: word("redact"),
            content: word("content"),
            tables: word("tables"),
        }
    }

    /// Returns the form for the manifest.
    pub(super) fn stored(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// True if a lake with the other policy has the texts that this policy would store.
    pub(super) fn stores_texts_of(&self, other: &Self) -> bool {
        (&self.redact, &self.content) == (&other.redact, &other.content)
    }

    /// True if a lake with this policy has the columns of this program.
    pub(super) fn has_all_columns(&self) -> bool {
        self.tables == tables::fingerprint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_come_back_as_they_were_stored() {
        let policy = Policy::of(&Options::new("lake".into()));
        let manifest = Manifest { policy: policy.stored(), ..Manifest::default() };
        assert_eq!(Policy::of_lake(&manifest), policy);
        assert!(policy.has_all_columns());
        assert_eq!(Policy::of_lake(&Manifest::default()), Policy::default());
    }

    #[test]
    fn policies_of_the_first_version_are_read() {
        let first =
            Manifest { policy: "prices=0a redact=Strict content=Full tables=0b".to_owned(), ..Manifest::default() };
        let options = Options { redact: redact::Mode::Strict, ..Options::new("lake".into()) };
        let (then, now) = (Policy::of_lake(&first), Policy::of(&options));
        assert_ne!(then, now);
        assert!(now.stores_texts_of(&then) && !then.has_all_columns());
        assert!(!Policy::of(&Options::new("lake".into())).stores_texts_of(&then));
    }
}
