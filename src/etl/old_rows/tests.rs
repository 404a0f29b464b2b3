use arrow::array::Int64Array;
use proptest::prelude::*;

use super::*;
use crate::lake::fs;
use crate::lake::manifest::SessionEntry;
use crate::lake::syncer::Syncer;
use crate::tables::{MESSAGES, MessageRow, Messages, PerRecordTable, ToolCallRow, ToolCalls, Usage, UsageRow};

const MACHINE: &str = "bench";

/// Sessions have numbers, which give the order of their rows. A row holds how often its session was written.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Session {
    number: u32,
    rows: PerRecordTable<u64>,
    version: i64,
}

impl Session {
    fn id(&self) -> String {
        format!("{:04}", self.number)
    }

    fn entry(&self) -> SessionEntry {
        SessionEntry { id: self.id().into(), rows: self.rows, ..SessionEntry::default() }
    }

    fn write(&self, writer: &mut PartWriter<'_>) {
        let (session_id, turn) = (&*self.id(), Some(self.version));
        let (mut messages, mut calls, mut usage) = (Messages::default(), ToolCalls::default(), Usage::default());
        let [of_messages, of_calls, of_usage] = self.rows.map(|rows| i64::try_from(rows).unwrap());
        for seq in 0..of_messages {
            messages.push(MessageRow { session_id, seq, turn, ..MessageRow::default() });
        }
        for seq in 0..of_calls {
            calls.push(ToolCallRow { session_id, seq, turn, ..ToolCallRow::default() });
        }
        for seq in 0..of_usage {
            usage.push(UsageRow { session_id, turn, input_tokens: Some(seq), ..UsageRow::default() });
        }
        writer.write(1, &messages.finish().unwrap()).unwrap();
        writer.write(2, &calls.finish().unwrap()).unwrap();
        writer.write(3, &usage.finish().unwrap()).unwrap();
    }
}

struct Bench {
    _folder: tempfile::TempDir,
    layout: Layout,
    syncer: Syncer,
    written: u32,
}

type Part = (PartName, PartEntry);

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path());
        fs::make_folder(&layout.staging()).unwrap();
        Self { _folder: folder, layout, syncer: Syncer::start(), written: 0 }
    }

    /// Writes a part. The rows of sessions that have a place in other parts are copied.
    fn part(&mut self, from: &[&Part], sessions: &[(Option<Place>, Session)]) -> Part {
        self.written += 1;
        let name = self.written.to_string();
        let parts: Vec<_> = from.iter().map(|(name, entry)| (name, entry)).collect();
        let order: Vec<_> = sessions.iter().map(|(place, _)| *place).collect();
        let mut rows = OldRows::open_with(&self.layout, MACHINE, &parts, &order, 0).unwrap();
        let mut writer = PartWriter::new(&self.layout.staging(), &name, &self.syncer);
        for (place, session) in sessions {
            match place {
                Some(place) => rows.copy(*place, &mut writer).unwrap(),
                None => session.write(&mut writer),
            }
        }
        let name = PartName { agent: "a".into(), month: "2026-01".into(), name };
        let sessions = sessions.iter().map(|(_, session)| session.entry()).collect();
        let mut entry = PartEntry { sessions, ..PartEntry::default() };
        for ((table, staged), slot) in LAKE_TABLES.iter().zip(writer.finish().unwrap()).zip(&mut entry.files) {
            let path = self.layout.root().join(Layout::part(table, MACHINE, &name));
            if let Some(staged) = staged {
                fs::make_folder(path.parent().unwrap()).unwrap();
                fs::rename(&staged.path, &path).unwrap();
                *slot = Some(staged.entry);
            }
        }
        (name, entry)
    }

    fn new_part(&mut self, sessions: &[Session]) -> Part {
        let sessions: Vec<_> = sessions.iter().map(|session| (None, session.clone())).collect();
        self.part(&[], &sessions)
    }

    fn path(&self, part: &Part, table: &TableDef) -> std::path::PathBuf {
        self.layout.root().join(Layout::part(table, MACHINE, &part.0))
    }

    fn groups(&self, part: &Part, table: &TableDef) -> Vec<i64> {
        let path = self.path(part, table);
        if !path.exists() {
            return Vec::new();
        }
        StoredFile::open(&path)
            .unwrap()
            .groups()
            .iter()
            .map(parquet::file::metadata::RowGroupMetaData::num_rows)
            .collect()
    }

    /// Returns the rows of a part by table: session and version of each, and the number of its session's rows before
    /// it.
    fn rows(&self, part: &Part) -> [Vec<(String, i64, i64)>; 3] {
        let number = |batch: &RecordBatch, column: &str, row: usize| {
            let column = batch.column_by_name(column).unwrap();
            column.as_any().downcast_ref::<Int64Array>().unwrap().value(row)
        };
        [(1, "seq"), (2, "seq"), (3, "input_tokens")].map(|(place, seq)| {
            let table = LAKE_TABLES[place];
            if part.1.files[place].is_none() {
                return Vec::new();
            }
            let batches = part::read(&self.path(part, table), table).unwrap().map(Result::unwrap);
            let rows = batches.flat_map(|batch| {
                let id = |row| batch.column(0).as_string::<i32>().value(row).to_owned();
                (0..batch.num_rows())
                    .map(|row| (id(row), number(&batch, "turn", row), number(&batch, seq, row)))
                    .collect::<Vec<_>>()
            });
            rows.collect()
        })
    }
}

