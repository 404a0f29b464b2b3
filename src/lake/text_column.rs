//! Encodes a column of texts that are rarely equal: plain values without statistics, compressed page by page.
//!
//! Most bytes of a lake pass through here. Parquet's own writer allocates each page, copies it to prepend the levels,
//! and sets up a compressor for each column of each row group. This encoder allocates all of that once per file.

use std::io;

use arrow::array::{Array, BooleanBufferBuilder, StringArray};
use bytes::Bytes;
use parquet::basic::Encoding;
use parquet::errors::{ParquetError, Result};
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::schema::types::ColumnDescPtr;
use zstd::bulk::Compressor;
use zstd::zstd_safe::{CParameter, compress_bound};

use super::encoding::{PAGE_BYTES, ZSTD_LEVEL, zstd};
use super::hybrid::push_varint;
use super::pages::{Held, PAGE_ROWS, Pages, PagesSoFar};

/// Space before the values of a page: the length of the levels, the header of their only run, and a bit for each row.
const LEVELS_ROOM: usize = 4 + 5 + PAGE_ROWS.div_ceil(8);
/// Memory that is kept after a page that was larger than most.
const KEPT_BYTES: usize = 4 * PAGE_BYTES;

/// Binary logarithm of the hash table size of a compressor of identities; half the default. Nearly all repetition in
/// identities is from one to the next, and a table that fits the cache is faster by a seventh.
const IDENTITY_HASH_LOG: u32 = 13;

/// Compresses the pages of a file.
pub(super) struct Packer {
    texts: Compressor<'static>,
    identities: Compressor<'static>,
    packed: Vec<u8>,
}

impl Packer {
    pub(super) fn new() -> Result<Self> {
        let compressor = || Compressor::new(ZSTD_LEVEL).map_err(external);
        let mut identities = compressor()?;
        identities.set_parameter(CParameter::HashLog(IDENTITY_HASH_LOG)).map_err(external)?;
        Ok(Self { texts: compressor()?, identities, packed: Vec::new() })
    }

    /// The compressed bytes. Their memory has to be given back.
    fn pack(&mut self, bytes: &[u8], is_identity: bool) -> Result<Bytes> {
        let mut packed = std::mem::take(&mut self.packed);
        packed.clear();
        packed.shrink_to(KEPT_BYTES);
        packed.reserve(compress_bound(bytes.len()));
        let compressor = if is_identity { &mut self.identities } else { &mut self.texts };
        compressor.compress_to_buffer(bytes, &mut packed).map_err(external)?;
        Ok(packed.into())
    }

    fn give_back(&mut self, packed: Bytes) {
        self.packed = packed.into();
    }
}

fn external(error: io::Error) -> ParquetError {
    ParquetError::External(error.into())
}

/// A column of texts, written row group by row group.
pub(super) struct TextColumn {
    about: ColumnDescPtr,
    is_identity: bool,
    page: PageInMaking,
    pages: PagesSoFar,
}

/// Rows that are in no page yet.
struct PageInMaking {
    /// Space for the levels, then each text after its length.
    bytes: Vec<u8>,
    /// For each row: true if it has a text.
    is_valid: BooleanBufferBuilder,
    texts: usize,
}

impl TextColumn {
    /// `about` describes a column of texts without lists. `is_identity` is true if its texts are nearly all different.
    pub(super) fn new(about: ColumnDescPtr, is_identity: bool) -> Self {
        Self { about, is_identity, page: PageInMaking::new(), pages: PagesSoFar::new() }
    }

