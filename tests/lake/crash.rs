//! A run that ends anywhere: killed, out of space, interrupted, or beside another. The lake is then the one before or
//! the one after, and the next run completes it.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::corpus;
use crate::lake::{
    self, Bench, Transcript, assert_same_rows, copy_folder, data_bytes, in_parallel, rows, stderr, succeed,
};

/// Two months, a subagent, a copied history, tool calls.
fn first_home(bench: &Bench) {
    let mut plain = Transcript::new("a-plain", "2025-08-05T10:00:00Z");
    plain.prompt("build the shop").call("Bash", &serde_json::json!({"command": "make"}), "made").reply("Built.");
    bench.transcript("a-plain.jsonl", plain.text());
    let mut other = Transcript::new("b-other", "2025-09-06T10:00:00Z");
    other.prompt("test it").reply("It works.").prompt("again").reply("It still works.");
    bench.transcript("b-other.jsonl", other.text());
    bench.transcript("c-fork.jsonl", fork().text());
    let mut child = Transcript::new("a-plain", "2025-08-05T10:02:30Z");
    child.prompt("look around").reply("Nothing there.");
    bench.subagent("a-plain", "0000beef", &child);
}

fn original() -> Transcript {
    let mut original = Transcript::new("d-original", "2025-07-30T10:00:00Z");
    original.prompt("begin").reply("Begun.").prompt("go on").reply("Gone on.");
    original
}

/// Copies a session that is not there, and goes on in the next month.
fn fork() -> Transcript {
    let mut own = Transcript::new("c-fork", "2025-09-01T10:00:00Z");
    own.prompt("another way").reply("Another way it is.");
    let copied = original()
        .lines
        .into_iter()
        .map(|line| line.replace("\"sessionId\":\"d-original\"", "\"sessionId\":\"c-fork\""));
    own.lines.splice(0..0, copied);
    own
}

