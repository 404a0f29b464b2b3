//! Rewrites a data file some rows at a time, so that memory does not depend on its size.

use std::borrow::Cow;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ListArray, RecordBatch, StringArray, StringBuilder, new_null_array};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use uuid::Uuid;

use super::Rewriter;
use super::columns::{Treatment, treatment};
use crate::Result;
use crate::extract::{PUBLIC_SEED, text_sketch};
use crate::lake::manifest::FileEntry;
use crate::lake::part::read_opened;
use crate::lake::table_writer::TableWriter;
use crate::redact::{Counts, Personal};
use crate::tables::{Privacy, TableDef};

/// Size of the rows that are rewritten at a time, unless one is larger. Bytes.
const STEP: u64 = 4 << 20;
/// Length of a hash that replaces a path or a name: long enough to avoid collisions. Bytes.
const HASH: usize = 8;

/// Removes secrets and personal data from the texts of one file.
pub(super) struct Cleaner<'r> {
    pub(super) rewriter: &'r Rewriter,
    pub(super) personal: Personal,
}

impl Cleaner<'_> {
    pub(super) fn rewrite(
        &self,
        file: File,
        from: &Path,
        table: &'static TableDef,
        to: &Path,
    ) -> Result<(FileEntry, Counts)> {
        let mut counts = Counts::default();
        let mut writer = TableWriter::create(to, table)?;
        for batch in read_opened(file, from, table, STEP)? {
            writer.add_at_once(&self.batch(table, &batch?, &mut counts)?)?;
        }
        let (_, entry) = writer.close()?;
        Ok((entry, counts))
    }

    fn batch(&self, table: &TableDef, batch: &RecordBatch, counts: &mut Counts) -> Result<RecordBatch, ArrowError> {
        let schema = batch.schema();
        let columns = table.columns.iter().zip(batch.columns()).map(|(declared, column)| {
            let treatment = treatment(declared.privacy, self.rewriter.choice);
            self.column(treatment, column, counts)
        });
        let mut columns = columns.collect::<Result<Vec<_>, _>>()?;
        self.sketch_anew(&schema, &mut columns);
        RecordBatch::try_new(Arc::clone(&schema), columns)
    }

    /// Computes sketches of the uploaded texts: with the sketch of a whole text, one could test guesses of what was
    /// replaced.
    fn sketch_anew(&self, schema: &SchemaRef, columns: &mut [ArrayRef]) {
        let place = |name: &str| schema.index_of(name).ok();
        let (Some(text), Some(sketch)) = (place("text"), place("text_sketch")) else { return };
        if treatment(Privacy::Sketch, self.rewriter.choice) != Treatment::Sketch {
            return;
        }
        let sketch_of = |text: &str| text_sketch(text, PUBLIC_SEED);
        let texts = |place: usize| columns.get(place)?.as_any().downcast_ref::<StringArray>();
        let (Some(texts), Some(sketches)) = (texts(text), texts(sketch)) else { return };
        let anew = texts.iter().zip(sketches).map(|(text, sketch)| sketch.and(text).and_then(sketch_of));

        let anew: ArrayRef = Arc::new(anew.collect::<StringArray>());
        if let Some(column) = columns.get_mut(sketch) {
            *column = anew;
        }
    }

    fn column(&self, treatment: Treatment, column: &ArrayRef, counts: &mut Counts) -> Result<ArrayRef, ArrowError> {
        if let Some(texts) = column.as_any().downcast_ref::<StringArray>() {
            if treatment == Treatment::Drop {
                return Ok(new_null_array(column.data_type(), column.len()));
            }
            return Ok(self.texts(texts, treatment, counts).unwrap_or_else(|| Arc::clone(column)));
        }
        let Some(list) = column.as_any().downcast_ref::<ListArray>() else { return Ok(Arc::clone(column)) };
        let arrow::datatypes::DataType::List(field) = column.data_type() else { return Ok(Arc::clone(column)) };
        let values = self.column(treatment, list.values(), counts)?;
        Ok(Arc::new(ListArray::try_new(Arc::clone(field), list.offsets().clone(), values, list.nulls().cloned())?))
    }

    /// Returns the texts to upload, or `None` if all are unchanged.
    fn texts(&self, texts: &StringArray, treatment: Treatment, counts: &mut Counts) -> Option<ArrayRef> {
        let treated: Vec<Option<Cow<'_, str>>> =
            texts.iter().map(|text| text.map(|text| self.text(text, treatment, counts))).collect();
        if treated.iter().flatten().all(|text| matches!(text, Cow::Borrowed(_))) {
            return None;
        }
        let mut builder = StringBuilder::with_capacity(texts.len(), texts.value_data().len());
        for text in &treated {
            builder.append_option(text.as_deref());
        }
        Some(Arc::new(builder.finish()))
    }

    fn text<'t>(&self, text: &'t str, treatment: Treatment, counts: &mut Counts) -> Cow<'t, str> {
        match treatment {
            Treatment::Drop => Cow::Borrowed(""),
            Treatment::Hash => Cow::Owned(self.hash(text)),
            Treatment::Id if is_random(text) => Cow::Borrowed(text),
            Treatment::Id => Cow::Owned(self.hash(text)),
            Treatment::Name if !is_plain(text) => Cow::Owned(self.hash(text)),
            Treatment::Keep | Treatment::Sketch => Cow::Borrowed(text),
            Treatment::Mark => {
                counts.add("user");
                Cow::Owned(self.personal.marker("user", text))
            }
            Treatment::Clean | Treatment::Name => match self.rewriter.redactor.redact(text, counts) {
                Cow::Borrowed(text) => self.personal.redact(text, counts),
                Cow::Owned(clean) => Cow::Owned(self.personal.redact(&clean, counts).into_owned()),
            },
        }
    }

    fn hash(&self, text: &str) -> String {
        let hash = blake3::keyed_hash(&self.rewriter.key, text.as_bytes()).to_hex();
        hash.chars().take(HASH * 2).collect()
    }
}

