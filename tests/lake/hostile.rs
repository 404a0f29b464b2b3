//! Input that means no good, or merely is as broken as real files are: nothing hangs, nothing is lost beside what is
//! counted, nothing leaves the lake's folder, no secret gets into it, and the agents' files stay as they are.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use crate::corpus;
use crate::lake::{self, Bench, Transcript, skip, stderr, succeed};
use serde_json::{Value, json};

fn small(session: &str) -> Transcript {
    let mut transcript = Transcript::new(session, "2025-08-05T10:00:00Z");
    transcript.prompt("build the shop").call("Bash", &json!({"command": "make"}), "made").reply("Built.");
    transcript
}

/// Rows of messages that a small transcript gives.
fn messages_of(bench: &Bench, session: &str) -> u64 {
    bench.sql(&format!("SELECT count(*) FROM messages WHERE session_id = '{session}'"))[0].parse().unwrap()
}

#[test]
fn lines_that_are_too_deep_too_long_or_not_json() {
    let bench = Bench::new();
    let plain = small("plain");
    bench.transcript("plain.jsonl", plain.text());
    let with = |name: &str, bad: &[u8]| {
        let lines = small(name).lines;
        let (before, after) = lines.split_at(2);
        let mut content = (before.join("\n") + "\n").into_bytes();
        content.extend_from_slice(bad);
        content.extend_from_slice(b"\n");
        content.extend_from_slice((after.join("\n") + "\n").as_bytes());
        bench.transcript(&format!("{name}.jsonl"), content);
    };
    with("deep", format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)).as_bytes());
    with("open", "[".repeat(16 << 20).as_bytes());
    with("long", format!("{{\"type\":\"user\",\"text\":\"{}\"}}", "x".repeat(70 << 20)).as_bytes());
    with("invalid", b"{\"type\": \"user\", \xff\xfe");
    with("words", b"not json at all");
    let begun = Instant::now();
    let output = bench.etl().arg("--strict").output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(begun.elapsed() < Duration::from_secs(60));
    let again = bench.etl().arg("--strict").output().unwrap();
    assert_eq!(again.status.code(), Some(3), "still bad, though not read again: {}", stderr(&again));
    assert_eq!(bench.etl().output().unwrap().status.code(), Some(0));
    bench.verify();
    let whole = messages_of(&bench, "plain");
    let sources = bench.sources();
    assert_eq!(sources["plain.jsonl"]["state"], "ok");
    for name in ["deep", "open", "long", "invalid", "words"] {
        let source = &sources[&format!("{name}.jsonl")];
        assert_eq!(messages_of(&bench, name), whole, "{name}: good rows are lost");
        assert_eq!(
            (&source["state"], &source["bad_lines"], &source["first_bad_line"]),
            (&json!("partial"), &json!(1), &json!(3)),
            "{source}"
        );
        assert!(source["problem"].as_str().unwrap().contains("line 3"), "{source}");
    }
    let bad = succeed(&mut bench.llrem(&["sources", "--bad", "-f", "csv"]));
    assert_eq!(String::from_utf8(bad.stdout).unwrap().lines().count(), 6);
}

#[test]
fn bytes_that_are_odd_but_no_harm() {
    let bench = Bench::new();
    let text = |name: &str| small(name).text();
    bench.transcript("plain.jsonl", text("plain"));
    bench.transcript("crlf.jsonl", text("crlf").replace('\n', "\r\n"));
    bench.transcript("bom.jsonl", [b"\xef\xbb\xbf", text("bom").as_bytes()].concat());
    bench.transcript("nul.jsonl", [text("nul").as_bytes(), &[0; 4096]].concat());
    bench.transcript("empty.jsonl", "");
    bench.transcript("blank.jsonl", "\n\n\n");
    bench.transcript("unended.jsonl", text("unended").trim_end());
    bench.extract();
    bench.verify();
    let whole = messages_of(&bench, "plain");
    for name in ["crlf", "bom", "nul", "unended"] {
        assert_eq!(messages_of(&bench, name), whole, "{name}");
    }
    assert_eq!(bench.sources()["empty.jsonl"]["state"], "empty");
}

