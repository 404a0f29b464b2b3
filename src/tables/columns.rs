//! Column kinds, and the macro that declares a table once: row struct, builder, Arrow schema and documentation.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

use arrow::array::{
    Array, ArrayRef, BooleanArray, BooleanBuilder, Float64Array, Float64Builder, Int64Array, Int64Builder, ListArray,
    ListBuilder, StringArray, StringBuilder, TimestampMicrosecondArray, TimestampMicrosecondBuilder,
};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use super::nullable::Nullable;
use super::timestamp::timestamp_type;

/// A column type: its values in a row, its builder and its Arrow type.
pub trait Column {
    /// A value in a row, borrowed from the source.
    type In<'a>;
    /// The builder of the column.
    type Builder;
    /// The Arrow array that holds it.
    type Array: Array + 'static;
    /// True if a value may be null.
    const NULLABLE: bool = false;
    /// All values that it may take; empty if it may take any.
    const VALUES: &'static [&'static str] = &[];
    /// The Arrow type that every reader sees.
    fn data_type() -> DataType;
    /// Returns an empty builder that has allocated nothing: most sessions are small, and many are in memory at once.
    fn builder() -> Self::Builder;
    /// Adds one value.
    fn push(builder: &mut Self::Builder, value: Self::In<'_>);
    /// Returns the values so far, and empties the builder.
    fn finish(builder: &mut Self::Builder) -> ArrayRef;
    /// Reads one value. Without an array, it is null, 0, false or empty.
    fn get(array: Option<&Self::Array>, row: usize) -> Self::In<'_>;
}

/// UTF-8 text.
pub struct Str;
/// An integer: a count, tokens, milliseconds, bytes.
pub struct I64;
/// A fraction or an amount of money.
pub struct F64;
/// True or false.
pub struct Bool;
/// A timestamp: microseconds since 1970, UTC.
pub struct Ts;
/// A list of texts.
pub struct StrList;
/// A list of values of a vocabulary.
pub struct ListOf<V>(PhantomData<V>);
/// A column that may be null.
pub struct Opt<C>(PhantomData<C>);

