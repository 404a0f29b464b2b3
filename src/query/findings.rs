//! Findings of all detectors as one table that counts nothing twice.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{RecordBatch, new_null_array};
use arrow::compute::cast;
use arrow::datatypes::{Field, Schema, SchemaRef};

use super::Statement;
use super::canned::{Canned, Library};
use super::short_id::KnownSession;
use crate::tables::{ColumnDef, FINDINGS};
use crate::{Error, Result};

/// The query that merges the rows of detectors, which are in a table `found`.
pub const SQL: &str = include_str!("../../sql/findings.sql");

/// The columns of `findings` that detectors do not have.
const COMPUTED: [&str; 2] = ["first_at", "alone_cost_usd"];

/// The column that a detector may leave out.
const RESPONSES: &str = "responses";

/// A detector with values for its parameters.
#[derive(Debug, Clone)]
pub struct Detector {
    /// Its name.
    pub name: String,
    /// Its query.
    pub statement: Statement,
    /// Condition on the row of a session, without which it finds nothing in it.
    pub needs: Option<String>,
    /// True if the rows of a session alone decide what it finds in it.
    pub is_within_session: bool,
}

impl Detector {
    /// Returns the detector that a canned query describes, with values for its parameters.
    pub fn of(canned: &Canned, statement: Statement) -> Self {
        let (name, needs) = (canned.name.clone(), canned.needs.clone());
        Self { name, statement, needs, is_within_session: canned.is_within_session }
    }

    /// Returns what a session needs, as SQL with values.
    pub fn condition(&self) -> String {
        let mut condition = self.needs.clone().unwrap_or_else(|| "true".to_owned());
        let mut values: Vec<_> = self.statement.parameters.iter().collect();
        // A name may be the beginning of another.
        values.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        for (name, value) in values {
            condition = condition.replace(&format!("${name}"), &value.to_string());
        }
        condition
    }
}

/// The detectors of the table `findings`.
#[derive(Debug, Clone, Copy)]
pub enum Detectors<'a> {
    /// All detectors of llrem and of these folders of the user, with their defaults.
    All(&'a [PathBuf]),
    /// Only these.
    These(&'a [Detector]),
    /// Only these, for the first of some sessions, over the records of these sessions.
    OfSession(&'a [Detector], &'a [KnownSession]),
}

impl Detectors<'_> {
    pub(super) fn all(&self) -> Result<Cow<'_, [Detector]>> {
        match self {
            Self::All(folders) => with_defaults(&Library::load(folders)?).map(Cow::Owned),
            Self::These(detectors) | Self::OfSession(detectors, _) => Ok(Cow::Borrowed(detectors)),
        }
    }

    pub(super) fn sessions(&self) -> &[KnownSession] {
        match self {
            Self::OfSession(_, sessions) => sessions,
            _ => &[],
        }
    }
}

/// Returns every detector of a library, with its defaults.
fn with_defaults(library: &Library) -> Result<Vec<Detector>> {
    let bound = library.default_detectors().map(|canned| {
        let no_moment = |name: &str, _: &str| Err(Error::Query(format!("`{}`: `{name}` has a default", canned.name)));
        let statement = canned.bind(&[], chrono_tz::UTC, &no_moment)?;
        Ok(Detector::of(canned, statement))
    });
    bound.collect()
}

/// Returns the columns of detectors, with the types of `findings`.
pub(super) fn found_schema(findings: &Schema) -> SchemaRef {
    let given = findings.fields().iter().filter(|field| !COMPUTED.contains(&field.name().as_str()));
    Arc::new(Schema::new(given.map(|field| Field::clone(field).with_nullable(true)).collect::<Vec<_>>()))
}

/// Converts the rows of a detector to the columns of all detectors.
pub(super) fn found(detector: &str, batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let columns = schema.fields().iter().map(|field| {
        let Some(column) = batch.column_by_name(field.name()) else {
            return match field.name().as_str() {
                RESPONSES => Ok(new_null_array(field.data_type(), batch.num_rows())),
                missing => Err(Error::Query(format!("detector `{detector}` gives no column `{missing}`"))),
            };
        };
        cast(column, field.data_type()).map_err(|error| {
            Error::Query(format!("column `{}` of detector `{detector}` does not fit: {error}", field.name()))
        })
    });
    Ok(RecordBatch::try_new(Arc::clone(schema), columns.collect::<Result<_>>()?)?)
}

/// Returns the columns of a detector, in order.
pub fn columns() -> impl Iterator<Item = &'static ColumnDef> {
    FINDINGS.columns.iter().filter(|column| !COMPUTED.contains(&column.name))
}