#[test]
fn numbers_out_of_range_cost_only_themselves() {
    let bench = Bench::new();
    for (name, tokens) in [("negative", "-1"), ("large", "9223372036854775808"), ("huge", "1e18"), ("endless", "1e999")]
    {
        let lines: Vec<String> = small(name).lines;
        let changed = |(place, line): (usize, String)| match place {
            1 => line.replace("\"output_tokens\":20", &format!("\"output_tokens\":{tokens}")),
            _ => line,
        };
        let lines: Vec<String> = lines.into_iter().enumerate().map(changed).collect();
        assert!(lines[1].contains(tokens));
        bench.transcript(&format!("{name}.jsonl"), lines.join("\n") + "\n");
    }
    bench.transcript("plain.jsonl", small("plain").text());
    bench.extract();
    bench.verify();
    let sources = bench.sources();
    for name in ["negative", "large", "huge", "endless"] {
        assert_eq!(messages_of(&bench, name), messages_of(&bench, "plain"), "{name}");
        let usage = "SELECT output_tokens, input_tokens, cache_read_tokens, source_line FROM usage";
        let usage = bench.sql(&format!("{usage} WHERE session_id = '{name}' ORDER BY source_line"));
        assert_eq!(usage, ["0,10,1000,2", "20,10,1000,4"], "{name}");
        let source = &sources[&format!("{name}.jsonl")];
        let state = (&source["state"], &source["bad_lines"], &source["first_bad_line"]);
        assert_eq!(state, (&json!("partial"), &json!(1), &json!(2)), "{source}");
        assert_eq!(source["problem"], "line 2: a number out of range, which is left out");
    }
    assert_eq!(sources["plain.jsonl"]["state"], "ok");
}

#[test]
fn costs_out_of_range_are_left_out() {
    let bench = Bench::new();
    for (name, cost) in [("negative", "-5"), ("huge", "1e308"), ("plain", "0.25")] {
        let mut lines: Vec<Value> = small(name).lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        let answers = lines.iter_mut().filter(|line| line["type"] == "assistant");
        answers.for_each(|line| line["costUSD"] = cost.parse::<f64>().unwrap().into());
        let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        bench.transcript(&format!("{name}.jsonl"), lines.join("\n") + "\n");
    }
    bench.transcript("unsaid.jsonl", small("unsaid").text());
    bench.extract();
    bench.verify();
    let costs = |session: &str| {
        bench.sql(&format!(
            "SELECT cost_source, cost_usd FROM usage WHERE session_id = '{session}' ORDER BY source_line"
        ))
    };
    assert_eq!(costs("plain"), ["recorded,0.25", "recorded,0.25"]);
    assert_eq!((costs("huge"), costs("negative")), (costs("unsaid"), costs("unsaid")));
    assert!(costs("unsaid").iter().all(|cost| cost.starts_with("computed,0.00")), "{:?}", costs("unsaid"));
    let sources = bench.sources();
    assert_eq!(sources["huge.jsonl"]["problem"], sources["negative.jsonl"]["problem"]);
    let states = ["huge", "negative", "plain"].map(|name| sources[&format!("{name}.jsonl")]["bad_lines"].clone());
    assert_eq!(states, [json!(2), json!(2), json!(0)], "{sources:?}");
}

#[test]
fn half_a_line_is_bad_once_it_stays() {
    let bench = Bench::new();
    let text = small("half").text();
    let path = bench.transcript("half.jsonl", &text.as_bytes()[..text.len() - 20]);
    let strict = || bench.etl().arg("--strict").output().unwrap();
    let first = strict();
    assert_eq!(first.status.code(), Some(0), "{}", stderr(&first));
    assert_eq!(bench.sources()["half.jsonl"]["bad_lines"], 1);
    assert_eq!(strict().status.code(), Some(0), "the agent may still be at work");
    let file = fs::File::options().append(true).open(&path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(3600)).unwrap();
    assert_eq!(strict().status.code(), Some(3));
    assert_eq!(strict().status.code(), Some(3));
    fs::write(&path, text).unwrap();
    assert_eq!(strict().status.code(), Some(0));
}

