//! Encodes a column of words: few different texts, each of them many times.
//!
//! Parquet's own writer looks up every value, and compares it with the smallest and largest so far. Most values are the
//! same as the previous one, so this encoder compares with that one first.

use std::hash::BuildHasher;
use std::io;

use arrow::array::{Array, StringArray};
use hashbrown::{DefaultHashBuilder, HashTable};
use parquet::basic::{Compression, Encoding, Type};
use parquet::data_type::ByteArray;
use parquet::errors::Result;
use parquet::file::metadata::ColumnIndexBuilder;
use parquet::file::statistics::{Statistics, ValueStatistics};
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::schema::types::ColumnDescPtr;

use super::hybrid::Hybrid;
use super::pages::{Bounds, Held, PAGE_ROWS, PagesSoFar};

/// Longest word that is stored as a bound. Bytes.
const LONGEST_BOUND: usize = 256;

/// A column of words, written row group by row group.
pub(super) struct WordColumn {
    about: ColumnDescPtr,
    words: Words,
    runs: Vec<Run>,
}

/// Consecutive rows with the same word, or with none.
#[derive(Clone, Copy)]
struct Run {
    word: Option<u32>,
    rows: usize,
}

/// The different words.
#[derive(Default)]
struct Words {
    dictionary: Dictionary,
    places: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

/// Words in the order of their first use.
#[derive(Default)]
struct Dictionary {
    /// Each word after its length, as the dictionary is stored.
    bytes: Vec<u8>,
    /// Start and end of each word.
    spans: Vec<(usize, usize)>,
}

impl Dictionary {
    fn get(&self, place: u32) -> &[u8] {
        let span = self.spans.get(place as usize);
        span.and_then(|(from, to)| self.bytes.get(*from..*to)).unwrap_or_default()
    }

    fn add(&mut self, word: &[u8]) -> Result<()> {
        self.bytes.extend_from_slice(&u32::try_from(word.len())?.to_le_bytes());
        let from = self.bytes.len();
        self.bytes.extend_from_slice(word);
        self.spans.push((from, self.bytes.len()));
        Ok(())
    }
}

impl Words {
    fn place_of(&mut self, word: &[u8]) -> Result<u32> {
        let Self { dictionary, places, hasher } = self;
        let hash = hasher.hash_one(word);
        if let Some(place) = places.find(hash, |place| dictionary.get(*place) == word) {
            return Ok(*place);
        }
        let place = u32::try_from(dictionary.spans.len())?;
        dictionary.add(word)?;
        places.insert_unique(hash, place, |place| hasher.hash_one(dictionary.get(*place)));
        Ok(place)
    }
}

impl WordColumn {
    /// `about` describes a column of texts without lists.
    pub(super) fn new(about: ColumnDescPtr) -> Self {
        Self { about, words: Words::default(), runs: Vec::new() }
    }

    /// Approximate size of the row group so far. Bytes.
    pub(super) fn size(&self) -> usize {
        self.words.dictionary.bytes.len() + 2 * self.runs.len()
    }

    /// Adds words.
    pub(super) fn write(&mut self, words: &StringArray) -> Result<()> {
        if words.null_count() == words.len() {
            self.push(None, words.len());
            return Ok(());
        }
        for row in 0..words.len() {
            let word = words.is_valid(row).then(|| words.value(row).as_bytes());
            let last = self.runs.last().and_then(|run| run.word);
            let place = match (word, last) {
                (Some(word), Some(place)) if self.words.dictionary.get(place) == word => Some(place),
                (Some(word), _) => Some(self.words.place_of(word)?),
                (None, _) => None,
            };
            self.push(place, 1);
        }
        Ok(())
    }

    fn push(&mut self, word: Option<u32>, rows: usize) {
        match self.runs.last_mut() {
            Some(last) if last.word == word => last.rows += rows,
            _ => self.runs.push(Run { word, rows }),
        }
    }

    /// Writes the column into a row group, and starts the next one.
    pub(super) fn end_group(&mut self, group: &mut SerializedRowGroupWriter<'_, impl io::Write + Send>) -> Result<()> {
        let dictionary = std::mem::take(&mut self.words).dictionary;
        let runs = std::mem::take(&mut self.runs);
        let of_pages = by_page(&runs);
        let bounds = bounds(&dictionary, &of_pages)?;
        let Dictionary { bytes, spans } = dictionary;
        let mut pages = PagesSoFar::new();
        if !spans.is_empty() {
            pages.add_dictionary(bytes.into(), spans.len())?;
        }
        for page in &of_pages {
            self.add_page(page, &spans, &mut pages)?;
        }
        pages.end()?.append(&self.about, Compression::UNCOMPRESSED, Some(bounds), group)
    }

