//! The passes of a run: first all sources except those that may kill the process, then each of these alone.

use std::collections::BTreeSet;

use super::read::Planned;
use crate::lake::suspects::Suspects;

/// The sources that a pass reads.
#[derive(Default)]
pub(super) struct Pass {
    /// Sources that have a pass of their own.
    apart: BTreeSet<String>,
    /// Sources that no pass reads.
    fatal: BTreeSet<String>,
    alone: Option<String>,
}

impl Pass {
    /// Returns the first pass.
    pub(super) fn without(suspects: &Suspects) -> Self {
        let (fatal, apart) = suspects.names().cloned().partition(|name| suspects.is_fatal(name));
        Self { apart, fatal, alone: None }
    }

    /// Returns a pass that reads one suspect and the other sources of its sessions.
    pub(super) fn alone(name: &str, suspects: &Suspects) -> Self {
        let mut pass = Self::without(suspects);
        pass.apart.remove(name);
        Self { alone: Some(name.to_owned()), ..pass }
    }

    /// True if the pass reads only one source and what it needs.
    pub(super) fn is_alone(&self) -> bool {
        self.alone.is_some()
    }

    /// True if the pass is for this source, or for a section of it.
    pub(super) fn is_for(&self, planned: &Planned) -> bool {
        self.alone
            .as_deref()
            .and_then(|name| name.strip_prefix(&*planned.name))
            .is_some_and(|rest| rest.is_empty() || (planned.section.is_none() && rest.starts_with('#')))
    }

    /// True if a source is a section of the file that the pass is for.
    pub(super) fn is_for_file_of(&self, planned: &Planned) -> bool {
        let rest = self.alone.as_deref().and_then(|name| planned.name.strip_prefix(name));
        planned.section.is_some() && rest.is_some_and(|rest| rest.starts_with('#'))
    }

    /// True if a source has a pass of its own.
    pub(super) fn leaves(&self, source: &str) -> bool {
        self.apart.contains(source)
    }

