//! Other readers see what llrem sees: DuckDB, pandas with pyarrow, Polars. The Python ones come from the virtual
//! environment that `tests/python/setup.sh` makes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::common::python;
use crate::corpus;
use crate::lake::{self, Bench, TABLES, Transcript, copy_folder};
use arrow::datatypes::{DataType, TimeUnit};
use llrem::tables::LAKE_TABLES;
use polars::prelude::{DataType as PolarsType, LazyFrame, PlRefPath, ScanArgsParquet, col};
use serde_json::{Value, json};

/// Folder of all fixtures' files, as one home.
fn merged_fixtures(home: &Path) {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    for folder in walkdir::WalkDir::new(fixtures).min_depth(3).max_depth(3).sort_by_file_name() {
        let folder = folder.unwrap();
        if folder.file_type().is_dir() && folder.file_name() == "home" {
            copy_folder(folder.path(), home);
        }
    }
}

/// Returns the facts about each table by `llrem sql`.
fn facts_of_llrem(lake: &Path) -> Value {
    let of_table = |table: &llrem::tables::TableDef| {
        let of_type = |wanted: fn(&DataType) -> bool| {
            let columns = table.columns.iter().filter(move |column| wanted(&(column.data_type)()));
            columns.map(|column| column.name).collect::<Vec<_>>()
        };
        let numbers = of_type(|kind| *kind == DataType::Int64);
        let moments = of_type(|kind| matches!(kind, DataType::Timestamp(TimeUnit::Microsecond, _)));
        let mut wanted = vec!["count(*)".to_owned()];
        wanted.extend(numbers.iter().map(|name| format!("coalesce(sum({name}), 0)")));
        let micros = |what: &str, name: &str| format!("cast({what}({name}) AS bigint)");
        wanted.extend(moments.iter().flat_map(|name| [micros("min", name), micros("max", name)]));
        let row = lake::sql(lake, &format!("SELECT {} FROM {}", wanted.join(", "), table.name)).remove(0);
        let values: Vec<Option<i64>> = row.split(',').map(|value| value.parse().ok()).collect();
        let sums: BTreeMap<&str, i64> =
            numbers.iter().copied().zip(values[1..].iter().map(|value| value.unwrap())).collect();
        let spans = values[1 + numbers.len()..].chunks(2);
        let moments: BTreeMap<&str, &[Option<i64>]> = moments.into_iter().zip(spans).collect();
        json!({"count": values[0], "sums": sums, "moments": moments})
    };
    LAKE_TABLES.iter().map(|table| (table.name.to_owned(), of_table(table))).collect::<serde_json::Map<_, _>>().into()
}

fn facts_of_polars(lake: &Path) -> Value {
    let of_table = |table: &str| {
        let pattern = lake.join(table).join("**/*.parquet");
        let scan = ScanArgsParquet::default();
        let mut frame = LazyFrame::scan_parquet(PlRefPath::new(pattern.to_string_lossy()), scan).unwrap();
        let schema = frame.collect_schema().unwrap();
        for partition in ["machine", "agent", "month"] {
            assert!(schema.contains(partition), "{table}: no partition column {partition}");
        }
        let of_type = |wanted: fn(&PolarsType) -> bool| {
            schema.iter().filter(|(_, kind)| wanted(kind)).map(|(name, _)| name.as_str()).collect::<Vec<_>>()
        };
        let numbers = of_type(|kind| *kind == PolarsType::Int64);
        let moments = of_type(|kind| matches!(kind, PolarsType::Datetime(..)));
        let mut wanted = vec![polars::prelude::len().cast(PolarsType::Int64).alias("len")];
        wanted.extend(numbers.iter().map(|name| col(*name).sum()));
        for name in &moments {
            wanted.push(col(*name).cast(PolarsType::Int64).min().alias(format!("{name} min")));
            wanted.push(col(*name).cast(PolarsType::Int64).max().alias(format!("{name} max")));
        }
        let found = frame.select(wanted).collect().unwrap();
        let value = |name: &str| found.column(name).unwrap().i64().unwrap().get(0);
        let sums: BTreeMap<&str, Option<i64>> = numbers.iter().map(|name| (*name, value(name))).collect();
        let span = |name: &str| [value(&format!("{name} min")), value(&format!("{name} max"))];
        let moments: BTreeMap<&str, [Option<i64>; 2]> = moments.iter().map(|name| (*name, span(name))).collect();
        json!({"count": value("len"), "sums": sums, "moments": moments})
    };
    TABLES.iter().map(|table| ((*table).to_owned(), of_table(table))).collect::<serde_json::Map<_, _>>().into()
}

