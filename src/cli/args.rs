//! The command line: commands and options. Their doc comments are the help texts.

mod choices;
mod keep;

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::builder::PossibleValue;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum, ValueHint};

use super::help;
use super::output::{Format, Limit};
use crate::environment;
use crate::query::canned;
use crate::tables::{Severity, Vocabulary};
pub use choices::{Color, Content, Redact};
use choices::{Offered, agent_ids, agent_names, format_names, table_names};
pub use keep::{Profile, Schedule, ScheduleAction, Status, System, Upload, Verify};

/// llrem shows what your coding agents did, what it cost, and what was wasted
#[derive(Debug, Parser)]
#[command(name = "llrem", version, max_term_width = 100)]
pub struct Cli {
    /// Options that every command takes.
    #[command(flatten)]
    pub global: Global,
    /// The command; without one, an overview.
    #[command(subcommand)]
    pub command: Option<Command>,
}

impl Cli {
    /// Parses the arguments.
    ///
    /// # Errors
    /// Fails on wrong usage, and on a request for help, which clap reports as an error too.
    pub(super) fn read(arguments: &[OsString], color: clap::ColorChoice) -> Result<Self, clap::Error> {
        if let [_, help, name] = arguments
            && help == "help"
            && let Some(topic) = name.to_str().and_then(help::topic)
        {
            clap::Command::new("llrem").override_help(topic).try_get_matches_from(["llrem", "--help"])?;
        }
        let matches = Self::for_people().color(color).try_get_matches_from(arguments)?;
        let mut typed = Self::from_arg_matches(&matches)?;
        // If an option is given before and after the command, clap keeps only the values after it.
        let mut formats = formats_before_the_command(arguments);
        formats.append(&mut typed.global.format);
        typed.global.format = formats;
        typed.global.lake_is_typed = matches.value_source("lake") == Some(clap::parser::ValueSource::CommandLine);
        if typed.global.json {
            typed.global.format.push(Format::Json.name().to_owned());
        }
        Ok(typed)
    }
}

impl Cli {
    /// Returns the definition with the help that people read: `-h` and `--help` are the same, and the options of every
    /// command are listed once.
    fn for_people() -> clap::Command {
        let global = Global::augment_args(clap::Command::new("llrem"));
        let names: Vec<String> = global.get_arguments().map(|arg| arg.get_id().to_string()).collect();
        let command = Self::command();
        let text = help::top(&command);
        let hidden = names.into_iter().fold(command, |command, name| command.mut_arg(name, |arg| arg.hide(true)));
        let help = clap::Arg::new("help").short('h').long("help").global(true).help("Print this help");
        let help = help.help_heading(None::<&str>);
        hidden.disable_help_flag(true).arg(help.action(clap::ArgAction::HelpShort)).override_help(text).mut_subcommands(
            |command| {
                let examples = command.get_after_long_help().map(|examples| format!("{examples}\n\n"));
                let more = format!("{}All options: llrem help options", examples.unwrap_or_default());
                command.after_help(more)
            },
        )
    }
}

fn formats_before_the_command(arguments: &[OsString]) -> Vec<String> {
    let global = Global::augment_args(clap::Command::new("llrem")).allow_external_subcommands(true);
    let matches = global.try_get_matches_from(arguments).ok();
    let formats = matches.and_then(|mut matches| matches.remove_many::<String>("format"));
    formats.into_iter().flatten().collect()
}

