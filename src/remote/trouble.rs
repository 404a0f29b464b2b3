//! Errors of stores, classified by what somebody can do about them.

use object_store::client::{HttpError, HttpErrorKind};
use serde::Deserialize;

/// Kind of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Amazon S3 and compatible stores.
    S3,
    /// Google Cloud Storage.
    Google,
    /// Azure Blob Storage and Data Lake.
    Azure,
    /// A folder.
    File,
}

/// Kind of error of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// Credentials for this kind of store are missing or incomplete.
    NoCredentials(Scheme),
    /// The store does not accept the credentials.
    WrongCredentials,
    /// The key of an Azure account is wrong, or its firewall blocks this machine.
    WrongKey,
    /// The clock is wrong; requests are signed with the time.
    WrongClock,
    /// The credentials have expired.
    Expired,
    /// The credentials lack a permission that uploads need.
    Denied,
    /// The credentials lack a permission that queries need.
    DeniedReading,
    /// The bucket does not exist.
    NoBucket,
    /// The bucket is in another region.
    WrongRegion,
    /// The store does not respond.
    Unreachable,
    /// The store does not support the operation.
    Unsupported,
    /// Another error.
    Other,
}

impl Trouble {
    /// Returns what to do about it.
    pub(crate) fn hint(self) -> Option<&'static str> {
        Some(match self {
            Self::NoCredentials(Scheme::Google) => {
                "run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS to the file of a \
                 service account's key"
            }
            Self::NoCredentials(Scheme::Azure) => {
                "set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN, or, after \
                 `az login`, AZURE_USE_AZURE_CLI=true"
            }
            Self::NoCredentials(_) => {
                "set the cloud's own variables, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; \
                 `eval \"$(aws configure export-credentials --format env)\"` sets them from single sign-on"
            }
            Self::WrongCredentials => {
                "check which credentials the environment, or the profile, names, and the endpoint"
            }
            Self::WrongKey => {
                "the key is wrong, or not that account's: check AZURE_STORAGE_ACCOUNT_NAME and \
                 AZURE_STORAGE_ACCOUNT_KEY; the account's firewall may refuse this machine as well"
            }
            Self::WrongClock => "this machine's clock is wrong: set it, then run it again",
            Self::Expired => {
                "renew the credentials (`aws sso login`, `gcloud auth login`, `az login`), then run it again"
            }
            Self::Denied => "uploads need permission to read, write, list and delete below the prefix",
            Self::DeniedReading => "queries need permission to read and list below the prefix",
            Self::NoBucket => "check the name of the bucket, or create it, and check the endpoint under [storage]",
            Self::WrongRegion => "set AWS_REGION, or `region` under [storage] in the configuration",
            Self::Unreachable => "check the network, and `endpoint` under [storage] in the configuration",
            Self::Unsupported => "the store must support conditional writes (If-Match, If-None-Match)",
            Self::Other => return None,
        })
    }
}

/// True if a response was cut off, which the client does not retry. It has retried requests without a response.
pub(super) fn is_passing(error: &object_store::Error) -> bool {
    matches!(http_kind(error), Some(HttpErrorKind::Decode | HttpErrorKind::Interrupted | HttpErrorKind::Unknown))
}