fn facts_of_python(engine: &str, lake: &Path) -> Value {
    let output = lake::succeed(python::script("interop.py").args(["facts", engine]).arg(lake));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn assert_same_everywhere(lake: &Path) {
    let expected = facts_of_llrem(lake);
    assert!(expected["messages"]["count"].as_i64().unwrap() > 100, "{expected}");
    assert_eq!(facts_of_polars(lake), expected, "Polars");
    assert_eq!(facts_of_python("duckdb", lake), expected, "DuckDB");
    assert_eq!(facts_of_python("pandas", lake), expected, "pandas");
}

#[test]
fn all_fixtures_read_by_others() {
    let bench = Bench::new();
    merged_fixtures(&bench.home());
    bench.extract();
    bench.verify();
    assert_same_everywhere(&bench.lake());
}

#[test]
fn an_invented_corpus_read_by_others() {
    let bench = Bench::new();
    corpus::generate(&bench.home(), &corpus::Params { bytes: 10_000_000, ..corpus::Params::default() }).unwrap();
    bench.extract();
    bench.verify();
    assert_same_everywhere(&bench.lake());
}

#[test]
fn a_reader_beside_runs_sees_old_or_new_totals() {
    const RUNS: usize = 25;
    let bench = Bench::new();
    corpus::generate(&bench.home(), &corpus::Params { bytes: 2_000_000, ..corpus::Params::default() }).unwrap();
    let mut live = Transcript::new("live", "2025-08-05T10:00:00Z");
    live.prompt("begin").reply("Begun.");
    bench.transcript("live.jsonl", live.text());
    bench.extract();
    let total = || bench.sql("SELECT count(*) FROM messages")[0].parse::<i64>().unwrap();
    let mut allowed = vec![total()];
    let stop = bench.path().join("stop");
    let watch =
        python::script("interop.py").arg("watch").args([&bench.lake(), &stop]).stdout(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(600));
    for _ in 0..RUNS {
        live.prompt("go on").reply("Gone on.");
        bench.transcript("live.jsonl", live.text());
        bench.extract();
        allowed.push(total());
    }
    fs::write(&stop, "").unwrap();
    let output = watch.wait_with_output().unwrap();
    assert!(output.status.success());
    let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
    let totals: Vec<i64> = seen["totals"].as_array().unwrap().iter().map(|total| total.as_i64().unwrap()).collect();
    println!("{} reads, {} errors, {} totals of {}", seen["reads"], seen["errors"], totals.len(), allowed.len());
    assert!(totals.iter().all(|total| allowed.contains(total)), "{totals:?} where {allowed:?} were right");
    assert!(totals.is_sorted() && totals.len() > 1, "{totals:?}");
}

#[test]
fn a_lazy_frame_has_the_partition_columns() {
    let bench = Bench::new();
    let mut transcript = Transcript::new("one", "2025-08-05T10:00:00Z");
    transcript.prompt("begin").reply("Begun.");
    bench.transcript("one.jsonl", transcript.text());
    bench.extract();
    let open = llrem::lake::Lake::open(&bench.lake()).unwrap();
    let august = open.scan(&llrem::tables::MESSAGES).unwrap().filter(col("month").eq(polars::prelude::lit("2025-08")));
    let frame = august.select([col("machine"), col("agent"), col("month"), col("text")]).collect().unwrap();
    assert_eq!(frame.shape(), (2, 4));
    assert_eq!(frame.column("machine").unwrap().str().unwrap().get(0), Some("bench"));
    assert_eq!(frame.column("agent").unwrap().str().unwrap().get(0), Some("claude-code"));
}