#[test]
fn an_agents_folder_may_lie_elsewhere() {
    let bench = Bench::new();
    let elsewhere = bench.path().join("disk/claude");
    let project = elsewhere.join("projects/-home-kim-shop");
    fs::create_dir_all(&project).unwrap();
    fs::write(project.join("a.jsonl"), small("a").text()).unwrap();
    symlink(&elsewhere, bench.home().join(".claude")).unwrap();
    let single = bench.path().join("disk/b.jsonl");
    fs::write(&single, small("b").text()).unwrap();
    symlink(&single, project.join("b.jsonl")).unwrap();
    let foreign = bench.path().join("disk/c.jsonl");
    fs::write(&foreign, small("c").text()).unwrap();
    symlink(&foreign, project.join("c.jsonl")).unwrap();
    let is_foreign =
        rustix::process::geteuid().is_root() && std::os::unix::fs::chown(&foreign, Some(65534), None).is_ok();
    bench.extract();
    bench.verify();
    assert!(messages_of(&bench, "a") > 0 && messages_of(&bench, "b") > 0);
    if is_foreign {
        assert_eq!(messages_of(&bench, "c"), 0);
        let source = &bench.sources()["c.jsonl"];
        assert_eq!(source["state"], "unreadable");
        assert!(source["problem"].as_str().unwrap().contains("a link leads out of the home"), "{source}");
    } else {
        skip("only root can give a file to another user");
    }
}

#[test]
fn settings_in_a_pipe_are_refused() {
    let bench = Bench::new();
    bench.transcript("plain.jsonl", small("plain").text());
    bench.extract();
    let pipe = bench.path().join("pipe");
    if !Command::new("mkfifo").arg(&pipe).status().is_ok_and(|status| status.success()) {
        return skip("mkfifo makes no pipe");
    }
    let config = bench.path().join("config.toml");
    fs::write(&config, format!("prices = '{}'", pipe.display())).unwrap();
    for (config, arguments) in
        [(&pipe, ["sql", "SELECT 1"]), (&config, ["sql", "SELECT count(*) FROM prices"]), (&config, ["etl", "-q"])]
    {
        let output = bench.llrem(&arguments).arg("--config").arg(config).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(stderr(&output).contains("not a regular file"), "{}", stderr(&output));
    }
    succeed(bench.llrem(&["sql", "SELECT 1"]).arg("--config").arg("/dev/null"));
}

#[test]
fn things_that_are_no_regular_files() {
    let bench = Bench::new();
    bench.transcript("plain.jsonl", small("plain").text());
    let project = bench.project();
    fs::create_dir(project.join("folder.jsonl")).unwrap();
    symlink(&project, project.join("loop")).unwrap();
    symlink("circle.jsonl", project.join("circle.jsonl")).unwrap();
    symlink("/nowhere/at/all", project.join("dangling.jsonl")).unwrap();
    symlink("/dev/zero", project.join("endless.jsonl")).unwrap();
    let odd = project.join(OsStr::from_bytes(b"odd-\xff\xfe.jsonl"));
    fs::write(&odd, small("odd").text()).unwrap();
    let has_fifo = Command::new("mkfifo").arg(project.join("pipe.jsonl")).status().is_ok_and(|status| status.success());
    let secret = project.join("closed.jsonl");
    fs::write(&secret, small("closed").text()).unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0)).unwrap();
    let begun = Instant::now();
    let unprivileged = without_privileges(&bench.etl());
    let may_read_all = unprivileged.is_none();
    let mut run = unprivileged.unwrap_or_else(|| bench.etl()).spawn().unwrap();
    while run.try_wait().unwrap().is_none() {
        if begun.elapsed() > Duration::from_secs(20) {
            run.kill().unwrap();
            panic!("the run hangs");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(run.wait().unwrap().success());
    bench.verify();
    assert!(messages_of(&bench, "plain") > 0);
    let sources = bench.sources();
    if has_fifo {
        assert_eq!(sources.get("pipe.jsonl").map_or(&json!("unreadable"), |source| &source["state"]), "unreadable");
    } else {
        skip("mkfifo is missing");
    }
    for name in ["circle.jsonl", "dangling.jsonl", "endless.jsonl"] {
        assert_eq!(sources.get(name).map_or(&json!("unreadable"), |source| &source["state"]), "unreadable", "{name}");
    }
    if !may_read_all {
        assert_eq!(sources["closed.jsonl"]["state"], "unreadable");
    }
}

/// The command without root's right to read whatever it wants; none where that cannot be given up.
fn without_privileges(command: &Command) -> Option<Command> {
    let rights = "-dac_override,-dac_read_search";
    let given_up = ["--bounding-set", rights, "--inh-caps", rights];
    let mut plain = if !rustix::process::geteuid().is_root() {
        Command::new("env")
    } else if Command::new("setpriv").args(given_up).arg("true").status().is_ok_and(|status| status.success()) {
        let mut plain = Command::new("setpriv");
        plain.args(given_up);
        plain
    } else {
        skip("root reads all, and setpriv does not take that right away");
        return None;
    };
    plain.arg(command.get_program()).args(command.get_args()).env_clear();
    plain.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    plain.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    Some(plain)
}

#[test]
fn what_could_not_be_read_is_read_once_it_can_be() {
    let bench = Bench::new();
    let closed = bench.transcript("closed.jsonl", small("closed").text());
    fs::set_permissions(&closed, fs::Permissions::from_mode(0)).unwrap();
    let Some(mut etl) = without_privileges(&bench.etl()) else { return };
    succeed(&mut etl);
    assert_eq!(bench.sources()["closed.jsonl"]["state"], "unreadable");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o600)).unwrap();
    succeed(&mut without_privileges(&bench.etl()).unwrap());
    assert_eq!(bench.sources()["closed.jsonl"]["state"], "ok");
    assert!(messages_of(&bench, "closed") > 0);

    // A folder that cannot be listed is told, and what is known of it is not gone.
    let other = bench.home().join(".claude/projects/-home-kim-garden");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("in.jsonl"), small("in").text()).unwrap();
    succeed(&mut without_privileges(&bench.etl()).unwrap());
    fs::set_permissions(&other, fs::Permissions::from_mode(0)).unwrap();
    let output = without_privileges(bench.etl().arg("--strict")).unwrap().output().unwrap();
    let sources = bench.sources();
    fs::set_permissions(&other, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert_eq!(sources["-home-kim-garden"]["state"], "unreadable");
    assert_eq!(sources["in.jsonl"]["state"], "ok");
    succeed(&mut without_privileges(&bench.etl()).unwrap());
    let sources = bench.sources();
    assert_eq!((&sources["-home-kim-garden"]["state"], &sources["in.jsonl"]["state"]), (&json!("gone"), &json!("ok")));
    bench.verify();
}