/// Returns the kind of an error, and the store's reason.
pub(super) fn understood(error: &object_store::Error) -> (Trouble, String) {
    if let Some(kind) = http_kind(error) {
        let reason = innermost(error);
        let unreachable = matches!(kind, HttpErrorKind::Connect | HttpErrorKind::Timeout | HttpErrorKind::Request);
        return (if unreachable { Trouble::Unreachable } else { Trouble::Other }, reason);
    }
    let text = error.to_string();
    let answer = Answer::of(&text);
    let trouble = match (&*answer.body.code, error) {
        ("NoSuchBucket" | "InvalidBucketName" | "ContainerNotFound" | "AccountNotFound", _) => Trouble::NoBucket,
        ("RequestTimeTooSkewed", _) => Trouble::WrongClock,
        ("AuthenticationFailed" | "AuthorizationFailure", _) => Trouble::WrongKey,
        (code, _) if code.contains("Expired") || code == "TokenRefreshRequired" => Trouble::Expired,
        ("InvalidAccessKeyId" | "SignatureDoesNotMatch" | "InvalidToken", _) => Trouble::WrongCredentials,
        ("PermanentRedirect" | "AuthorizationHeaderMalformed" | "IllegalLocationConstraintException", _) => {
            Trouble::WrongRegion
        }
        ("NotImplemented", _) => Trouble::Unsupported,
        (_, object_store::Error::PermissionDenied { .. }) => Trouble::Denied,
        (_, object_store::Error::Unauthenticated { .. }) => Trouble::WrongCredentials,
        (_, object_store::Error::NotImplemented { .. } | object_store::Error::NotSupported { .. }) => {
            Trouble::Unsupported
        }
        _ if answer.status.starts_with("403") => Trouble::Denied,
        _ if answer.status.starts_with("401") => Trouble::WrongCredentials,
        _ if text.contains("Missing SecretAccessKey") || text.contains("Missing AccessKeyId") => {
            Trouble::NoCredentials(Scheme::S3)
        }
        _ if text.contains("incorrectly configured region") => Trouble::WrongRegion,
        _ => Trouble::Other,
    };
    (trouble, answer.summary().unwrap_or_else(|| innermost(error)))
}

/// A server's response: its status and its XML body.
struct Answer<'t> {
    status: &'t str,
    body: Body,
}

/// The parts of a body that are reported. The rest is not: some servers repeat the request's headers in it.
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Body {
    code: String,
    message: String,
}

impl<'t> Answer<'t> {
    fn of(text: &'t str) -> Self {
        let answer = text.split_once("status code: ").map_or("", |(_, answer)| answer);
        let status = answer.split_once(": ").map_or(answer, |(status, _)| status).trim();
        let body = text.find('<').and_then(|at| quick_xml::de::from_str(text.get(at..)?).ok());
        Self { status: if status.contains('<') { "" } else { status }, body: body.unwrap_or_default() }
    }

    fn summary(&self) -> Option<String> {
        let text = match (&*self.body.code, self.body.message.lines().next()) {
            ("", _) => self.status.to_owned(),
            (code, None) => code.to_owned(),
            (code, Some(message)) => format!("{code}: {message}"),
        };
        Some(text).filter(|text| !text.is_empty())
    }
}

fn http_kind(error: &object_store::Error) -> Option<HttpErrorKind> {
    sources(error).find_map(|source| source.downcast_ref::<HttpError>()).map(HttpError::kind)
}

fn innermost(error: &object_store::Error) -> String {
    let last = sources(error).last().map_or_else(|| error.to_string(), ToString::to_string);
    last.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn sources(error: &object_store::Error) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
    std::iter::successors(std::error::Error::source(error), |source| source.source())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denied(body: &str) -> object_store::Error {
        let source = format!(
            "Error performing PUT http://h/b/k in 1ms - Server returned non-2xx status code: 403 Forbidden: {body}"
        );
        object_store::Error::PermissionDenied { path: "k".to_owned(), source: source.into() }
    }

    #[test]
    fn an_answer_is_told_by_its_code() {
        let body = "<?xml version=\"1.0\"?><Error><Code>SignatureDoesNotMatch</Code><Message>It does not.</Message>\
                    <StringToSign>x-amz-security-token:canary</StringToSign></Error>";
        assert_eq!(
            understood(&denied(body)),
            (Trouble::WrongCredentials, "SignatureDoesNotMatch: It does not.".to_owned())
        );
        assert_eq!(understood(&denied("canary")), (Trouble::Denied, "403 Forbidden".to_owned()));
        let expired = "<Error><Code>ExpiredToken</Code></Error>";
        assert_eq!(understood(&denied(expired)), (Trouble::Expired, "ExpiredToken".to_owned()));
    }
}
