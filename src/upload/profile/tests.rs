//! Plants secrets and personal data in every text column, and checks that no uploaded byte contains them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayData, ArrayRef, ListBuilder, RecordBatch, StringArray, StringBuilder, make_array};
use arrow::datatypes::DataType;
use arrow::util::display::{ArrayFormatter, FormatOptions};

use super::{Choice, Profile};
use crate::etl::Silent;
use crate::lake::fs;
use crate::lake::layout::{Layout, PartName};
use crate::lake::manifest::{Manifest, PartEntry, SessionEntry, SourceEntry};
use crate::lake::part::{self, PartWriter};
use crate::lake::syncer::Syncer;
use crate::remote::manifest::MachineManifest;
use crate::tables::{LAKE_TABLES, TableDef};
use crate::upload::{Options, run};

/// Texts, and the part of each that must not be uploaded. Keys are concatenated here, so that the source contains none.
fn planted() -> Vec<(String, String)> {
    let random = "x7Qm2Lp9Rt4Vw8Zk3Nc6Bf1Hj5Gd0Sy2Ua7Eo4Iq";
    let key = format!("ghp_{}", &random[..36]);
    let password = &random[2..20];
    let of = |text: &str, part: &str| (text.to_owned(), part.to_owned());
    vec![
        of(&format!("token {key} set"), &key),
        of(&format!("password = \"{password}\""), password),
        of(&format!("postgres://app:{password}@db.internal/app"), password),
        of("mail jo.doe+x@example.org now", "jo.doe+x@example"),
        of("host 198.51.100.23:80", "198.51.100.23"),
        of("host [2001:db8::42]:80", "2001:db8::42"),
        of("cd /home/trillian/shop", "trillian"),
        of(r"C:\\Users\\marvin\\shop", "marvin"),
        of("~/.claude/projects/-Users-ford-shop/1.jsonl", "ford"),
        of("thanks, Zaphod.", "Zaphod"),
    ]
}

/// Returns a row for each planted text, with the text in every text column.
fn batch(table: &TableDef, texts: &[(String, String)]) -> RecordBatch {
    let columns = table.columns.iter().map(|column| -> ArrayRef {
        match (column.data_type)() {
            DataType::Utf8 => Arc::new(texts.iter().map(|(text, _)| Some(text)).collect::<StringArray>()),
            DataType::List(_) => {
                let mut lists = ListBuilder::new(StringBuilder::new());
                for (text, _) in texts {
                    lists.append_value([Some(text.as_str()), Some("gpt-5")]);
                }
                Arc::new(lists.finish())
            }
            other => {
                let zeros = ArrayData::new_null(&other, texts.len()).into_builder().nulls(None);
                make_array(zeros.build().unwrap())
            }
        }
    });
    RecordBatch::try_new(table.schema(), columns.collect()).unwrap()
}

fn planted_lake(root: &Path) -> Layout {
    let layout = Layout::new(root);
    fs::make_folder(&layout.staging()).unwrap();
    let texts = planted();
    let syncer = Syncer::start();
    let mut writer = PartWriter::new(&layout.staging(), "planted", &syncer);
    for (place, table) in LAKE_TABLES.iter().enumerate() {
        writer.write(place, &batch(table, &texts)).unwrap();
    }
    let name = PartName { agent: "codex".into(), month: "2026-01".into(), name: "2026-01-02-0000beef".into() };
    let mut manifest = Manifest { machine: "m".into(), redaction_key: [7; 32], generation: 1, ..Manifest::default() };
    let session = SessionEntry { id: "s".into(), rows: [10, 10, 10], ..SessionEntry::default() };
    let mut entry = PartEntry { sessions: vec![session], ..PartEntry::default() };
    for ((slot, staged), table) in entry.files.iter_mut().zip(writer.finish().unwrap()).zip(LAKE_TABLES) {
        let staged = staged.unwrap();
        let path = root.join(Layout::part(table, "m", &name));
        fs::make_folder(path.parent().unwrap()).unwrap();
        fs::rename(&staged.path, &path).unwrap();
        *slot = Some(staged.entry);
    }
    syncer.wait().unwrap();
    manifest.parts.insert(name, entry);
    // Names of users from the lake's own paths.
    manifest.sources.insert("/home/zaphod/.codex/sessions/1.jsonl".into(), SourceEntry::default());
    fs::write(&layout.manifest(), &manifest.encode().unwrap()).unwrap();
    layout
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter().map(Result::unwrap);
    entries.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path).collect()
}

/// Returns every value of a data file as text.
fn values(path: &Path, table: &'static TableDef) -> Vec<String> {
    let mut values = Vec::new();
    for batch in part::read(path, table).unwrap() {
        let batch = batch.unwrap();
        assert_eq!(batch.schema(), table.schema());
        for column in batch.columns() {
            let formatter = ArrayFormatter::try_new(column, &FormatOptions::new()).unwrap();
            values.extend((0..batch.num_rows()).map(|row| formatter.value(row).to_string()));
        }
    }
    values
}

