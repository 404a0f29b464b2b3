//! "Did you mean": finds the known name that is most similar to what was typed.

/// Fewest letters by which a name is recognised from its beginning.
const BEGINNING: usize = 3;

/// Returns `; did you mean …?` if a known name is similar, or else nothing.
pub fn suggestion<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(typed, known).map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// Returns the most similar known name, if at most a third of its letters differ, or else the only one with this
/// beginning.
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = fold(typed);
    let known: Vec<(Vec<char>, &str)> = known.into_iter().map(|name| (fold(name), name)).collect();
    let near = known.iter().map(|(letters, name)| (distance(&folded, letters), *name)).min_by_key(|(far, _)| *far);
    let near = near.filter(|(distance, name)| *distance <= name.len().div_ceil(3).min(4));
    near.map(|(_, name)| name).or_else(|| {
        let mut longer = known.iter().filter(|(letters, _)| folded.len() >= BEGINNING && letters.starts_with(&folded));
        longer.next().filter(|_| longer.next().is_none()).map(|(_, name)| *name)
    })
}

/// Ignores case, and treats `-` as `_`.
fn fold(name: &str) -> Vec<char> {
    name.chars().map(|letter| if letter == '-' { '_' } else { letter.to_ascii_lowercase() }).collect()
}

/// Number of letters to add, drop or replace (Levenshtein distance).
fn distance(left: &[char], right: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (line, one) in left.iter().enumerate() {
        let mut diagonal = line;
        let mut before = line + 1;
        for (other, cell) in right.iter().zip(row.iter_mut().skip(1)) {
            let cheapest = (diagonal + usize::from(one != other)).min(before + 1).min(*cell + 1);
            diagonal = std::mem::replace(cell, cheapest);
            before = cheapest;
        }
        if let Some(first) = row.first_mut() {
            *first = line + 1;
        }
    }
    row.last().copied().unwrap_or(left.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        let of = |left: &str, right: &str| distance(&fold(left), &fold(right));
        assert_eq!(of("kitten", "sitting"), 3);
        assert_eq!(of("", "abc"), 3);
        assert_eq!(of("abc", ""), 3);
        assert_eq!(of("cost-by-day", "COST_BY_DAY"), 0);
    }

    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        let known = ["cost_by_day", "cost_by_model"];
        assert_eq!(suggestion("cost_by_dya", known), "; did you mean `cost_by_day`?");
        assert_eq!(suggestion("sessions", known), "");
        assert_eq!(nearest("Claude", ["codex", "claude-code"]), Some("claude-code"));
        assert_eq!(nearest("cl", ["codex", "claude-code"]), None);
        assert_eq!(nearest("kiro-", ["kiro-cli-agent", "kiro-ide-agent"]), None);
    }
}