#[test]
fn a_folder_that_others_fill_is_left_alone() {
    let bench = Bench::new();
    bench.transcript("a.jsonl", small("a").text());
    bench.extract();
    let team = bench.path().join("team");
    let url = format!("file://{}", team.display());
    succeed(&mut bench.llrem(&["upload", &url]));
    let before = lake::data_bytes(&team);
    for place in [team.display().to_string(), url] {
        let output = lake::etl(&bench.home(), Path::new(&place)).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{place}: {}", stderr(&output));
    }
    assert_eq!(lake::data_bytes(&team), before);

    // Tables of which no manifest tells: a new one would count their rows twice.
    fs::remove_file(bench.lake().join("_llrem/manifest")).unwrap();
    let output = bench.etl().output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("no manifest"), "{}", stderr(&output));
}

/// Content and time of each file below a folder.
fn snapshot(folder: &Path) -> BTreeMap<PathBuf, (blake3::Hash, SystemTime)> {
    let files = lake::files(folder).into_iter();
    files
        .map(|path| {
            (path.clone(), (blake3::hash(&fs::read(&path).unwrap()), fs::metadata(&path).unwrap().modified().unwrap()))
        })
        .collect()
}

fn store(path: &Path) -> rusqlite::Connection {
    let store = rusqlite::Connection::open(path).unwrap();
    store
        .execute_batch(
            "CREATE TABLE base_messages (uuid TEXT PRIMARY KEY, parent_uuid TEXT, session_id TEXT, timestamp INTEGER,
                 message_type TEXT, cwd TEXT, user_type TEXT, version TEXT, isSidechain INTEGER);
             CREATE TABLE user_messages (uuid TEXT PRIMARY KEY, message TEXT, tool_use_result TEXT, timestamp INTEGER);
             CREATE TABLE assistant_messages (uuid TEXT PRIMARY KEY, cost_usd REAL, duration_ms INTEGER, message TEXT,
                 is_api_error_message INTEGER, timestamp INTEGER, model TEXT);",
        )
        .unwrap();
    store
}

/// A home with an empty database, its path, and the agent's own connection to it.
fn with_store() -> (Bench, PathBuf, rusqlite::Connection) {
    let bench = Bench::new();
    bench.project();
    let path = bench.home().join(".claude/__store.db");
    let writer = store(&path);
    (bench, path, writer)
}

fn add_prompt(store: &rusqlite::Connection, number: i64) {
    let (uuid, moment) = (format!("stored-{number}"), 1_745_000_000_000 + number * 1000);
    store
        .execute(
            "INSERT INTO base_messages VALUES (?1, NULL, 'stored', ?2, 'user', '/home/kim/shop', 'external', '0.2.90', 0)",
            (&uuid, moment),
        )
        .unwrap();
    let message = json!({"role": "user", "content": format!("prompt {number}")}).to_string();
    store.execute("INSERT INTO user_messages VALUES (?1, ?2, NULL, ?3)", (&uuid, message, moment)).unwrap();
}

