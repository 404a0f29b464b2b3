use std::path::PathBuf;
use std::sync::atomic::AtomicU64;

use super::*;

/// Creates a database with a script.
struct Made {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl Made {
    fn of(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("made.db");
        Connection::open(&path).unwrap().execute_batch(script).unwrap();
        Self { _folder: folder, path }
    }

    fn open(&self) -> Database {
        LeftOut::take();
        Database::open(&self.path).unwrap()
    }
}

fn texts(database: &Database, query: &str) -> Result<Vec<String>, String> {
    let mut statement = database.prepare(query).map_err(|error| format!("{error:?}"))?;
    statement.texts([]).map_err(|error| error.to_string())
}

#[test]
fn only_what_is_stored_in_tables_is_read() {
    let made = Made::of(
        "CREATE TABLE talks (id TEXT, title TEXT, long TEXT AS (printf('%.*c', 180000000, 'x')));
         INSERT INTO talks VALUES ('a', 'A');
         CREATE VIEW endless AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT id FROM n;
         CREATE VIEW alike AS SELECT id FROM talks;
         CREATE VIRTUAL TABLE found USING fts5(id);",
    );
    let database = made.open();
    assert_eq!(database.columns("TALKS").unwrap(), ["id", "title"]);
    assert_eq!(texts(&database, "SELECT title FROM talks"), Ok(vec!["A".to_owned()]));
    for name in ["endless", "alike", "found"] {
        assert!(database.columns(name).unwrap().is_empty(), "{name}");
        assert!(database.select(name, &["id"], "").unwrap().is_none(), "{name}");
        assert!(texts(&database, &format!("SELECT id FROM {name}")).is_err(), "{name}");
    }
    for query in ["SELECT long FROM talks", "SELECT * FROM talks", "DELETE FROM talks", "ATTACH '' AS other"] {
        assert!(texts(&database, query).is_err(), "{query}");
    }
    let mut rows = database.select("talks", &["id", "long"], "").unwrap().unwrap();
    let row = rows.query_row([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, Option<String>>(1)?))).unwrap();
    assert_eq!(row, ("a".to_owned(), None));
    let names: Vec<String> = LeftOut::take().names.into_iter().collect();
    assert_eq!(names, ["alike", "endless", "found", "talks.long"]);
}

/// Even preparing a query of the last of them takes forever.
#[test]
fn views_of_views_are_not_looked_into() {
    let next = |number: usize| {
        let last = number - 1;
        format!("CREATE VIEW v{number} AS SELECT a.id FROM v{last} AS a, v{last} AS b;")
    };
    let views: String = (1..40).map(next).collect();
    let database = Made::of(&format!("CREATE VIEW v0 AS SELECT 1 AS id; {views}")).open();
    assert!(database.columns("v39").unwrap().is_empty());
    assert!(texts(&database, "SELECT id FROM v39").is_err());
}

#[test]
fn a_row_that_is_too_large_costs_no_other() {
    let long = bounds::MAX_ROW + 1;
    let made = Made::of(&format!(
        "CREATE TABLE talks (id TEXT, title TEXT);
         INSERT INTO talks VALUES ('a', 'A'), ('b', CAST(zeroblob({long}) AS TEXT)), ('c', 'C');"
    ));
    let database = made.open();
    let mut statement = database.select("talks", &["id", "title"], "ORDER BY rowid").unwrap().unwrap();
    assert_eq!(statement.texts([]).unwrap(), ["a", "c"]);
    let left_out = LeftOut::take();
    assert_eq!(left_out.rows, 1);
    assert!(left_out.first.contains("`talks`"), "{}", left_out.first);
    assert!(texts(&database, "SELECT title FROM talks WHERE id = 'b'").is_err());
}

#[test]
fn a_query_that_takes_too_much_work_ends() {
    let made = Made::of(
        "CREATE TABLE numbers (n INTEGER);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) INSERT INTO numbers SELECT i FROM n;",
    );
    let spent = Arc::new(AtomicU64::new(u64::MAX / 2));
    let database = Database::open_with(&made.path, None, spent).unwrap();
    let product = "SELECT CAST(count(*) AS TEXT) FROM numbers AS a, numbers AS b WHERE a.n < b.n";
    assert!(texts(&database, product).unwrap_err().contains("more work"));
    assert_eq!(texts(&made.open(), product), Ok(vec!["1999000".to_owned()]));
}

/// Like a table whose pages are linked more than once.
#[test]
fn a_database_that_gives_more_than_it_can_hold_ends() {
    let rows = "INSERT INTO texts VALUES (hex(zeroblob(2000)));".repeat(40);
    let database = Made::of(&format!("CREATE TABLE texts (x TEXT); {rows}")).open();
    assert_eq!(texts(&database, "SELECT x FROM texts").unwrap().len(), 40);
    assert!(texts(&database, "SELECT a.x FROM texts AS a, texts AS b").unwrap_err().contains("more rows"));
}
