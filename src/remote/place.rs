//! Parses a URL into the kind of store, the bucket and the prefix.

use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;

use object_store::path::Path;
use url::Url;

use super::Scheme;
use crate::{Error, Result, shown};

/// The location of a lake in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Kind of the store.
    pub scheme: Scheme,
    /// Name of the bucket or container; empty for a folder.
    pub bucket: String,
    /// Prefix of all keys.
    pub prefix: Path,
    /// The folder, if it is one.
    pub folder: Option<PathBuf>,
    /// The URL as shown and passed on, without a trailing slash.
    pub url: String,
}

impl Display for Place {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.url)
    }
}

/// Forms of URLs, for messages.
const FORMS: &str = "s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX, abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PREFIX or file:///FOLDER";

impl Place {
    /// Parses a URL.
    ///
    /// # Errors
    /// Fails with [`Error::Usage`] if the scheme is unknown, there is no bucket, or it contains something that may be a
    /// credential.
    pub fn parse(text: &str) -> Result<Self> {
        let (scheme, rest) = text.split_once("://").ok_or_else(|| no_url(text))?;
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "s3" | "s3a" => Scheme::S3,
            "gs" => Scheme::Google,
            "az" | "azure" | "abfs" | "abfss" => Scheme::Azure,
            "file" => Scheme::File,
            other => return Err(Error::Usage(format!("`{other}://` is not a known kind of store; write {FORMS}"))),
        };
        let shown = shown::url(text);
        let secret = || {
            Error::Usage(
                "the URL contains a user, a password or a query; credentials come from the environment".to_owned(),
            )
        };
        let url = Url::parse(text).map_err(|error| {
            if rest.contains(['@', '?']) { secret() } else { Error::Usage(format!("`{shown}` is no URL: {error}")) }
        })?;
        let names_container = scheme == Scheme::Azure && text.to_ascii_lowercase().starts_with("abfs");
        let has_user = !url.username().is_empty() && !names_container;
        if has_user || url.password().is_some() || url.query().is_some() || url.fragment().is_some() {
            return Err(secret());
        }
        if scheme == Scheme::File {
            return Self::folder(text, &url);
        }
        let host = url.host_str().unwrap_or_default();
        let bucket = if url.username().is_empty() { host } else { url.username() };
        if bucket.is_empty() {
            return Err(Error::Usage(format!("`{shown}` has no bucket; write {FORMS}")));
        }
        let prefix = Path::from_url_path(url.path()).map_err(|error| bad_prefix(text, &error))?;
        Ok(Self { scheme, bucket: bucket.to_owned(), prefix, folder: None, url: without_slash(text) })
    }

    fn folder(text: &str, url: &Url) -> Result<Self> {
        let folder = url.to_file_path().ok().filter(|folder| folder.parent().is_some());
        let folder =
            folder.ok_or_else(|| Error::Usage(format!("`{text}` names no local folder; write file:///folder")))?;
        let prefix = Path::from_absolute_path(&folder).map_err(|error| bad_prefix(text, &error))?;
        Ok(Self { scheme: Scheme::File, bucket: String::new(), prefix, folder: Some(folder), url: without_slash(text) })
    }

    /// Returns the full form of a key below the prefix, for messages.
    pub fn shown(&self, key: &str) -> String {
        format!("{}/{key}", self.url)
    }
}

fn without_slash(text: &str) -> String {
    text.trim_end_matches('/').to_owned()
}

fn no_url(text: &str) -> Error {
    let path = std::path::absolute(text).map(|path| path.to_string_lossy().into_owned());
    let guess = path.map_or_else(|_| String::new(), |path| format!("; for a folder write file://{path}"));
    Error::Usage(format!("`{text}` is no URL{guess}"))
}

fn bad_prefix(text: &str, error: &object_store::path::Error) -> Error {
    Error::Usage(format!("`{text}` is not a place for a lake: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_url_names() {
        for (text, scheme, bucket, prefix) in [
            ("s3://b", Scheme::S3, "b", ""),
            ("s3a://b/team/lake/", Scheme::S3, "b", "team/lake"),
            ("gs://b/lake", Scheme::Google, "b", "lake"),
            ("az://c/lake", Scheme::Azure, "c", "lake"),
            ("abfss://c@account.dfs.core.windows.net/lake", Scheme::Azure, "c", "lake"),
            ("file:///mnt/a%20b", Scheme::File, "", "mnt/a b"),
        ] {
            let place = Place::parse(text).unwrap();
            assert_eq!(
                (place.scheme, place.bucket.as_str(), place.prefix.as_ref()),
                (scheme, bucket, prefix),
                "{text}"
            );
            assert_eq!(place.shown("x"), format!("{}/x", text.trim_end_matches('/')));
        }
    }

    #[test]
    fn what_is_no_place() {
        for text in ["ftp://b/x", "s3://", "s3:///x", "file://host/x", "file:///", "/mnt/lake", "lake"] {
            assert!(matches!(Place::parse(text), Err(Error::Usage(_))), "{text}");
        }
    }

    #[test]
    fn a_url_with_a_credential_is_refused_and_not_repeated() {
        for text in [
            "s3://AKIACANARY:canary@b/x",
            "s3://canary@b/x",
            "az://c/x?sig=canary",
            "gs://b/x#canary",
            "s3://a:canary/x",
            "s3://a:can/ary@b/x",
            "s3://a:canary@:x/",
            "abfss://c:canary@a.dfs.core.windows.net/x",
        ] {
            let message = Place::parse(text).unwrap_err().to_string();
            assert!(!message.to_lowercase().contains("canary"), "{message}");
        }
    }
}