#[test]
fn a_database_in_use_is_read_whole_and_left_alone() {
    let (bench, path, writer) = with_store();
    add_prompt(&writer, 0);
    writer.execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;").unwrap();
    (1..=100).for_each(|number| add_prompt(&writer, number));
    assert!(path.with_file_name("__store.db-wal").metadata().unwrap().len() > 0);
    let before = snapshot(&bench.home());
    bench.extract();
    assert!(snapshot(&bench.home()) == before, "the agent's folder has changed");
    bench.verify();
    assert_eq!(messages_of(&bench, "stored"), 101);
    (101..=110).for_each(|number| add_prompt(&writer, number));
    bench.extract();
    assert_eq!(messages_of(&bench, "stored"), 111);
}

/// Each transaction writes all rows anew: what is read has to be one of the states that were ever there.
#[test]
fn a_database_that_is_written_to_all_the_time_is_read_as_it_was_at_one_moment() {
    for mode in ["DELETE", "TRUNCATE", "PERSIST", "WAL"] {
        let (bench, _, mut writer) = with_store();
        writer.execute_batch(&format!("PRAGMA journal_mode = {mode}; PRAGMA synchronous = OFF;")).unwrap();
        let filling = writer.transaction().unwrap();
        (0..400).for_each(|number| add_prompt(&filling, number));
        filling.commit().unwrap();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (writer, is_over) = (writer, &is_over);
            scope.spawn(move || {
                for version in 0.. {
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    let text = json!({"role": "user", "content": format!("{version} {}", "x".repeat(version % 300))});
                    writer.execute("UPDATE user_messages SET message = ?1", [text.to_string()]).unwrap();
                    std::thread::sleep(Duration::from_millis(3));
                }
            });
            for _ in 0..6 {
                let _ = fs::remove_dir_all(bench.lake());
                let run = bench.etl().output().unwrap();
                let texts = "select count(*) as n, count(distinct text) as texts from messages";
                let counts = bench.llrem(&["sql", "-f", "csv", texts]).output().unwrap();
                let source = bench.sources()["__store.db"].clone();
                is_over.fetch_or(!run.status.success(), Ordering::Relaxed);
                let counts = String::from_utf8(counts.stdout).unwrap();
                if counts != "n,texts\n400,1\n" || source["state"] != "ok" {
                    is_over.store(true, Ordering::Relaxed);
                    panic!("{mode}: {counts} {source}");
                }
            }
            is_over.store(true, Ordering::Relaxed);
        });
    }
}

#[test]
fn a_transaction_that_is_not_over_hides_nothing() {
    let (bench, path, writer) = with_store();
    (0..50).for_each(|number| add_prompt(&writer, number));
    // With so small a cache, pages are written before the transaction is over.
    writer.execute_batch("PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN; DELETE FROM user_messages;").unwrap();
    (1000..3000).for_each(|number| add_prompt(&writer, number));
    assert!(path.with_file_name("__store.db-journal").metadata().unwrap().len() > 512);
    let before = snapshot(&bench.home());
    bench.extract();
    assert!(snapshot(&bench.home()) == before, "the agent's folder has changed");
    assert_eq!(messages_of(&bench, "stored"), 50);
    assert_eq!(bench.sources()["__store.db"]["state"], "ok");
    writer.execute_batch("COMMIT").unwrap();
}

#[test]
fn a_broken_database_is_counted() {
    let bench = Bench::new();
    bench.transcript("plain.jsonl", small("plain").text());
    let whole = bench.path().join("whole.db");
    let writer = store(&whole);
    (0..500).for_each(|number| add_prompt(&writer, number));
    drop(writer);
    let content = fs::read(&whole).unwrap();
    let path = bench.home().join(".claude/__store.db");
    let mut scrambled = content.clone();
    scrambled[4096..].iter_mut().step_by(7).for_each(|byte| *byte ^= 0xA5);
    for (name, damaged) in
        [("cut", &content[..content.len() / 2]), ("scrambled", &scrambled), ("text", b"not a database"), ("empty", b"")]
    {
        fs::write(&path, damaged).unwrap();
        let before = snapshot(&bench.home());
        bench.extract();
        bench.verify();
        assert!(snapshot(&bench.home()) == before, "{name}: the agent's folder has changed");
        let source = &bench.sources()["__store.db"];
        let states: &[&str] = if name == "empty" { &["unreadable", "empty"] } else { &["unreadable", "partial"] };
        assert!(states.contains(&source["state"].as_str().unwrap()), "{name}: {source}");
        assert!(name == "empty" || source["problem"].is_string(), "{name}: {source}");
        assert!(messages_of(&bench, "plain") > 0);
    }
}