fn contains(bytes: &[u8], part: &str) -> bool {
    memchr::memmem::find(&bytes.to_ascii_lowercase(), part.to_ascii_lowercase().as_bytes()).is_some()
}

/// Uploads, and returns every uploaded value. Checks that the raw bytes contain nothing planted.
fn uploaded(profile: Profile, keep_projects: bool) -> Vec<(&'static str, Vec<String>)> {
    let folder = tempfile::tempdir().unwrap();
    let layout = planted_lake(&folder.path().join("lake"));
    let target = folder.path().join("target");
    let url = format!("file://{}", target.display());
    let choice = Choice { profile, keep_projects };
    let options = Options {
        lake: layout.root().to_owned(),
        url,
        storage: crate::remote::Options::default(),
        profile: choice,
        dry_run: false,
        full: false,
        replace: false,
    };
    run(&options, &Silent).unwrap();
    assert!(files(&layout.state()).iter().all(|path| !path.starts_with(layout.outgoing())), "something is left");
    let manifest = std::fs::read(target.join(MachineManifest::key("m"))).unwrap();
    let manifest = format!("{:?}", MachineManifest::decode(&manifest, "m").unwrap());
    for path in files(&target) {
        let bytes = std::fs::read(&path).unwrap();
        for (_, part) in planted().iter().filter(|_| profile != Profile::Full) {
            assert!(!contains(&bytes, part), "{part} in {}", path.display());
            assert!(!contains(path.to_string_lossy().as_bytes(), part));
            assert!(!contains(manifest.as_bytes(), part), "{part} in the manifest");
        }
    }
    let of_table = |table: &'static TableDef| {
        let paths = files(&target.join(table.name));
        (table.name, paths.iter().flat_map(|path| values(path, table)).collect())
    };
    LAKE_TABLES.into_iter().map(of_table).collect()
}

#[test]
fn nothing_planted_leaves() {
    for (profile, keep_projects) in [(Profile::Redacted, false), (Profile::Metrics, false), (Profile::Metrics, true)] {
        for (table, values) in uploaded(profile, keep_projects) {
            assert_eq!(
                values.len(),
                LAKE_TABLES.iter().find(|one| one.name == table).unwrap().columns.len() * planted().len()
            );
            for (text, part) in planted() {
                let leak = values.iter().find(|value| contains(value.as_bytes(), &part));
                assert_eq!(leak, None, "{profile:?}: of `{text}` in {table}");
            }
        }
    }
}

#[test]
fn everything_leaves_in_full() {
    for (table, values) in uploaded(Profile::Full, false) {
        for (text, _) in planted() {
            assert!(values.iter().any(|value| value.contains(&text)), "{text} is not in {table}");
        }
    }
}

#[test]
fn metrics_have_no_texts_and_can_be_joined() {
    let folder = tempfile::tempdir().unwrap();
    let layout = planted_lake(&folder.path().join("lake"));
    let manifest = Manifest::load(&layout).unwrap().unwrap();
    let choice = Choice { profile: Profile::Metrics, keep_projects: false };
    let rewriter = super::Rewriter::new(choice, &manifest);
    let name = manifest.parts.keys().next().unwrap();
    let users = rewriter.users(&layout, &manifest, name).unwrap();
    assert!(["trillian", "zaphod", "marvin", "ford"].iter().all(|name| users.contains(*name)), "{users:?}");
    let mut sessions = Vec::new();
    for table in LAKE_TABLES {
        let path = layout.root().join(Layout::part(table, "m", name));
        let to = folder.path().join(table.name);
        rewriter.rewrite(std::fs::File::open(&path).unwrap(), &path, table, &users, &to).unwrap();
        let batch = part::read(&to, table).unwrap().next().unwrap().unwrap();
        for column in ["text", "text_sketch", "thinking", "input", "output", "command", "title", "summary"] {
            let column = batch.column_by_name(column);
            assert!(column.is_none_or(|column| column.null_count() == batch.num_rows()), "{}", table.name);
        }
        for column in
            ["cwd", "file_path", "project", "project_path", "source_path", "git_repo", "git_branch", "input_key"]
        {
            let Some(column) = batch.column_by_name(column) else { continue };
            let values: Vec<_> = column.as_any().downcast_ref::<StringArray>().unwrap().iter().flatten().collect();
            assert_eq!(values.len(), planted().len());
            assert!(values.iter().all(|value| value.len() == 16 && value.bytes().all(|byte| byte.is_ascii_hexdigit())));
        }
        let ids = batch.column_by_name("session_id").unwrap().as_any().downcast_ref::<StringArray>().unwrap();
        sessions.push(ids.iter().map(|id| id.unwrap().to_owned()).collect::<Vec<_>>());
    }
    assert!(sessions.windows(2).all(|pair| pair[0] == pair[1]), "equal ids are not equal any more");
}