/// One session grows, one loses a record, a new one comes, and the original of the copied one turns up: rows move from
/// part to part, and between months.
fn second_home(bench: &Bench) {
    let path = bench.project().join("a-plain.jsonl");
    let mut grown = Transcript::new("a-plain-2", "2025-08-05T11:00:00Z");
    grown.prompt("and the cart").reply("Done.");
    let grown = grown.text().replace("\"sessionId\":\"a-plain-2\"", "\"sessionId\":\"a-plain\"");
    let text = fs::read_to_string(&path).unwrap() + &grown;
    fs::write(&path, text).unwrap();
    let path = bench.project().join("b-other.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    fs::write(&path, lines[..3].join("\n") + "\n").unwrap();
    bench.transcript("d-original.jsonl", original().text());
    let mut late = Transcript::new("e-late", "2025-10-01T10:00:00Z");
    late.prompt("deploy").reply("Deployed.");
    bench.transcript("e-late.jsonl", late.text());
}

/// Rows without the moment at which a run found records gone.
fn timeless(lake: &Path) -> BTreeSet<String> {
    let moment = regex::Regex::new(r"20(2[6-9]|[3-9]\d)-\d\d-\d\dT[\d:.]+Z").unwrap();
    rows(lake).iter().map(|row| moment.replace_all(row, "NOW").into_owned()).collect()
}

/// Every file can be read, and nothing is wrong with the lake, if there is one.
fn assert_sound(lake: &Path, when: &str) {
    match llrem::lake::Lake::open(lake) {
        Ok(open) => {
            let problems = open.verify(true).unwrap();
            assert!(problems.is_empty(), "{when}: {problems:#?}");
        }
        Err(llrem::Error::NoLake { .. }) => lake::data_files(lake).iter().for_each(|path| drop(lake::batches(path))),
        Err(error) => panic!("{when}: {error}"),
    }
}

/// The same home twice, and what uninterrupted runs make of it.
struct Reference {
    bench: Bench,
    first: BTreeSet<String>,
    second: BTreeSet<String>,
}

impl Reference {
    /// Leaves the home as it is before the second run, a lake of the first run in `base`, and the second home in `late`.
    fn new() -> Self {
        let bench = Bench::new();
        first_home(&bench);
        bench.extract();
        bench.verify();
        let first = timeless(&bench.lake());
        copy_folder(&bench.lake(), &bench.path().join("base"));
        Self { bench, first, second: BTreeSet::new() }
    }

    fn change(&mut self) {
        second_home(&self.bench);
        self.bench.extract();
        self.bench.verify();
        self.second = timeless(&self.bench.lake());
        assert_ne!(self.first, self.second);
    }

    fn base(&self) -> PathBuf {
        self.bench.path().join("base")
    }
}

/// Number of the first operation that a run no longer has.
fn operations(run: impl Fn() -> Command) -> usize {
    let is_beyond =
        |number: usize| run().env("LLREM_TEST_DIE_BEFORE", number.to_string()).output().unwrap().status.success();
    let (mut low, mut high) = (1, 4096);
    while low < high {
        let middle = usize::midpoint(low, high);
        if is_beyond(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

const POINTS: [&str; 2] = ["LLREM_TEST_DIE_BEFORE", "LLREM_TEST_DIE_AFTER"];
/// Operations of a run after which the program is ended; more are sampled.
const MOST_POINTS: usize = 24;

fn sampled(count: usize, most: usize) -> Vec<usize> {
    let step = count.div_ceil(most).max(1);
    (1..count).filter(|number| number % step == 0 || count - number < most / 4).collect()
}

/// The rows are those of a run that was left alone; what was being read comes last, so that files may hold other ones.
fn die_everywhere(reference: &Reference, base: Option<&Path>, expected: &BTreeSet<String>) {
    let home = reference.bench.home();
    let folder = lake::folder();
    let counter = AtomicUsize::new(0);
    let fresh = || {
        let lake = folder.path().join(counter.fetch_add(1, Ordering::Relaxed).to_string());
        base.iter().for_each(|base| copy_folder(base, &lake));
        lake
    };
    let count = operations(|| lake::etl(&home, &fresh()));
    let numbers = sampled(count, MOST_POINTS);
    let tried = numbers.len() * 2;
    let points = numbers.into_iter().flat_map(|number| POINTS.map(|point| (point, number))).collect();
    in_parallel(points, |(point, number)| {
        let lake = fresh();
        let when = format!("{point}={number}");
        let status = lake::etl(&home, &lake).env(point, number.to_string()).stderr(Stdio::null()).status().unwrap();
        assert!(status.signal().is_some(), "{when}: {status}");
        assert_sound(&lake, &when);
        succeed(&mut lake::etl(&home, &lake));
        assert_sound(&lake, &when);
        assert_same_rows(&timeless(&lake), expected, &when);
        assert!(!lake.join("_llrem/journal").exists(), "{when}");
        fs::remove_dir_all(&lake).unwrap();
    });
    println!("{} operations, ended at {tried} points", count - 1);
}

#[test]
fn a_first_run_that_dies_at_any_operation() {
    let reference = Reference::new();
    die_everywhere(&reference, None, &reference.first);
}

#[test]
fn a_second_run_that_dies_at_any_operation() {
    let mut reference = Reference::new();
    reference.change();
    die_everywhere(&reference, Some(&reference.base()), &reference.second);
}

/// Each run adds a session to a month that is over; the parts are folded into one while they are few and small.
fn add_session(bench: &Bench, number: usize) {
    let name = format!("f{number}");
    let mut transcript = Transcript::new(&name, &format!("2025-08-{:02}T10:00:00Z", number + 10));
    transcript.prompt("build").call("Bash", &serde_json::json!({"command": "make"}), "made").reply("Built.");
    bench.transcript(&format!("{name}.jsonl"), transcript.text());
}

#[test]
fn a_fold_that_dies_at_any_operation() {
    let mut reference = Reference::new();
    add_session(&reference.bench, 0);
    reference.bench.extract();
    reference.bench.verify();
    reference.second = timeless(&reference.bench.lake());
    let august = |lake: &Path| {
        lake::data_files(&lake.join("messages"))
            .into_iter()
            .filter(|path| path.to_string_lossy().contains("2025-08"))
            .count()
    };
    assert_eq!(august(&reference.bench.lake()), 1, "nothing was folded");
    die_everywhere(&reference, Some(&reference.base()), &reference.second);
}

/// Notes that a run died while it read a source, as runs note what they read: the next run reads that source alone.
fn note_death(lake: &Path, source: &Path) {
    let name = source.to_str().unwrap();
    let length = [u8::try_from(name.len() % 128).unwrap() | 128, u8::try_from(name.len() / 128).unwrap()];
    let note = [&length[..], name.as_bytes(), &[0]].concat();
    fs::create_dir_all(lake.join("_llrem/reading")).unwrap();
    fs::write(lake.join("_llrem/reading/0"), note).unwrap();
}

#[test]
fn a_full_disk_while_a_source_is_read_alone() {
    let mut reference = Reference::new();
    reference.change();
    let home = reference.bench.home();
    let suspect = reference.bench.project().join("e-late.jsonl");
    let folder = lake::folder();
    let fresh = |name: &str| {
        let lake = folder.path().join(name);
        copy_folder(&reference.base(), &lake);
        note_death(&lake, &suspect);
        lake
    };
    let probe = AtomicUsize::new(0);
    let count = operations(|| lake::etl(&home, &fresh(&format!("probe{}", probe.fetch_add(1, Ordering::Relaxed)))));
    let partly = AtomicUsize::new(0);
    in_parallel(sampled(count, 32), |number| {
        let lake = fresh(&number.to_string());
        let output = lake::etl(&home, &lake).env("LLREM_TEST_FULL_FROM", number.to_string()).output().unwrap();
        let (when, message) = (format!("operation {number}"), stderr(&output));
        if lake.join("_llrem/journal").exists() {
            return;
        }
        // On this disk, what a fold has staged cannot be removed either.
        let rows: BTreeSet<String> = timeless(&lake).into_iter().filter(|row| !row.starts_with("_llrem/")).collect();
        let is_new = message.contains("the new rows are in the lake");
        assert_eq!(is_new, rows != reference.first, "{when}: {message}");
        partly.fetch_add(usize::from(is_new && rows != reference.second), Ordering::Relaxed);
    });
    assert!(partly.into_inner() > 0, "no run failed between the commits");
}

#[test]
fn a_full_disk_at_any_operation() {
    let mut reference = Reference::new();
    reference.change();
    let home = reference.bench.home();
    let folder = lake::folder();
    let fresh = |name: &str| {
        let lake = folder.path().join(name);
        copy_folder(&reference.base(), &lake);
        lake
    };
    let probe = AtomicUsize::new(0);
    let count = operations(|| lake::etl(&home, &fresh(&format!("probe{}", probe.fetch_add(1, Ordering::Relaxed)))));
    in_parallel(sampled(count, 16), |number| {
        let lake = fresh(&number.to_string());
        let output = lake::etl(&home, &lake).env("LLREM_TEST_FULL_FROM", number.to_string()).output().unwrap();
        let (when, message) = (format!("operation {number}"), stderr(&output));
        assert_eq!(output.status.code(), Some(1), "{when}: {message}");
        assert!(message.contains(lake.to_str().unwrap()), "{when}: {message}");
        assert!(message.lines().count() <= 3, "{when}: {message}");
        let is_unfinished = lake.join("_llrem/journal").exists();
        assert_eq!(message.contains("has an incomplete commit"), is_unfinished, "{when}: {message}");
        let is_new = message.contains("the new rows are in the lake");
        if !is_unfinished {
            // On this disk, what a fold has staged cannot be removed either.
            let rows = timeless(&lake).into_iter().filter(|row| !row.starts_with("_llrem/")).collect();
            assert_same_rows(&rows, if is_new { &reference.second } else { &reference.first }, &when);
        }
        assert_sound(&lake, &when);
        succeed(&mut lake::etl(&home, &lake));
        assert_sound(&lake, &when);
        assert_same_rows(&timeless(&lake), &reference.second, &when);
        assert_eq!(staged(&lake), 0, "{when}");
    });
    println!("{} operations", count - 1);
}

fn staged(lake: &Path) -> usize {
    lake::files(&lake.join("_llrem/staging")).len()
}

struct Mounted(PathBuf);

impl Mounted {
    fn new(path: PathBuf) -> Option<Self> {
        fs::create_dir(&path).unwrap();
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=8m,mode=0700", "none"]).arg(&path).output();
        mounted.is_ok_and(|output| output.status.success()).then_some(Self(path))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

fn invented(folder: &Path, bytes: u64, seed: u64) -> corpus::Summary {
    corpus::generate(folder, &corpus::Params { bytes, seed, ..corpus::Params::default() }).unwrap()
}

#[test]
fn a_disk_that_is_really_full() {
    let bench = Bench::new();
    invented(&bench.home(), 3_000_000, 5);
    let Some(disk) = Mounted::new(bench.path().join("disk")) else { return limited_file_size() };
    let lake = disk.0.join("lake");
    succeed(&mut lake::etl(&bench.home(), &lake));
    let before = data_bytes(&lake);
    let filler = disk.0.join("filler");
    let mut file = fs::File::create(&filler).unwrap();
    while file.write_all(&[7; 4096]).is_ok() {}
    invented(&bench.home(), 6_000_000, 6);
    let output = lake::etl(&bench.home(), &lake).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains(lake.to_str().unwrap()), "{}", stderr(&output));
    assert!(stderr(&output).contains("the run needs about"), "{}", stderr(&output));
    assert!(data_bytes(&lake) == before, "the lake is not as it was");
    assert_eq!(staged(&lake), 0, "staged files still take up the full disk");
    assert_sound(&lake, "on a full disk");
    drop(file);
    fs::remove_file(&filler).unwrap();
    succeed(&mut lake::etl(&bench.home(), &lake));
    assert_sound(&lake, "after a full disk");
    bench.extract();
    assert_same_rows(&timeless(&lake), &timeless(&bench.lake()), "after a full disk");
}

/// Limits the size of files, if nothing may be mounted.
fn limited_file_size() {
    let bench = Bench::new();
    invented(&bench.home(), 6_000_000, 5);
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' XFSZ; ulimit -f 100; exec \"$@\"", "sh"]);
    let run = bench.etl();
    shell
        .env_clear()
        .envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .env("PATH", "/usr/bin:/bin");
    let output = shell.arg(run.get_program()).args(run.get_args()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains(bench.lake().to_str().unwrap()), "{}", stderr(&output));
    assert_sound(&bench.lake(), "with a limit");
    bench.extract();
    bench.verify();
}

/// The system ends a program whose file outgrows a limit, unless it is prepared.
#[test]
fn a_limit_on_the_size_of_files() {
    let bench = Bench::new();
    invented(&bench.home(), 3_000_000, 5);
    let run = bench.etl();
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -f 50; exec \"$@\"", "sh"]).arg(run.get_program()).args(run.get_args());
    shell.env_clear().envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = shell.env("PATH", "/usr/bin:/bin").output().unwrap();
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{:?}: {message}", output.status);
    assert!(message.contains(bench.lake().to_str().unwrap()) && message.contains("ulimit -f"), "{message}");
    bench.extract();
    bench.verify();
}

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Waits for a moment of a run, and kills it there. Half of them are near the commit, which is short.
fn kill_at(mut child: Child, lake: &Path, near_commit: bool, delay: Duration) -> bool {
    if near_commit {
        while !lake.join("_llrem/journal").exists() && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_micros(200));
        }
    }
    std::thread::sleep(delay);
    child.kill().unwrap();
    !child.wait().unwrap().success()
}

#[test]
fn killed_at_random_moments() {
    const KILLS: u64 = 50;
    let bench = Bench::new();
    invented(&bench.home(), 8_000_000, 11);
    let begun = Instant::now();
    bench.extract();
    let mut whole = u64::try_from(begun.elapsed().as_micros()).unwrap();
    let expected = rows(&bench.lake());
    let lake = bench.path().join("killed");
    let mut dice = Dice(0x5EED);
    let (mut number, mut killed, mut completed) = (0, 0, 0);
    while killed < KILLS {
        number += 1;
        let near_commit = number % 3 == 0;
        let delay = Duration::from_micros(if near_commit { dice.below(12_000) } else { dice.below(whole) });
        let child = lake::etl(&bench.home(), &lake).arg("--full").stderr(Stdio::null()).spawn().unwrap();
        if kill_at(child, &lake, near_commit, delay) {
            killed += 1;
        } else if !near_commit {
            // The machine is faster than it was; moments behind the end are of no use.
            whole = whole * 3 / 4;
        }
        let when = format!("kill {number} after {delay:?}");
        assert_sound(&lake, &when);
        if near_commit && number % 2 == 0 {
            succeed(&mut lake::etl(&bench.home(), &lake));
            assert_sound(&lake, &when);
            assert_same_rows(&rows(&lake), &expected, &when);
            completed += 1;
            // Every other time the next run begins without a lake.
            if number % 4 == 0 {
                fs::remove_dir_all(&lake).unwrap();
            }
        }
    }
    succeed(&mut lake::etl(&bench.home(), &lake));
    assert_same_rows(&rows(&lake), &expected, "in the end");
    println!("{killed} of {number} runs killed, {completed} completed");
}

#[test]
fn two_runs_at_once() {
    let bench = Bench::new();
    invented(&bench.home(), 4_000_000, 3);
    let spawn = |wait: bool| {
        let mut run = bench.etl();
        if wait {
            run.args(["--wait", "60s"]);
        }
        run.stderr(Stdio::piped()).spawn().unwrap()
    };
    for wait in [false, true] {
        let runs: Vec<Child> = (0..8).map(|_| spawn(wait)).collect();
        let outputs: Vec<_> = runs.into_iter().map(|run| run.wait_with_output().unwrap()).collect();
        let done = outputs.iter().filter(|output| output.status.success()).count();
        let refused = outputs.iter().filter(|output| output.status.code() == Some(11)).count();
        assert_eq!(done + refused, 8);
        assert!(done >= 1 && (!wait || done == 8), "wait {wait}: {done} done");
        for output in outputs.iter().filter(|output| !output.status.success()) {
            assert!(stderr(output).contains("another `llrem etl` holds the lake"), "{}", stderr(output));
        }
        bench.verify();
    }
    let alone = bench.path().join("alone");
    succeed(&mut lake::etl(&bench.home(), &alone));
    assert_same_rows(&rows(&bench.lake()), &rows(&alone), "after sixteen runs");
}

#[test]
fn a_source_that_grows_while_it_is_read() {
    let bench = Bench::new();
    let mut whole = Transcript::new("grown", "2025-08-05T10:00:00Z");
    for number in 0..1500 {
        whole.prompt(&format!("prompt {number}"));
    }
    let text = whole.text().into_bytes();
    let path = bench.transcript("grown.jsonl", "");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut file = fs::File::options().append(true).open(&path).unwrap();
            let (mut at, mut dice) = (0, Dice(1));
            while at < text.len() {
                let end = (at + 1 + usize::try_from(dice.below(1500)).unwrap()).min(text.len());
                file.write_all(&text[at..end]).unwrap();
                at = end;
                std::thread::sleep(Duration::from_micros(dice.below(2000)));
            }
            done.store(true, Ordering::Release);
        });
        let mut last = 0;
        while !done.load(Ordering::Acquire) {
            bench.extract();
            let now = count_of(&bench, "messages");
            assert!(now >= last, "{now} rows after {last}");
            last = now;
        }
    });
    bench.extract();
    bench.verify();
    assert_eq!(count_of(&bench, "messages"), 1500);
    assert_eq!(bench.sources()["grown.jsonl"]["bad_lines"], 0);
}

