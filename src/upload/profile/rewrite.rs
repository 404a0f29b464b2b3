//! Rewrites a data file some rows at a time, so that memory does not depend on its size.

use std::borrow::Cow;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ListArray, RecordBatch, StringArray, StringBuilder, new_null_array};
use arrow::error::ArrowError;

use super::Rewriter;
use super::columns::{Treatment, treatment};
use crate::Result;
use crate::lake::manifest::FileEntry;
use crate::lake::part::{TableWriter, read_opened};
use crate::redact::{Counts, Personal};
use crate::tables::TableDef;

/// Size of the rows that are rewritten at a time, if one is not larger. Bytes.
const STEP: u64 = 4 << 20;
/// Bytes of a hash that stands for a path or a name: enough that no two are taken for one.
const HASH: usize = 8;

/// Cleans the texts of one file.
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
            writer.add_at_once(&self.batch(&batch?, &mut counts)?)?;
        }
        let (_, entry) = writer.close()?;
        Ok((entry, counts))
    }

    fn batch(&self, batch: &RecordBatch, counts: &mut Counts) -> Result<RecordBatch, ArrowError> {
        let schema = batch.schema();
        let fields = schema.fields().iter().zip(batch.columns());
        let columns = fields.map(|(field, column)| self.column(field.name(), column, counts));
        RecordBatch::try_new(Arc::clone(&schema), columns.collect::<Result<_, _>>()?)
    }

    fn column(&self, name: &str, column: &ArrayRef, counts: &mut Counts) -> Result<ArrayRef, ArrowError> {
        let treatment = treatment(name, self.rewriter.choice);
        if let Some(texts) = column.as_any().downcast_ref::<StringArray>() {
            if treatment == Treatment::Drop {
                return Ok(new_null_array(column.data_type(), column.len()));
            }
            return Ok(self.texts(texts, treatment, counts).unwrap_or_else(|| Arc::clone(column)));
        }
        let Some(list) = column.as_any().downcast_ref::<ListArray>() else { return Ok(Arc::clone(column)) };
        let arrow::datatypes::DataType::List(field) = column.data_type() else { return Ok(Arc::clone(column)) };
        let values = self.column(name, list.values(), counts)?;
        Ok(Arc::new(ListArray::try_new(Arc::clone(field), list.offsets().clone(), values, list.nulls().cloned())?))
    }

    /// The texts as they leave; none where all of them stay.
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
            Treatment::Mark => {
                counts.add("user");
                Cow::Owned(self.personal.marker("user", text))
            }
            Treatment::Clean => match self.rewriter.redactor.redact(text, counts) {
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
