//! JSON values as agents write them. A field of the wrong type is absent, not an error. Of a repeated key, the last
//! value counts. Unknown keys are collected by name.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Text, borrowed if the JSON has no escapes. Numbers count as text; anything else is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Text<'a>(pub(crate) Option<Cow<'a, str>>);

impl Text<'_> {
    /// Returns the text, or `None` if it is absent or empty.
    pub(crate) fn get(&self) -> Option<&str> {
        self.0.as_deref().filter(|text| !text.is_empty())
    }

    /// Returns a copy of the text, unless it is empty.
    pub(crate) fn owned(&self) -> Option<String> {
        self.get().map(str::to_owned)
    }

    /// True if the text is this one.
    pub(crate) fn is(&self, other: &str) -> bool {
        self.0.as_deref() == Some(other)
    }
}

/// An integer, from integers, floats, and numbers in text. Anything else is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Number(pub(crate) Option<i64>);

/// A count of tokens: an integer from 0 on. One out of range is absent, and counted as a problem.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct TokenNumber(pub(crate) Option<i64>);

impl TokenNumber {
    /// Reads the count from a column of a database.
    pub(crate) fn of(count: Option<i64>) -> Self {
        Self::of_fraction(count.map(|count| count as f64))
    }

    #[expect(clippy::cast_possible_truncation, reason = "bounded by the range before it")]
    fn of_fraction(count: Option<f64>) -> Self {
        let is_in_range = |count: &f64| (0.0..LARGEST_COUNT).contains(count);
        if count.is_some_and(|count| !is_in_range(&count)) {
            note_out_of_range();
        }
        Self(count.filter(is_in_range).map(|count| count as i64))
    }
}

/// Cost of a response, 0 or more. A cost out of range is left out, and counted as a problem. USD.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Usd(pub(crate) Option<f64>);

impl Usd {
    /// Checks a cost that an agent recorded.
    pub(crate) fn of(cost: Option<f64>) -> Self {
        let in_range = cost.filter(|cost| (0.0..LARGEST_COST).contains(cost));
        if in_range != cost {
            note_out_of_range();
        }
        Self(in_range)
    }
}

thread_local! {
    static OUT_OF_RANGE: Cell<u64> = const { Cell::new(0) };
}

/// Counts a number that is left out because it is out of range. The reader of the line takes the count.
pub(super) fn note_out_of_range() {
    OUT_OF_RANGE.set(OUT_OF_RANGE.get().saturating_add(1));
}

/// Takes the number of values that this thread has left out since the last call.
pub(crate) fn take_out_of_range() -> u64 {
    OUT_OF_RANGE.take()
}

/// A fraction; otherwise like [`Number`].
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Fraction(pub(crate) Option<f64>);

/// True or false; anything but `true` and `"true"` is false.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Flag(pub(crate) bool);

/// A timestamp: ISO 8601, or seconds, milliseconds or microseconds since 1970. Microseconds since 1970.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Moment(pub(crate) Option<i64>);

/// A raw value, to be parsed on demand.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Raw<'a>(pub(crate) Option<&'a RawValue>);

impl<'a> Raw<'a> {
    /// Returns the JSON text, or `None` for an absent value and for `null`.
    pub(crate) fn json(&self) -> Option<&'a str> {
        self.0.map(RawValue::get).filter(|json| *json != "null")
    }
}

/// An object of the given type. Anything else is absent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Object<T>(pub(crate) Option<T>);

/// Most items of one list. A record with more cannot be read, because each item takes many times its bytes in memory.
pub(crate) const MAX_ITEMS: usize = 200_000;

/// Fails if a list has too many items.
pub(crate) fn check_items<E: serde::de::Error>(count: usize) -> Result<(), E> {
    if count <= MAX_ITEMS { Ok(()) } else { Err(E::custom(format!("a list of more than {MAX_ITEMS} items"))) }
}

