//! Removes credentials from messages, and checks whether there are any.

use super::Scheme;

/// Prefixes of the clouds' own variables.
const CLOUDS: [&str; 4] = ["AWS_", "AZURE_", "GOOGLE_", "MSI_"];
/// Parts of the names of variables with a secret value.
const SECRET: [&str; 6] = ["KEY", "SECRET", "TOKEN", "PASSWORD", "SAS", "CREDENTIAL"];
/// Shortest value that is searched for: shorter ones would be found everywhere.
const SHORTEST: usize = 6;

/// Returns the text without the values of variables with secrets, and without anything that looks like a secret.
pub(super) fn without_secrets(text: &str) -> String {
    let mut clean = crate::shown::with_urls(text).into_owned();
    for (name, value) in std::env::vars() {
        let is_secret =
            CLOUDS.iter().any(|cloud| name.starts_with(cloud)) && SECRET.iter().any(|part| name.contains(part));
        if is_secret && value.len() >= SHORTEST {
            clean = clean.replace(&value, "‹credential›");
        }
    }
    let redactor = crate::redact::Redactor::new(crate::redact::Mode::Strict, [0; 32]);
    redactor.redact(&clean, &mut crate::redact::Counts::default()).into_owned()
}

/// True if the environment names a source of credentials. Otherwise the client would ask the metadata service of a
/// cloud's machine, which elsewhere responds after minutes or never.
pub(super) fn are_named(scheme: Scheme) -> bool {
    let names: &[&str] = match scheme {
        Scheme::S3 => &[
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_WEB_IDENTITY_TOKEN_FILE",
            "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
            "AWS_SKIP_SIGNATURE",
            "AWS_METADATA_ENDPOINT",
        ],
        Scheme::Google => &[
            "GOOGLE_APPLICATION_CREDENTIALS",
            "GOOGLE_SERVICE_ACCOUNT",
            "GOOGLE_SERVICE_ACCOUNT_PATH",
            "GOOGLE_SERVICE_ACCOUNT_KEY",
            "SERVICE_ACCOUNT",
            "GOOGLE_SKIP_SIGNATURE",
        ],
        Scheme::Azure => &[
            "AZURE_STORAGE_ACCOUNT_KEY",
            "AZURE_STORAGE_ACCESS_KEY",
            "AZURE_STORAGE_MASTER_KEY",
            "AZURE_STORAGE_SAS_KEY",
            "AZURE_STORAGE_SAS_TOKEN",
            "AZURE_STORAGE_TOKEN",
            "AZURE_STORAGE_CLIENT_ID",
            "AZURE_CLIENT_ID",
            "AZURE_FEDERATED_TOKEN_FILE",
            "AZURE_USE_AZURE_CLI",
            "AZURE_STORAGE_USE_EMULATOR",
            "AZURE_SKIP_SIGNATURE",
            "IDENTITY_ENDPOINT",
        ],
        Scheme::File => return true,
    };
    let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    names.iter().any(is_set) || scheme == Scheme::Google && gcloud_is_logged_in() || is_lent_by(scheme)
}

fn gcloud_is_logged_in() -> bool {
    let file = if cfg!(windows) {
        "gcloud/application_default_credentials.json"
    } else {
        ".config/gcloud/application_default_credentials.json"
    };
    let home = if cfg!(windows) { std::env::var_os("APPDATA") } else { std::env::var_os("HOME") };
    home.is_some_and(|home| std::path::Path::new(&home).join(file).is_file())
}

/// True if this machine belongs to the cloud, and so may have an identity; also if that is unknown.
fn is_lent_by(scheme: Scheme) -> bool {
    if !cfg!(target_os = "linux") {
        return !cfg!(target_os = "macos");
    }
    let vendor_field = |name: &str| std::fs::read_to_string(format!("/sys/class/dmi/id/{name}")).unwrap_or_default();
    match scheme {
        Scheme::S3 => ["sys_vendor", "bios_version", "bios_vendor"]
            .iter()
            .any(|name| vendor_field(name).to_lowercase().contains("amazon")),
        Scheme::Google => vendor_field("sys_vendor").contains("Google") || std::env::var_os("K_SERVICE").is_some(),
        Scheme::Azure => vendor_field("sys_vendor").contains("Microsoft"),
        Scheme::File => true,
    }
}
