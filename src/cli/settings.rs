//! Settings from flags, environment variables, the configuration file and defaults. Earlier ones override later ones.

use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use chrono_tz::Tz;
use clap::ValueEnum;

use super::args::{self, Global};
use super::config::{Config, Rows};
use super::output::{Bar, Format, Limit, OutputSettings, Printer, RowLimit, Style};
use super::when::Clock;
use crate::demo;
use crate::environment;
use crate::etl;
use crate::lake::{AnyLake, Lake, RemoteLake};
use crate::query::{Scheduler, nearest};
use crate::redact;
use crate::remote;
use crate::shown;
use crate::source::read_text;
use crate::upload;
use crate::{Error, Result};

/// Settings of one call.
#[derive(Debug)]
pub struct Settings {
    lake: LakePlace,
    /// The lake as typed, without environment and configuration.
    typed_lake: Option<String>,
    /// True if the lake was typed, or is set in the environment or configuration.
    names_lake: bool,
    /// Clock and time zone of this call.
    pub clock: Clock,
    /// Destination and format of results.
    pub output: OutputSettings,
    /// A value of `-f` that is not a format of results: for `schema`, an engine.
    pub format_as_file: Option<PathBuf>,
    /// True if a format or a file was given on the command line. A format in the configuration does not count.
    pub asks_for_rows: bool,
    /// Printer for stderr.
    pub printer: Printer,
    /// Progress bar of the call.
    pub progress: Bar,
    /// The cluster for queries.
    pub scheduler: Option<Scheduler>,
    config: Config,
    /// The configuration file and the time zone, if they were named on the command line or in the environment.
    named_config: Option<PathBuf>,
    named_zone: Option<String>,
}

#[derive(Debug, Clone)]
enum LakePlace {
    Folder(PathBuf),
    Remote(String),
    Nowhere,
}

impl Display for LakePlace {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => path.display().fmt(formatter),
            Self::Remote(url) => formatter.write_str(&shown::url(url)),
            Self::Nowhere => formatter.write_str("none"),
        }
    }
}

impl Settings {
    /// Resolves the global options, and those that several commands share.
    pub fn resolve(global: Global, scheduler: Option<&str>, style: Style) -> Result<Self> {
        let config = Config::load(global.config.as_deref())?;
        let (format, format_as_file) = typed_format(&global.format);
        let asks_for_rows = format.is_some() || global.output.is_some();
        let format = match format {
            Some(format) => Some(format),
            None => config.format.as_deref().map(Format::of_name).transpose()?,
        };
        let zone = zone(global.timezone.as_deref().or(config.timezone.as_deref()))?;
        let printer = Printer::new(global.quiet, global.verbose, !global.no_progress, style);
        let named = global.lake.as_deref().or(config.lake.as_deref()).filter(|named| !named.is_empty());
        let settings = Self {
            lake: lake_place(named)?,
            typed_lake: global.lake.clone().filter(|_| global.lake_is_typed),
            names_lake: named.is_some(),
            clock: Clock::system(zone),
            output: OutputSettings { format, path: global.output, zone, safe_csv: global.safe_csv, printer },
            format_as_file,
            asks_for_rows,
            printer,
            progress: printer.bar(),
            scheduler: scheduler.map(typed_scheduler).transpose()?,
            config,
            named_config: global.config,
            named_zone: global.timezone,
        };
        settings.printer.detail(|| format!("time zone: {zone}"));
        settings.printer.detail(|| format!("lake: {}", settings.lake));
        Ok(settings)
    }

    /// Fails if the value of `-f` is not a format of results.
    pub fn refuse_format_as_file(&self) -> Result<()> {
        match &self.format_as_file {
            Some(path) if path.is_file() => Err(Error::Unknown {
                what: format!("`{}` is not a format", path.display()),
                hint: format!("read a query from a file with `--file {}`", path.display()),
            }),
            Some(path) => Format::of_name(&path.to_string_lossy()).map(drop),
            None => Ok(()),
        }
    }

    /// Refuses a file if the command has no rows for it. Some commands have rows only with `--dry-run`.
    pub fn refuse_output(&self, command: &str) -> Result<()> {
        match &self.output.path {
            Some(path) => {
                Err(Error::Usage(format!("`{command}` has no rows for `{}`, except with --dry-run", path.display())))
            }
            None => Ok(()),
        }
    }

    /// Returns the lake's folder.
    pub fn lake_folder(&self) -> Result<&Path> {
        match &self.lake {
            LakePlace::Folder(path) => match path.ancestors().find(|part| part.exists() && !part.is_dir()) {
                Some(file) => Err(Error::Usage(format!(
                    "there cannot be a lake at `{}`: `{}` is not a folder; name one with --lake DIR",
                    path.display(),
                    file.display()
                ))),
                None => Ok(path),
            },
            LakePlace::Remote(_) => Err(Error::Usage(format!(
                "the lake `{}` is remote: it can only be queried; `llrem upload` writes it from a lake on a local disk",
                self.lake
            ))),
            LakePlace::Nowhere => {
                Err(Error::Usage("the home folder is unknown; name the lake with --lake DIR".to_owned()))
            }
        }
    }