/// The items of a list. Anything else has no items.
#[derive(Debug, Clone)]
pub(crate) struct List<T>(pub(crate) Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// Writes the visitor methods for values of other kinds, which are ignored.
macro_rules! lenient {
    (@otherwise $default:expr; $($method:ident($type:ty))*) => {
        $(fn $method<E>(self, _: $type) -> Result<Self::Value, E> { Ok($default) })*
    };
    (@null $default:expr) => {
        fn visit_unit<E>(self) -> Result<Self::Value, E> { Ok($default) }
        fn visit_none<E>(self) -> Result<Self::Value, E> { Ok($default) }
    };
    (@seq $default:expr) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
            while items.next_element::<IgnoredAny>()?.is_some() {}
            Ok($default)
        }
    };
    (@map $default:expr) => {
        fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
            while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok($default)
        }
    };
    (@expecting $what:literal) => {
        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result { formatter.write_str($what) }
    };
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;
            lenient!(@expecting "text");
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Some(Cow::Borrowed(text))))
            }
            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Some(Cow::Owned(text.to_owned()))))
            }
            fn visit_string<E>(self, text: String) -> Result<Text<'de>, E> {
                Ok(Text(Some(Cow::Owned(text))))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Text<'de>, E> {
                Ok(Text(Some(Cow::Owned(number.to_string()))))
            }
            fn visit_u64<E>(self, number: u64) -> Result<Text<'de>, E> {
                Ok(Text(Some(Cow::Owned(number.to_string()))))
            }
            lenient!(@otherwise Text(None); visit_bool(bool) visit_f64(f64));
            lenient!(@null Text(None));
            lenient!(@seq Text(None));
            lenient!(@map Text(None));
        }
        deserializer.deserialize_any(TextVisitor)
    }
}

struct NumberVisitor;

impl<'de> Visitor<'de> for NumberVisitor {
    type Value = Fraction;
    lenient!(@expecting "a number");
    fn visit_f64<E>(self, number: f64) -> Result<Fraction, E> {
        Ok(Fraction(Some(number).filter(|number| number.is_finite())))
    }
    fn visit_i64<E>(self, number: i64) -> Result<Fraction, E> {
        Ok(Fraction(Some(number as f64)))
    }
    fn visit_u64<E>(self, number: u64) -> Result<Fraction, E> {
        Ok(Fraction(Some(number as f64)))
    }
    fn visit_str<E>(self, text: &str) -> Result<Fraction, E> {
        Ok(Fraction(text.trim().parse().ok().filter(|number: &f64| number.is_finite())))
    }
    lenient!(@otherwise Fraction(None); visit_bool(bool));
    lenient!(@null Fraction(None));
    lenient!(@seq Fraction(None));
    lenient!(@map Fraction(None));
}

impl<'de> Deserialize<'de> for Fraction {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberVisitor)
    }
}

/// Largest integer. Larger ones are damage: no agent counts beyond 2^53.
const LARGEST_COUNT: f64 = 9_007_199_254_740_992.0;

/// Largest cost of a response. A larger one is damage. USD.
const LARGEST_COST: f64 = 1e6;

impl<'de> Deserialize<'de> for Usd {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Fraction::deserialize(deserializer).map(|Fraction(cost)| Self::of(cost))
    }
}

impl<'de> Deserialize<'de> for Number {
    #[expect(clippy::cast_possible_truncation, reason = "bounded by the filter before it")]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Fraction(number) = Fraction::deserialize(deserializer)?;
        Ok(Self(number.filter(|number| number.abs() < LARGEST_COUNT).map(|number| number as i64)))
    }
}

impl<'de> Deserialize<'de> for TokenNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Fraction::deserialize(deserializer).map(|Fraction(count)| Self::of_fraction(count))
    }
}

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FlagVisitor;
        impl<'de> Visitor<'de> for FlagVisitor {
            type Value = Flag;
            lenient!(@expecting "true or false");
            fn visit_bool<E>(self, flag: bool) -> Result<Flag, E> {
                Ok(Flag(flag))
            }
            fn visit_str<E>(self, text: &str) -> Result<Flag, E> {
                Ok(Flag(text == "true"))
            }
            lenient!(@otherwise Flag(false); visit_f64(f64));
            fn visit_i64<E>(self, number: i64) -> Result<Flag, E> {
                Ok(Flag(number == 1))
            }
            fn visit_u64<E>(self, number: u64) -> Result<Flag, E> {
                Ok(Flag(number == 1))
            }
            lenient!(@null Flag(false));
            lenient!(@seq Flag(false));
            lenient!(@map Flag(false));
        }
        deserializer.deserialize_any(FlagVisitor)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MomentVisitor;
        impl<'de> Visitor<'de> for MomentVisitor {
            type Value = Moment;
            lenient!(@expecting "a moment");
            fn visit_str<E>(self, text: &str) -> Result<Moment, E> {
                Ok(Moment(crate::time::parse_iso(text).or_else(|| text.parse().ok().and_then(crate::time::from_epoch))))
            }
            fn visit_f64<E>(self, number: f64) -> Result<Moment, E> {
                Ok(Moment(crate::time::from_epoch(number)))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Moment, E> {
                Ok(Moment(crate::time::from_epoch(number as f64)))
            }
            fn visit_u64<E>(self, number: u64) -> Result<Moment, E> {
                Ok(Moment(crate::time::from_epoch(number as f64)))
            }
            lenient!(@otherwise Moment(None); visit_bool(bool));
            lenient!(@null Moment(None));
            lenient!(@seq Moment(None));
            lenient!(@map Moment(None));
        }
        deserializer.deserialize_any(MomentVisitor)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Raw<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&'de RawValue>::deserialize(deserializer).map(|raw| Self(Some(raw)))
    }
}

