//! The canned queries that come with llrem: every file below `sql/`.

macro_rules! files {
    ($($folder:literal: [$($name:literal),+ $(,)?]),+ $(,)?) => {
        &[$($((concat!($folder, "/", $name, ".sql"), include_str!(concat!("../../sql/", $folder, "/", $name, ".sql")))),+),+]
    };
}

/// Path below `sql/`, and text.
pub(super) static FILES: &[(&str, &str)] = files! {
    "reports": [
        "cost_by_project",
        "cost_by_day",
        "cost_by_model",
        "cost_by_session",
        "cache_hit_rate",
        "compaction_rate",
    ],
};

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn every_file_below_sql_is_built_in() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("sql");
        let mut found: Vec<String> = walkdir::WalkDir::new(&root)
            .into_iter()
            .map(|entry| entry.unwrap().into_path())
            .filter(|path| path.extension().is_some_and(|suffix| suffix == "sql"))
            .map(|path| path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned())
            .collect();
        let mut built_in: Vec<String> = super::FILES.iter().map(|(path, _)| (*path).to_owned()).collect();
        found.sort();
        built_in.sort();
        assert_eq!(found, built_in);
    }
}
