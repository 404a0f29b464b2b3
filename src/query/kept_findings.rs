//! Keeps findings until the lake changes. Planning the detectors takes about a second, however small the lake is, and several
//! commands need the findings.

use std::io::Cursor;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use arrow::ipc::reader::FileReader;
use arrow::ipc::writer::FileWriter;
use chrono_tz::Tz;

use super::builtin;
use super::cache_folder::{self, CacheFolder};
use super::findings::{self, Detector};
use super::short_id::KnownSession;
use crate::lake::{AnyLake, Lake};
use crate::tables::FINDINGS;

/// A place for the findings of some detectors over a lake as it is now.
pub(super) struct KeptFindings<'a> {
    entries: CacheFolder,
    lake: &'a Lake,
    version: String,
    name: String,
}

impl<'a> KeptFindings<'a> {
    /// Returns the place, or `None` if nothing may be kept: other machines change an uploaded lake, and detectors of the user may
    /// depend on more than the lake.
    pub(super) fn of(lake: &'a AnyLake, zone: Tz, detectors: &[Detector], sessions: &[KnownSession]) -> Option<Self> {
        let AnyLake::Local(lake) = lake else { return None };
        let is_own = |detector: &Detector| builtin::FILES.iter().any(|(_, text)| *text == detector.statement.sql);
        if !detectors.iter().all(is_own) {
            return None;
        }
        let (entries, version) = (CacheFolder::new(lake.cache()?, "findings"), lake.version()?);
        let mut texts = vec![env!("CARGO_PKG_VERSION").to_owned(), zone.name().to_owned(), version.clone()];
        texts.push(std::path::absolute(lake.root()).ok()?.to_str()?.to_owned());
        // Another build of the same version may have other columns, or settle overlaps in another way.
        texts.push(findings::SQL.to_owned());
        texts.extend(FINDINGS.columns.iter().map(|column| column.name.to_owned()));
        for detector in detectors {
            texts.push(detector.name.clone());
            texts.push(detector.statement.sql.clone());
            texts.push(format!("{:?}", detector.statement.parameters));
        }
        texts.push(format!("{sessions:?}"));
        let name = cache_folder::name(texts.iter().map(String::as_str));
        Some(Self { entries, lake, version, name })
    }

    /// Returns the findings, if they were kept.
    pub(super) fn read(&self) -> Option<Vec<RecordBatch>> {
        let bytes = self.entries.read(&self.name)?;
        FileReader::try_new(Cursor::new(bytes), None).ok()?.collect::<Result<_, _>>().ok()
    }

    /// Keeps findings, unless the lake has changed since the place was made.
    pub(super) fn write(&self, schema: &SchemaRef, findings: &[RecordBatch]) {
        if self.lake.version().as_ref() == Some(&self.version)
            && let Some(bytes) = encoded(schema, findings)
        {
            self.entries.write(&self.name, &bytes);
        }
    }
}

fn encoded(schema: &SchemaRef, findings: &[RecordBatch]) -> Option<Vec<u8>> {
    let schema = findings.first().map_or_else(|| Arc::clone(schema), RecordBatch::schema);
    let all = concat_batches(&schema, findings).ok()?;
    let mut writer = FileWriter::try_new(Vec::new(), &schema).ok()?;
    writer.write(&all).ok()?;
    writer.into_inner().ok()
}
