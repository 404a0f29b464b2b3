//! The text columns of one file. Columns with equal content are encoded once: many agents have no other id for a
//! response than that of its message.

use std::io;

use arrow::array::{Array, StringArray};
use parquet::errors::Result;
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::schema::types::ColumnDescPtr;

use super::pages::Pages;
use super::text_column::{Packer, TextColumn};

/// Text columns, in the table's order.
pub(super) struct TextColumns {
    columns: Vec<Shared>,
    packer: Packer,
    is_in_group: bool,
}

struct Shared {
    column: TextColumn,
    /// Index of an earlier column with the same texts in the row group so far. Only that one collects them.
    same_as: Option<usize>,
}

impl TextColumns {
    /// `about` describes each column; the flag is true if its texts are nearly all different.
    pub(super) fn new(about: impl Iterator<Item = (ColumnDescPtr, bool)>) -> Result<Self> {
        let column = |(about, is_identity)| Shared { column: TextColumn::new(about, is_identity), same_as: None };
        let columns = about.map(column).collect();
        Ok(Self { columns, packer: Packer::new()?, is_in_group: false })
    }

    /// Returns the size of the row group so far. Full pages count compressed, the last ones uncompressed. Bytes.
    pub(super) fn size(&self) -> usize {
        self.columns
            .iter()
            .filter_map(|one| self.columns.get(one.same_as?))
            .chain(self.own())
            .map(|one| one.column.size())
            .sum()
    }

    fn own(&self) -> impl Iterator<Item = &Shared> {
        self.columns.iter().filter(|one| one.same_as.is_none())
    }

    /// Adds the texts of some rows, with one array for each column.
    pub(super) fn write(&mut self, texts: &[&StringArray]) -> Result<()> {
        if std::mem::replace(&mut self.is_in_group, true) {
            self.part(texts)?;
        } else {
            self.pair(texts);
        }
        for (one, texts) in self.columns.iter_mut().zip(texts).filter(|(one, _)| one.same_as.is_none()) {
            one.column.write(texts, &mut self.packer)?;
        }
        Ok(())
    }

    /// Finds columns with equal texts at the beginning of a row group.
    fn pair(&mut self, texts: &[&StringArray]) {
        for place in 0..self.columns.len() {
            let (earlier, rest) = self.columns.split_at_mut(place);
            let (Some(one), Some(own)) = (rest.first_mut(), texts.get(place)) else { return };
            let is_same = |(other, theirs): (&Shared, &&StringArray)| {
                other.same_as.is_none() && other.column.is_like(&one.column) && theirs == own
            };
            let has_texts = own.null_count() < own.len();
            one.same_as = if has_texts { earlier.iter().zip(texts).position(is_same) } else { None };
        }
    }

    /// Separates columns that were equal so far.
    fn part(&mut self, texts: &[&StringArray]) -> Result<()> {
        for place in 0..self.columns.len() {
            let (earlier, rest) = self.columns.split_at_mut(place);
            let Some(one) = rest.first_mut() else { break };
            if let Some(same_as) = one.same_as
                && texts.get(place) != texts.get(same_as)
                && let Some(other) = earlier.get_mut(same_as)
            {
                one.column.copy(&mut other.column)?;
                one.same_as = None;
            }
        }
        Ok(())
    }

    /// Ends the row group, starts the next, and returns the columns in their order.
    pub(super) fn end_group(&mut self) -> Result<Ended<'_>> {
        self.is_in_group = false;
        let mut pages: Vec<Pages> = Vec::with_capacity(self.columns.len());
        for one in &mut self.columns {
            let shared = one.same_as.take().and_then(|place| pages.get(place)).cloned();
            pages.push(shared.map_or_else(|| one.column.end_group(&mut self.packer), Ok)?);
        }
        Ok(Ended { columns: self.columns.iter().zip(pages) })
    }
}

/// The columns of a finished row group.
pub(super) struct Ended<'c> {
    columns: std::iter::Zip<std::slice::Iter<'c, Shared>, std::vec::IntoIter<Pages>>,
}

