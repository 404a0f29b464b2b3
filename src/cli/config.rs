//! The configuration file: `$XDG_CONFIG_HOME/llrem/config.toml`.

use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::query::nearest;
use crate::remote;
use crate::source::read_text;
use crate::{Error, Result};

/// The configuration file. Every key is optional.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Config {
    /// The lake's folder.
    pub lake: Option<String>,
    /// Name of this machine in the lake.
    pub machine: Option<String>,
    /// Time zone of shown times.
    pub timezone: Option<String>,
    /// Secrets to replace: secrets, strict or none.
    pub redact: Option<String>,
    /// Texts to keep: full or none.
    pub content: Option<String>,
    /// Threads of `etl`.
    pub jobs: Option<std::num::NonZeroUsize>,
    /// Folders to search for project-local files.
    pub project_roots: Vec<PathBuf>,
    /// Format of results.
    pub format: Option<String>,
    /// Most rows of a table on a terminal.
    pub limit: Option<Rows>,
    /// File of the history of `llrem sql`, or `off`.
    pub history: Option<PathBuf>,
    /// The user's own price file.
    pub prices: Option<PathBuf>,
    /// Folders of the user's own queries.
    pub query_folders: Vec<PathBuf>,
    /// Access to object storage.
    pub storage: remote::Options,
    /// Options of `upload`.
    pub upload: Upload,
}

/// A number of rows, or `off`.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a number of rows, or \"off\"")]
pub(super) enum Rows {
    /// A number.
    Number(u64),
    /// A word, which must be `off`.
    Text(String),
}

/// `[upload]`
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Upload {
    /// Profile: full, redacted or metrics.
    pub profile: Option<String>,
    /// True if `metrics` keeps the names of projects.
    pub keep_projects: bool,
}

const KEYS: [&str; 14] = [
    "lake",
    "machine",
    "timezone",
    "redact",
    "content",
    "jobs",
    "project_roots",
    "format",
    "limit",
    "history",
    "prices",
    "query_folders",
    "storage",
    "upload",
];

impl Config {
    /// Reads the named file, or else the default one, which may be missing.
    pub(super) fn load(named: Option<&Path>) -> Result<Self> {
        let (path, required) = match named {
            Some(path) => (path.to_owned(), true),
            None => match usual_path() {
                Some(path) => (path, false),
                None => return Ok(Self::default()),
            },
        };
        match read_text(&path) {
            Ok(text) => Self::parse(&text, &path),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !required => Ok(Self::default()),
            Err(error) => Err(Error::io("read", &path)(error)),
        }
    }

    fn parse(text: &str, path: &Path) -> Result<Self> {
        let wrong = |error: toml::de::Error| {
            Error::Usage(format!("the configuration `{}` is wrong: {}", path.display(), one_line(&error, text)))
        };
        let table: toml::Table = toml::from_str(text).map_err(wrong)?;
        if let Some(unknown) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
            let guess = nearest::suggestion(unknown, KEYS);
            return Err(Error::Usage(format!("unknown key `{unknown}` in `{}`{guess}", path.display())));
        }
        let mut config: Self = toml::from_str(text).map_err(wrong)?;
        config.resolve_paths(path.parent().unwrap_or(Path::new("")));
        Ok(config)
    }

    /// Makes a path absolute: it is relative to the file's folder, or to the home after `~/`.
    fn resolve_paths(&mut self, folder: &Path) {
        let paths = self.project_roots.iter_mut().chain(&mut self.query_folders).chain(&mut self.prices);
        for path in paths {
            *path = resolved(path, folder);
        }
        if let Some(history) = self.history.as_mut().filter(|history| history.as_os_str() != "off") {
            *history = resolved(history, folder);
        }
        if let Some(lake) = self.lake.as_mut().filter(|lake| !lake.contains("://")) {
            *lake = resolved(Path::new(lake), folder).to_string_lossy().into_owned();
        }
    }
}