macro_rules! column {
    ($kind:ident, $life:lifetime, $in:ty, $builder:ty, $array:ty, $type:expr, $new:expr) => {
        impl Column for $kind {
            type In<$life> = $in;
            type Builder = $builder;
            type Array = $array;
            fn data_type() -> DataType {
                $type
            }
            fn builder() -> $builder {
                $new
            }
            fn push(builder: &mut $builder, value: Self::In<'_>) {
                builder.append_value(value);
            }
            fn finish(builder: &mut $builder) -> ArrayRef {
                Arc::new(builder.finish())
            }
            fn get(array: Option<&$array>, row: usize) -> Self::In<'_> {
                array.map(|array| array.value(row)).unwrap_or_default()
            }
        }
        impl Column for Opt<$kind> {
            type In<$life> = Option<$in>;
            type Builder = Nullable<$builder>;
            type Array = $array;
            const NULLABLE: bool = true;
            fn data_type() -> DataType {
                $type
            }
            fn builder() -> Nullable<$builder> {
                Nullable::default()
            }
            fn push(builder: &mut Nullable<$builder>, value: Self::In<'_>) {
                match value {
                    Some(value) => {
                        builder.values(<$kind as Column>::builder, <$builder>::append_nulls).append_value(value)
                    }
                    None => builder.push_null(<$builder>::append_null),
                }
            }
            fn finish(builder: &mut Nullable<$builder>) -> ArrayRef {
                builder.finish(&Self::data_type(), |mut values| Arc::new(values.finish()))
            }
            fn get(array: Option<&$array>, row: usize) -> Self::In<'_> {
                array.filter(|array| array.is_valid(row)).map(|array| array.value(row))
            }
        }
    };
}
column!(Str, 'a, &'a str, StringBuilder, StringArray, DataType::Utf8, StringBuilder::with_capacity(0, 0));
column!(I64, 'a, i64, Int64Builder, Int64Array, DataType::Int64, Int64Builder::with_capacity(0));
column!(F64, 'a, f64, Float64Builder, Float64Array, DataType::Float64, Float64Builder::with_capacity(0));
column!(Bool, 'a, bool, BooleanBuilder, BooleanArray, DataType::Boolean, BooleanBuilder::with_capacity(0));
column!(Ts, 'a, i64, TimestampMicrosecondBuilder, TimestampMicrosecondArray, timestamp_type(), TimestampMicrosecondBuilder::with_capacity(0).with_data_type(timestamp_type()));

impl Column for StrList {
    type In<'a> = Vec<&'a str>;
    type Builder = ListBuilder<StringBuilder>;
    type Array = ListArray;
    fn data_type() -> DataType {
        DataType::List(Arc::new(Field::new_list_field(DataType::Utf8, true)))
    }
    fn builder() -> Self::Builder {
        ListBuilder::with_capacity(StringBuilder::with_capacity(0, 0), 0)
    }
    fn push(builder: &mut Self::Builder, value: Self::In<'_>) {
        for text in value {
            builder.values().append_value(text);
        }
        builder.append(true);
    }
    fn finish(builder: &mut Self::Builder) -> ArrayRef {
        Arc::new(builder.finish())
    }
    fn get(array: Option<&ListArray>, row: usize) -> Vec<&str> {
        let Some(array) = array else { return Vec::new() };
        let Some(texts) = array.values().as_any().downcast_ref::<StringArray>() else { return Vec::new() };
        let offsets = array.value_offsets();
        let (Some(from), Some(to)) = (offsets.get(row), offsets.get(row + 1)) else { return Vec::new() };
        (*from..*to).filter_map(|at| usize::try_from(at).ok()).map(|at| texts.value(at)).collect()
    }
}

impl Column for Opt<StrList> {
    type In<'a> = Option<Vec<&'a str>>;
    type Builder = ListBuilder<StringBuilder>;
    type Array = ListArray;
    const NULLABLE: bool = true;
    fn data_type() -> DataType {
        StrList::data_type()
    }
    fn builder() -> Self::Builder {
        StrList::builder()
    }
    fn push(builder: &mut Self::Builder, value: Self::In<'_>) {
        match value {
            Some(value) => StrList::push(builder, value),
            None => builder.append(false),
        }
    }
    fn finish(builder: &mut Self::Builder) -> ArrayRef {
        StrList::finish(builder)
    }
    fn get(array: Option<&ListArray>, row: usize) -> Option<Vec<&str>> {
        array.filter(|array| array.is_valid(row)).map(|array| StrList::get(Some(array), row))
    }
}

/// Privacy class of a column. It decides whether an upload profile sends the values unchanged, cleaned, hashed or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privacy {
    /// A number, a time or a flag.
    Fact,
    /// Text by a person, a model or a tool.
    Text,
    /// A sketch of `text`. It lets somebody who has a text find the row.
    Sketch,
    /// The id of a record or a session. Equal ids stay equal.
    Id,
    /// A hash without a key: whoever reads it can test guesses.
    Hash,
    /// The name of a model, tool or subagent, or a word of a fixed set.
    Name,
    /// A path, a branch, a commit, a repository.
    Place,
    /// The name of a project.
    Project,
    /// The name of a person.
    Person,
}

/// The encoding of a column in Parquet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Texts that are long or nearly all different, without a dictionary or statistics, which would not pay off.
    Text,
    /// Like `Text`, for a column that can be null in a whole file; statistics record that.
    Rare,
    /// Texts with few different values, with a dictionary.
    Words,
    /// Integers that differ from row to row, as bit-packed deltas. They are smaller and faster than a dictionary or
    /// compressed plain numbers.
    Deltas,
    /// The defaults of Parquet's own writer.
    Plain,
}

/// One column as declared.
pub struct ColumnDef {
    /// Name in every reader.
    pub name: &'static str,
    /// Meaning and unit.
    pub doc: &'static str,
    /// Arrow type.
    pub data_type: fn() -> DataType,
    /// True if it may be null (the agent does not record it).
    pub nullable: bool,
    /// All values that it may take; empty if it may take any.
    pub values: &'static [&'static str],
    /// Its privacy class.
    pub privacy: Privacy,
    /// Its encoding.
    pub encoding: Encoding,
}

/// One table as declared.
pub struct TableDef {
    /// Name of the table and of its folder in the lake.
    pub name: &'static str,
    /// Meaning of one row.
    pub doc: &'static str,
    /// Its columns, in order, without the partition columns.
    pub columns: &'static [ColumnDef],
    /// Arrow schema, created on first use.
    pub(crate) schema: OnceLock<SchemaRef>,
}

impl TableDef {
    /// Returns the Arrow schema of the table's files. The metadata of each field holds its documentation under `comment`.
    pub fn schema(&self) -> SchemaRef {
        let make = || Arc::new(Schema::new(self.columns.iter().map(ColumnDef::field).collect::<Vec<_>>()));
        Arc::clone(self.schema.get_or_init(make))
    }

    /// Returns the position of a declared column.
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }
}

impl ColumnDef {
    fn field(&self) -> Field {
        let comment = HashMap::from([("comment".to_owned(), self.described())]);
        Field::new(self.name, (self.data_type)(), self.nullable).with_metadata(comment)
    }

    /// Returns its meaning, with the values that it may take.
    pub fn described(&self) -> String {
        let doc = self.doc.trim();
        if self.values.is_empty() {
            return doc.to_owned();
        }
        let these = if matches!((self.data_type)(), DataType::List(_)) { "Each is one" } else { "One" };
        format!("{doc} {these} of: {}.", self.values.join(", "))
    }

    /// Returns the SQL name of the type.
    pub fn type_name(&self) -> &'static str {
        match (self.data_type)() {
            DataType::Int64 => "bigint",
            DataType::Float64 => "double",
            DataType::Boolean => "boolean",
            DataType::Timestamp(..) => "timestamptz",
            DataType::List(_) => "text[]",
            _ => "text",
        }
    }
}

