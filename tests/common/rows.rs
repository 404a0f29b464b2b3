//! Rows read back from a lake, as any reader of Parquet would, without what differs from run to run.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use arrow::array::RecordBatch;
use llrem::lake::Lake;
use llrem::tables::LAKE_TABLES;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;

/// Columns that tell of the run, not of the sources.
const OF_THE_RUN: [&str; 3] = ["extracted_at", "modified_at", "llrem_version"];

/// All rows of a lake: each one JSON object without its null columns, in a stable order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rows(pub BTreeMap<&'static str, Vec<String>>);

impl Rows {
    pub fn of(lake: &Path, home: &Path) -> Self {
        let mut tables = BTreeMap::new();
        for table in LAKE_TABLES {
            let files =
                walkdir::WalkDir::new(lake.join(table.name)).sort_by_file_name().into_iter().filter_map(Result::ok);
            let batches = files.filter(|entry| entry.file_type().is_file()).flat_map(|entry| {
                let file = File::open(entry.path()).unwrap();
                let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
                reader.map(Result::unwrap).collect::<Vec<_>>()
            });
            tables.insert(table.name, lines(batches, home));
        }
        tables.insert("sources", lines([Lake::open(lake).unwrap().sources().unwrap()], home));
        Self(tables)
    }

    /// The rows of a table as text.
    pub fn table(&self, name: &str) -> &[String] {
        &self.0[name]
    }

    /// The rows of a table.
    pub fn values(&self, name: &str) -> Vec<Value> {
        self.table(name).iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Only what is in the lake's files, whenever it was dropped by the agent.
    pub fn without_runs(mut self) -> Self {
        self.0.remove("sources");
        for lines in self.0.values_mut() {
            for line in lines {
                *line = without(line, "gone_at");
            }
        }
        self
    }
}

/// The counts of a home: tokens by model, the numbers of `messages` and `tool_calls` by kind and status, and the values
/// of columns such as `usage.reasoning_effort`: rows by value, or number and sum, which may be in `parts` of one.
pub type Count = BTreeMap<String, BTreeMap<String, i64>>;

pub const TOKENS: [&str; 5] =
    ["input_tokens", "cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens", "output_tokens"];

impl Rows {
    /// Counts the tokens, and of messages and tool calls what the script counts.
    pub fn count_as(&self, script: &Count) -> Count {
        let mut count = tokens_by_model(&self.values("usage"));
        for (table, column) in [("messages", "kind"), ("tool_calls", "status")] {
            if let Some(counted) = script.get(table) {
                let rows = self.values(table);
                let with = |text: &str| rows.iter().filter(|row| row[column] == text).count() as i64;
                count.insert(table.to_owned(), counted.keys().map(|text| (text.clone(), with(text))).collect());
            }
        }
        for (name, counted) in script {
            let column = name.split_once('.').filter(|(table, _)| self.0.contains_key(*table));
            if let Some((table, column)) = column {
                let rows = self.values(table);
                let values = if counted.contains_key("sum") {
                    sum_of(&rows, column, counted.get("parts").copied())
                } else {
                    rows_by_value(&rows, column)
                };
                count.insert(name.clone(), values);
            }
        }
        count
    }
}

/// Counts and adds the values of a column of numbers; the sum is in whole parts of one.
fn sum_of(rows: &[Value], column: &str, parts: Option<i64>) -> BTreeMap<String, i64> {
    let values: Vec<f64> = rows.iter().filter_map(|row| row[column].as_f64()).collect();
    let sum = values.iter().sum::<f64>() * parts.unwrap_or(1) as f64;
    let mut count = BTreeMap::from([
        ("count".to_owned(), values.len() as i64),
        ("sum".to_owned(), format!("{sum:.0}").parse().unwrap()),
    ]);
    count.extend(parts.map(|parts| ("parts".to_owned(), parts)));
    count
}

/// Counts the rows by the value of a text column, or by each element of a list.
fn rows_by_value(rows: &[Value], column: &str) -> BTreeMap<String, i64> {
    let mut count = BTreeMap::new();
    let values = rows.iter().map(|row| &row[column]).filter(|value| !value.is_null());
    let elements = values.flat_map(|value| value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice));
    for value in elements {
        *count.entry(value.as_str().unwrap_or_default().to_owned()).or_default() += 1;
    }
    count
}

fn tokens_by_model(usage: &[Value]) -> Count {
    let mut count = Count::new();
    for row in usage {
        let model = count.entry(row["model"].as_str().unwrap_or("null").to_owned()).or_default();
        *model.entry("responses".to_owned()).or_default() += 1;
        for kind in TOKENS {
            *model.entry(kind.to_owned()).or_default() += row[kind].as_i64().unwrap_or(0);
        }
    }
    count
}

fn without(line: &str, column: &str) -> String {
    let mut row: Value = serde_json::from_str(line).unwrap();
    row.as_object_mut().unwrap().remove(column);
    row.to_string()
}

fn lines(batches: impl IntoIterator<Item = RecordBatch>, home: &Path) -> Vec<String> {
    let mut text = Vec::new();
    let mut writer = arrow::json::LineDelimitedWriter::new(&mut text);
    for batch in batches {
        let kept: Vec<usize> = (0..batch.num_columns())
            .filter(|column| !OF_THE_RUN.contains(&batch.schema().field(*column).name().as_str()))
            .collect();
        writer.write(&batch.project(&kept).unwrap()).unwrap();
    }
    writer.finish().unwrap();
    let text = String::from_utf8(text).unwrap().replace(home.to_str().unwrap(), "~");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort_by_cached_key(|line| {
        let row: Value = serde_json::from_str(line).unwrap();
        let name = |column: &str| row[column].as_str().unwrap_or_default().to_owned();
        let number = |column: &str| row[column].as_i64().unwrap_or_default();
        (name("session_id"), number("seq"), number("source_line"), name("response_id"), name("path"))
    });
    lines
}
