//! Values of a document that is held as a tree, and numbers. A value of the wrong type is absent.

use serde_json::Value;

use crate::source::records::TokenNumber;
use crate::time::{from_epoch, parse_iso};

/// Returns a measure such as a duration as a whole number; `None` if it is below 0 or too large.
#[expect(clippy::cast_possible_truncation, reason = "bounded by the filter before it")]
pub(in crate::agents) fn rounded(number: f64) -> Option<i64> {
    Some(number).filter(|number| (0.0..1e15).contains(number)).map(|number| number.round() as i64)
}

/// Values at JSON pointers.
pub(in crate::agents) trait At {
    /// Returns a value that is not null.
    fn at(&self, pointer: &str) -> Option<&Value>;

    /// Returns a text that is not empty.
    fn text_at(&self, pointer: &str) -> Option<&str> {
        self.at(pointer)?.as_str().filter(|text| !text.is_empty())
    }

    /// Returns a count of tokens.
    fn count_at(&self, pointer: &str) -> Option<i64> {
        TokenNumber::of(self.whole_at(pointer)).0
    }

    /// Returns a number without its fraction.
    #[expect(clippy::cast_possible_truncation, reason = "a cast of a float saturates")]
    fn whole_at(&self, pointer: &str) -> Option<i64> {
        self.at(pointer)?.as_f64().map(|number| number as i64)
    }

    /// Returns a moment: ISO 8601, or a number since 1970. Microseconds since 1970.
    fn moment_at(&self, pointer: &str) -> Option<i64> {
        let value = self.at(pointer)?;
        value.as_f64().and_then(from_epoch).or_else(|| parse_iso(value.as_str()?))
    }

    /// Returns the items of a list.
    fn items_at(&self, pointer: &str) -> &[Value] {
        self.at(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    /// True if the value is `true`.
    fn is_true_at(&self, pointer: &str) -> bool {
        self.at(pointer) == Some(&Value::Bool(true))
    }
}

impl At for Value {
    fn at(&self, pointer: &str) -> Option<&Value> {
        self.pointer(pointer).filter(|value| !value.is_null())
    }
}