#[test]
fn names_that_want_to_leave_the_lake() {
    let bench = Bench::new();
    let long = "x".repeat(300);
    let names = [
        "../../../../tmp/llrem-escaped",
        "/llrem-escaped",
        "a/b",
        "CON",
        "a\nb",
        "%2e%2e/x",
        "agent=evil/month=1999-01",
        "x'; DROP TABLE",
        &long,
        "\u{202e}x.parquet",
    ];
    for (number, name) in names.into_iter().enumerate() {
        let mut transcript = Transcript::new(name, "2025-08-05T10:00:00Z").in_folder(name);
        transcript.prompt("build").reply("Built.");
        bench.transcript(&format!("evil-{number}.jsonl"), transcript.text());
    }
    let history: String = names.into_iter().map(|name| {
        json!({"display": "typed", "timestamp": 1_754_388_000_000_i64, "project": name, "sessionId": format!("h{name}")}).to_string() + "\n"
    }).collect();
    fs::write(bench.home().join(".claude/history.jsonl"), history).unwrap();
    succeed(bench.etl().env("LLREM_MACHINE", "../../evil\nmachine"));
    succeed(&mut bench.llrem(&["verify", "--read-data"]));
    let mut here: Vec<_> = fs::read_dir(bench.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    here.sort();
    assert_eq!(here, ["home", "lake"]);
    let shape = regex::Regex::new(
        r"^(sessions|messages|tool_calls|usage)/machine=[\w.-]+/agent=claude-code/month=(\d{4}-\d\d|unknown)/[\w-]+\.parquet$|^_llrem/[\w./-]+$",
    )
    .unwrap();
    for path in lake::files(&bench.lake()) {
        let path = path.strip_prefix(bench.lake()).unwrap().to_str().unwrap();
        assert!(shape.is_match(path) && path.split('/').all(|part| part != ".."), "{path}");
    }
    assert!(!Path::new("/tmp/llrem-escaped").exists() && !Path::new("/llrem-escaped").exists());
}

#[test]
fn the_lake_is_the_owners_alone_and_the_agents_files_are_as_they_were() {
    let bench = Bench::new();
    bench.transcript("plain.jsonl", small("plain").text());
    corpus::generate(&bench.home(), &corpus::Params { bytes: 1_000_000, ..corpus::Params::default() }).unwrap();
    let before = snapshot(&bench.home());
    let run = bench.etl();
    let mut shell = Command::new("sh");
    shell.args(["-c", "umask 000; exec \"$@\"", "sh"]).arg(run.get_program()).args(run.get_args());
    shell.env_clear().envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
    succeed(&mut shell);
    for entry in walkdir::WalkDir::new(bench.lake()) {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, if entry.file_type().is_dir() { 0o700 } else { 0o600 }, "{}", entry.path().display());
    }
    assert!(snapshot(&bench.home()) == before, "the agents' files have changed");
    bench.verify();
}

#[test]
fn no_socket_is_opened() {
    let bench = Bench::new();
    bench.transcript("plain.jsonl", small("plain").text());
    let run = bench.etl();
    let trace = bench.path().join("trace");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-e", "trace=socket,connect", "-o"]).arg(&trace).arg(run.get_program()).args(run.get_args());
    strace
        .env_clear()
        .envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .env("PATH", "/usr/bin:/bin");
    match strace.output() {
        Ok(output) if output.status.success() => {
            let calls = fs::read_to_string(&trace).unwrap();
            assert!(!calls.contains("socket("), "{calls}");
        }
        _ => skip("strace is not here, or may not trace"),
    }
}