    fn add_page(&self, runs: &[Run], words: &[(usize, usize)], pages: &mut PagesSoFar) -> Result<()> {
        let mut page = Vec::new();
        if self.about.max_def_level() > 0 {
            let mut levels = Hybrid::new(2);
            for run in runs {
                levels.add(u32::from(run.word.is_some()), run.rows);
            }
            let levels = levels.finish();
            page.extend_from_slice(&u32::try_from(levels.len())?.to_le_bytes());
            page.extend_from_slice(&levels);
        }
        let mut text_bytes = 0;
        if !words.is_empty() {
            let mut places = Hybrid::new(words.len());
            for (word, rows) in runs.iter().filter_map(|run| Some((run.word?, run.rows))) {
                places.add(word, rows);
                text_bytes += rows * words.get(word as usize).map_or(0, |(from, to)| to - from);
            }
            page.push(u8::try_from(places.bits())?);
            page.extend_from_slice(&places.finish());
        }
        let encoding = if words.is_empty() { Encoding::PLAIN } else { Encoding::RLE_DICTIONARY };
        let size = page.len();
        pages.add(page.into(), size, Held { rows: runs.iter().map(|run| run.rows).sum(), text_bytes, encoding })
    }
}

/// Returns the runs of each page.
fn by_page(runs: &[Run]) -> Vec<Vec<Run>> {
    let mut pages: Vec<Vec<Run>> = Vec::new();
    let mut room = 0;
    for Run { word, mut rows } in runs.iter().copied() {
        while rows > 0 {
            if room == 0 {
                pages.push(Vec::new());
                room = PAGE_ROWS;
            }
            let taken = rows.min(room);
            if let Some(page) = pages.last_mut() {
                page.push(Run { word, rows: taken });
            }
            (rows, room) = (rows - taken, room - taken);
        }
    }
    pages
}

/// Returns the smallest and largest word and the number of nulls, of all rows and of each page.
fn bounds(dictionary: &Dictionary, pages: &[Vec<Run>]) -> Result<Bounds> {
    let of_pages: Vec<Extent<'_>> = pages.iter().map(|page| Extent::of(dictionary, page)).collect();
    let all = of_pages.iter().copied().reduce(Extent::with).unwrap_or_default();
    let bound = |word: &[u8]| ByteArray::from(word.to_vec());
    let (least, greatest) =
        all.words.filter(|_| all.is_short()).map(|(least, most)| (bound(least), bound(most))).unzip();
    let statistics = ValueStatistics::new(least, greatest, None, Some(all.none), false);
    let of_all = Statistics::ByteArray(statistics.with_min_is_exact(true).with_max_is_exact(true));
    if !of_pages.iter().all(Extent::is_short) {
        return Ok(Bounds { of_all, of_pages: None });
    }
    let mut index = ColumnIndexBuilder::new(Type::BYTE_ARRAY);
    for page in of_pages {
        let (least, greatest) = page.words.unwrap_or_default();
        index.append(page.words.is_none(), least.to_vec(), greatest.to_vec(), i64::try_from(page.none)?);
    }
    Ok(Bounds { of_all, of_pages: Some(index.build()?) })
}

/// Extent of some rows.
#[derive(Clone, Copy, Default)]
struct Extent<'w> {
    /// The smallest and the largest word.
    words: Option<(&'w [u8], &'w [u8])>,
    /// Rows without a word.
    none: u64,
}

impl<'w> Extent<'w> {
    fn of(dictionary: &'w Dictionary, runs: &[Run]) -> Self {
        let one = |run: &Run| match run.word.map(|word| dictionary.get(word)) {
            Some(word) => Self { words: Some((word, word)), none: 0 },
            None => Self { words: None, none: run.rows as u64 },
        };
        runs.iter().map(one).reduce(Self::with).unwrap_or_default()
    }