fn count_of(bench: &Bench, table: &str) -> u64 {
    bench.sql(&format!("SELECT count(*) FROM {table}"))[0].parse().unwrap()
}

/// Does something at the end of a scope, also when a test fails there.
struct OnDrop<F: Fn()>(F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        self.0();
    }
}

#[test]
fn sources_that_are_cut_or_vanish_while_they_are_read() {
    let bench = Bench::new();
    let transcript = |session: &str, prompts: usize| {
        let mut transcript = Transcript::new(session, "2025-08-05T10:00:00Z");
        for number in 0..prompts {
            transcript.prompt(&format!("prompt {number}"));
        }
        transcript.text()
    };
    let names: Vec<String> = (0..20).map(|number| format!("s{number:02}")).collect();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut dice = Dice(2);
            while !done.load(Ordering::Acquire) {
                let name = &names[usize::try_from(dice.below(20)).unwrap()];
                let path = bench.project().join(format!("{name}.jsonl"));
                match dice.below(3) {
                    0 => drop(fs::remove_file(&path)),
                    1 => fs::write(&path, transcript(name, 10)).unwrap(),
                    _ => fs::write(&path, transcript(name, 40)).unwrap(),
                }
            }
        });
        let ends = OnDrop(|| done.store(true, Ordering::Release));
        for _ in 0..12 {
            bench.extract();
            bench.verify();
        }
        drop(ends);
    });
    names.iter().for_each(|name| drop(bench.transcript(&format!("{name}.jsonl"), transcript(name, 40))));
    bench.extract();
    bench.verify();
    assert_eq!(count_of(&bench, "messages"), 800);
    assert_eq!(count_of(&bench, "sessions"), 20);
}

#[test]
fn an_interrupt_leaves_the_lake_as_it_was() {
    let bench = Bench::new();
    invented(&bench.home(), 3_000_000, 4);
    bench.extract();
    let before = data_bytes(&bench.lake());
    invented(&bench.home(), 40_000_000, 5);
    let child = bench.etl().stderr(Stdio::piped()).process_group(0).spawn().unwrap();
    while staged(&bench.lake()) == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(data_bytes(&bench.lake()) == before, "the lake is not as it was");
    assert_eq!(staged(&bench.lake()), 0, "staged files are left");
    bench.verify();
}
