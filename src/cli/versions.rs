//! Versions of agents: which is the newest, and whether it was read before.

use crate::agents::About;

/// A version, as the numbers between its dots.
type Numbers = Vec<u64>;

/// Returns the numbers of a version such as `2.1.330`. Dates and names are none.
fn numbers(text: &str) -> Option<Numbers> {
    let text = text.trim().trim_start_matches('v');
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let (version, rest) = text.split_at(end);
    // `2026-01` is a month; `1.2.3-beta` is a version.
    let has_dot = version.trim_end_matches('.').contains('.');
    let is_version = has_dot && (rest.is_empty() || rest.starts_with(['-', '+', ' ', ',', ';']));
    let parts = version.trim_end_matches('.').split('.').map(str::parse);
    parts.collect::<Result<Numbers, _>>().ok().filter(|_| is_version)
}

/// Returns the newest version that llrem was tested with.
fn newest_read(about: &About) -> Option<Numbers> {
    about.versions.split(' ').filter_map(|word| numbers(word.trim_end_matches([',', ';']))).max()
}

/// Returns true if the first version is newer than the second. A version without numbers is older than all others.
pub(super) fn is_newer(version: &str, than: &str) -> bool {
    (numbers(version), version) > (numbers(than), than)
}

/// Returns the newest of the versions, if it is newer than what was tested, and that.
pub(super) fn newer<'v>(about: &About, versions: impl Iterator<Item = &'v str>) -> Option<(&'v str, String)> {
    let tested = newest_read(about)?;
    let (newest, version) = versions.filter_map(|version| Some((numbers(version)?, version))).max()?;
    // If the tested version is given as `0.215`, every 0.215.x was tested.
    let compared: Numbers = newest.iter().copied().take(tested.len()).collect();
    let shown = tested.iter().map(ToString::to_string).collect::<Vec<_>>().join(".");
    (compared > tested).then_some((version, shown))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::AGENTS;

    #[test]
    fn versions_are_numbers_with_dots() {
        assert_eq!(numbers("2.1.330"), Some(vec![2, 1, 330]));
        assert_eq!(numbers("v1.0.0-beta.2"), Some(vec![1, 0, 0]));
        for text in ["2026-01", "3", "2.x", "before", "", "0.0.3xx"] {
            assert_eq!(numbers(text), None, "{text}");
        }
    }

    #[test]
    fn most_agents_say_up_to_which_version_they_are_read() {
        let known = AGENTS.iter().filter(|agent| newest_read(agent.about()).is_some()).count();
        assert!(known * 10 >= AGENTS.len() * 6, "{known} of {}", AGENTS.len());
    }

    #[test]
    fn a_version_is_newer_by_its_numbers() {
        let claude = AGENTS.iter().find(|agent| agent.about().id == "claude-code").unwrap().about();
        assert_eq!(newer(claude, ["2.1.9", "2.0.400"].into_iter()), None);
        let found = newer(claude, ["2.1.9", "99.0.1", "unknown"].into_iter());
        assert_eq!(found.map(|(version, _)| version), Some("99.0.1"));
    }
}