fn wanted(sessions: &[Session]) -> [Vec<(String, i64, i64)>; 3] {
    [0, 1, 2].map(|table| {
        let rows = |session: &Session| {
            let (id, version) = (session.id(), session.version);
            (0..i64::try_from(session.rows[table]).unwrap())
                .map(move |seq| (id.clone(), version, seq))
                .collect::<Vec<_>>()
        };
        sessions.iter().flat_map(rows).collect()
    })
}

fn session(number: u32, rows: u64) -> Session {
    Session { number, rows: [rows, rows, 0], version: 1 }
}

#[test]
fn row_groups_without_a_change_are_copied_as_they_stand() {
    let mut bench = Bench::new();
    let parts: Vec<Part> = (0..3).map(|at| bench.new_part(&[session(2 * at, 40), session(2 * at + 1, 50)])).collect();
    let at = |part, place| Some(Place { part, session: place });
    let sessions = [at(0, 0), at(0, 1), at(1, 0), at(1, 1), at(2, 0), at(2, 1)];
    let sessions = sessions.into_iter().zip((0..6).map(|at| session(at, if at % 2 == 0 { 40 } else { 50 })));
    let mut sessions: Vec<_> = sessions.collect();
    let joined = bench.part(&parts.iter().collect::<Vec<_>>(), &sessions);
    assert_eq!(bench.groups(&joined, &MESSAGES), [90, 90, 90]);

    for (place, (old, _)) in sessions.iter_mut().enumerate() {
        *old = at(0, place);
    }
    sessions[2] = (None, Session { version: 2, ..session(2, 44) });
    let changed = bench.part(&[&joined], &sessions);
    assert_eq!(bench.groups(&changed, &MESSAGES), [90, 94, 90]);
    let sessions: Vec<_> = sessions.into_iter().map(|(_, session)| session).collect();
    assert_eq!(bench.rows(&changed), wanted(&sessions));

    // The chunks are the same bytes at another position.
    let chunk = |part: &Part| {
        let file = StoredFile::open(&bench.path(part, &MESSAGES)).unwrap();
        let (from, length) = file.groups()[2].column(0).byte_range();
        let bytes = fs::read(&bench.path(part, &MESSAGES)).unwrap().unwrap();
        bytes[index(from)..index(from + length)].to_vec()
    };
    assert_eq!(chunk(&joined), chunk(&changed));
}

#[test]
fn small_row_groups_are_written_as_one() {
    let mut bench = Bench::new();
    let parts = [bench.new_part(&[session(1, 4)]), bench.new_part(&[session(2, 4)])];
    let places = [(0, 0), (1, 0)].map(|(part, session)| Some(Place { part, session }));
    let parts = parts.each_ref().map(|(name, entry)| (name, entry));
    let mut rows = OldRows::open(&bench.layout, MACHINE, &parts, &places).unwrap();
    let mut writer = PartWriter::new(&bench.layout.staging(), "joined", &bench.syncer);
    for place in places.into_iter().flatten() {
        rows.copy(place, &mut writer).unwrap();
    }
    let [_, messages, ..] = writer.finish().unwrap();
    let file = StoredFile::open(&messages.unwrap().path).unwrap();
    assert_eq!(file.groups().len(), 1);
    assert_eq!(file.groups()[0].num_rows(), 8);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "damage is written as it happens")]
