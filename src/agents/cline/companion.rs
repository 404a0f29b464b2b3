//! Files next to the messages of a task: `task_metadata.json`, `history_item.json`, the index.

use std::path::{Path, PathBuf};

use super::index;
use super::record::{HistoryItem, TaskMetadata};
use crate::agents::waiting::LastBefore;
use crate::extract::Reject;
use crate::source::records::Text;
use crate::source::{Source, repair};

/// Metadata next to the messages.
pub(super) const METADATA: &str = "task_metadata.json";
pub(super) const ITEM: &str = "history_item.json";
/// Cline's index, below its storage.
pub(super) const TASKS: &str = "state/taskHistory.json";

/// Facts of a task that are recorded outside its messages.
#[derive(Default)]
pub(super) struct Companion {
    models: Vec<Used>,
    models_since: LastBefore,
    /// Versions, and the time of each one's first use. Milliseconds since 1970.
    versions: Vec<(i64, String)>,
    versions_since: LastBefore,
    pub(super) totals: Option<Totals>,
    pub(super) item: Option<Item>,
    /// Last model that the index names, for a task without metadata.
    pub(super) indexed: Option<String>,
}

/// A model, and the time of its first use. Milliseconds since 1970.
pub(super) struct Used {
    at: i64,
    pub(super) model: Option<String>,
    pub(super) provider: Option<String>,
}

/// Totals of a task in an older description's form of `task_metadata.json`.
pub(super) struct Totals {
    pub(super) task: Option<String>,
    pub(super) started: Option<i64>,
    pub(super) ended: Option<i64>,
    pub(super) model: Option<String>,
    pub(super) input: Option<i64>,
    pub(super) output: Option<i64>,
    pub(super) cost: Option<f64>,
}

/// The content of Roo Code's and Kilo Code's `history_item.json`.
#[derive(Default)]
pub(super) struct Item {
    pub(super) folder: Option<String>,
    pub(super) parent: Option<String>,
    pub(super) root: Option<String>,
    pub(super) children: Vec<String>,
    /// First line of the task.
    pub(super) title: Option<String>,
    pub(super) summary: Option<String>,
    pub(super) mode: Option<String>,
}

impl Companion {
    /// Reads the files in the folder of a task.
    pub(super) fn of(source: &Source<'_>, folder: &Path) -> Result<Self, Reject> {
        let mut companion = Self::default();
        if let Some(bytes) = source.sidecar(&folder.join(METADATA))
            && let Ok(metadata) = serde_json::from_str::<TaskMetadata<'_>>(&repair(&bytes))
        {
            companion.take(&metadata);
        }
        if let Some(bytes) = source.sidecar(&folder.join(ITEM)) {
            companion.item = serde_json::from_str::<HistoryItem<'_>>(&repair(&bytes)).ok().map(|item| Item::of(&item));
        }
        if let Some(index) = index_beside(folder) {
            let task = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            companion.indexed = index::models(source, &index)?.get(task).cloned();
        }
        Ok(companion)
    }

    /// Takes the task's metadata.
    pub(super) fn take(&mut self, metadata: &TaskMetadata<'_>) {
        for used in metadata.models.0.iter().filter_map(|used| used.0.as_ref()) {
            let (model, provider) = (used.model.owned(), used.provider.owned());
            self.models.push(Used { at: used.at.0.unwrap_or(i64::MIN), model, provider });
        }
        for environment in metadata.environments.0.iter().filter_map(|environment| environment.0.as_ref()) {
            let version = environment.version.owned();
            self.versions.extend(version.map(|version| (environment.at.0.unwrap_or(i64::MIN), version)));
        }
        self.models_since = self.models.iter().map(|used| used.at).collect();
        self.versions_since = self.versions.iter().map(|(since, _)| *since).collect();
        let is_total = metadata.task.get().is_some() || metadata.input.0.is_some() || metadata.output.0.is_some();
        self.totals = is_total.then(|| Totals {
            task: metadata.task.owned(),
            started: metadata.started.0,
            ended: metadata.ended.0,
            model: metadata.model.owned(),
            input: metadata.input.0,
            output: metadata.output.0,
            cost: metadata.cost.0.filter(|cost| *cost >= 0.0),
        });
    }

    /// Returns the model of the request before `next`. The entry is written a little after the request; before the
    /// first entry, the first model counts.
    pub(super) fn model_before(&self, next: Option<i64>) -> Option<&Used> {
        let last = match next {
            Some(next) => self.models_since.place(next.saturating_sub(1)),
            None => self.models.len().checked_sub(1),
        };
        self.models.get(last.unwrap_or(0))
    }

    /// Returns the version that wrote the last record.
    pub(super) fn version(&self) -> Option<&str> {
        self.versions.last().map(|(_, version)| version.as_str())
    }

    /// Returns true if the version that ran at a time was built on the SDK: 4.0.0, and all since 4.1.
    pub(super) fn is_sdk_build(&self, at: i64) -> bool {
        let version = self.versions.get(self.versions_since.place(at).unwrap_or(0));
        let mut numbers = version.map(|(_, version)| version.as_str()).unwrap_or_default().split(['.', '-']);
        let mut number = || numbers.next().and_then(|number| number.parse::<u32>().ok()).unwrap_or(0);
        let version = (number(), number(), number());
        version == (4, 0, 0) || version >= (4, 1, 0)
    }
}

impl Item {
    fn of(item: &HistoryItem<'_>) -> Self {
        Self {
            folder: item.workspace.owned().or(item.cwd.owned()),
            parent: item.parent.owned(),
            root: item.root.owned(),
            children: item.children.0.iter().filter_map(Text::owned).collect(),
            title: item.task.get().and_then(|task| task.lines().next()).map(str::to_owned),
            summary: item.summary.owned(),
            mode: item.mode.owned(),
        }
    }
}

/// Returns the index that is read together with a task. It changes with every task, so it is not used if metadata name
/// the models: otherwise each new task would cause all others to be read again.
pub(super) fn index_beside(folder: &Path) -> Option<PathBuf> {
    let storage = folder.parent()?.parent()?;
    (!folder.join(METADATA).is_file()).then(|| storage.join(TASKS))
}
