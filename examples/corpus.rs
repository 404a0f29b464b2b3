//! Writes an invented corpus of Claude Code sessions, laid out as a home directory.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::string_slice, reason = "a program of its own")]

#[path = "../benches/corpus/mod.rs"]
mod corpus;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use corpus::{Params, Profile, Summary};

const USAGE: &str = "\
corpus --out DIR [--bytes 5GB] [--seed N] [--sessions N] [--days N] [--end YYYY-MM-DD]
                 [--profile realistic|small-sources|one-file|big-line]
corpus --append FILE [--bytes 100KB] [--seed N]";

enum Task {
    Generate(PathBuf),
    Append(PathBuf),
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}\n\n{USAGE}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let (task, params) = parse(std::env::args().skip(1))?;
    let begun = Instant::now();
    let summary = match &task {
        Task::Generate(dir) => corpus::generate(dir, &params)?,
        Task::Append(file) => corpus::append_turns(file, params.seed, params.bytes)?,
    };
    print(&task, &summary, begun.elapsed().as_secs_f64());
    Ok(())
}

fn print(task: &Task, summary: &Summary, seconds: f64) {
    let (Task::Generate(path) | Task::Append(path)) = task;
    println!("{}: {seconds:.2} s", Path::display(path));
    println!("{summary:#?}");
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<(Task, Params), Box<dyn Error>> {
    let mut params = Params::default();
    let mut task = None;
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
        match name.as_str() {
            "--out" => task = Some(Task::Generate(value.into())),
            "--append" => task = Some(Task::Append(value.into())),
            "--bytes" => params.bytes = size(&value)?,
            "--seed" => params.seed = value.parse()?,
            "--sessions" => params.sessions = Some(value.parse()?),
            "--days" => params.days = value.parse()?,
            "--end" => params.end = date(&value)?,
            "--profile" => params.profile = profile(&value)?,
            _ => return Err(format!("unknown option {name}").into()),
        }
    }
    Ok((task.ok_or("--out or --append is missing")?, params))
}

fn size(text: &str) -> Result<u64, Box<dyn Error>> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" | "B" => 1,
        "kB" | "KB" | "k" | "K" => 1_000,
        "MB" | "M" => 1_000_000,
        "GB" | "G" => 1_000_000_000,
        other => return Err(format!("unknown unit {other}").into()),
    };
    Ok(digits.parse::<u64>()? * unit)
}

fn date(text: &str) -> Result<(i32, u32, u32), Box<dyn Error>> {
    let parts = text.split('-').map(str::parse).collect::<Result<Vec<u32>, _>>()?;
    match parts[..] {
        [year, month @ 1..=12, day @ 1..=31] => Ok((i32::try_from(year)?, month, day)),
        _ => Err(format!("{text} is not a date").into()),
    }
}

fn profile(text: &str) -> Result<Profile, Box<dyn Error>> {
    Ok(match text {
        "realistic" => Profile::Realistic,
        "small-sources" => Profile::SmallSources,
        "one-file" => Profile::OneFile,
        "big-line" => Profile::BigLine,
        _ => return Err(format!("unknown profile {text}").into()),
    })
}
