//! Differences between the programs that keep OpenCode's stores.

/// One program's use of the stores.
pub(in crate::agents) struct Program {
    /// The name of its data folder and of its databases.
    pub(in crate::agents) name: &'static str,
    /// Environment variable that names the data folder, where readers agreed on one.
    pub(in crate::agents) folder_variable: Option<&'static str>,
    /// Environment variable that names a database.
    pub(in crate::agents) database_variable: &'static str,
}

/// The name of the first of these programs; its forks once named the databases of their channels after it.
const FIRST: &str = "opencode";

/// OpenCode itself.
pub(super) static OPENCODE: Program =
    Program { name: FIRST, folder_variable: Some("OPENCODE_DATA_DIR"), database_variable: "OPENCODE_DB" };

impl Program {
    /// Returns true if it is OpenCode itself, whose files need not lie in a folder of its name.
    pub(super) fn is_first(&self) -> bool {
        self.name == FIRST
    }

    /// Returns true if a file in the data folder is a database, by its name.
    pub(super) fn keeps(&self, name: &str) -> bool {
        self.names(name) || is_database(FIRST, name)
    }

    /// Returns true if a file has the name of one of its databases: `opencode.db`, or `opencode-<channel>.db`.
    pub(super) fn names(&self, name: &str) -> bool {
        is_database(self.name, name)
    }
}

fn is_database(program: &str, name: &str) -> bool {
    let rest = name.strip_suffix(".db").and_then(|stem| stem.strip_prefix(program));
    rest.is_some_and(|rest| rest.is_empty() || rest.strip_prefix('-').is_some_and(|channel| !channel.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_by_their_names() {
        let kilo = Program { name: "kilo", folder_variable: None, database_variable: "KILO_DB" };
        for (name, keeps, names) in [
            ("kilo.db", true, true),
            ("kilo-next.db", true, true),
            ("opencode-next.db", true, false),
            ("kilo-.db", false, false),
            ("kilos.db", false, false),
            ("kilo.db-wal", false, false),
        ] {
            assert_eq!((kilo.keeps(name), kilo.names(name)), (keeps, names), "{name}");
        }
    }
}