    /// Returns the folder for the demo's lake: the typed one, or one next to the usual lake. It is never the user's own
    /// lake, so environment and configuration do not count.
    pub fn demo_folder(&self) -> Result<PathBuf> {
        let place = match &self.typed_lake {
            Some(typed) => lake_place(Some(typed))?,
            None => in_data_folder("demo"),
        };
        match place {
            LakePlace::Folder(path) => Ok(path),
            _ => Err(Error::Usage("the demo's lake is a local folder; name one with --lake DIR".to_owned())),
        }
    }

    /// Returns the demo's lake if it is the only one: no other is named, and the usual place has none.
    pub fn demo_instead(&self) -> Option<PathBuf> {
        let folder = self.demo_folder().ok().filter(|_| !self.names_lake)?;
        demo::is_demo(&folder).then_some(folder)
    }

    /// Fails if the lake is the demo's, which is never mixed with real sessions.
    pub fn refuse_demo(&self) -> Result<()> {
        let path = self.lake_folder()?;
        let reason = "it is the demo's, which holds invented sessions";
        if demo::is_demo(path) { Err(Error::OthersLake { path: path.to_owned(), reason }) } else { Ok(()) }
    }

    /// Opens the lake. A remote one is not contacted before the first query.
    pub fn open_lake(&self) -> Result<AnyLake> {
        if let LakePlace::Remote(url) = &self.lake {
            let lake = RemoteLake::new(url, self.config.storage.clone())?;
            return Ok(AnyLake::Remote(lake.with_cache(cache_folder())));
        }
        let folder = self.lake_folder()?;
        match Lake::open(folder) {
            Err(Error::NoLake { path }) => {
                RemoteLake::in_folder(folder).map(AnyLake::Remote).ok_or(Error::NoLake { path })
            }
            opened => opened.map(|lake| AnyLake::Local(lake.with_cache(cache_folder()))),
        }
    }

    /// Returns the global options that another call needs to work on the same lake in the same way.
    pub fn repeated(&self) -> Result<Vec<String>> {
        let text = |path: &Path| {
            let path = std::path::absolute(path).map_err(Error::io("read", path))?;
            let text = path.to_str().map(str::to_owned);
            text.ok_or_else(|| Error::Usage(format!("`{}` is not UTF-8", path.display())))
        };
        let mut repeated = vec!["--lake".to_owned(), text(self.lake_folder()?)?];
        if let Some(path) = &self.named_config {
            repeated.extend(["--config".to_owned(), text(path)?]);
        }
        if let Some(zone) = &self.named_zone {
            repeated.extend(["--timezone".to_owned(), zone.clone()]);
        }
        Ok(repeated)
    }

    /// Returns folders with the user's own queries.
    pub fn query_folders(&self) -> &[PathBuf] {
        &self.config.query_folders
    }

    /// Returns the most rows of a result.
    pub fn limit(&self, typed: Option<Limit>) -> Result<RowLimit> {
        let configured = match &self.config.limit {
            Some(Rows::Number(rows)) => Some(rows.to_string()),
            Some(Rows::Text(text)) => Some(text.clone()),
            None => None,
        };
        let most = match (typed, configured) {
            (Some(limit), _) => limit,
            (None, Some(text)) => text.parse().map_err(Error::Usage)?,
            (None, None) => Limit::default(),
        };
        Ok(RowLimit { most, is_typed: typed.is_some() })
    }

    /// Returns the history file of `llrem sql`, or `None` if it is off or its folder is unknown.
    pub fn history(&self) -> Option<PathBuf> {
        let named = environment::value(environment::HISTORY).map(PathBuf::from).or_else(|| self.config.history.clone());
        match named {
            Some(path) if path.as_os_str() == "off" => None,
            Some(path) => Some(path),
            None => Some(state_folder()?.join("history")),
        }
    }

    /// Returns the user's own price file.
    pub fn prices(&self) -> Option<&Path> {
        self.config.prices.as_deref()
    }

    /// Returns the folders to search for project-local files.
    pub fn project_roots(&self) -> &[PathBuf] {
        &self.config.project_roots
    }