/// Deserializes a value in place: records are large, and moving them costs more than reading them.
pub(crate) struct InPlace<'p, T>(pub(crate) &'p mut T);

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for InPlace<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        T::deserialize_in_place(deserializer, self.0)
    }
}

/// A record whose fields can be read one by one, at known positions.
pub(crate) trait Fields<'j>: Default {
    /// Reads the value of a key from JSON. Ignores other keys.
    fn take(&mut self, key: &str, value: &'j str) -> serde_json::Result<()>;
}

/// The type of a record, for any lifetime of the line that it borrows from.
pub(crate) trait Shape {
    /// The record of one line.
    type Of<'l>: Deserialize<'l> + Default;
}

/// Reads a whole JSON text into a fresh value. After an error, its content is undefined.
pub(crate) fn read_into<'de, T: Deserialize<'de>>(text: &'de str, value: &mut T) -> serde_json::Result<()> {
    let mut json = serde_json::Deserializer::from_str(text);
    T::deserialize_in_place(&mut json, value)?;
    json.end()
}

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut object = Self(None);
        Self::deserialize_in_place(deserializer, &mut object)?;
        Ok(object)
    }

    fn deserialize_in_place<D: Deserializer<'de>>(deserializer: D, place: &mut Self) -> Result<(), D::Error> {
        place.0 = None;
        ObjectInto(&mut place.0).deserialize(deserializer)
    }
}

/// Space for a value that is created on demand.
pub(crate) trait Room<'p> {
    type Value: 'p;
    /// Creates the value.
    fn make(self) -> &'p mut Self::Value;
}

impl<'p, T: Default> Room<'p> for &'p mut Option<T> {
    type Value = T;

    fn make(self) -> &'p mut T {
        self.insert(T::default())
    }
}

impl<'p, T: Default> Room<'p> for &'p mut Vec<T> {
    type Value = T;

    fn make(self) -> &'p mut T {
        self.push_mut(T::default())
    }
}

/// Reads an object into the space for it. Ignores other values.
pub(crate) struct ObjectInto<R>(pub(crate) R);

impl<'de, 'p, R: Room<'p, Value: Deserialize<'de>>> DeserializeSeed<'de> for ObjectInto<R> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, 'p, R: Room<'p, Value: Deserialize<'de>>> Visitor<'de> for ObjectInto<R> {
    type Value = ();
    lenient!(@expecting "an object");
    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<(), A::Error> {
        R::Value::deserialize_in_place(serde::de::value::MapAccessDeserializer::new(entries), self.0.make())
    }
    lenient!(@otherwise (); visit_bool(bool) visit_f64(f64) visit_i64(i64) visit_u64(u64) visit_str(&str));
    lenient!(@null ());
    lenient!(@seq ());
}

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut list = Self(Vec::new());
        Self::deserialize_in_place(deserializer, &mut list)?;
        Ok(list)
    }

    fn deserialize_in_place<D: Deserializer<'de>>(deserializer: D, place: &mut Self) -> Result<(), D::Error> {
        struct ListVisitor<'p, T>(&'p mut Vec<T>);
        impl<'de, T: Deserialize<'de> + Default> Visitor<'de> for ListVisitor<'_, T> {
            type Value = ();
            lenient!(@expecting "a list");
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
                loop {
                    self.0.push(T::default());
                    let Some(item) = self.0.last_mut() else { return Ok(()) };
                    if items.next_element_seed(InPlace(item))?.is_none() {
                        self.0.pop();
                        return Ok(());
                    }
                    check_items(self.0.len())?;
                }
            }
            lenient!(@otherwise (); visit_bool(bool) visit_f64(f64) visit_i64(i64) visit_u64(u64) visit_str(&str));
            lenient!(@null ());
            lenient!(@map ());
        }
        place.0.clear();
        deserializer.deserialize_any(ListVisitor(&mut place.0))
    }
}

