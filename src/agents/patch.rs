//! Patches in the form that OpenAI's models write.

/// The first file that a patch touches.
pub(super) fn file_of_patch(patch: &str) -> Option<&str> {
    patch.lines().find_map(|line| {
        let named = line.strip_prefix("*** ")?;
        ["Update File: ", "Add File: ", "Delete File: "].iter().find_map(|opening| named.strip_prefix(opening))
    })
}
