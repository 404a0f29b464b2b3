//! Checks each data file of a part: its size, footer and schema; with `read_data` also its hash and every row.

use std::fs::File;
use std::path::Path;

use arrow::datatypes::Schema;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::error::{Error, Result};
use crate::lake::layout::{Layout, PartName};
use crate::lake::manifest::{FileEntry, PartEntry};
use crate::lake::part;
use crate::tables::{LAKE_TABLES, TableDef};

/// A part before and after a commit in progress; the same twice if there is none.
pub(super) struct Expected<'m> {
    pub(super) before: &'m PartEntry,
    pub(super) after: &'m PartEntry,
}

/// Returns the paths of a part's data files, relative to the lake.
pub(super) fn paths<'p>(
    machine: &'p str,
    name: &'p PartName,
    part: &'p PartEntry,
) -> impl Iterator<Item = String> + 'p {
    let tables = LAKE_TABLES.into_iter().zip(&part.files).filter(|(_, file)| file.is_some());
    tables.map(move |(table, _)| Layout::part(table, machine, name))
}

pub(super) fn problems(
    layout: &Layout,
    machine: &str,
    name: &PartName,
    expected: &Expected<'_>,
    read_data: bool,
) -> Vec<String> {
    let tables = LAKE_TABLES.into_iter().zip(expected.before.files.iter().zip(&expected.after.files));
    let checked = tables.map(|(table, (before, after))| {
        let path = Layout::part(table, machine, name);
        let found = problem(&layout.root().join(&path), table, [before.as_ref(), after.as_ref()], read_data);
        let found = found.unwrap_or_else(|error| Some(format!("cannot be read: {error}")));
        found.map(|problem| format!("`{path}` {problem}"))
    });
    checked.flatten().collect()
}

fn problem(path: &Path, table: &TableDef, entries: [Option<&FileEntry>; 2], read_data: bool) -> Result<Option<String>> {
    let ([Some(entry), _] | [None, Some(entry)]) = entries else { return Ok(None) };
    let bytes = match std::fs::metadata(path) {
        Ok(metadata) => metadata.len(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok((!entries.contains(&None)).then(|| "is missing".to_owned()));
        }
        Err(error) => return Err(Error::io("read", path)(error)),
    };
    let mut fitting: Vec<&FileEntry> = entries.into_iter().flatten().filter(|entry| entry.bytes == bytes).collect();
    if fitting.is_empty() {
        return Ok(Some(format!("has {bytes} bytes, the manifest says {}", entry.bytes)));
    }
    if read_data {
        let hash = hash(path)?;
        fitting.retain(|entry| entry.hash == hash);
        if fitting.is_empty() {
            return Ok(Some("does not have the content that was written: its BLAKE3 hash differs".to_owned()));
        }
    }
    let (rows, schema) = match footer(path) {
        Ok(footer) => footer,
        Err(error) => return Ok(Some(format!("is no Parquet file that can be read: {error}"))),
    };
    if !fitting.iter().any(|entry| entry.rows == rows) {
        return Ok(Some(format!("has {rows} rows, the manifest says {}", entry.rows)));
    }
    if let Some(difference) = difference(&schema, table) {
        return Ok(Some(format!("does not have the schema of `{}`: {difference}", table.name)));
    }
    if read_data { Ok(decoding_problem(path, table, rows)) } else { Ok(None) }
}

/// True if a file is as it was written.
pub(crate) fn is_whole(path: &Path, entry: &FileEntry) -> bool {
    let has_size = std::fs::metadata(path).is_ok_and(|metadata| metadata.len() == entry.bytes);
    has_size && hash(path).is_ok_and(|hash| hash == entry.hash)
}

fn hash(path: &Path) -> Result<[u8; 32]> {
    let mut hasher = blake3::Hasher::new();
    let file = File::open(path).map_err(Error::io("read", path))?;
    hasher.update_reader(file).map_err(Error::io("read", path))?;
    Ok(*hasher.finalize().as_bytes())
}

fn footer(path: &Path) -> Result<(u64, Schema), String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| error.to_string())?;
    let rows = u64::try_from(reader.metadata().file_metadata().num_rows()).unwrap_or(0);
    Ok((rows, reader.schema().as_ref().clone()))
}

/// Returns the first column that differs from the table's declaration. Documentation may differ.
fn difference(schema: &Schema, table: &TableDef) -> Option<String> {
    let columns = || table.columns.iter().map(|column| (column.name, (column.data_type)(), column.nullable));
    for (field, (name, data_type, nullable)) in schema.fields().iter().zip(columns()) {
        if field.name() != name {
            return Some(format!("column `{}` stands where `{name}` should", field.name()));
        }
        if *field.data_type() != data_type {
            return Some(format!("column `{name}` is {}, and should be {data_type}", field.data_type()));
        }
        if field.is_nullable() != nullable {
            return Some(format!("column `{name}` {} be null", if nullable { "cannot" } else { "can" }));
        }
    }
    let (found, declared) = (schema.fields().len(), table.columns.len());
    (found != declared).then(|| format!("it has {found} columns, and should have {declared}"))
}

fn decoding_problem(path: &Path, table: &TableDef, rows: u64) -> Option<String> {
    let decode =
        || -> Result<u64> { part::read(path, table)?.try_fold(0, |sum, batch| Ok(sum + batch?.num_rows() as u64)) };
    match decode() {
        Ok(decoded) if decoded == rows => None,
        Ok(decoded) => Some(format!("gives {decoded} rows, its footer says {rows}")),
        Err(error) => Some(format!("cannot be decoded: {error}")),
    }
}