/// Options that every command takes, before or after its name.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// The lake's folder [default: `$XDG_DATA_HOME/llrem/lake`]
    #[arg(long, global = true, value_name = "DIR|URL", env = environment::LAKE, hide_env_values = true)]
    #[arg(value_hint = ValueHint::DirPath)]
    pub lake: Option<String>,
    /// True if the lake was typed.
    #[arg(skip)]
    pub lake_is_typed: bool,
    /// The configuration file [default: `$XDG_CONFIG_HOME/llrem/config.toml`]
    #[arg(long, global = true, value_name = "FILE", env = environment::CONFIG, hide_env_values = true)]
    #[arg(value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// Format of results: table, csv, json, jsonl, md, parquet, arrow [default: table on a terminal, csv into a pipe]
    #[arg(short, long, global = true, action = clap::ArgAction::Append, value_parser = Offered(format_names))]
    pub format: Vec<String>,
    /// Short for `--format json`
    #[arg(long, global = true)]
    pub json: bool,
    /// Write the result into FILE; the suffix gives the format when -f does not
    #[arg(short, long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Make CSV safe for spreadsheets: put `'` before texts that they would run as a formula (=, +, -, @)
    #[arg(long, global = true)]
    pub safe_csv: bool,
    /// Time zone of output and of dates that you type, such as Europe/Berlin [default: the system's]
    #[arg(long, global = true, value_name = "TZ", env = environment::TIMEZONE, hide_env_values = true)]
    pub timezone: Option<String>,
    /// Print no summary and no warnings
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Print more details
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Show no progress bar
    #[arg(long, global = true)]
    pub no_progress: bool,
    /// When to use colour
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Read what the agents wrote since the last time into the lake
    #[command(after_long_help = help::ETL)]
    Etl(Etl),
    /// Ask in SQL; alone: a shell
    #[command(after_long_help = help::SQL)]
    Sql(Sql),
    /// Answer a ready-made question; alone: the list
    #[command(after_long_help = help::QUERY)]
    Query(Query),
    /// Show what was wasted, the most expensive first
    #[command(after_long_help = help::DETECT)]
    Detect(Detect),
    /// Read a session as a conversation
    #[command(after_long_help = help::SHOW)]
    Show(Show),
    /// Find text in prompts, replies, commands and tool output
    #[command(after_long_help = help::SEARCH)]
    Search(Search),
    /// Show tables and columns
    #[command(after_long_help = help::SCHEMA)]
    Schema(Schema),
    /// Show every file that was read; --bad: what could not be
    #[command(after_long_help = help::SOURCES)]
    Sources(Sources),
    /// Show which agents are found here, and what they record
    #[command(after_long_help = help::AGENTS)]
    Agents(Agents),
    /// Copy the lake to s3://, gs:// or az://, without secrets
    #[command(after_long_help = help::UPLOAD)]
    Upload(Upload),
    /// Write one HTML page with plots
    #[command(after_long_help = help::REPORT)]
    Report(Report),
    /// Check that the lake is complete and consistent
    #[command(after_long_help = help::VERIFY)]
    Verify(Verify),
    /// Show how current the lake is, and what today cost
    #[command(after_long_help = help::STATUS)]
    Status(Status),
    /// Check agents, lake, schedule and prices
    #[command(after_long_help = help::DOCTOR)]
    Doctor,
    /// Run etl every night
    #[command(after_long_help = help::SCHEDULE)]
    Schedule(Schedule),
    /// Make a lake of invented sessions, to look around
    #[command(after_long_help = help::DEMO)]
    Demo,
    /// Print the completion script of a shell
    #[command(after_long_help = help::COMPLETIONS)]
    Completions(Completions),
    /// Print the manual page
    #[command(after_long_help = help::MAN)]
    Man,
}

/// `llrem etl`
#[derive(Debug, Default, Args)]
pub struct Etl {
    /// Read DIR as if it were the home folder: a backup, another account [default: your own]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub home: Option<PathBuf>,
    /// Read only this file or folder; may be repeated
    #[arg(long = "source", value_name = "[AGENT=]PATH", value_hint = ValueHint::AnyPath)]
    pub sources: Vec<String>,
    /// Read only this agent; may be repeated; `llrem agents` lists them
    #[arg(long = "agent", value_name = "NAME", value_parser = agent_names(), hide_possible_values = true)]
    pub agents: Vec<String>,
    /// Read only files modified since then: 7d, 2w, 1mo, 2026-01-31, monday, "last week"
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Extract every source again, changed or not
    #[arg(long)]
    pub full: bool,
    /// List what would be read and why, and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Secrets to replace [default: secrets]
    #[arg(long, value_enum, value_name = "MODE", env = environment::REDACT, hide_env_values = true)]
    pub redact: Option<Redact>,
    /// Keep texts, inputs and outputs, or none of them [default: full]
    #[arg(long, value_enum, value_name = "MODE", env = environment::CONTENT, hide_env_values = true)]
    pub content: Option<Content>,
    /// Threads, 256 at most [default: all cores]
    #[arg(short, long, value_name = "N", env = environment::JOBS, hide_env_values = true)]
    pub jobs: Option<NonZeroUsize>,
    /// Wait at most this long for another `llrem etl` to end: 30s, 5m, 1h
    #[arg(long, value_name = "DURATION")]
    pub wait: Option<String>,
    /// Exit with 3 if some input is unreadable or partly bad
    #[arg(long)]
    pub strict: bool,
}

/// `llrem sql`
#[derive(Debug, Args)]
pub struct Sql {
    /// The query; `-` reads it from stdin [default: a shell on a terminal, stdin in a pipe]
    pub query: Option<String>,
    /// Read the query from FILE
    #[arg(long, value_name = "FILE", conflicts_with = "query", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,
    /// Show N rows at most, in every format; `off` for all [default: 1000 on a terminal, else off]
    #[arg(short = 'n', long, value_name = "N|off")]
    pub limit: Option<Limit>,
    /// Run the query on a Ballista cluster whose machines can read the lake, df://HOST:PORT
    #[arg(long, value_name = "URL")]
    pub scheduler: Option<String>,
}

