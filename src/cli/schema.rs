//! `llrem schema`: lists tables, columns, types, units and meanings, or prints statements for another engine.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, StringArray};

use super::args::Schema;
use super::output::{self, Format, Output};
use super::settings::Settings;
use crate::progress::Silent;
use crate::query::findings::Detectors;
use crate::query::{Scope, duckdb, nearest, spark};
use crate::tables::columns::{Column as _, Opt, StrList};
use crate::tables::{ColumnDef, LAKE_TABLES, PARTITION_COLUMNS, STATE_TABLES, TableDef};
use crate::{Error, Result};

/// Runs the command.
pub(super) fn run(settings: &Settings, typed: &Schema) -> Result<()> {
    let rows = rows(typed.table.as_deref())?;
    if let Some(engine) = settings.format_as_file.as_deref().and_then(Engine::of) {
        let lake = settings.open_lake()?;
        let detectors = Detectors::All(settings.query_folders());
        let (zone, prices) = (settings.clock.zone, settings.prices());
        let scope = Scope { lake: &lake, zone, prices, detectors, scheduler: None, progress: &Silent };
        let table = typed.table.as_deref();
        let script = match engine {
            Engine::DuckDb => duckdb::script(scope, table)?,
            Engine::Spark => spark::script(scope, table)?,
        };
        return output::raw(&settings.output, script.as_bytes());
    }
    settings.refuse_format_as_file()?;
    print(Output::new(&settings.output, Format::Table)?, &rows)
}

/// Prints tables or columns. The list of values is for programs; people read the values in the meaning.
pub(super) fn print(output: Output, rows: &RecordBatch) -> Result<()> {
    let schema = rows.schema();
    let is_shown = |place: &usize| schema.field(*place).name() != VALUES || !output.is_for_people();
    let shown: Vec<usize> = (0..rows.num_columns()).filter(is_shown).collect();
    output.wrapping().print(&rows.project(&shown)?)
}

/// The column that lists the values of a column.
const VALUES: &str = "values";

/// Values of `-f` here in addition to formats of results.
enum Engine {
    DuckDb,
    Spark,
}

impl Engine {
    fn of(typed: &Path) -> Option<Self> {
        match typed.to_str()? {
            "duckdb" => Some(Self::DuckDb),
            SPARK => Some(Self::Spark),
            _ => None,
        }
    }
}

/// Names of the engines with Spark's dialect.
pub(super) const SPARK: &str = "spark";

struct Column {
    table: &'static str,
    name: &'static str,
    kind: &'static str,
    unit: Option<&'static str>,
    nullable: bool,
    /// Empty if it may take any value.
    values: &'static [&'static str],
    meaning: Cow<'static, str>,
}

/// Lists every table with the meaning of a row.
pub(super) fn tables() -> Result<RecordBatch> {
    let tables = LAKE_TABLES.into_iter().chain(STATE_TABLES);
    let column = |text: fn(&TableDef) -> &str| tables.clone().map(|table| Some(text(table))).collect::<StringArray>();
    Ok(RecordBatch::try_from_iter([
        ("table", Arc::new(column(|table| table.name)) as ArrayRef),
        ("meaning", Arc::new(column(|table| table.doc.trim()))),
    ])?)
}

/// Lists every column, or those of one table.
pub(super) fn rows(wanted: Option<&str>) -> Result<RecordBatch> {
    let stored = LAKE_TABLES.into_iter().map(|table| (table, true));
    let state = STATE_TABLES.into_iter().map(|table| (table, false));
    let tables: Vec<(&TableDef, bool)> = stored.chain(state).collect();
    if let Some(unknown) = wanted.filter(|wanted| tables.iter().all(|(table, _)| table.name != *wanted)) {
        let guess = nearest::suggestion(unknown, tables.iter().map(|(table, _)| table.name));
        return Err(Error::Usage(format!("unknown table `{unknown}`{guess}")));
    }
    let chosen = tables.into_iter().filter(|(table, _)| wanted.is_none_or(|wanted| wanted == table.name));
    let columns: Vec<Column> = chosen.flat_map(|(table, partitioned)| columns(table, partitioned)).collect();
    Ok(RecordBatch::try_from_iter([
        ("table", texts(&columns, |column| Some(column.table))),
        ("column", texts(&columns, |column| Some(column.name))),
        ("type", texts(&columns, |column| Some(column.kind))),
        ("unit", texts(&columns, |column| column.unit)),
        ("nullable", Arc::new(columns.iter().map(|column| Some(column.nullable)).collect::<BooleanArray>()) as _),
        ("meaning", texts(&columns, |column| Some(&column.meaning))),
        (VALUES, values(&columns)),
    ])?)
}

fn texts(columns: &[Column], text: fn(&Column) -> Option<&str>) -> ArrayRef {
    Arc::new(columns.iter().map(text).collect::<StringArray>())
}

fn values(columns: &[Column]) -> ArrayRef {
    let mut lists = Opt::<StrList>::builder();
    for column in columns {
        Opt::<StrList>::push(&mut lists, (!column.values.is_empty()).then(|| column.values.to_vec()));
    }
    Opt::<StrList>::finish(&mut lists)
}

fn columns(table: &'static TableDef, partitioned: bool) -> impl Iterator<Item = Column> {
    let partitions = partitioned.then_some(PARTITION_COLUMNS).into_iter().flatten();
    let partitions = partitions.map(|(name, meaning)| Column {
        table: table.name,
        name,
        kind: "text",
        unit: None,
        nullable: false,
        values: &[],
        meaning: meaning.into(),
    });
    partitions.chain(table.columns.iter().map(|column| declared(table.name, column)))
}

fn declared(table: &'static str, column: &'static ColumnDef) -> Column {
    let (meaning, unit) = split_unit(column.doc.trim());
    let ColumnDef { name, nullable, values, .. } = *column;
    let meaning = if values.is_empty() { meaning.into() } else { column.described().into() };
    Column { table, name, kind: column.type_name(), unit, nullable, values, meaning }
}

const UNITS: [(&str, &str); 6] = [
    (" Tokens.", "tokens"),
    (" Bytes.", "bytes"),
    (" Milliseconds.", "ms"),
    (" Count.", "count"),
    (" YYYY-MM-DD.", "day"),
    (" USD.", "USD"),
];

/// Splits a column's documentation into text and unit, its last sentence.
fn split_unit(doc: &'static str) -> (&'static str, Option<&'static str>) {
    let found = UNITS.iter().find_map(|(ending, unit)| doc.strip_suffix(ending).map(|meaning| (meaning, Some(*unit))));
    found.unwrap_or((doc, if doc.contains(" USD for ") { Some("USD") } else { None }))
}