pub(crate) use lenient;

/// Declares shapes of JSON objects: each field with its key. Other keys are passed over.
///
/// A shape followed by `ignores ["key", …]` collects the names of other keys in `unknown`, except those listed.
macro_rules! record {
    () => {};
    (
        @fields $name:ident<$life:lifetime> {
            $($field:ident: $kind:ty = $key:literal $(| $alias:literal)*),* $(,)?
        }
    ) => {
        impl<$life> $crate::source::records::Fields<$life> for $name<$life> {
            fn take(&mut self, key: &str, value: &$life str) -> serde_json::Result<()> {
                match key {
                    $($key $(| $alias)* => $crate::source::records::read_into(value, &mut self.$field),)*
                    _ => Ok(()),
                }
            }
        }
    };
    (
        @declare $collects:literal, [$(#[$meta:meta])*]
        $name:ident<$life:lifetime> {
            $($field:ident: $kind:ty = $key:literal $(| $alias:literal)*),* $(,)?
        }
        [$($ignored:literal),*]
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Default)]
        pub(crate) struct $name<$life> {
            $(pub(crate) $field: $kind,)*
            /// Keys that are unknown to this version of llrem.
            pub(crate) unknown: Vec<String>,
            pub(crate) lifetime: std::marker::PhantomData<&$life ()>,
        }

        impl $crate::source::records::Shape for $name<'static> {
            type Of<'l> = $name<'l>;
        }

        impl<'de: $life, $life> serde::de::Deserialize<'de> for $name<$life> {
            fn deserialize<D: serde::de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let mut record = Self::default();
                Self::deserialize_in_place(deserializer, &mut record)?;
                Ok(record)
            }

            fn deserialize_in_place<D: serde::de::Deserializer<'de>>(
                deserializer: D,
                place: &mut Self,
            ) -> Result<(), D::Error> {
                struct RecordVisitor<'p, $life>(&'p mut $name<$life>);
                impl<'de: $life, $life> serde::de::Visitor<'de> for RecordVisitor<'_, $life> {
                    type Value = ();
                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        formatter.write_str("an object")
                    }
                    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
                        use $crate::source::records::{InPlace, Text};
                        let record = self.0;
                        while let Some(Text(key)) = entries.next_key()? {
                            match key.as_deref().unwrap_or_default() {
                                $($key $(| $alias)* => entries.next_value_seed(InPlace(&mut record.$field))?,)*
                                $($ignored => { entries.next_value::<serde::de::IgnoredAny>()?; })*
                                other => {
                                    if $collects && record.unknown.len() < 16 {
                                        record.unknown.push(other.chars().take(64).collect());
                                    }
                                    entries.next_value::<serde::de::IgnoredAny>()?;
                                }
                            }
                        }
                        Ok(())
                    }
                }
                deserializer.deserialize_map(RecordVisitor(place))
            }
        }
    };
    (
        $(#[$meta:meta])*
        $name:ident<$life:lifetime> { $($fields:tt)* }
        ignores [$($ignored:literal),* $(,)?]
        $($rest:tt)*
    ) => {
        $crate::source::records::record!(@declare true, [$(#[$meta])*] $name<$life> { $($fields)* } [$($ignored),*]);
        $crate::source::records::record!($($rest)*);
    };
    (
        $(#[$meta:meta])*
        $name:ident<$life:lifetime> { $($fields:tt)* }
        $($rest:tt)*
    ) => {
        $crate::source::records::record!(@declare false, [$(#[$meta])*] $name<$life> { $($fields)* } []);
        $crate::source::records::record!(@fields $name<$life> { $($fields)* });
        $crate::source::records::record!($($rest)*);
    };
}
pub(crate) use record;