/// `llrem query`
#[derive(Debug, Args)]
pub struct Query {
    /// The query's name [default: list the queries]
    #[arg(value_parser = Offered(canned::names), hide_possible_values = true)]
    pub name: Option<String>,
    /// Set a parameter; may be repeated
    #[arg(short, long = "param", value_name = "NAME=VALUE", requires = "name")]
    pub params: Vec<String>,
    /// Only from this time on: 7d, 2w, 1mo, 2026-01-31, monday, "last week"
    #[arg(long, value_name = "WHEN", requires = "name")]
    pub since: Option<String>,
    /// Only before this time; includes the named day: `--until 2026-01-31` ends with that day
    #[arg(long, value_name = "WHEN", requires = "name")]
    pub until: Option<String>,
    /// Only this project
    #[arg(long, value_name = "PROJECT", requires = "name")]
    pub project: Option<String>,
    /// Only this agent
    #[arg(long, value_name = "AGENT", requires = "name")]
    #[arg(value_parser = Offered(agent_ids), hide_possible_values = true)]
    pub agent: Option<String>,
    /// Print the query's text instead of running it
    #[arg(long, requires = "name")]
    pub show: bool,
    /// Print the query's description, parameters and columns instead of running it
    #[arg(long, requires = "name", conflicts_with = "show")]
    pub explain: bool,
    /// Show N rows at most, in every format; `off` for all [default: 1000 on a terminal, else off]
    #[arg(short = 'n', long, value_name = "N|off", requires = "name")]
    pub limit: Option<Limit>,
    /// Run the query on a Ballista cluster whose machines can read the lake, df://HOST:PORT
    #[arg(long, value_name = "URL", requires = "name")]
    pub scheduler: Option<String>,
}

/// `llrem detect`
#[derive(Debug, Args)]
pub struct Detect {
    /// Only these detectors [default: all except those that `llrem detect --explain` lists as off]
    #[arg(value_name = "NAME", value_parser = Offered(canned::detector_names), hide_possible_values = true)]
    pub names: Vec<String>,
    /// Set a parameter of all detectors that have it, or of one with DETECTOR.NAME=VALUE; may be repeated
    #[arg(short, long = "param", value_name = "NAME=VALUE")]
    pub params: Vec<String>,
    /// Only findings whose first evidence is of this time or later: 7d, 2w, 1mo, 2026-01-31, monday, "last week"
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Only findings whose first evidence is before this time; includes the named day: `--until 2026-01-31` ends with that day
    #[arg(long, value_name = "WHEN")]
    pub until: Option<String>,
    /// Only this project
    #[arg(long, value_name = "PROJECT")]
    pub project: Option<String>,
    /// Only this agent
    #[arg(long, value_name = "AGENT", value_parser = Offered(agent_ids), hide_possible_values = true)]
    pub agent: Option<String>,
    /// Only this session: its id, or the beginning of it
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Only findings of this severity or a higher one
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub severity: Option<Severity>,
    /// Only findings that wasted this many US dollars or more
    #[arg(long, value_name = "USD")]
    pub min_cost: Option<f64>,
    /// Show the N most expensive findings, or `off` for all [default: 10 on a terminal without --new, else off]
    #[arg(short = 'n', long, value_name = "N|off")]
    pub limit: Option<Limit>,
    /// Only findings that are new, or more severe than when `--new` last reported them
    #[arg(long, conflicts_with = "explain")]
    pub new: bool,
    /// Exit with 4 if there is a finding of this severity or a higher one
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub fail_on: Option<Severity>,
    /// Print a detector's description, parameters and columns instead of running it; without a name, list all detectors
    #[arg(long, value_name = "NAME", conflicts_with = "names")]
    #[arg(value_parser = Offered(canned::detector_names), hide_possible_values = true)]
    pub explain: Option<Option<String>>,
    /// Run the queries on a Ballista cluster whose machines can read the lake, df://HOST:PORT
    #[arg(long, value_name = "URL")]
    pub scheduler: Option<String>,
}

impl Command {
    /// Returns the scheduler of the cluster that runs the queries.
    pub(super) fn scheduler(&self) -> Option<&str> {
        match self {
            Self::Sql(typed) => typed.scheduler.as_deref(),
            Self::Query(typed) => typed.scheduler.as_deref(),
            Self::Detect(typed) => typed.scheduler.as_deref(),
            _ => None,
        }
    }
}

impl ValueEnum for Severity {
    fn value_variants<'a>() -> &'a [Self] {
        Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.as_str()).help(self.meaning()))
    }
}

