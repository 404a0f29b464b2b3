//! Parses values of parameters.

use chrono::NaiveDate;
use chrono_tz::Tz;
use datafusion::scalar::ScalarValue;

use crate::Result;

/// Type of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A whole number.
    Int,
    /// A number.
    Float,
    /// A text.
    Text,
    /// true or false.
    Bool,
    /// A day, YYYY-MM-DD.
    Date,
    /// A time, as `--since` takes it.
    Timestamp,
}

impl Kind {
    const ALL: [Self; 6] = [Self::Int, Self::Float, Self::Text, Self::Bool, Self::Date, Self::Timestamp];

    /// Returns the type's name in headers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Int => "int",
            Self::Float => "float",
            Self::Text => "text",
            Self::Bool => "bool",
            Self::Date => "date",
            Self::Timestamp => "timestamp",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    pub(super) fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }

    /// Checks that a header's default can be a value. Times are parsed when the query runs.
    pub(super) fn check(self, text: &str) -> Result<(), String> {
        self.value(text, Tz::UTC, &|_| Ok(0)).map(drop).map_err(|reason| reason.to_string())
    }

    /// Parses a value. The word `null` means no value.
    pub(super) fn value(self, text: &str, zone: Tz, moment: &dyn Fn(&str) -> Result<i64>) -> Result<ScalarValue> {
        let given = (text != "null").then_some(text);
        Ok(match self {
            Self::Int => ScalarValue::Int64(parsed(given, "whole number")?),
            Self::Float => ScalarValue::Float64(parsed(given, "number")?),
            Self::Text => ScalarValue::Utf8(given.map(str::to_owned)),
            Self::Bool => ScalarValue::Boolean(parsed(given, "true or false")?),
            Self::Date => ScalarValue::Date32(
                parsed::<NaiveDate>(given, "day (YYYY-MM-DD)")?.map(arrow::datatypes::Date32Type::from_naive_date),
            ),
            Self::Timestamp => {
                ScalarValue::TimestampMicrosecond(given.map(moment).transpose()?, Some(zone.name().into()))
            }
        })
    }
}

fn parsed<T: std::str::FromStr>(text: Option<&str>, expected: &str) -> Result<Option<T>> {
    let parsed = text.map(|text| text.parse().map_err(|_| crate::Error::Usage(format!("`{text}` is no {expected}"))));
    parsed.transpose()
}