#[test]
fn without_content_no_text_is_kept() {
    let bench = Bench::new();
    let word = "aardvarkishly";
    let mut transcript = Transcript::new("worded", "2025-08-05T10:00:00Z");
    transcript.prompt(word).call("Bash", &json!({"command": word, "description": word}), word).reply(word);
    transcript.lines.push(json!({"type": "summary", "summary": word, "leafUuid": "worded-0003"}).to_string());
    bench.transcript("worded.jsonl", transcript.text());
    let typed = json!({"display": word, "timestamp": 1_754_388_000_000_i64, "project": "/p", "sessionId": "typed"});
    fs::write(bench.home().join(".claude/history.jsonl"), format!("{typed}\n")).unwrap();
    succeed(bench.etl().args(["--content", "none"]));
    bench.verify();
    assert!(messages_of(&bench, "worded") > 0);
    assert_eq!(found_in(&bench, &[word.to_owned()]), Vec::<String>::new());
}

/// Returns the places in the lake, raw or decoded, where any of the texts occurs.
fn found_in(bench: &Bench, texts: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let mut look = |place: String, bytes: &[u8]| {
        for text in texts.iter().filter(|text| memchr::memmem::find(bytes, text.as_bytes()).is_some()) {
            found.push(format!("{place}: {text}"));
        }
    };
    for path in lake::files(&bench.lake()) {
        let name = path.strip_prefix(bench.lake()).unwrap().display().to_string();
        look(name, &fs::read(&path).unwrap());
    }
    lake::rows(&bench.lake()).iter().for_each(|row| look(row.clone(), row.as_bytes()));
    found
}