    /// True if equal texts in another column would give equal pages.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.is_identity == other.is_identity && self.about.max_def_level() == other.about.max_def_level()
    }

    /// Copies the other column's state.
    pub(super) fn copy(&mut self, other: &mut Self) -> Result<()> {
        self.page.copy(&other.page);
        self.pages.copy(&mut other.pages)
    }

    /// Returns the size of the row group so far. Full pages count compressed, the last one uncompressed. Bytes.
    pub(super) fn size(&self) -> usize {
        self.pages.bytes() + self.page.bytes.len() - LEVELS_ROOM
    }

    /// Adds texts.
    pub(super) fn write(&mut self, texts: &StringArray, packer: &mut Packer) -> Result<()> {
        if texts.null_count() == texts.len() {
            return self.write_nulls(texts.len(), packer);
        }
        for row in 0..texts.len() {
            self.page.add(texts.is_valid(row).then(|| texts.value(row)))?;
            if self.page.is_full() {
                self.end_page(packer)?;
            }
        }
        Ok(())
    }

    fn write_nulls(&mut self, mut rows: usize, packer: &mut Packer) -> Result<()> {
        while rows > 0 {
            let added = rows.min(PAGE_ROWS - self.page.is_valid.len());
            self.page.is_valid.append_n(added, false);
            rows -= added;
            if self.page.is_full() {
                self.end_page(packer)?;
            }
        }
        Ok(())
    }

    fn end_page(&mut self, packer: &mut Packer) -> Result<()> {
        let is_nullable = self.about.max_def_level() > 0;
        let rows = self.page.is_valid.len();
        let text_bytes = self.page.text_bytes();
        let bytes = self.page.finish(is_nullable);
        let packed = packer.pack(bytes, self.is_identity)?;
        self.pages.add(packed.clone(), bytes.len(), Held { rows, text_bytes, encoding: Encoding::PLAIN })?;
        self.page.clear();
        packer.give_back(packed);
        Ok(())
    }

    /// Ends the row group, and starts the next.
    pub(super) fn end_group(&mut self, packer: &mut Packer) -> Result<Pages> {
        if !self.page.is_valid.is_empty() {
            self.end_page(packer)?;
        }
        self.pages.end()
    }

    /// Writes pages, its own or those of an equal column, into a row group.
    pub(super) fn append(
        &self,
        pages: &Pages,
        group: &mut SerializedRowGroupWriter<'_, impl io::Write + Send>,
    ) -> Result<()> {
        pages.append(&self.about, zstd(), None, group)
    }
}

impl PageInMaking {
    fn new() -> Self {
        Self { bytes: vec![0; LEVELS_ROOM], is_valid: BooleanBufferBuilder::new(0), texts: 0 }
    }

    fn add(&mut self, text: Option<&str>) -> Result<()> {
        self.is_valid.append(text.is_some());
        if let Some(text) = text {
            self.texts += 1;
            let length = u32::try_from(text.len())?;
            self.bytes.reserve(size_of::<u32>() + text.len());
            self.bytes.extend_from_slice(&length.to_le_bytes());
            self.bytes.extend_from_slice(text.as_bytes());
        }
        Ok(())
    }

    /// Returns the size of the texts without their lengths.
    fn text_bytes(&self) -> usize {
        self.bytes.len() - LEVELS_ROOM - self.texts * size_of::<u32>()
    }

    fn is_full(&self) -> bool {
        self.bytes.len() >= PAGE_BYTES || self.is_valid.len() == PAGE_ROWS
    }

    /// Returns the bytes of the page, levels first.
    fn finish(&mut self, is_nullable: bool) -> &[u8] {
        let mut from = LEVELS_ROOM;
        if is_nullable {
            let levels = self.levels();
            from -= levels.len();
            if let Some(room) = self.bytes.get_mut(from..LEVELS_ROOM) {
                room.copy_from_slice(&levels);
            }
        }
        self.bytes.get(from..).unwrap_or_default()
    }

    /// Returns the levels in Parquet's encoding: one run of equal levels, or one bit-packed run.
    fn levels(&self) -> Vec<u8> {
        let rows = self.is_valid.len();
        let mut levels = vec![0; 4];
        if self.texts == rows || self.texts == 0 {
            push_varint(&mut levels, rows << 1);
            levels.push(u8::from(self.texts > 0));
        } else {
            push_varint(&mut levels, rows.div_ceil(8) << 1 | 1);
            levels.extend_from_slice(self.is_valid.as_slice());
        }
        let length = u32::try_from(levels.len() - 4).unwrap_or(u32::MAX);
        if let Some(place) = levels.first_chunk_mut() {
            *place = length.to_le_bytes();
        }
        levels
    }

    fn copy(&mut self, other: &Self) {
        self.bytes.clone_from(&other.bytes);
        self.is_valid.truncate(0);
        self.is_valid.append_packed_range(0..other.is_valid.len(), other.is_valid.as_slice());
        self.texts = other.texts;
    }

