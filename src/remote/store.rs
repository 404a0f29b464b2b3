//! Opens the store of a URL.

use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, Checksum};
use object_store::azure::MicrosoftAzureBuilder;
use object_store::client::ClientConfigKey;
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{BackoffConfig, ObjectMeta, ObjectStore, ObjectStoreExt, RetryConfig, UpdateVersion};
use serde::Deserialize;

use super::aws::Profile;
use super::trouble::{Trouble, understood};
use super::{Place, Scheme, credentials, persistently};
use crate::environment::value;
use crate::{Error, Result};

/// Access to stores: `[storage]` in the configuration. The clouds' own variables override it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// URL of a server other than the cloud's own.
    pub endpoint: Option<String>,
    /// Region of an S3 bucket.
    pub region: Option<String>,
    /// True if the bucket is in the path, not in the host name; the default with an endpoint.
    pub path_style: Option<bool>,
    /// True if an endpoint may be `http://`.
    pub allow_http: bool,
    /// True if the machine's metadata service may provide credentials, even if the machine does not look like a
    /// cloud's.
    pub instance_credentials: bool,
    /// True if objects are sent without a SHA-256: some S3 servers do not support it.
    pub no_checksum: bool,
}

/// A store, and the location of a lake in it.
#[derive(Clone)]
pub struct Remote {
    /// The store.
    pub store: Arc<dyn ObjectStore>,
    /// Location and prefix.
    pub place: Place,
    /// True if it is opened for writing too.
    is_written: bool,
}

impl Debug for Remote {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Remote").field("place", &self.place).finish_non_exhaustive()
    }
}

/// Longest time of one request. A part of a large file has to fit into it over a slow connection.
const REQUEST: &str = "5 minutes";
/// Time after which a request is not retried; less than the lifetime of signatures.
const PATIENCE: Duration = Duration::from_mins(2);
/// Longest pause before a retry.
const LONGEST_PAUSE: Duration = Duration::from_secs(4);

impl Remote {
    /// Opens the store of a URL. Makes no request.
    ///
    /// # Errors
    /// Fails with [`Error::Usage`] if the URL or the options are invalid, and with [`Error::Remote`] if there are no
    /// credentials.
    pub fn open(url: &str, options: &Options) -> Result<Self> {
        let place = Place::parse(url)?;
        let store: Arc<dyn ObjectStore> = match place.scheme {
            Scheme::S3 => Arc::new(s3(&place, options)?),
            Scheme::Google => Arc::new(google(&place, url, options)?),
            Scheme::Azure => Arc::new(azure(&place, url, options)?),
            Scheme::File => Arc::new(LocalFileSystem::new()),
        };
        Ok(Self { store, place, is_written: false })
    }

    /// Like `open`, for writing: errors of permission then name all that an upload needs.
    #[must_use]
    pub fn to_be_written(self) -> Self {
        Self { is_written: true, ..self }
    }

    /// Returns the store's path of a key below the prefix.
    pub fn path(&self, key: &str) -> Path {
        let keys = key.split('/').map(object_store::path::PathPart::from);
        self.place.prefix.parts().chain(keys).collect()
    }

    /// Returns the error of an operation on a key.
    pub(crate) fn failed(&self, action: &'static str, key: &str, error: &object_store::Error) -> Error {
        match failed(action, &self.place, key, error) {
            Error::Remote { action, url, trouble: Trouble::Denied, reason } if !self.is_written => {
                Error::Remote { action, url, trouble: Trouble::DeniedReading, reason }
            }
            error => error,
        }
    }

    /// Reads a whole object, and its version for a conditional write. Returns `None` if it does not exist.
    pub(crate) async fn read(&self, key: &str) -> Result<Option<(Bytes, UpdateVersion)>> {
        let path = self.path(key);
        let read = persistently(|| async {
            let found = self.store.get(&path).await?;
            let version = UpdateVersion { e_tag: found.meta.e_tag.clone(), version: found.meta.version.clone() };
            Ok((found.bytes().await?, version))
        });
        match read.await {
            Ok(found) => Ok(Some(found)),
            Err(error) => {
                let failure = self.failed("read", key, &error);
                let is_absent = matches!(error, object_store::Error::NotFound { .. });
                let has_bucket = !matches!(failure, Error::Remote { trouble: Trouble::NoBucket, .. });
                if is_absent && has_bucket { Ok(None) } else { Err(failure) }
            }
        }
    }

    /// Lists every object below a folder.
    pub(crate) async fn list(&self, folder: &str) -> Result<Vec<ObjectMeta>> {
        let path = self.path(folder);
        let listed = persistently(|| self.store.list(Some(&path)).try_collect());
        listed.await.map_err(|error| self.failed("list", folder, &error))
    }