    /// True if a source has killed the process and is not read.
    pub(super) fn refuses(&self, source: &str) -> bool {
        self.fatal.contains(source)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::{Arc, Mutex};

    use super::super::{Options, Progress, Summary, run};
    use crate::lake::layout::Layout;
    use crate::lake::manifest::Manifest;
    use crate::lake::suspects::Breadcrumbs;
    use crate::progress::Stage;
    use crate::tables::SourceState;

    /// Two transcripts, and the lake's content at the start of each extraction.
    struct Bench {
        folder: tempfile::TempDir,
        known: Mutex<Vec<Vec<String>>>,
    }

    impl Progress for Bench {
        fn start(&self, _files: u64, _bytes: u64) {}
        fn advance(&self, _files: u64, _bytes: u64) {}
        fn stage(&self, stage: Stage) {
            if stage == Stage::Reading {
                self.known.lock().unwrap().push(self.sources().into_iter().map(|(name, _)| name).collect());
            }
        }
        fn finish(&self) {}
    }

    impl Bench {
        fn new() -> Self {
            let bench = Self { folder: tempfile::tempdir().unwrap(), known: Mutex::default() };
            bench.write("a", "hello");
            bench.write("b", "hello");
            bench
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(format!("home/.claude/projects/-p/{name}.jsonl"))
        }

        #[expect(clippy::disallowed_methods, reason = "files of the test's own")]
        fn write(&self, name: &str, text: &str) {
            let path = self.path(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let line = serde_json::json!({
                "type": "user", "uuid": format!("{name}-1"), "sessionId": name, "message": {"content": text},
                "timestamp": "2026-01-01T00:00:00Z",
            });
            std::fs::write(path, format!("{line}\n")).unwrap();
        }

        fn options(&self) -> Options {
            let home = Some(self.folder.path().join("home"));
            Options { home, jobs: Some(2), ..Options::new(self.folder.path().join("lake")) }
        }

        fn layout(&self) -> Layout {
            Layout::new(&self.folder.path().join("lake"))
        }

        fn run(&self) -> Summary {
            run(&self.options(), self).unwrap()
        }

        /// Leaves the traces of a run that died while it read a source.
        fn die(&self, name: &str, is_alone: bool) {
            Breadcrumbs::new(&self.layout(), is_alone).note(self.path(name).to_str().unwrap());
        }

        fn sources(&self) -> Vec<(String, SourceState)> {
            let sources = Manifest::load(&self.layout()).unwrap().unwrap_or_default().sources;
            let name = |path: Arc<str>| path.rsplit('/').next().unwrap().trim_end_matches(".jsonl").to_owned();
            sources.into_iter().map(|(path, entry)| (name(path), entry.state)).collect()
        }

        fn has_traces(&self) -> bool {
            self.layout().reading().exists() || self.layout().suspects().exists()
        }
    }

    #[test]
    fn a_suspect_is_read_when_the_others_are_safe() {
        let bench = Bench::new();
        bench.die("a", false);
        let summary = bench.run();
        assert_eq!(*bench.known.lock().unwrap(), [vec![], vec!["b".to_owned()]]);
        assert_eq!(bench.sources(), [("a".to_owned(), SourceState::Ok), ("b".to_owned(), SourceState::Ok)]);
        assert_eq!((summary.agents[0].new, summary.agents[0].sessions, summary.agents[0].bad), (2, 2, 0));
        assert!(!bench.has_traces());
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "files of the test's own")]
    fn the_sections_of_a_suspect_are_read_with_it() {
        let bench = Bench::new();
        let database = bench.folder.path().join("home/.local/share/opencode/opencode.db");
        std::fs::create_dir_all(database.parent().unwrap()).unwrap();
        let rows = r#"CREATE TABLE session (id TEXT, project_id TEXT, directory TEXT, title TEXT, version TEXT, time_created INT);
            CREATE TABLE message (id TEXT, session_id TEXT, time_created INT, data TEXT);
            CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, time_created INT, data TEXT);
            INSERT INTO session VALUES ('ses_1', 'p', '/w', 'T', '1.2.27', 1772000000000);
            INSERT INTO message VALUES ('msg_1', 'ses_1', 1772000000000, '{"role":"user","time":{"created":1772000000000}}');
            INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_1', 1772000000000, '{"type":"text","text":"hello"}');"#;
        rusqlite::Connection::open(&database).unwrap().execute_batch(rows).unwrap();
        Breadcrumbs::new(&bench.layout(), false).note(database.to_str().unwrap());
        let sessions: u64 = bench.run().agents.iter().map(|agent| agent.sessions).sum();
        assert_eq!(sessions, 3);
    }

    #[test]
    fn a_source_that_kills_again_and_again_is_skipped_until_it_changes() {
        let bench = Bench::new();
        bench.die("a", false);
        bench.die("a", true);
        assert_eq!(bench.run().agents[0].bad, 0, "one death may have been a person's doing");
        bench.write("a", "hello again");
        for _ in 0..crate::lake::suspects::FATAL {
            bench.die("a", true);
            // A run that dies before it reads anything.
            let manifest = Manifest::load(&bench.layout()).unwrap().unwrap();
            crate::lake::suspects::Suspects::load(&bench.layout(), &manifest).unwrap();
        }
        let summary = bench.run();
        assert_eq!((summary.skipped, summary.agents[0].bad), (vec![bench.path("a")], 1));
        assert_eq!(bench.sources()[0].1, SourceState::Unreadable);
        assert!(!bench.has_traces());
        let summary = bench.run();
        assert_eq!((summary.agents[0].unchanged, summary.agents[0].bad, summary.skipped), (2, 1, vec![]));
        bench.write("a", "and another time");
        let passes = bench.known.lock().unwrap().len();
        let summary = bench.run();
        assert_eq!(bench.known.lock().unwrap().len(), passes + 1, "it was read alone");
        assert_eq!((summary.agents[0].messages, summary.agents[0].bad), (1, 0));
    }
}
