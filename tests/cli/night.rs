//! `llrem schedule`: the definition that each scheduler gets, and the commands that it runs. Programs that log their calls
//! stand in for the schedulers.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Home;

const NOW: &str = "2026-07-17T14:02:00+02:00";

/// Notes its arguments and does nothing.
const NOTES: &str = r#"echo "$(basename "$0") $*" >> "$HOME/calls""#;
/// A user's crontab, in a file.
const CRONTAB: &str = r#"if [ "$1" = -l ]; then cat "$HOME/crontab" 2>/dev/null || { echo "no crontab for ada" >&2; exit 1; }
else cat > "$HOME/crontab"; fi"#;

/// A home with some programs of a system, and a session.
struct Machine(Home);

impl Machine {
    fn with(programs: &[(&str, &str)]) -> Self {
        let machine = Self(Home::new());
        for (name, script) in programs {
            machine.0.write(&format!("bin/{name}"), &format!("#!/bin/sh\n{script}\n"));
            fs::set_permissions(machine.path(&format!("bin/{name}")), fs::Permissions::from_mode(0o755)).unwrap();
        }
        machine.0.write(
            ".claude/projects/-home-ada-site/0f5e0000-0000-4000-8000-000000000001.jsonl",
            "{\"type\":\"user\",\"uuid\":\"u1\",\"sessionId\":\"0f5e0000-0000-4000-8000-000000000001\",\"cwd\":\"/home/ada/site\",\
             \"timestamp\":\"2026-07-17T10:00:00Z\",\"message\":{\"role\":\"user\",\"content\":\"Fix the header\"}}\n",
        );
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    fn command(&self, arguments: &[&str]) -> assert_cmd::Command {
        let path = format!("{}:/usr/bin:/bin", self.path("bin").display());
        let mut command = self.0.command(arguments);
        command.env("PATH", path).env("LLREM_NOW", NOW).env("TZ", "Europe/Berlin");
        command
    }

    fn run(&self, arguments: &[&str]) -> String {
        let program = Path::new(env!("CARGO_BIN_EXE_llrem")).to_str().unwrap();
        self.0.show(&self.command(arguments).output().unwrap()).replace(program, "[LLREM]")
    }

    fn runs(&self, arguments: &[&str]) -> String {
        let shown = self.run(arguments);
        assert!(shown.starts_with("exit 0\n"), "{arguments:?}: {shown}");
        shown
    }
}

/// Runs a program that a machine may lack, and returns what it prints.
fn asked(program: &str, arguments: &[&str]) -> Option<String> {
    // systemd looks there for units that are made at run time.
    let nothing = tempfile::tempdir().unwrap();
    match Command::new(program).args(arguments).env("XDG_RUNTIME_DIR", nothing.path()).output() {
        Ok(output) => {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            assert!(output.status.success(), "{program} {arguments:?}: {}", text(&output.stderr));
            assert!(output.stderr.is_empty(), "{program} {arguments:?}: {}", text(&output.stderr));
            Some(text(&output.stdout))
        }
        Err(error) => {
            let may_skip = std::env::var("LLREM_ALLOW_SKIPS").is_ok_and(|value| value == "1");
            assert!(may_skip, "{program}: {error}; LLREM_ALLOW_SKIPS=1 skips what needs it");
            None
        }
    }
}

const PARTS: [&str; 4] = ["--upload", "s3://bucket/a%20b$c?d=1&e", "--report", "my page's \"50%\".html"];

#[test]
fn systemd_gets_units_that_it_accepts() {
    let machine = Machine::with(&[("systemctl", &format!("{NOTES}\n[ \"$2\" = is-active ] && echo active; exit 0"))]);
    let shown = machine.0.show(
        &machine
            .command(&["schedule", "install", "--at", "04:30"])
            .args(PARTS)
            .env("CODEX_HOME", "/data/50% of \"it\" $HOME")
            .output()
            .unwrap(),
    );
    insta::assert_snapshot!(shown, @r"
    exit 0
    --- stdout
    --- stderr
    llrem runs daily at 04:30, by systemd (llrem.timer); next: Sat 18 July, 04:30
    a missed night is made up for at the next start
    it runs while you are logged in; `loginctl enable-linger` has it run at any time
    the job has no credentials from this shell: keep them where the cloud's own tools look for them
    see `llrem schedule status`; `llrem schedule run` runs it now
    ");
    let calls = machine.read("calls");
    assert!(calls.contains("--user daemon-reload\n"), "{calls}");
    assert!(calls.contains("--user enable llrem.timer\n") && calls.contains("--user restart llrem.timer\n"), "{calls}");
    let units = ["llrem.service", "llrem.timer"].map(|name| machine.path(&format!(".config/systemd/user/{name}")));
    let [service, timer] = [&units[0], &units[1]].map(|unit| unit.to_str().unwrap());
    asked("systemd-analyze", &["verify", "--user", "--man=no", service, timer]);
    let service = fs::read_to_string(service).unwrap();
    assert!(service.contains("\"s3://bucket/a%%20b$$c?d=1&e\""), "{service}");
    assert!(service.contains("Environment=\"CODEX_HOME=/data/50%% of \\\"it\\\" $HOME\"\n"), "{service}");
    assert!(service.contains(&format!("\"{}\"", machine.path("my page's \\\"50%%\\\".html").display())), "{service}");
    let status = machine.runs(&["schedule", "status"]);
    assert!(status.contains("Schedule   daily at 04:30, by systemd (llrem.timer)\n"), "{status}");
    assert!(status.contains("Next run   Sat 18 July, 04:30; a missed night"), "{status}");
    machine.runs(&["schedule", "remove"]);
    assert!(units.iter().all(|unit| !unit.exists()));
    assert!(machine.read("calls").contains("--user disable --now llrem.timer\n"));
}

#[test]
fn cron_gets_one_line_and_keeps_those_of_others() {
    let machine = Machine::with(&[("systemctl", "exit 1"), ("crontab", CRONTAB)]);
    let mine = "# mine\n0 4 * * 1 backup\n";
    machine.0.write("crontab", mine);
    machine.runs(&["schedule", "install", "--at", "22:15"]);
    machine.runs(&["schedule", "install", "--at", "03:30", "--upload", "s3://bucket/it's 50%"]);
    let table = machine.read("crontab");
    let line = table.strip_prefix(mine).unwrap().trim_end();
    assert_eq!(line.lines().count(), 1, "{table}");
    assert!(line.starts_with("30 * * * * '") && line.ends_with(" '--due' '03:30' # llrem schedule"), "{line}");
    // cron replaces what is escaped for it, and the shell reads the rest.
    let command = line.splitn(6, ' ').nth(5).unwrap().replace("\\%", "%");
    let words = asked("sh", &["-c", &format!("printf '%s\\n' {command}")]).unwrap();
    let lake = machine.path(".local/share/llrem/lake");
    let words: Vec<&str> = words.lines().skip(1).collect();
    let expected = [
        "--quiet",
        "--lake",
        lake.to_str().unwrap(),
        "schedule",
        "run",
        "--upload",
        "s3://bucket/it's 50%",
        "--due",
        "03:30",
    ];
    assert_eq!(words, expected);
    let status = machine.runs(&["schedule", "status", "-f", "json"]);
    assert!(
        status.contains("\"scheduler\":\"cron\",\"at\":\"03:30\",\"is_active\":true,\"last_run_at\":null"),
        "{status}"
    );
    machine.runs(&["schedule", "remove"]);
    assert_eq!(machine.read("crontab"), mine);
    insta::assert_snapshot!(machine.run(&["schedule", "status"]), @r"
    exit 1
    --- stdout
    --- stderr
    error: no schedule runs llrem
    hint: `llrem schedule install` runs etl every night at 03:00
    ");
}

/// A table that cannot be read is not an empty one.
#[test]
fn a_crontab_that_cannot_be_read_is_not_replaced() {
    let refuses =
        r#"[ "$1" = -l ] || { cat > "$HOME/crontab"; exit 0; }; echo "crontab: permission denied" >&2; exit 1"#;
    let machine = Machine::with(&[("crontab", refuses)]);
    machine.0.write("crontab", "0 4 * * 1 backup\n");
    insta::assert_snapshot!(machine.run(&["schedule", "install", "--by", "cron"]), @r"
    exit 1
    --- stdout
    --- stderr
    error: `crontab -l` failed: crontab: permission denied
    ");
    assert_eq!(machine.read("crontab"), "0 4 * * 1 backup\n");
}

#[test]
fn launchd_gets_a_property_list() {
    let machine = Machine::with(&[("launchctl", NOTES)]);
    let mut command = machine.command(&["schedule", "install", "--by", "launchd", "--at", "7:05"]);
    let output = command.args(PARTS).env("CODEX_HOME", "/data/<b> & \"c\"").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let calls = machine.read("calls");
    assert!(calls.contains("launchctl bootstrap gui/"), "{calls}");
    let plist = machine.path("Library/LaunchAgents/llrem.plist");
    let script = "import json, plistlib, sys; print(json.dumps(plistlib.load(open(sys.argv[1], 'rb'))))";
    let Some(read) = asked("python3", &["-c", script, plist.to_str().unwrap()]) else { return };
    let read: serde_json::Value = serde_json::from_str(&read).unwrap();
    let page = machine.path("my page's \"50%\".html");
    let words: Vec<&str> =
        read["ProgramArguments"].as_array().unwrap().iter().filter_map(|word| word.as_str()).collect();
    assert_eq!(words[0], env!("CARGO_BIN_EXE_llrem"));
    let expected = ["schedule", "run", "--upload", PARTS[1], "--report", page.to_str().unwrap(), "--due", "07:05"];
    assert_eq!(words[4..], expected);
    assert_eq!(read["Label"], "llrem");
    assert_eq!(read["StartCalendarInterval"], serde_json::json!({"Hour": 7, "Minute": 5}));
    assert_eq!((&read["RunAtLoad"], &read["Umask"]), (&serde_json::json!(true), &serde_json::json!(0o77)));
    assert_eq!(read["EnvironmentVariables"]["CODEX_HOME"], "/data/<b> & \"c\"");
    let status = machine.runs(&["schedule", "status", "--by", "launchd"]);
    assert!(status.contains("daily at 07:05, by launchd (llrem)\n"), "{status}");
    machine.runs(&["schedule", "remove", "--by", "launchd"]);
    assert!(!plist.exists());
}

#[test]
fn windows_gets_a_task() {
    let keeps = r#"[ "$1" = /create ] && cp "$5" "$HOME/task.xml"; exit 0"#;
    let machine = Machine::with(&[("schtasks", keeps)]);
    let mut command = machine.command(&["schedule", "install", "--by", "windows", "--at", "23:45"]);
    let output = command.args(PARTS).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let script = "
import sys, xml.etree.ElementTree as tree
task = tree.parse(sys.argv[1]).getroot()
space = '{http://schemas.microsoft.com/windows/2004/02/mit/task}'
print([part.tag.replace(space, '') for part in task])
for name in sys.argv[2:]:
    print(task.find('/'.join(space + part for part in name.split('/'))).text)
";
    let paths = [
        "Triggers/CalendarTrigger/StartBoundary",
        "Triggers/CalendarTrigger/ScheduleByDay/DaysInterval",
        "Principals/Principal/LogonType",
        "Settings/StartWhenAvailable",
        "Settings/DisallowStartIfOnBatteries",
        "Actions/Exec/Command",
        "Actions/Exec/Arguments",
    ];
    let file = machine.path("task.xml");
    let arguments: Vec<&str> = ["-c", script, file.to_str().unwrap()].into_iter().chain(paths).collect();
    let Some(read) = asked("python3", &arguments) else { return };
    let lines: Vec<&str> = read.lines().collect();
    assert_eq!(lines[0], "['RegistrationInfo', 'Triggers', 'Principals', 'Settings', 'Actions']");
    assert_eq!(lines[1..6], ["2026-07-17T23:45:00", "1", "InteractiveToken", "true", "false"]);
    assert_eq!(lines[6], env!("CARGO_BIN_EXE_llrem"));
    assert!(lines[7].contains(" schedule run --upload s3://bucket/a%20b$c?d=1&e --report \""), "{}", lines[7]);
    assert!(lines[7].ends_with("my page's \\\"50%\\\".html\""), "{}", lines[7]);
}

#[test]
fn a_run_is_a_line_of_the_log_and_is_not_repeated_before_it_is_due() {
    let machine = Machine::with(&[]);
    let log = ".local/state/llrem/schedule.log";
    machine.runs(&["schedule", "run", "--report", "page.html", "--due", "03:00"]);
    let first = machine.read(log);
    assert!(first.starts_with("2026-07-17T14:02:00+02:00 0 Read 1 file ("), "{first}");
    assert!(machine.read("page.html").starts_with("<!DOCTYPE html>"));
    let kept = || fs::read_dir(machine.path(".cache/llrem/findings")).unwrap().count();
    let before = kept();
    machine.runs(&["detect", "--quiet"]);
    assert_eq!((before > 0, kept()), (true, before), "the run kept what the first `detect` shows");
    machine.runs(&["schedule", "run", "--due", "03:00"]);
    assert_eq!(machine.read(log), first);
    machine.runs(&["schedule", "run"]);
    assert_eq!(machine.read(log).lines().count(), 2);
    let mut next_day = machine.command(&["schedule", "run", "--due", "03:00"]);
    next_day.env("LLREM_NOW", "2026-07-18T03:00:01+02:00").assert().success();
    assert_eq!(machine.read(log).lines().count(), 3);
}

#[test]
fn a_run_that_fails_says_why_and_ends_with_the_code_of_its_step() {
    let machine = Machine::with(&[("crontab", CRONTAB)]);
    machine.runs(&["schedule", "install", "--by", "cron"]);
    machine.0.write(".local/share/llrem/lake/_llrem/manifest", "no manifest");
    insta::assert_snapshot!(machine.run(&["schedule", "run", "--report", "page.html"]), @r"
    exit 1
    --- stdout
    --- stderr
    error: the nightly run failed at `llrem etl`: `[HOME]/.local/share/llrem/lake/_llrem/manifest` is damaged: it is not a manifest
    ");
    assert!(!machine.path("page.html").exists());
    let status = machine.runs(&["schedule", "status"]);
    let words = status.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("Last run today, 14:02: failed: llrem etl: `[HOME]/"), "{status}");
}

#[test]
fn options_that_an_action_has_no_use_for_are_refused() {
    for arguments in [
        ["schedule", "status", "--at", "03:00"],
        ["schedule", "remove", "--report", "x.html"],
        ["schedule", "run", "--by", "cron"],
        ["schedule", "install", "--at", "25:00"],
        ["schedule", "install", "--due", "03:00"],
    ] {
        let shown = Machine::with(&[]).run(&arguments);
        assert!(shown.starts_with("exit 2\n"), "{arguments:?}: {shown}");
    }
}