fn a_damaged_row_group_is_not_copied() {
    let mut bench = Bench::new();
    let part = bench.new_part(&[session(1, 40)]);
    let path = bench.path(&part, &MESSAGES);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[20] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let opened =
        OldRows::open_with(&bench.layout, MACHINE, &[(&part.0, &part.1)], &[Some(Place { part: 0, session: 0 })], 0);
    let error = opened.err().unwrap().to_string();
    assert!(error.contains(&*path.to_string_lossy()) && error.contains("not what was written"), "{error}");
}

#[test]
fn rows_of_other_sessions_are_not_taken() {
    let mut bench = Bench::new();
    let mut part = bench.new_part(&[session(1, 4), session(2, 4)]);
    part.1.sessions.swap(0, 1);
    let order = [Some(Place { part: 0, session: 0 })];
    let mut rows = OldRows::open(&bench.layout, MACHINE, &[(&part.0, &part.1)], &order).unwrap();
    let mut writer = PartWriter::new(&bench.layout.staging(), "x", &bench.syncer);
    assert!(rows.copy(Place { part: 0, session: 0 }, &mut writer).is_err());

    part.1.sessions[0].rows[0] += 1;
    assert!(OldRows::open(&bench.layout, MACHINE, &[(&part.0, &part.1)], &order).is_err());
}

fn sessions() -> impl Strategy<Value = Vec<Session>> {
    let rows = prop_oneof![Just(0_u64), 1..4_u64, 30..1200_u64];
    let rows = [rows.clone(), rows.clone(), rows];
    proptest::collection::vec(rows, 1..12).prop_map(|all| {
        let number = |(number, rows)| Session { number: u32::try_from(number).unwrap(), rows, version: 1 };
        all.into_iter().enumerate().map(number).collect()
    })
}

/// The fate of a session.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Stays,
    Goes,
    Grows,
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    proptest::collection::vec(prop_oneof![6 => Just(Fate::Stays), 1 => Just(Fate::Goes), 1 => Just(Fate::Grows)], 12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// However sessions are distributed, rebuilt, changed and removed, the rows are those of the sessions.
    #[test]
    fn rows_are_those_of_the_sessions(
        sessions in sessions(),
        deal in proptest::collection::vec(0_usize..3, 12),
        fates in proptest::collection::vec(fates(), 1..4),
    ) {
        let mut bench = Bench::new();
        let mut dealt: [Vec<Session>; 3] = Default::default();
        let mut pieces = Vec::new();
        for (session, part) in sessions.iter().zip(deal) {
            pieces.push((Some(Place { part, session: dealt[part].len() }), session.clone()));
            dealt[part].push(session.clone());
        }
        let parts: Vec<Part> = dealt.iter().map(|sessions| bench.new_part(sessions)).collect();
        let mut part = bench.part(&parts.iter().collect::<Vec<_>>(), &pieces);
        let mut sessions = sessions;
        prop_assert_eq!(bench.rows(&part), wanted(&sessions));
        for (round, fates) in fates.into_iter().enumerate() {
            let mut pieces = Vec::new();
            for ((session, old), fate) in sessions.iter().enumerate().zip(fates) {
                let stays = (Some(Place { part: 0, session }), old.clone());
                let grown = Session {
                    rows: old.rows.map(|rows| rows + 1),
                    version: i64::try_from(round).unwrap() + 2,
                    ..old.clone()
                };
                match fate {
                    Fate::Stays => pieces.push(stays),
                    Fate::Goes => {}
                    Fate::Grows => pieces.push((None, grown)),
                }
            }
            part = bench.part(&[&part], &pieces);
            sessions = pieces.into_iter().map(|(_, session)| session).collect();
            prop_assert_eq!(bench.rows(&part), wanted(&sessions));
        }
    }
}