/// True if a program or a provider drew the id at random: a UUID, or letters and digits after a short prefix
/// (`msg_01…`, `toolu_…`). Other ids may be derived from content, or be a file name that somebody chose.
fn is_random(id: &str) -> bool {
    const MARK: usize = 12;
    const RANDOM: usize = 20;
    if Uuid::try_parse(id).is_ok() {
        return true;
    }
    id.split_once(['_', '-']).is_some_and(|(mark, drawn)| {
        mark.len() <= MARK
            && mark.bytes().all(|byte| byte.is_ascii_lowercase())
            && drawn.len() >= RANDOM
            && drawn.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && drawn.bytes().any(|byte| byte.is_ascii_digit())
            && drawn.bytes().any(|byte| byte.is_ascii_alphabetic())
    })
}

/// True if a text is the name of a model, a tool or similar, not a path or a sentence.
fn is_plain(name: &str) -> bool {
    const LONGEST: usize = 80;
    let is_path = name.starts_with(['/', '~', '.']) || name.contains(['\\', '%']) || name.matches('/').count() > 2;
    !is_path && name.len() <= LONGEST && !name.contains(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lake::manifest::Manifest;
    use crate::tables::{MESSAGES, MessageRow, Messages};
    use crate::upload::{Choice, Profile};

    #[test]
    fn random_ids_stay_and_others_are_hashed() {
        for id in [
            "0199aa00-1111-7000-8000-0000000000aa",
            "msg_01XFDUDYJgAACzvnptvVoYEL",
            "toolu_01A09q90qw90lq917835lq9",
            "chatcmpl-A1b2C3d4E5f6G7h8I9j0",
        ] {
            assert!(is_random(id), "{id}");
        }
        for id in [
            "rollout-1#0cf2c97cf8ddbf5a",
            "prompts-2025-10-01-d7215c36f3ec436b",
            "backup of merger plan",
            "call_0",
            "s-1",
            "",
        ] {
            assert!(!is_random(id), "{id}");
        }
    }

    #[test]
    fn names_stay_and_paths_are_hashed() {
        for name in ["claude-sonnet-4-5", "openrouter/anthropic/claude-3.5", "mcp__jira__search", "gpt-5 (high)"] {
            assert_eq!(is_plain(name), !name.contains(' '), "{name}");
        }
        for name in ["/Users/kim/models/x.gguf", r"C:\models\x", "~/x", "a/b/c/d/e", "./x.gguf"] {
            assert!(!is_plain(name), "{name}");
        }
    }

    #[test]
    fn a_sketch_tells_nothing_of_what_was_replaced() {
        let sketch_of = |text: &str, key: u8| {
            let mut rows = Messages::default();
            let sketch = text_sketch(text, PUBLIC_SEED);
            let row = MessageRow { text: Some(text), text_sketch: sketch.as_deref(), ..MessageRow::default() };
            rows.push(row);
            let manifest = Manifest { redaction_key: [key; 32], ..Manifest::default() };
            let choice = Choice { profile: Profile::Redacted, keep_projects: false };
            let rewriter = Rewriter::new(choice, &manifest);
            let personal = Personal::new(rewriter.key, &rewriter.users);
            let cleaner = Cleaner { rewriter: &rewriter, personal };
            let batch = cleaner.batch(&MESSAGES, &rows.finish().unwrap(), &mut Counts::default()).unwrap();
            let value = |name: &str| {
                let column = batch.column(MESSAGES.index_of(name).unwrap());
                column.as_any().downcast_ref::<StringArray>().unwrap().value(0).to_owned()
            };
            (value("text"), value("text_sketch"))
        };
        let [(one, of_one), (other, of_other)] = [1, 2].map(|key| sketch_of("log in to 10.1.2.3 as the admin", key));
        assert!(one != other && !one.contains("10.1.2.3"), "{one} {other}");
        assert_eq!([&of_one, &of_other], [one, other].map(|text| text_sketch(&text, PUBLIC_SEED).unwrap()).each_ref());
        assert_ne!(of_one, of_other);
    }
}