/// Fake credentials of thirty kinds. They are put together here so that none stands in the source.
fn secrets() -> Vec<(&'static str, String)> {
    let mut state = 0x0051_EED5_u64;
    let mut letters = |alphabet: &str, count: usize| -> String {
        let alphabet: Vec<char> = alphabet.chars().collect();
        (0..count)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                alphabet[usize::try_from(state >> 33).unwrap() % alphabet.len()]
            })
            .collect()
    };
    let (mixed, upper, hex, digits) = (
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
        "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
        "0123456789abcdef",
        "0123456789",
    );
    let mut made: Vec<(&'static str, String)> = vec![
        ("anthropic", format!("sk-ant-api03-{}AA", letters(mixed, 93))),
        ("anthropic admin", format!("sk-ant-admin01-{}AA", letters(mixed, 93))),
        ("openai project", format!("sk-proj-{}T3BlbkFJ{}", letters(mixed, 74), letters(mixed, 74))),
        ("openai", format!("sk-{}T3BlbkFJ{}", letters(mixed, 20), letters(mixed, 20))),
        ("aws id", format!("AKIA{}", letters(upper, 16))),
        ("github", format!("ghp_{}", letters(mixed, 36))),
        ("github oauth", format!("gho_{}", letters(mixed, 36))),
        ("github server", format!("ghs_{}", letters(mixed, 36))),
        ("github fine", format!("github_pat_{}_{}", letters(mixed, 22), letters(mixed, 59))),
        ("gitlab", format!("glpat-{}", letters(mixed, 20))),
        ("slack bot", format!("xoxb-{}-{}-{}", letters(digits, 12), letters(digits, 12), letters(mixed, 24))),
        ("slack user", format!("xoxp-{0}-{0}-{0}-{1}", letters(digits, 12), letters(hex, 32))),
        ("slack app", format!("xapp-1-A{}-{}-{}", letters(upper, 10), letters(digits, 13), letters(hex, 64))),
        ("stripe", format!("sk_live_{}", letters(mixed, 24))),
        ("stripe restricted", format!("rk_live_{}", letters(mixed, 24))),
        ("npm", format!("npm_{}", letters(mixed, 36))),
        ("pypi", format!("pypi-AgEIcHlwaS5vcmc{}", letters(mixed, 80))),
        ("huggingface", format!("hf_{}", letters("abcdefghijklmnopqrstuvwxyzABCDEFGH", 34))),
        ("sendgrid", format!("SG.{}.{}", letters(mixed, 22), letters(mixed, 43))),
        ("google", format!("AIza{}", letters(mixed, 35))),
        ("databricks", format!("dapi{}", letters(hex, 32))),
        ("vault", format!("hvs.{}", letters(mixed, 95))),
        ("digitalocean", format!("dop_v1_{}", letters(hex, 64))),
        ("shopify", format!("shpat_{}", letters(hex, 32))),
        ("linear", format!("lin_api_{}", letters(mixed, 40))),
        ("groq", format!("gsk_{}", letters(mixed, 52))),
        ("perplexity", format!("pplx-{}", letters(mixed, 48))),
        ("replicate", format!("r8_{}", letters(mixed, 37))),
        ("postman", format!("PMAK-{}-{}", letters(hex, 24), letters(hex, 34))),
        ("doppler", format!("dp.pt.{}", letters(mixed, 43))),
        ("age", format!("AGE-SECRET-KEY-1{}", letters("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58))),
    ];
    let (begin, end) = ("-----BEGIN RSA PRIVATE ", "-----END RSA PRIVATE ");
    made.push((
        "private key",
        format!("{begin}KEY-----\n{}\n{}\n{end}KEY-----", letters(mixed, 64), letters(mixed, 64)),
    ));
    made
}

/// A home with the secrets in every place that texts come from.
fn plant(bench: &Bench, secrets: &[(&str, String)]) {
    let mut transcript = Transcript::new("planted", "2025-08-05T10:00:00Z");
    let mut broken = Vec::new();
    for (kind, secret) in secrets {
        transcript.prompt(&format!("use {kind} {secret} please"));
        transcript.call("Bash", &json!({"command": format!("export TOKEN={secret}")}), &format!("{kind}: {secret}\n"));
        transcript.call(
            "Write",
            &json!({"file_path": format!("/home/kim/token={secret}"), "content": format!("TOKEN={secret}")}),
            "ok",
        );
        transcript.reply(&format!("The {kind} is `{secret}`."));
        broken.push(format!("{{\"type\":\"user\",\"text\":{}", json!(secret)));
    }
    for (number, (_, secret)) in secrets.iter().enumerate() {
        transcript.lines.push(json!({"type": "summary", "summary": format!("about {secret}"), "leafUuid": format!("planted-{number:04}")}).to_string());
        transcript
            .lines
            .push(json!({"type": "custom-title", "customTitle": secret, "sessionId": "planted"}).to_string());
        let mut single = Transcript::new(&format!("single-{number}"), "2025-08-06T10:00:00Z");
        single.prompt(secret).reply("Yes.");
        bench.transcript(&format!("single-{number}.jsonl"), single.text());
    }
    transcript.lines.extend(broken);
    bench.transcript("planted.jsonl", transcript.text());
    let history: String = secrets.iter().map(|(_, secret)| {
        let typed = json!({"display": format!("! curl -H {secret}"), "timestamp": 1_754_388_000_000_i64, "project": "/p", "sessionId": "typed",
            "pastedContents": {"1": {"id": 1, "type": "text", "content": secret}}});
        format!("{typed}\n")
    }).collect();
    fs::write(bench.home().join(".claude/history.jsonl"), history).unwrap();
}

/// Runs of twelve bytes from the random part of each secret, a few of them.
fn pieces(secrets: &[(&str, String)]) -> Vec<String> {
    let mut pieces = Vec::new();
    for (_, secret) in secrets {
        let body: Vec<&str> = secret.lines().filter(|line| !line.starts_with("-----")).collect();
        for line in body {
            let from = line.len() / 3;
            pieces.extend(
                (from..line.len().saturating_sub(11))
                    .step_by(3)
                    .filter_map(|at| line.get(at..at + 12))
                    .map(str::to_owned),
            );
        }
    }
    pieces
}

#[test]
fn no_secret_gets_into_the_lake() {
    let bench = Bench::new();
    let secrets = secrets();
    assert!(secrets.len() >= 30);
    plant(&bench, &secrets);
    let output = bench.etl().arg("-v").output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    bench.verify();
    let pieces = pieces(&secrets);
    let found = found_in(&bench, &pieces);
    assert!(found.is_empty(), "{} places, such as {:#?}", found.len(), &found[..found.len().min(8)]);
    let listed = succeed(&mut bench.llrem(&["sources", "-f", "json"]));
    for said in [&output.stderr, &listed.stdout, &listed.stderr] {
        let said = String::from_utf8_lossy(said);
        pieces.iter().for_each(|piece| assert!(!said.contains(piece), "{said}"));
    }
    assert!(bench.sources()["planted.jsonl"]["redactions"].as_str().unwrap().contains("github-token"));
}

#[test]
fn secrets_stay_where_that_is_wanted() {
    let bench = Bench::new();
    let secrets = secrets();
    plant(&bench, &secrets);
    succeed(bench.etl().args(["--redact", "none"]));
    bench.verify();
    let rows = lake::rows(&bench.lake());
    for (kind, secret) in &secrets {
        let first = secret.lines().last().unwrap();
        assert!(rows.iter().any(|row| row.contains(first)), "{kind}");
    }
}
