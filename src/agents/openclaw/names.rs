//! Classifies OpenClaw's files by their names.

use std::path::Path;

/// Endings of archives after `.jsonl`.
const ARCHIVES: [&str; 5] = [".reset.", ".deleted.", ".bak.", ".full.bak", ".imported-"];

/// The kind of a source; none for copies, locks and recordings.
pub(in crate::agents) fn kind_of(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_str()?;
    if name == "openclaw-agent.sqlite" {
        return Some("database");
    }
    let (stem, ending) = name.split_once(".jsonl")?;
    let is_copy = stem.contains(".checkpoint.") || stem.ends_with(".trajectory") || stem.is_empty();
    let is_passing = matches!(ending.rsplit('.').next(), Some("lock" | "tmp"));
    if is_copy || is_passing {
        return None;
    }
    let is_cold = path.parent().and_then(Path::file_name).is_some_and(|folder| folder == "cold");
    match ending {
        _ if is_cold => Some("cold"),
        "" => Some("transcript"),
        ".zst" => Some("archive"),
        ending => {
            let ending = ending.strip_prefix(".zst").unwrap_or(ending);
            ARCHIVES.iter().any(|archive| ending.starts_with(archive)).then_some("archive")
        }
    }
}

/// The session that a file's name names, and whether it is a thread of its own within the session that its header
/// names.
pub(super) fn session_of(path: &Path) -> (&str, bool) {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let (stem, ending) = name.split_once(".jsonl").unwrap_or((name, ""));
    // A file that was imported into the database has the session's key before its old name.
    let was_imported = ending.contains(".imported-");
    let id = stem.rsplit_once('.').filter(|_| was_imported).map_or(stem, |(_, id)| id);
    (id, id.contains("-topic-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_sessions_of_names() {
        for (name, kind, session) in [
            ("a1.jsonl", Some("transcript"), ("a1", false)),
            ("a1-topic-7.jsonl", Some("transcript"), ("a1-topic-7", true)),
            ("a1.jsonl.reset.2026-01-01T10-00-00.000Z", Some("archive"), ("a1", false)),
            ("a1.jsonl.deleted.2026-01-01T10-00-00.000Z.zst", Some("archive"), ("a1", false)),
            ("a1.jsonl.full.bak", Some("archive"), ("a1", false)),
            ("archive-tier.a1.jsonl.imported-2026-01-01T10-00-00.000Z", Some("archive"), ("a1", false)),
            ("main.a1.jsonl.zst.imported-2026-01-01T10-00-00.000Z", Some("archive"), ("a1", false)),
            ("openclaw-agent.sqlite", Some("database"), ("openclaw-agent.sqlite", false)),
            ("cold/9f.jsonl.zst", Some("cold"), ("9f", false)),
            ("a1.checkpoint.b2.jsonl", None, ("a1.checkpoint.b2", false)),
            ("a1.trajectory.jsonl", None, ("a1.trajectory", false)),
            ("a1.jsonl.lock", None, ("a1", false)),
            ("sessions.json", None, ("sessions.json", false)),
        ] {
            let path = Path::new(name);
            assert_eq!((kind_of(path), session_of(path)), (kind, session), "{name}");
        }
    }
}