/// Declares a table of the lake once: each column with its meaning and unit, its type, its privacy class and its
/// encoding. The row struct borrows its texts. Fields default to null, 0 or false.
/// A new column of an existing table must be nullable: engines read null from earlier files.
macro_rules! lake_table {
    (
        $(#[doc = $table_doc:literal])+
        $table:ident = $name:literal, row $row:ident, builder $builder:ident, columns $columns:ident {
            $($(#[doc = $doc:literal])+ $column:ident: $kind:ty [$privacy:ident, $encoding:ident],)+
        }
    ) => {
        $(#[doc = $table_doc])+
        pub static $table: $crate::tables::columns::TableDef = $crate::tables::columns::TableDef {
            name: $name,
            doc: concat!($($table_doc),+),
            columns: &[$($crate::tables::columns::ColumnDef {
                name: stringify!($column),
                doc: concat!($($doc),+),
                data_type: <$kind as $crate::tables::columns::Column>::data_type,
                nullable: <$kind as $crate::tables::columns::Column>::NULLABLE,
                values: <$kind as $crate::tables::columns::Column>::VALUES,
                privacy: $crate::tables::columns::Privacy::$privacy,
                encoding: $crate::tables::columns::Encoding::$encoding,
            }),+],
            schema: std::sync::OnceLock::new(),
        };

        $(#[doc = $table_doc])+
        #[derive(Debug, Clone, Default)]
        pub struct $row<'a> {
            $($(#[doc = $doc])+ pub $column: <$kind as $crate::tables::columns::Column>::In<'a>,)+
        }

        impl<'a> $row<'a> {
            /// Shortens the lifetime of the row. The compiler cannot do so itself through the column types.
            pub fn shorten<'b>(self) -> $row<'b>
            where
                'a: 'b,
            {
                $row { $($column: self.$column,)+ }
            }
        }

        #[doc = concat!("The columns of a batch of `", $name, "`, for reading it row by row.")]
        pub struct $columns<'a> {
            $($column: Option<&'a <$kind as $crate::tables::columns::Column>::Array>,)+
        }

        impl<'a> $columns<'a> {
            /// Takes the columns of a batch that has the table's schema.
            pub fn of(batch: &'a arrow::array::RecordBatch) -> Self {
                let mut columns = batch.columns().iter();
                Self { $($column: columns.next().and_then(|column| column.as_any().downcast_ref()),)+ }
            }

            /// Takes the columns of a query's result by their names. A missing one is null, 0, false or empty.
            pub fn named(batch: &'a arrow::array::RecordBatch) -> Self {
                Self {
                    $($column: batch
                        .column_by_name(stringify!($column))
                        .and_then(|column| column.as_any().downcast_ref()),)+
                }
            }

            /// Reads one row. To read few columns of many rows, use the methods of these columns.
            pub fn row(&self, row: usize) -> $row<'a> {
                $row { $($column: <$kind as $crate::tables::columns::Column>::get(self.$column, row),)+ }
            }

            $(
                $(#[doc = $doc])+
                pub fn $column(&self, row: usize) -> <$kind as $crate::tables::columns::Column>::In<'a> {
                    <$kind as $crate::tables::columns::Column>::get(self.$column, row)
                }
            )+
        }

        #[doc = concat!("Collects rows of `", $name, "` into Arrow batches.")]
        pub struct $builder {
            rows: usize,
            $($column: <$kind as $crate::tables::columns::Column>::Builder,)+
        }

        impl Default for $builder {
            fn default() -> Self {
                Self { rows: 0, $($column: <$kind as $crate::tables::columns::Column>::builder(),)+ }
            }
        }

        impl $builder {
            /// Adds one row.
            pub fn push(&mut self, row: $row<'_>) {
                self.rows += 1;
                $(<$kind as $crate::tables::columns::Column>::push(&mut self.$column, row.$column);)+
            }

            /// Returns the number of rows since the last `finish`.
            pub fn len(&self) -> usize {
                self.rows
            }

            /// True if no row was added since the last `finish`.
            pub fn is_empty(&self) -> bool {
                self.rows == 0
            }

            /// Returns the rows so far as one batch, and empties the builder.
            ///
            /// # Errors
            /// Fails if a column has another type than declared, which the declaration rules out.
            pub fn finish(&mut self) -> Result<arrow::array::RecordBatch, arrow::error::ArrowError> {
                self.rows = 0;
                arrow::array::RecordBatch::try_new(
                    $table.schema(),
                    vec![$(<$kind as $crate::tables::columns::Column>::finish(&mut self.$column)),+],
                )
            }
        }
    };
}
pub(crate) use lake_table;

/// Declares a table that is computed on demand, and neither stored nor uploaded.
macro_rules! state_table {
    (
        $(#[doc = $table_doc:literal])+
        $table:ident = $name:literal, row $row:ident, builder $builder:ident, columns $columns:ident {
            $($(#[doc = $doc:literal])+ $column:ident: $kind:ty,)+
        }
    ) => {
        $crate::tables::columns::lake_table! {
            $(#[doc = $table_doc])+
            $table = $name, row $row, builder $builder, columns $columns {
                $($(#[doc = $doc])+ $column: $kind [Text, Plain],)+
            }
        }
    };
}
pub(crate) use state_table;
