//! Facts of a session that its records repeat.

/// Replaces a fact, if a record has one.
pub(in crate::agents) fn set(known: &mut Option<String>, new: Option<&str>) {
    if let Some(new) = new
        && known.as_deref() != Some(new)
    {
        *known = Some(new.to_owned());
    }
}

/// Sets a fact that is unknown.
pub(in crate::agents) fn fill(known: &mut Option<String>, new: Option<&str>) {
    if known.is_none() {
        *known = new.map(str::to_owned);
    }
}

/// Keeps the earlier of two moments.
pub(in crate::agents) fn keep_earlier(known: &mut Option<i64>, moment: Option<i64>) {
    *known = known.iter().copied().chain(moment).min();
}
