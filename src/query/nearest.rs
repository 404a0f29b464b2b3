//! "Did you mean": finds the known name that is most similar to what was typed.

use strsim::levenshtein;

/// Letters that are enough to tell a name by its beginning.
const BEGINNING: usize = 3;

/// Returns `; did you mean …?` if a known name is similar, or else nothing.
pub fn suggestion<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(typed, known).map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// Returns the most similar known name, if at most a third of its letters differ, or else the only one with this
/// beginning.
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = fold(typed);
    let known: Vec<(String, &str)> = known.into_iter().map(|name| (fold(name), name)).collect();
    let near = known.iter().map(|(letters, name)| (levenshtein(&folded, letters), *name)).min_by_key(|(far, _)| *far);
    let near = near.filter(|(distance, name)| *distance <= name.len().div_ceil(3).min(4));
    near.map(|(_, name)| name).or_else(|| {
        let mut longer = known.iter().filter(|(letters, _)| folded.len() >= BEGINNING && letters.starts_with(&*folded));
        longer.next().filter(|_| longer.next().is_none()).map(|(_, name)| *name)
    })
}

/// Case, and `-` against `_`, make no difference.
fn fold(name: &str) -> String {
    name.replace('-', "_").to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        let known = ["cost_by_day", "cost_by_model"];
        assert_eq!(suggestion("cost_by_dya", known), "; did you mean `cost_by_day`?");
        assert_eq!(suggestion("COST-BY-DAY", known), "; did you mean `cost_by_day`?");
        assert_eq!(suggestion("sessions", known), "");
        assert_eq!(nearest("Claude", ["codex", "claude-code"]), Some("claude-code"));
        assert_eq!(nearest("cl", ["codex", "claude-code"]), None);
        assert_eq!(nearest("kiro-", ["kiro-cli-agent", "kiro-ide-agent"]), None);
    }
}