/// `llrem show`
#[derive(Debug, Args)]
pub struct Show {
    /// The session: its id, or the beginning of it; a subagent as SESSION/ID
    pub session: String,
    /// Begin at this position, as findings and `llrem search` name it; `less` opens there
    #[arg(long, value_name = "SEQ")]
    pub at: Option<i64>,
    /// Show the model's thinking
    #[arg(long)]
    pub thinking: bool,
    /// Show the whole output of tool calls
    #[arg(long)]
    pub outputs: bool,
    /// Show everything, also what the agent added for the model or reported about itself
    #[arg(long)]
    pub all: bool,
    /// Write one self-contained HTML page into FILE
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub html: Option<PathBuf>,
    /// Show N messages and tool calls at most, in every format, from the beginning or from --at on [default: off]
    #[arg(short = 'n', long, value_name = "N|off")]
    pub limit: Option<Limit>,
}

/// `llrem search`
#[derive(Debug, Args)]
pub struct Search {
    /// Words that all occur in one message or tool call, each at the beginning of a word; a quoted phrase counts as one
    #[arg(value_name = "WORD", required_unless_present = "expression")]
    pub words: Vec<String>,
    /// Search for a regular expression; case is ignored unless it says (?-i)
    #[arg(short = 'e', long = "regexp", value_name = "REGEX", conflicts_with = "words")]
    pub expression: Option<String>,
    /// The N best hits of each session
    #[arg(long, value_name = "N", default_value = "1")]
    pub hits: NonZeroUsize,
    /// Only from this time on: 7d, 2w, 2026-01-31, 2026-01-31T10:00, today, yesterday, monday
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Only before this time; includes the named day: `--until 2026-01-31` ends with that day
    #[arg(long, value_name = "WHEN")]
    pub until: Option<String>,
    /// Only this project
    #[arg(long, value_name = "PROJECT")]
    pub project: Option<String>,
    /// Only this agent
    #[arg(long, value_name = "AGENT", value_parser = Offered(agent_ids), hide_possible_values = true)]
    pub agent: Option<String>,
    /// Most sessions and subagents, or `off` for all [default: 10 on a terminal, else off]
    #[arg(short = 'n', long, value_name = "N|off")]
    pub limit: Option<Limit>,
}

/// `llrem schema`
#[derive(Debug, Args)]
pub struct Schema {
    /// Only this table
    #[arg(value_parser = Offered(table_names))]
    pub table: Option<String>,
}

/// `llrem sources`
#[derive(Debug, Args)]
pub struct Sources {
    /// Only sources that were unreadable, encrypted or partly bad
    #[arg(long)]
    pub bad: bool,
    /// Record types and fields that llrem does not know, with counts: names, and no content
    #[arg(long, conflicts_with = "bad")]
    pub unknown: bool,
    /// Show N rows at most, in every format; `off` for all [default: 1000 on a terminal, else off]
    #[arg(short = 'n', long, value_name = "N|off")]
    pub limit: Option<Limit>,
}

/// `llrem agents`
#[derive(Debug, Args)]
pub struct Agents {
    /// Look in DIR as if it were the home folder [default: your own]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub home: Option<PathBuf>,
    /// Show every agent that llrem knows, with its places and environment variables
    #[arg(long)]
    pub all: bool,
}

/// `llrem report`
#[derive(Debug, Args)]
pub struct Report {
    /// All that the lake has. Without a time, the page is about the last whole month if the lake has it
    #[arg(long, conflicts_with_all = ["since", "until"])]
    pub all: bool,
    /// Only from this time on: 7d, 2w, 1mo, 2026-01-31, monday, "last week"
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Only before this time; includes the named day: `--until 2026-01-31` ends with that day
    #[arg(long, value_name = "WHEN")]
    pub until: Option<String>,
    /// Only this project
    #[arg(long, value_name = "PROJECT")]
    pub project: Option<String>,
    /// Only this agent
    #[arg(long, value_name = "AGENT", value_parser = Offered(agent_ids), hide_possible_values = true)]
    pub agent: Option<String>,
}

/// `llrem completions`
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    pub shell: clap_complete::Shell,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_count_on_both_sides_of_the_command() {
        let formats = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            Cli::read(&words, clap::ColorChoice::Never).unwrap().global.format
        };
        assert_eq!(formats("llrem -f json sql -f q.sql"), ["json", "q.sql"]);
        assert_eq!(formats("llrem -q --format=q.sql --lake x sql -fjson --format csv"), ["q.sql", "json", "csv"]);
        assert_eq!(formats("llrem sql -f q.sql -f json"), ["q.sql", "json"]);
        assert_eq!(formats("llrem -fjson -f csv sql"), ["json", "csv", "json", "csv"]);
        assert!(formats("llrem sql q").is_empty());
    }
}