impl Ended<'_> {
    /// Writes the next column into a row group.
    pub(super) fn append_next(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, impl io::Write + Send>,
    ) -> Result<()> {
        self.columns.next().map_or(Ok(()), |(one, pages)| one.column.append(&pages, group))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{AsArray, RecordBatch};
    use arrow::datatypes::{DataType, Field, Schema};
    use parquet::arrow::ArrowSchemaConverter;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use proptest::prelude::*;

    use super::*;

    /// Writes a file of these columns. Returns it, and how many columns had pages of their own in each row group.
    fn written(schema: &Schema, groups: &[Vec<RecordBatch>]) -> (bytes::Bytes, Vec<usize>) {
        let descriptor = ArrowSchemaConverter::new().convert(schema).unwrap();
        let properties = Arc::new(WriterProperties::default());
        let mut file = SerializedFileWriter::new(Vec::new(), descriptor.root_schema_ptr(), properties).unwrap();
        let mut columns =
            TextColumns::new(descriptor.columns().iter().map(|about| (about.clone(), about.name().ends_with("_id"))))
                .unwrap();
        let mut own = Vec::new();
        for batches in groups {
            for batch in batches {
                let texts: Vec<_> = batch.columns().iter().map(AsArray::as_string::<i32>).collect();
                columns.write(&texts).unwrap();
            }
            own.push(columns.own().count());
            let mut group = file.next_row_group().unwrap();
            let mut ended = columns.end_group().unwrap();
            schema.fields().iter().for_each(|_| ended.append_next(&mut group).unwrap());
            group.close().unwrap();
        }
        (file.into_inner().unwrap().into(), own)
    }

    fn read(file: &bytes::Bytes) -> Vec<Vec<Option<String>>> {
        let batches: Vec<RecordBatch> =
            ParquetRecordBatchReader::try_new(file.clone(), 1024).unwrap().map(Result::unwrap).collect();
        let column = |place: usize| {
            let texts = batches.iter().flat_map(|batch| batch.column(place).as_string::<i32>());
            texts.map(|text| text.map(str::to_owned)).collect()
        };
        (0..batches.first().map_or(0, RecordBatch::num_columns)).map(column).collect()
    }

    const NAMES: [&str; 4] = ["message_id", "response_id", "call_id", "text"];

    fn schema() -> Arc<Schema> {
        Arc::new(Schema::new(NAMES.map(|name| Field::new(name, DataType::Utf8, true)).to_vec()))
    }

    fn batch(columns: [Vec<Option<String>>; 4]) -> RecordBatch {
        let arrays = columns.map(|texts| Arc::new(StringArray::from(texts)) as _);
        RecordBatch::try_new(schema(), arrays.to_vec()).unwrap()
    }

    proptest! {
        /// Columns that are equal at times, always or never can be read as they were written.
        #[test]
        fn columns_come_back(groups in prop::collection::vec(prop::collection::vec(
            (prop::collection::vec(prop::option::of("[a-c]{0,3}"), 1..40), prop::array::uniform3(0..4_u8)), 1..5), 1..4)) {
            let columns = |(texts, kinds): &(Vec<Option<String>>, [u8; 3])| {
                let of_kind = |kind: &u8| match kind {
                    0 => texts.iter().rev().cloned().collect(),
                    1 => vec![None; texts.len()],
                    _ => texts.clone(),
                };
                let [second, third, fourth] = kinds.each_ref().map(of_kind);
                batch([texts.clone(), second, third, fourth])
            };
            let groups: Vec<Vec<RecordBatch>> =
                groups.iter().map(|batches| batches.iter().map(columns).collect()).collect();
            let (file, _) = written(&schema(), &groups);
            let told = |place: usize| -> Vec<Option<String>> {
                let batches = groups.iter().flatten();
                batches.flat_map(|batch| batch.column(place).as_string::<i32>()).map(|text| text.map(str::to_owned)).collect()
            };
            prop_assert_eq!(read(&file), (0..NAMES.len()).map(told).collect::<Vec<_>>());
        }
    }

    #[test]
    fn columns_that_are_alike_are_encoded_once_until_they_part() {
        let ids = |rows: std::ops::Range<usize>| rows.map(|row| Some(format!("id-{row}"))).collect::<Vec<_>>();
        let none = |rows: usize| vec![None; rows];
        let alike =
            |rows: std::ops::Range<usize>| batch([ids(rows.clone()), ids(rows.clone()), none(rows.len()), ids(rows)]);
        let parted = batch([ids(0..9), ids(1..10), ids(0..9), none(9)]);
        // More rows than a page has, so that full pages are copied too.
        let groups = [vec![alike(0..30_000), alike(5..10)], vec![alike(0..30_000), parted.clone()], vec![parted]];
        let (file, own) = written(&schema(), &groups);
        assert_eq!(own, [3, 4, 3], "texts are never paired with identities, and not before they begin");
        let read = read(&file);
        let tail = |rows: std::ops::Range<usize>| ids(rows);
        assert_eq!(read[1][30_005..], [ids(0..30_000), tail(1..10), tail(1..10)].concat());
        assert_eq!(read[0][30_005..], [ids(0..30_000), tail(0..9), tail(0..9)].concat());
        assert_eq!(read[1][..30_005], [ids(0..30_000), ids(5..10)].concat());
    }
}
