//! A bucket to which machines have uploaded, and a person who asks it.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::lake::{self, Bench, Transcript, succeed};
use crate::server::S3;

/// A bucket, the machines' lakes, and a home without a lake.
pub(crate) struct Team {
    pub(crate) s3: S3,
    pub(crate) bench: Bench,
    home: TempDir,
}

impl Team {
    /// One machine has uploaded its lake.
    pub(crate) fn of(bench: Bench) -> Self {
        let team = Self { s3: S3::start(), bench, home: lake::folder() };
        team.upload();
        team.s3.proxy.take_log();
        team
    }

    /// Brings the machine's lake there as it is.
    pub(crate) fn upload(&self) {
        succeed(&mut self.s3.upload(&self.bench.lake(), &["--profile", "full"]));
    }

    /// The program, in the empty home.
    pub(crate) fn llrem(&self, arguments: &[&str]) -> Command {
        self.llrem_at(&self.s3.url(), arguments)
    }

    /// The same; the lake is at another URL.
    pub(crate) fn llrem_at(&self, url: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_llrem"));
        command.env_clear().env("HOME", self.home.path()).env("TZ", "UTC");
        command.args(["--lake", url]).args(arguments);
        self.s3.set_environment(&mut command);
        command
    }

    /// Returns the output of the program.
    pub(crate) fn answer(&self, arguments: &[&str]) -> String {
        String::from_utf8(succeed(&mut self.llrem(arguments)).stdout).unwrap()
    }
}

/// Returns the output of the program over a lake on the disk.
pub(crate) fn answer_on_disk(lake: &Path, arguments: &[&str]) -> String {
    String::from_utf8(succeed(lake::llrem(lake).args(arguments)).stdout).unwrap()
}

/// Text that no compressor makes small; the same for the same number.
pub(crate) fn noise(seed: &str, bytes: usize) -> String {
    let mut text = String::new();
    let mut reader = blake3::Hasher::new().update(seed.as_bytes()).finalize_xof();
    let mut block = [0; 32];
    while text.len() < bytes {
        reader.fill(&mut block);
        for byte in block {
            write!(text, "{byte:02x}").unwrap();
        }
        text.push(' ');
    }
    text
}

/// Adds a session with some turns, in one of two projects, whose calls print so many bytes each.
pub(crate) fn add_session(bench: &Bench, name: &str, day: &str, turns: usize, bytes: usize) {
    let project = if name.ends_with(['a', 'c', 'e']) { "/home/kim/shop" } else { "/home/kim/blog" };
    let mut transcript = Transcript::new(name, &format!("{day}T10:00:00Z")).in_folder(project);
    transcript.prompt("build it");
    for turn in 0..turns {
        let output = noise(&format!("{name}{turn}"), bytes);
        transcript.call("Bash", &serde_json::json!({"command": format!("make {turn}")}), &output);
    }
    transcript.reply("Built.");
    bench.transcript(&format!("{name}.jsonl"), transcript.text());
}

/// A lake of six months.
pub(crate) fn six_months(turns: usize, bytes: usize) -> Bench {
    let bench = Bench::new();
    for month in 1..=6 {
        for (name, day) in [("a", 3), ("b", 11), ("c", 22)] {
            add_session(&bench, &format!("{month}{name}"), &format!("2025-{month:02}-{day:02}"), turns, bytes);
        }
    }
    bench.extract();
    bench
}