fn usual_path() -> Option<PathBuf> {
    use etcetera::BaseStrategy;
    let strategy = etcetera::base_strategy::Xdg::new().ok()?;
    Some(strategy.config_dir().join("llrem").join("config.toml"))
}

fn resolved(path: &Path, folder: &Path) -> PathBuf {
    match (path.strip_prefix("~"), etcetera::home_dir()) {
        (Ok(rest), Ok(home)) => home.join(rest),
        _ => folder.join(path),
    }
}

fn one_line(error: &toml::de::Error, text: &str) -> String {
    let line = error.span().map(|span| text.bytes().take(span.start).filter(|byte| *byte == b'\n').count() + 1);
    let message = error.message().lines().collect::<Vec<_>>().join(" ");
    line.map_or_else(|| message.clone(), |line| format!("line {line}: {message}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config> {
        Config::parse(text, Path::new("/etc/llrem/config.toml"))
    }

    #[test]
    fn every_declared_key_is_known_and_paths_begin_at_the_file() {
        let config = parse(
            "lake = 'lake'\nmachine = 'm'\ntimezone = 'UTC'\nredact = 'strict'\ncontent = 'none'\njobs = 2\n\
             project_roots = ['/src', 'work']\nformat = 'json'\nprices = 'prices.json'\nquery_folders = ['sql']\n\
             limit = 50\nhistory = 'history'\n\
             [storage]\nendpoint = 'https://h'\nregion = 'r'\npath_style = false\nallow_http = true\n\
             instance_credentials = true\nno_checksum = true\n[upload]\nprofile = 'metrics'\nkeep_projects = true",
        )
        .unwrap();
        let storage = remote::Options {
            endpoint: Some("https://h".to_owned()),
            region: Some("r".to_owned()),
            path_style: Some(false),
            allow_http: true,
            instance_credentials: true,
            no_checksum: true,
        };
        assert_eq!(config.storage, storage);
        assert_eq!((config.upload.profile.as_deref(), config.upload.keep_projects), (Some("metrics"), true));
        assert_eq!(config.lake.as_deref(), Some("/etc/llrem/lake"));
        assert_eq!(config.project_roots, [PathBuf::from("/src"), PathBuf::from("/etc/llrem/work")]);
        assert_eq!(config.query_folders, [PathBuf::from("/etc/llrem/sql")]);
        assert_eq!(config.history, Some(PathBuf::from("/etc/llrem/history")));
        assert!(matches!(config.limit, Some(Rows::Number(50))));
        assert_eq!(config.prices, Some(PathBuf::from("/etc/llrem/prices.json")));
    }

    #[test]
    fn an_address_stays_as_it_is() {
        assert_eq!(parse("lake = 's3://bucket/lake'").unwrap().lake.as_deref(), Some("s3://bucket/lake"));
    }

    #[test]
    fn what_is_off_is_no_path() {
        let config = parse("limit = 'off'\nhistory = 'off'").unwrap();
        assert_eq!(config.history, Some(PathBuf::from("off")));
        assert!(matches!(config.limit, Some(Rows::Text(text)) if text == "off"));
    }

    #[test]
    fn an_unknown_key_is_named_with_the_one_that_was_meant() {
        insta::assert_snapshot!(
            parse("machin = 'm'").unwrap_err(),
            @"unknown key `machin` in `/etc/llrem/config.toml`; did you mean `machine`?"
        );
        insta::assert_snapshot!(
            parse("[storage]\nendpont = 'x'").unwrap_err(),
            @"the configuration `/etc/llrem/config.toml` is wrong: line 2: unknown field `endpont`, expected one of `endpoint`, `region`, `path_style`, `allow_http`, `instance_credentials`, `no_checksum`"
        );
    }

    #[test]
    fn a_wrong_value_is_named_with_its_line() {
        insta::assert_snapshot!(
            parse("machine = 'm'\njobs = 'two'").unwrap_err(),
            @"the configuration `/etc/llrem/config.toml` is wrong: line 2: invalid type: string \"two\", expected a nonzero usize"
        );
    }
}