    fn clear(&mut self) {
        self.bytes.truncate(LEVELS_ROOM);
        self.bytes.shrink_to(KEPT_BYTES);
        self.is_valid.truncate(0);
        self.texts = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::datatypes::{DataType, Field, Schema};
    use parquet::arrow::ArrowSchemaConverter;
    use parquet::arrow::arrow_reader::{RowSelection, RowSelector};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use proptest::prelude::*;

    use super::super::pages::read_back::{Texts, reader, texts};
    use super::*;

    fn schema(is_nullable: bool) -> Arc<Schema> {
        Arc::new(Schema::new(vec![Field::new("text", DataType::Utf8, is_nullable)]))
    }

    /// Writes a file of row groups, each with the texts of some calls.
    fn written(groups: &[Vec<Texts>], is_nullable: bool) -> Bytes {
        let descriptor = ArrowSchemaConverter::new().convert(&schema(is_nullable)).unwrap();
        let properties = Arc::new(WriterProperties::default());
        let mut file = SerializedFileWriter::new(Vec::new(), descriptor.root_schema_ptr(), properties).unwrap();
        let mut column = TextColumn::new(descriptor.column(0), false);
        let mut packer = Packer::new().unwrap();
        for calls in groups {
            for texts in calls {
                column.write(&StringArray::from(texts.clone()), &mut packer).unwrap();
            }
            let mut group = file.next_row_group().unwrap();
            let pages = column.end_group(&mut packer).unwrap();
            column.append(&pages, &mut group).unwrap();
            group.close().unwrap();
        }
        file.into_inner().unwrap().into()
    }

    proptest! {
        /// Everything that was written can be read, in full and from any row on.
        #[test]
        fn texts_come_back(
            groups in prop::collection::vec(prop::collection::vec(prop::collection::vec(
                prop::option::of(".{0,40}"), 0..60), 1..4), 1..4),
            is_nullable in any::<bool>(), from in any::<prop::sample::Index>(),
        ) {
            let mut groups = groups;
            if !is_nullable {
                let texts = groups.iter_mut().flatten().flatten();
                texts.for_each(|text| *text = Some(text.take().unwrap_or_default()));
            }
            groups.retain(|calls| calls.iter().any(|texts| !texts.is_empty()));
            let told: Texts = groups.iter().flatten().flatten().cloned().collect();
            prop_assume!(!told.is_empty());
            let file = written(&groups, is_nullable);
            prop_assert_eq!(&texts(reader(&file)), &told);
            let from = from.index(told.len());
            let rest = RowSelection::from(vec![RowSelector::skip(from), RowSelector::select(told.len() - from)]);
            prop_assert_eq!(&texts(reader(&file).with_row_selection(rest))[..], told.get(from..).unwrap());
        }
    }

    #[test]
    fn pages_end_at_bytes_and_rows_and_are_found_one_by_one() {
        let large = "a text of some length, and then another one\n".repeat(40_000);
        let few: Texts = [Some(large.clone()), None, Some("small".to_owned()), Some(large), None].into();
        let many: Texts = (0..50_001).map(|row| (row % 3 == 0).then(|| row.to_string())).collect();
        let none: Texts = vec![None; 45_000];
        let groups = [vec![few], vec![many], vec![none]];
        let file = written(&groups, true);
        let told: Texts = groups.iter().flatten().flatten().cloned().collect();
        assert_eq!(texts(reader(&file)), told);
        let last = RowSelection::from(vec![RowSelector::skip(50_000), RowSelector::select(10)]);
        assert_eq!(texts(reader(&file).with_row_selection(last)), told[50_000..50_010]);

        let about = reader(&file).metadata().clone();
        let pages = |group: usize| {
            let pages = &about.offset_index().unwrap()[group][0];
            (
                pages.page_locations.iter().map(|page| page.first_row_index).collect::<Vec<_>>(),
                pages.unencoded_byte_array_data_bytes.clone().unwrap(),
            )
        };
        assert_eq!(pages(0), (vec![0, 1, 4], vec![1_760_000, 1_760_005, 0]));
        assert_eq!(pages(1).0, [0, 20_000, 40_000]);
        assert_eq!(pages(2), (vec![0, 20_000, 40_000], vec![0; 3]));
        let column = about.row_group(1).column(0);
        assert_eq!((column.num_values(), column.statistics(), column.column_index_offset()), (50_001, None, None));
        assert_eq!(column.compression(), zstd());
    }
}
