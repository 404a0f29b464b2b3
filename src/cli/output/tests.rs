use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DurationMicrosecondArray, Float64Array,
    Int64Array, ListBuilder, NullArray, RecordBatch, StringArray, StringBuilder, StringViewArray, StructArray,
    TimestampMicrosecondArray,
};
use arrow::datatypes::{DataType, Field};
use chrono_tz::Tz;

use super::table::{Table, TableOptions};
use super::target::Target;
use super::{Format, Look, Output, Paint, Printer, Style};
use crate::query::Receiver;
use crate::shown::Signs;

const BERLIN: Tz = chrono_tz::Europe::Berlin;

/// One column of each kind of value; the second row is null.
fn every_type() -> RecordBatch {
    let mut list = ListBuilder::new(StringBuilder::new());
    list.append_value([Some("one"), Some("t\"wo")]);
    list.append_null();
    let inner: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let nested = StructArray::try_new(
        vec![Field::new("x", DataType::Int64, false)].into(),
        vec![inner],
        Some(vec![true, false].into()),
    );
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("text", Arc::new(StringArray::from(vec![Some("a,b|\"c\"\nd\u{202e}"), None]))),
        ("view", Arc::new(StringViewArray::from(vec![Some("v"), None]))),
        ("count", Arc::new(Int64Array::from(vec![Some(9_007_199_254_740_993), None]))),
        ("ratio", Arc::new(Float64Array::from(vec![Some(0.25), None]))),
        ("cost_usd", Arc::new(Float64Array::from(vec![Some(1.5), None]))),
        ("flag", Arc::new(BooleanArray::from(vec![Some(true), None]))),
        ("day", Arc::new(Date32Array::from(vec![Some(20_000), None]))),
        ("at", Arc::new(TimestampMicrosecondArray::from(vec![Some(1_750_000_000_250_000), None]).with_timezone("UTC"))),
        ("naive", Arc::new(TimestampMicrosecondArray::from(vec![Some(1_750_000_000_000_000), None]))),
        ("span", Arc::new(DurationMicrosecondArray::from(vec![Some(90_500_000), None]))),
        ("decimal", Arc::new(Decimal128Array::from(vec![Some(1234), None]).with_precision_and_scale(10, 2).unwrap())),
        ("bytes", Arc::new(BinaryArray::from(vec![Some(b"\x00\xff".as_slice()), None]))),
        ("nothing", Arc::new(NullArray::new(2))),
        ("list", Arc::new(list.finish())),
        ("nested", Arc::new(nested.unwrap())),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn printer() -> Printer {
    Printer::new(true, 0, false, Style::of(&[]))
}

fn on_terminal(batch: &RecordBatch, columns: usize, wraps: bool) -> String {
    let target = Target::memory(true);
    let look = Look { width: Some(columns), paint: Paint(false), signs: Signs::UNICODE };
    let options = TableOptions { wraps, ..TableOptions::default() };
    let mut table = Table::new(target.clone(), &batch.schema(), options, look);
    super::Rows::write(&mut table, batch).unwrap();
    super::Rows::finish(&mut table).unwrap();
    visible(&target.bytes()) + &super::Rows::notes(&mut table).join("\n")
}

fn bytes(format: Format, batches: &[RecordBatch], terminal: bool) -> Vec<u8> {
    let target = Target::memory(terminal);
    let mut output = Output {
        is_empty: true,
        format,
        zone: BERLIN,
        safe_csv: false,
        table: TableOptions::default(),
        notes: Vec::new(),
        limit: None,
        printer: printer(),
        target: target.clone(),
        rows: None,
    };
    output.schema(&every_type().schema()).unwrap();
    for batch in batches {
        output.batch(batch).unwrap();
    }
    output.finish().unwrap();
    target.bytes()
}

fn text(format: Format) -> String {
    visible(&bytes(format, &[every_type()], false))
}

/// Marks a character that reverses the direction of text and that must pass unchanged.
fn visible(bytes: &[u8]) -> String {
    std::str::from_utf8(bytes).unwrap().replace('\u{202e}', "<RLO>")
}

#[test]
fn csv() {
    insta::assert_snapshot!(text(Format::Csv), @r#"
text,view,count,ratio,cost_usd,flag,day,at,naive,span,decimal,bytes,nothing,list,nested
"a,b|""c""
d<RLO>",v,9007199254740993,0.25,1.5,true,2024-10-04,2025-06-15T17:06:40.250+02:00,2025-06-15T15:06:40,PT90.5S,12.34,00ff,,"[""one"",""t\""wo""]","{""x"":1}"
,,,,,,,,,,,,,,
"#);
}

#[test]
fn json() {
    insta::assert_snapshot!(text(Format::Json), @r#"
[
{"text":"a,b|\"c\"\nd<RLO>","view":"v","count":9007199254740993,"ratio":0.25,"cost_usd":1.5,"flag":true,"day":"2024-10-04","at":"2025-06-15T17:06:40.250+02:00","naive":"2025-06-15T15:06:40","span":"PT90.5S","decimal":12.34,"bytes":"00ff","nothing":null,"list":["one","t\"wo"],"nested":{"x":1}},
{"text":null,"view":null,"count":null,"ratio":null,"cost_usd":null,"flag":null,"day":null,"at":null,"naive":null,"span":null,"decimal":null,"bytes":null,"nothing":null,"list":null,"nested":null}
]
"#);
}

#[test]
fn ndjson() {
    insta::assert_snapshot!(text(Format::Ndjson), @r#"
{"text":"a,b|\"c\"\nd<RLO>","view":"v","count":9007199254740993,"ratio":0.25,"cost_usd":1.5,"flag":true,"day":"2024-10-04","at":"2025-06-15T17:06:40.250+02:00","naive":"2025-06-15T15:06:40","span":"PT90.5S","decimal":12.34,"bytes":"00ff","nothing":null,"list":["one","t\"wo"],"nested":{"x":1}}
{"text":null,"view":null,"count":null,"ratio":null,"cost_usd":null,"flag":null,"day":null,"at":null,"naive":null,"span":null,"decimal":null,"bytes":null,"nothing":null,"list":null,"nested":null}
"#);
}

#[test]
fn markdown() {
    insta::assert_snapshot!(text(Format::Markdown), @r#"
| text | view | count | ratio | cost_usd | flag | day | at | naive | span | decimal | bytes | nothing | list | nested |
| --- | --- | ---: | ---: | ---: | --- | --- | --- | --- | --- | ---: | --- | --- | --- | --- |
| a,b\|"c"<br>d<RLO> | v | 9007199254740993 | 0.25 | 1.50 | true | 2024-10-04 | 2025-06-15 17:06:40+02:00 | 2025-06-15 15:06:40 | PT90.5S | 12.34 | 00ff |  | one, t"wo | {"x":1} |
|  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |
"#);
}

#[test]
fn table() {
    let plain = every_type().project(&[2, 3, 4, 5, 6, 7, 13]).unwrap();
    let target = Target::memory(false);
    let mut output = Output {
        is_empty: true,
        format: Format::Table,
        zone: BERLIN,
        safe_csv: false,
        table: TableOptions::default(),
        notes: Vec::new(),
        limit: None,
        printer: printer(),
        target: target.clone(),
        rows: None,
    };
    output.schema(&plain.schema()).unwrap();
    output.batch(&plain).unwrap();
    output.finish().unwrap();
    insta::assert_snapshot!(String::from_utf8(target.bytes()).unwrap(), @r#"
                    count  ratio  cost_usd  flag  day         at                list
    9,007,199,254,740,993   0.25     $1.50  yes   2024-10-04  2025-06-15 17:06  one, t"wo
                        –      –         –  –     –           –                 –
    "#);
}

#[test]
fn a_table_is_fitted_to_the_terminal_and_shows_what_steers_it() {
    insta::assert_snapshot!(on_terminal(&every_type(), 60, false), @r#"
                                                           cost_
    text               view                  count  ratio    usd
    a,b|"c" d\u{202e}  v     9,007,199,254,740,993   0.25  $1.50
    –                  –                         –      –      –
    no room for flag, day, at, naive, span, decimal, bytes, nothing, list, nested
    "#);
}

#[test]
fn one_row_of_many_columns_is_vertical() {
    insta::assert_snapshot!(on_terminal(&every_type().slice(0, 1), 60, false), @r#"
    text          a,b|"c" d\u{202e}
    view                          v
    count     9,007,199,254,740,993
    ratio                      0.25
    cost_usd                  $1.50
    flag                        yes
    day                  2024-10-04
    at             2025-06-15 15:06
    naive          2025-06-15 15:06
    span                    PT90.5S
    decimal                   12.34
    bytes                      00ff
    nothing                       –
    list                  one, t"wo
    nested                  {"x":1}
    "#);
}

#[test]
fn long_texts_are_wrapped_where_they_are_there_to_be_read() {
    let text: ArrayRef = Arc::new(StringArray::from(vec!["Several words, and averylongwordwithoutanyspacesinit."]));
    let count: ArrayRef = Arc::new(Int64Array::from(vec![12]));
    let batch = RecordBatch::try_from_iter([("a_long_name_of_a_count", count), ("meaning", text)]).unwrap();
    insta::assert_snapshot!(on_terminal(&batch, 36, true), @r"
    a_long_name_
      of_a_count  meaning
              12  Several words, and
                  averylongwordwithout
                  anyspacesinit.
    ");
}

#[test]
fn no_rows() {
    let empty = |format| String::from_utf8(bytes(format, &[], false)).unwrap();
    assert_eq!(empty(Format::Json), "[]\n");
    assert_eq!(empty(Format::Ndjson), "");
    assert!(empty(Format::Csv).starts_with("text,view,count,"));
    assert_eq!(empty(Format::Markdown).lines().count(), 2);
    assert_eq!(empty(Format::Table).lines().count(), 1);
}

#[test]
fn several_batches_are_one_result() {
    let batches = [every_type(), every_type()];
    let rows = |format| String::from_utf8(bytes(format, &batches, false)).unwrap();
    let array: Vec<serde_json::Value> = serde_json::from_str(&rows(Format::Json)).unwrap();
    assert_eq!(array.len(), 4);
    assert_eq!(array[0]["count"].as_i64(), Some(9_007_199_254_740_993));
    assert_eq!(array[1]["text"], serde_json::Value::Null);
    assert_eq!(rows(Format::Ndjson).lines().count(), 4);
    assert_eq!(rows(Format::Csv).matches("nested").count(), 1);
    assert_eq!(rows(Format::Markdown).lines().count(), 6);
}

#[test]
fn parquet_and_arrow_give_the_rows_back() {
    let file = bytes(Format::Parquet, &[every_type(), every_type()], false);
    let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReader::try_new(bytes_of(&file), 100);
    let batches: Vec<RecordBatch> = reader.unwrap().map(Result::unwrap).collect();
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 4);
    assert_eq!(batches[0].schema().field(1).data_type(), &DataType::Utf8);

    let stream = bytes(Format::Arrow, &[every_type(), every_type()], false);
    let reader = arrow::ipc::reader::StreamReader::try_new(stream.as_slice(), None).unwrap();
    assert_eq!(reader.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 4);
}

fn bytes_of(file: &[u8]) -> impl parquet::file::reader::ChunkReader + 'static {
    let mut handle = tempfile::tempfile().unwrap();
    std::io::Write::write_all(&mut handle, file).unwrap();
    handle
}

#[test]
fn a_file_appears_only_when_it_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    let settings = super::OutputSettings {
        format: None,
        path: Some(path.clone()),
        zone: BERLIN,
        safe_csv: false,
        printer: printer(),
    };
    let mut output = Output::new(&settings, Format::Table).unwrap();
    output.schema(&every_type().schema()).unwrap();
    assert!(!path.exists());
    drop(output);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    Output::new(&settings, Format::Table).unwrap().print(&every_type()).unwrap();
    assert_eq!(visible(&std::fs::read(&path).unwrap()), text(Format::Csv));
}

#[test]
fn what_cannot_be_printed_is_an_empty_cell() {
    let moments = TimestampMicrosecondArray::from(vec![9_007_199_254_740_000_000, i64::MIN, 0]).with_timezone("UTC");
    let days = Date32Array::from(vec![i32::MAX, i32::MIN, 0]);
    let columns: [(&str, ArrayRef); 2] = [("at", Arc::new(moments)), ("day", Arc::new(days))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let printed = |format| {
        let target = Target::memory(false);
        let mut output = Output {
            is_empty: true,
            format,
            zone: BERLIN,
            safe_csv: false,
            table: TableOptions::default(),
            notes: Vec::new(),
            limit: None,
            printer: printer(),
            target: target.clone(),
            rows: None,
        };
        output.schema(&batch.schema()).unwrap();
        output.batch(&batch).unwrap();
        output.finish().unwrap();
        String::from_utf8(target.bytes()).unwrap()
    };
    assert_eq!(printed(Format::Csv), "at,day\n,\n,\n1970-01-01T01:00:00+01:00,1970-01-01\n");
    assert!(printed(Format::Ndjson).starts_with("{\"at\":null,\"day\":null}\n"));
    assert!(printed(Format::Markdown).contains("1970-01-01 01:00:00+01:00"));
    assert!(printed(Format::Table).ends_with("1970-01-01 01:00  1970-01-01\n"));
}

#[test]
fn safe_csv_has_no_formulas() {
    let texts: ArrayRef =
        Arc::new(StringArray::from(vec!["=cmd|' /C calc'!A0", "+1", "-1", "@a", "\tx", "a=b", "＝1", ""]));
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![-1; 8]));
    let batch = RecordBatch::try_from_iter([("text", texts), ("n", numbers)]).unwrap();
    let target = Target::memory(false);
    let mut csv = super::text::Csv::new(target.clone(), &batch.schema(), true).unwrap();
    super::Rows::write(&mut csv, &batch).unwrap();
    insta::assert_snapshot!(String::from_utf8(target.bytes()).unwrap(), @r"
text,n
'=cmd|' /C calc'!A0,-1
'+1,-1
'-1,-1
'@a,-1
'	x,-1
a=b,-1
'＝1,-1
,-1
");
}