    /// Returns the options of `etl`.
    pub fn etl_options(&self, typed: args::Etl) -> Result<etl::Options> {
        let since =
            typed.since.map(|text| self.clock.moment(&text, super::when::Bound::Start, "--since")).transpose()?;
        let wait = typed.wait.map(|text| super::when::duration(&text)).transpose()?.unwrap_or_default();
        let redact = choice(typed.redact, self.config.redact.as_deref(), "redact", args::Redact::Secrets)?;
        let content = choice(typed.content, self.config.content.as_deref(), "content", args::Content::Full)?;
        let prices = match &self.config.prices {
            Some(path) => Some(read_text(path).map_err(Error::io("read", path))?),
            None => None,
        };
        Ok(etl::Options {
            lake: self.lake_folder()?.to_owned(),
            home: checked_home(typed.home)?,
            sources: typed.sources.iter().map(|text| typed_source(text)).collect::<Result<_>>()?,
            agents: typed.agents,
            since,
            full: typed.full,
            dry_run: typed.dry_run,
            redact: redact.into(),
            content: content.into(),
            jobs: typed.jobs.or(self.config.jobs).map(Into::into),
            wait,
            machine: environment::value(environment::MACHINE).or_else(|| self.config.machine.clone()),
            prices,
            project_roots: self.config.project_roots.clone(),
            zone: self.clock.zone,
            strict: typed.strict,
        })
    }

    /// Returns the options of object storage.
    pub fn storage(&self) -> &remote::Options {
        &self.config.storage
    }

    /// Returns the options of `upload`.
    pub fn upload_options(&self, typed: &args::Upload) -> Result<upload::Options> {
        let configured = &self.config.upload;
        let profile = choice(typed.profile, configured.profile.as_deref(), "profile", args::Profile::Redacted)?;
        Ok(upload::Options {
            lake: self.lake_folder()?.to_owned(),
            url: typed.url.clone(),
            storage: self.storage().clone(),
            profile: upload::Choice { profile: profile.into(), keep_projects: configured.keep_projects },
            dry_run: typed.dry_run,
            full: typed.full,
            replace: typed.replace,
        })
    }
}

/// Returns the last value that names a format, and the last one that does not.
fn typed_format(values: &[String]) -> (Option<Format>, Option<PathBuf>) {
    let format = values.iter().rev().find_map(|value| Format::named(value));
    let file = values.iter().rev().find(|value| Format::named(value).is_none());
    (format, file.map(PathBuf::from))
}

/// Returns the cluster, with the number of parts of its work.
fn typed_scheduler(url: &str) -> Result<Scheduler> {
    let scheduler = Scheduler::parse(url)?;
    let Some(partitions) = environment::value(environment::PARTITIONS) else { return Ok(scheduler) };
    let wrong = |_| Error::Usage(format!("`{partitions}` in {} is not a number of parts", environment::PARTITIONS));
    Ok(scheduler.with_partitions(partitions.parse().map_err(wrong)?))
}

fn lake_place(named: Option<&str>) -> Result<LakePlace> {
    let Some(named) = named else { return Ok(in_data_folder("lake")) };
    match named.split_once("://") {
        Some(("file", _)) => file_url_path(named).map(LakePlace::Folder),
        Some(_) => Ok(LakePlace::Remote(named.to_owned())),
        None => Ok(LakePlace::Folder(PathBuf::from(named))),
    }
}

/// Returns a folder below llrem's own in the platform's folder for data.
fn in_data_folder(name: &str) -> LakePlace {
    use etcetera::BaseStrategy;
    let usual = etcetera::choose_base_strategy().map(|strategy| strategy.data_dir().join("llrem").join(name));
    usual.map_or(LakePlace::Nowhere, LakePlace::Folder)
}

/// Returns the clock as the system's scheduler reads it. The time is taken anew.
pub fn system_clock() -> Clock {
    Clock::system(local_zone().unwrap_or(Tz::UTC))
}

/// Returns the folder for state that is not in the lake, or `None` if the home folder is unknown.
pub fn state_folder() -> Option<PathBuf> {
    use etcetera::BaseStrategy;
    let places = etcetera::choose_base_strategy().ok()?;
    let folder = places.state_dir().unwrap_or_else(|| places.data_dir());
    Some(folder.join("llrem"))
}

/// Returns the folder for caches, or `None` if the home folder is unknown.
fn cache_folder() -> Option<PathBuf> {
    use etcetera::BaseStrategy;
    etcetera::choose_base_strategy().ok().map(|places| places.cache_dir().join("llrem"))
}

fn file_url_path(text: &str) -> Result<PathBuf> {
    let path = url::Url::parse(text).ok().and_then(|url| url.to_file_path().ok());
    path.ok_or_else(|| Error::Usage(format!("`{}` names no local folder; write file:///folder", shown::url(text))))
}

fn zone(named: Option<&str>) -> Result<Tz> {
    match named.filter(|named| !named.is_empty() && *named != "local") {
        Some(named) => Tz::from_str(named).map_err(|_| {
            let guess = nearest::suggestion(named, chrono_tz::TZ_VARIANTS.iter().map(|zone| zone.name()));
            Error::Usage(format!("unknown time zone `{named}`{guess}"))
        }),
        None => Ok(local_zone().unwrap_or(Tz::UTC)),
    }
}