    /// Deletes objects. Missing ones are no error.
    pub(crate) async fn remove(&self, keys: &[String]) -> Result<()> {
        let remove = || async {
            let paths: Vec<_> = keys.iter().map(|key| Ok(self.path(key))).collect();
            let mut removed = self.store.delete_stream(futures::stream::iter(paths).boxed());
            while let Some(outcome) = removed.next().await {
                match outcome {
                    Ok(_) | Err(object_store::Error::NotFound { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        };
        let first = keys.first().map_or("", String::as_str);
        persistently(remove).await.map_err(|error| self.failed("remove", first, &error))
    }

    /// Returns the key of a store's path.
    pub(crate) fn key(&self, path: &Path) -> Option<String> {
        let parts: Vec<_> = path.prefix_match(&self.place.prefix)?.map(|part| part.as_ref().to_owned()).collect();
        Some(parts.join("/"))
    }
}

fn retries() -> RetryConfig {
    let backoff = BackoffConfig { max_backoff: LONGEST_PAUSE, ..BackoffConfig::default() };
    RetryConfig { retry_timeout: PATIENCE, backoff, ..RetryConfig::default() }
}

/// Returns the endpoint of the environment, or else of the options, if it is allowed.
fn endpoint(named: Option<String>, options: &Options, http_is_allowed: bool) -> Result<Option<String>> {
    let Some(endpoint) = named.or_else(|| options.endpoint.clone()) else { return Ok(None) };
    let parsed = url::Url::parse(&endpoint).ok().filter(url::Url::has_host);
    let parsed = parsed.ok_or_else(|| Error::Usage("the endpoint is no URL; write https://host:port".to_owned()))?;
    if !parsed.username().is_empty() || parsed.password().is_some() || parsed.query().is_some() {
        return Err(Error::Usage(
            "the endpoint contains a user, a password or a query; credentials come from the environment".to_owned(),
        ));
    }
    match parsed.scheme() {
        "https" => Ok(Some(endpoint)),
        "http" if http_is_allowed => Ok(Some(endpoint)),
        "http" => Err(Error::Usage(format!(
            "the endpoint `{endpoint}` is not encrypted; to use it anyway, set `allow_http = true` under [storage]"
        ))),
        other => Err(Error::Usage(format!("the endpoint begins with `{other}://`; write https://host:port"))),
    }
}

fn is_true(name: &str) -> bool {
    value(name).is_some_and(|value| matches!(value.to_ascii_lowercase().as_str(), "true" | "1" | "yes" | "on" | "y"))
}

fn no_credentials(place: &Place) -> Error {
    let reason = "no credentials are known".to_owned();
    let trouble = Trouble::NoCredentials(place.scheme);
    Error::Remote { action: "open", url: place.url.clone(), trouble, reason }
}

fn s3(place: &Place, options: &Options) -> Result<object_store::aws::AmazonS3> {
    let allow_http = options.allow_http || is_true("AWS_ALLOW_HTTP");
    let profile = Profile::load();
    let named = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"].iter().find_map(|name| value(name));
    let of_profile = || profile.get("endpoint_url").filter(|_| options.endpoint.is_none()).map(str::to_owned);
    let endpoint = endpoint(named.or_else(of_profile), options, allow_http)?;
    let mut builder = AmazonS3Builder::from_env()
        .with_bucket_name(&place.bucket)
        .with_retry(retries())
        .with_config(AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp), allow_http.to_string());
    if value("AWS_TIMEOUT").is_none() {
        builder = builder.with_config(AmazonS3ConfigKey::Client(ClientConfigKey::Timeout), REQUEST);
    }
    if value("AWS_REGION").or_else(|| value("AWS_DEFAULT_REGION")).is_none()
        && let Some(region) = options.region.as_deref().or_else(|| profile.get("region"))
    {
        builder = builder.with_region(region);
    }
    let host_style = !options.path_style.unwrap_or(endpoint.is_some() || place.bucket.contains('.'));
    let host_style = if value("AWS_VIRTUAL_HOSTED_STYLE_REQUEST").is_some() {
        is_true("AWS_VIRTUAL_HOSTED_STYLE_REQUEST")
    } else {
        host_style
    };
    builder = builder.with_virtual_hosted_style_request(host_style);
    if let Some(endpoint) = endpoint {
        let endpoint = if host_style { bucket_in_host(&endpoint, &place.bucket) } else { endpoint };
        builder = builder.with_config(AmazonS3ConfigKey::S3Endpoint, endpoint);
    }
    if !options.no_checksum {
        builder = builder.with_checksum_algorithm(Checksum::SHA256);
    }
    if value("AWS_ACCESS_KEY_ID").is_none() && value("AWS_SECRET_ACCESS_KEY").is_none() {
        if let Some((key, secret, token)) = profile.keys()? {
            builder = builder.with_access_key_id(key).with_secret_access_key(secret);
            builder = token.into_iter().fold(builder, AmazonS3Builder::with_token);
        } else if !options.instance_credentials && !credentials::are_named(Scheme::S3) {
            return Err(no_credentials(place));
        }
    }
    builder.build().map_err(|error| failed("open", place, "", &error))
}

/// An endpoint that already begins with the bucket stays unchanged.
fn bucket_in_host(endpoint: &str, bucket: &str) -> String {
    match endpoint.split_once("://") {
        Some((scheme, host)) if !host.starts_with(&format!("{bucket}.")) => format!("{scheme}://{bucket}.{host}"),
        _ => endpoint.to_owned(),
    }
}

fn google(place: &Place, url: &str, options: &Options) -> Result<object_store::gcp::GoogleCloudStorage> {
    if !options.instance_credentials && !credentials::are_named(Scheme::Google) {
        return Err(no_credentials(place));
    }
    let mut builder = GoogleCloudStorageBuilder::from_env().with_url(url).with_retry(retries());
    builder = builder.with_config(GoogleConfigKey::Client(ClientConfigKey::Timeout), REQUEST);
    if let Some(endpoint) = endpoint(None, options, options.allow_http)? {
        builder = builder
            .with_base_url(&endpoint)
            .with_config(GoogleConfigKey::Client(ClientConfigKey::AllowHttp), options.allow_http.to_string());
    }
    builder.build().map_err(|error| failed("open", place, "", &error))
}

fn azure(place: &Place, url: &str, options: &Options) -> Result<object_store::azure::MicrosoftAzure> {
    use object_store::azure::AzureConfigKey;
    if !options.instance_credentials && !credentials::are_named(Scheme::Azure) {
        return Err(no_credentials(place));
    }
    let allow_http = options.allow_http || is_true("AZURE_ALLOW_HTTP");
    let mut builder = MicrosoftAzureBuilder::from_env().with_url(url).with_retry(retries());
    builder = builder
        .with_config(AzureConfigKey::Client(ClientConfigKey::Timeout), REQUEST)
        .with_config(AzureConfigKey::Client(ClientConfigKey::AllowHttp), allow_http.to_string());
    if let Some(endpoint) =
        endpoint(value("AZURE_STORAGE_ENDPOINT").or_else(|| value("AZURE_ENDPOINT")), options, allow_http)?
    {
        builder = builder.with_endpoint(endpoint);
    }
    builder.build().map_err(|error| failed("open", place, "", &error))
}

/// Longest reason that is shown, in characters.
const LONGEST: usize = 300;

/// Returns the error of an operation on a key.
fn failed(action: &'static str, place: &Place, key: &str, error: &object_store::Error) -> Error {
    let (trouble, reason) = understood(error);
    let reason: String = credentials::without_secrets(&reason).chars().take(LONGEST).collect();
    let url = if key.is_empty() { place.url.clone() } else { place.shown(key) };
    Error::Remote { action, url, trouble, reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_without_encryption_has_to_be_allowed() {
        let options = |endpoint: &str| Options { endpoint: Some(endpoint.to_owned()), ..Options::default() };
        assert_eq!(endpoint(None, &options("https://h:9"), false).unwrap().as_deref(), Some("https://h:9"));
        assert_eq!(endpoint(None, &options("http://h:9"), true).unwrap().as_deref(), Some("http://h:9"));
        for wrong in ["http://h:9", "ftp://h", "h:9", "", "https://u:canary@h"] {
            let message = endpoint(None, &options(wrong), false).unwrap_err().to_string();
            assert!(!message.contains("canary"), "{message}");
        }
        assert_eq!(endpoint(None, &Options::default(), false).unwrap(), None);
    }

    #[test]
    fn keys_lie_below_the_prefix() {
        let remote = Remote::open("file:///x/y z", &Options::default()).unwrap();
        let path = remote.path("usage/machine=m/a.parquet");
        assert_eq!(path.as_ref(), "x/y z/usage/machine=m/a.parquet");
        assert_eq!(remote.key(&path).as_deref(), Some("usage/machine=m/a.parquet"));
        assert_eq!(bucket_in_host("https://h:9", "b"), "https://b.h:9");
    }
}
