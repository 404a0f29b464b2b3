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

/// Most names that an error offers.
const MOST: usize = 15;

/// Returns the known names that are most like what was typed: first those that begin with it, then those that contain
/// it, then by the number of letters that differ.
pub fn several<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let folded = fold(typed);
    let rank = |name: &str| {
        let letters = fold(name);
        let distance = levenshtein(&folded, &letters);
        let is_part = folded.len() >= BEGINNING;
        match () {
            () if is_part && letters.starts_with(&folded) => Some((0, distance)),
            () if is_part && letters.contains(&folded) => Some((1, distance)),
            () if distance <= letters.len().div_ceil(3).min(4) => Some((2, distance)),
            () => None,
        }
    };
    let mut ranked: Vec<_> = known.into_iter().filter_map(|name| Some((rank(name)?, name))).collect();
    ranked.sort_unstable();
    ranked.dedup();
    ranked.into_iter().map(|(_, name)| name).take(MOST).collect()
}

/// Returns a hint: the names as a question, and where all are listed.
pub fn question(names: &[&str], list: &str) -> String {
    if names.is_empty() { list.to_owned() } else { format!("{}? {list}", names.join(", ")) }
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
        let known = ["cost_by_day", "cost_by_model", "totals", "subagent_cost", "coxt"];
        assert_eq!(several("cost", known), ["cost_by_day", "cost_by_model", "subagent_cost", "coxt"]);
        assert_eq!(several("nothing", known), [""; 0]);
        assert_eq!(question(&["a", "b"], "`x` lists them"), "a, b? `x` lists them");
        assert_eq!(nearest("kiro-", ["kiro-cli-agent", "kiro-ide-agent"]), None);
    }
}