fn local_zone() -> Option<Tz> {
    let named = environment::value(environment::TZ).and_then(|value| value.trim_start_matches(':').parse().ok());
    named.or_else(|| iana_time_zone::get_timezone().ok()?.parse().ok())
}

fn choice<T: ValueEnum>(typed: Option<T>, configured: Option<&str>, key: &str, default: T) -> Result<T> {
    match (typed, configured) {
        (Some(value), _) => Ok(value),
        (None, Some(text)) => {
            T::from_str(text, false).map_err(|_| Error::Usage(format!("`{text}` is not a value of `{key}`")))
        }
        (None, None) => Ok(default),
    }
}

/// Parses `[AGENT=]PATH`. A path may contain `=`.
fn typed_source(text: &str) -> Result<(Option<String>, PathBuf)> {
    let Some((agent, path)) = text.split_once('=') else { return Ok((None, PathBuf::from(text))) };
    if crate::agents::by_id(agent).is_some() {
        return Ok((Some(agent.to_owned()), PathBuf::from(path)));
    }
    if agent.contains(['/', '\\', '.']) || Path::new(text).exists() {
        return Ok((None, PathBuf::from(text)));
    }
    Err(unknown_agent(agent))
}

/// Checks that a filter names an agent, because a misspelt one would match nothing.
pub fn check_agent(typed: Option<&str>) -> Result<()> {
    match typed.filter(|id| crate::agents::by_id(id).is_none()) {
        Some(unknown) => Err(unknown_agent(unknown)),
        None => Ok(()),
    }
}

fn unknown_agent(id: &str) -> Error {
    let near = nearest::several(id, crate::agents::AGENTS.iter().map(|known| known.about().id));
    let hint = nearest::question(&near, "`llrem agents` lists them");
    Error::Unknown { what: format!("no agent is called `{id}`"), hint }
}

/// Returns the folder to read as if it were the home.
pub fn checked_home(typed: Option<PathBuf>) -> Result<Option<PathBuf>> {
    match typed.as_ref().filter(|home| !home.is_dir()) {
        Some(home) => Err(Error::Usage(format!("`{}` is no folder", home.display()))),
        None => Ok(typed),
    }
}

impl From<args::Redact> for redact::Mode {
    fn from(typed: args::Redact) -> Self {
        match typed {
            args::Redact::Secrets => Self::Secrets,
            args::Redact::Strict => Self::Strict,
            args::Redact::None => Self::None,
        }
    }
}

impl From<args::Content> for etl::Content {
    fn from(typed: args::Content) -> Self {
        match typed {
            args::Content::Full => Self::Full,
            args::Content::None => Self::None,
        }
    }
}

impl From<args::Profile> for upload::Profile {
    fn from(typed: args::Profile) -> Self {
        match typed {
            args::Profile::Full => Self::Full,
            args::Profile::Redacted => Self::Redacted,
            args::Profile::Metrics => Self::Metrics,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_name_wins_over_a_file_name() {
        let values = ["a.sql", "json"].map(String::from);
        assert_eq!(typed_format(&values), (Some(Format::Json), Some(PathBuf::from("a.sql"))));
        assert_eq!(typed_format(&["csv".to_owned()]), (Some(Format::Csv), None));
    }

    #[test]
    fn a_lake_is_a_folder_or_an_address() {
        assert!(matches!(lake_place(Some("x")), Ok(LakePlace::Folder(path)) if path == Path::new("x")));
        assert!(matches!(lake_place(Some("file:///x%20y")), Ok(LakePlace::Folder(path)) if path == Path::new("/x y")));
        assert!(matches!(lake_place(Some("s3://b/x")), Ok(LakePlace::Remote(_))));
        assert!(lake_place(Some("file://host/x")).is_err());
    }

    #[test]
    fn a_source_may_name_its_agent() {
        let agent = crate::agents::AGENTS[0].about().id;
        assert_eq!(typed_source(&format!("{agent}=a=b")).unwrap(), (Some(agent.to_owned()), PathBuf::from("a=b")));
        assert_eq!(typed_source("./a=b").unwrap(), (None, PathBuf::from("./a=b")));
        assert!(typed_source("claud-code=x").unwrap_err().hint().unwrap().contains("claude-code?"));
    }

    #[test]
    fn time_zones_are_checked() {
        assert_eq!(zone(Some("Europe/Berlin")).unwrap(), chrono_tz::Europe::Berlin);
        insta::assert_snapshot!(
            zone(Some("Europe/Berlim")).unwrap_err(),
            @"unknown time zone `Europe/Berlim`; did you mean `Europe/Berlin`?"
        );
    }
}
