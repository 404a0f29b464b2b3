//! The files of Amazon's own tools: `~/.aws/credentials` and `~/.aws/config`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::environment::value;
use crate::{Error, Result};

/// The settings of a profile.
#[derive(Default)]
pub(super) struct Profile {
    settings: BTreeMap<String, String>,
    name: String,
    /// True if the environment names it.
    is_named: bool,
}

impl Profile {
    /// Reads the profile that `AWS_PROFILE` names, or else the default one. Empty if there is none.
    pub(super) fn load() -> Self {
        let named = value("AWS_PROFILE").or_else(|| value("AWS_DEFAULT_PROFILE"));
        let is_named = named.is_some();
        let name = named.unwrap_or_else(|| "default".to_owned());
        let mut settings = BTreeMap::new();
        for (variable, file) in [("AWS_CONFIG_FILE", "config"), ("AWS_SHARED_CREDENTIALS_FILE", "credentials")] {
            let usual = || Some(etcetera::home_dir().ok()?.join(".aws").join(file));
            let path = value(variable).map(PathBuf::from).or_else(usual);
            let text = path.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
            settings.extend(section(&text, &name));
        }
        Self { settings, name, is_named }
    }

    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.settings.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Returns key, secret and session token.
    ///
    /// # Errors
    /// Fails if the profile takes them from elsewhere, or if a named profile does not exist.
    pub(super) fn keys(&self) -> Result<Option<(&str, &str, Option<&str>)>> {
        if let (Some(key), Some(secret)) = (self.get("aws_access_key_id"), self.get("aws_secret_access_key")) {
            return Ok(Some((key, secret, self.get("aws_session_token"))));
        }
        let name = &self.name;
        if self.settings.is_empty() {
            let missing =
                || Error::Usage(format!("there is no AWS profile `{name}` in ~/.aws/config or ~/.aws/credentials"));
            return if self.is_named { Err(missing()) } else { Ok(None) };
        }
        let elsewhere = ["sso_session", "sso_start_url", "credential_process", "role_arn", "login_session"];
        match elsewhere.into_iter().find(|key| self.get(key).is_some()) {
            Some(key) => Err(Error::Usage(format!(
                "the AWS profile `{name}` has no keys, only `{key}`; run eval \"$(aws configure export-credentials --profile {name} --format env)\""
            ))),
            None => Ok(None),
        }
    }
}

/// Returns the settings of a profile. Its section is `[profile NAME]` in one of the files and `[NAME]` in the other.
fn section(text: &str, profile: &str) -> Vec<(String, String)> {
    let mut settings = Vec::new();
    let mut is_inside = false;
    for line in text.lines() {
        let is_nested = line.starts_with([' ', '\t']);
        let line = line.trim();
        if let Some(name) = line.strip_prefix('[') {
            let name = name.split(']').next().unwrap_or_default().trim();
            is_inside = name == profile
                || name
                    .strip_prefix("profile")
                    .is_some_and(|name| name.trim() == profile && name.starts_with([' ', '\t']));
        } else if let Some((key, value)) =
            line.split_once('=').filter(|_| is_inside && !is_nested && !line.starts_with(['#', ';']))
        {
            settings.push((key.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_by_either_name() {
        let text = "[default]\naws_access_key_id = A\n\n# x = y\n[profile team]\nregion=eu-west-1\ns3 =\n  max_queue_size = 1\n[teams]\nregion = x\n[team]\naws_access_key_id=B\n";
        let pairs = |profile| section(text, profile).into_iter().collect::<BTreeMap<_, _>>();
        let of = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        assert_eq!(pairs("default"), of(&[("aws_access_key_id", "A")]));
        assert_eq!(pairs("team"), of(&[("region", "eu-west-1"), ("s3", ""), ("aws_access_key_id", "B")]));
        assert_eq!(pairs("none"), of(&[]));
    }
}