    fn with(self, other: Self) -> Self {
        let words = match (self.words, other.words) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (words, others) => words.or(others),
        };
        Self { words, none: self.none + other.none }
    }

    fn is_short(&self) -> bool {
        self.words.is_none_or(|(least, greatest)| least.len().max(greatest.len()) <= LONGEST_BOUND)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::datatypes::{DataType, Field, Schema};
    use bytes::Bytes;
    use parquet::arrow::ArrowSchemaConverter;
    use parquet::arrow::arrow_reader::{RowSelection, RowSelector};
    use parquet::file::page_index::column_index::ColumnIndexMetaData;
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use proptest::prelude::*;

    use super::super::pages::read_back::{Texts, reader, texts};
    use super::*;

    /// Writes a file of row groups, each with the words of some calls.
    fn written(groups: &[Vec<Texts>], is_nullable: bool) -> Bytes {
        let schema = Schema::new(vec![Field::new("word", DataType::Utf8, is_nullable)]);
        let descriptor = ArrowSchemaConverter::new().convert(&schema).unwrap();
        let properties = Arc::new(WriterProperties::default());
        let mut file = SerializedFileWriter::new(Vec::new(), descriptor.root_schema_ptr(), properties).unwrap();
        let mut column = WordColumn::new(descriptor.column(0));
        for calls in groups {
            for words in calls {
                column.write(&StringArray::from(words.clone())).unwrap();
            }
            let mut group = file.next_row_group().unwrap();
            column.end_group(&mut group).unwrap();
            group.close().unwrap();
        }
        file.into_inner().unwrap().into()
    }

    proptest! {
        /// Everything that was written can be read, in full and from any row on, with the right bounds.
        #[test]
        fn words_come_back(
            groups in prop::collection::vec(prop::collection::vec(prop::collection::vec(
                (prop::option::of("[a-cé]{0,2}|x{250,260}"), 1..20_usize), 0..12), 1..4), 1..4),
            is_nullable in any::<bool>(), from in any::<prop::sample::Index>(),
        ) {
            let told = |runs: Vec<(Option<String>, usize)>| -> Texts {
                let words = runs.into_iter().flat_map(|(word, rows)| std::iter::repeat_n(word, rows));
                words.map(|word| if is_nullable { word } else { Some(word.unwrap_or_default()) }).collect()
            };
            let groups: Vec<Vec<Texts>> = groups.into_iter().map(|calls| calls.into_iter().map(told).collect()).collect();
            let groups: Vec<_> = groups.into_iter().filter(|calls| calls.iter().any(|words| !words.is_empty())).collect();
            let all: Texts = groups.iter().flatten().flatten().cloned().collect();
            prop_assume!(!all.is_empty());
            let file = written(&groups, is_nullable);
            prop_assert_eq!(&texts(reader(&file)), &all);
            let from = from.index(all.len());
            let rest = RowSelection::from(vec![RowSelector::skip(from), RowSelector::select(all.len() - from)]);
            prop_assert_eq!(&texts(reader(&file).with_row_selection(rest))[..], &all[from..]);
            for (group, calls) in reader(&file).metadata().row_groups().iter().zip(&groups) {
                let statistics = group.column(0).statistics().unwrap();
                let (none, some): (Vec<_>, Vec<_>) = calls.iter().flatten().partition(|word| word.is_none());
                prop_assert_eq!(statistics.null_count_opt(), Some(none.len() as u64));
                let bounds = [some.iter().copied().flatten().min(), some.iter().copied().flatten().max()];
                let has_bounds = bounds.iter().flatten().all(|word| word.len() <= LONGEST_BOUND);
                let bounds = bounds.map(|word| word.filter(|_| has_bounds).map(String::as_bytes));
                prop_assert_eq!([statistics.min_bytes_opt(), statistics.max_bytes_opt()], bounds);
            }
        }
    }

    #[test]
    fn a_word_is_there_once_and_pages_end_by_rows() {
        let name = |row: usize| ["gpt", "claude", "gemini"][row / 7 % 3];
        let alternating: Texts = (0..50_001).map(|row| (row % 5 > 0).then(|| name(row).to_owned())).collect();
        let same: Texts = vec![Some("gpt".to_owned()); 45_000];
        let none: Texts = vec![None; 45_000];
        let groups = [vec![alternating], vec![same], vec![none]];
        let file = written(&groups, true);
        assert_eq!(texts(reader(&file)), groups.iter().flatten().flatten().cloned().collect::<Texts>());
        let about = reader(&file).metadata().clone();
        let starts = |group: usize| {
            let pages = &about.offset_index().unwrap()[group][0].page_locations;
            pages.iter().map(|page| page.first_row_index).collect::<Vec<_>>()
        };
        assert_eq!(starts(0), [0, 20_000, 40_000]);
        assert_eq!(starts(1), [0, 20_000, 40_000]);
        let sizes = about.row_groups().iter().map(|group| group.column(0).compressed_size()).collect::<Vec<_>>();
        assert!(sizes[0] < 50_001 / 8 * 3 && sizes[1] < 200 && sizes[2] < 150, "{sizes:?}");
        assert!(about.row_group(2).column(0).dictionary_page_offset().is_none());

        let bounds = |group: usize, page: usize| {
            let ColumnIndexMetaData::BYTE_ARRAY(pages) = &about.column_index().unwrap()[group][0] else { panic!() };
            let text = |bytes: Option<&[u8]>| bytes.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap());
            (text(pages.min_value(page)), text(pages.max_value(page)), pages.null_count(page).unwrap())
        };
        let [least, greatest] = ["claude", "gpt"].map(|word| Some(word.to_owned()));
        assert_eq!(bounds(0, 1), (least, greatest.clone(), 4_000));
        assert_eq!(bounds(0, 2).2, 2_001);
        assert_eq!(bounds(1, 2), (greatest.clone(), greatest, 0));
        assert_eq!(bounds(2, 0), (None, None, 20_000));
    }
}
