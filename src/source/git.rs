//! Commits in the repository of a project. Reads only objects: no configuration, and it runs, writes and fetches
//! nothing.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use gix_odb::{Handle, Header, pack::Find};

/// Longest commit that is read. Bytes.
const MAX_COMMIT: u64 = 256 << 10;
/// Most memory for an object of a pack. Bytes.
const MAX_ALLOCATION: usize = 16 << 20;
/// Most commits to look up in one repository.
const MAX_LOOKUPS: usize = 10_000;
/// Longest `.git` file that points to another folder. Bytes.
const MAX_POINTER: u64 = 4096;

/// A repository's objects.
pub(crate) struct Repository {
    objects: Handle,
    loose: PathBuf,
    lookups: usize,
}

/// The needed data of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Commit {
    /// Its full hash, in hexadecimal digits.
    pub(crate) hash: String,
    /// When it was made. Microseconds since 1970.
    pub(crate) time: i64,
    /// Its message, as it is stored.
    pub(crate) message: String,
}

impl Repository {
    /// Opens the repository whose work tree is the folder. Returns `None` if there is none or it cannot be read.
    pub(crate) fn of_folder(folder: &Path) -> Option<Self> {
        let loose = git_folder(folder)?.join("objects");
        // Objects may be borrowed from repositories anywhere on the disk, and a pipe in place of a pack would block.
        if loose.join("info/alternates").exists() || !holds_only_files(&loose.join("pack")) {
            return None;
        }
        let options = gix_odb::store::init::Options {
            alloc_limit_bytes: Some(MAX_ALLOCATION),
            current_dir: Some(folder.to_owned()),
            ..Default::default()
        };
        let mut objects = guarded(|| gix_odb::at_opts(&loose, gix_hash::Kind::Sha1, None, options).ok())?;
        objects.refresh_never();
        Some(Self { objects, loose, lookups: 0 })
    }

    /// Returns the commit whose hash begins with these digits, if it is the only one.
    pub(crate) fn commit(&mut self, digits: &str) -> Option<Commit> {
        self.lookups += 1;
        if self.lookups > MAX_LOOKUPS || !holds_only_files(&self.loose.join(digits.get(..2)?)) {
            return None;
        }
        let prefix = gix_hash::Prefix::from_hex(digits).ok()?;
        guarded(|| {
            let id = self.objects.lookup_prefix(prefix, None).ok()??.ok()?;
            let header = self.objects.try_header(&id).ok()??;
            if header.kind().as_bytes() != b"commit" || header.size() > MAX_COMMIT {
                return None;
            }
            let mut buffer = Vec::new();
            let (object, _) = self.objects.try_find(&id, &mut buffer).ok()??;
            let (time, message) = read(object.data)?;
            Some(Commit { hash: id.to_string(), time, message })
        })
    }
}

/// A damaged repository loses its commits, nothing else.
fn guarded<T>(read: impl FnOnce() -> Option<T>) -> Option<T> {
    catch_unwind(AssertUnwindSafe(read)).ok().flatten()
}

/// Returns `.git`, or the folder that it points to if there are several work trees.
fn git_folder(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let own = folder.join(pointer(&git)?.strip_prefix("gitdir:")?.trim());
    let shared = pointer(&own.join("commondir")).map(|shared| own.join(shared.trim()));
    shared.or(Some(own)).filter(|folder| folder.is_dir())
}

fn pointer(path: &Path) -> Option<String> {
    String::from_utf8(super::head(path, MAX_POINTER).ok()?).ok()
}

/// True if a folder contains only files and folders, or does not exist.
fn holds_only_files(folder: &Path) -> bool {
    let Ok(mut entries) = std::fs::read_dir(folder) else { return true };
    entries.all(|entry| entry.and_then(|entry| entry.file_type()).is_ok_and(|kind| kind.is_file() || kind.is_dir()))
}

/// Parses time and message of a commit: header lines, an empty line, the message.
fn read(commit: &[u8]) -> Option<(i64, String)> {
    let text = String::from_utf8_lossy(commit);
    let (headers, message) = text.split_once("\n\n")?;
    let committer = headers.lines().find_map(|line| line.strip_prefix("committer "))?;
    let seconds: i64 = committer.rsplit_once('>')?.1.split_whitespace().next()?.parse().ok()?;
    let time = crate::time::from_epoch(seconds as f64)?;
    Some((time, message.trim_end().to_owned()))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, clippy::string_slice, reason = "files and texts are the test's own")]
mod tests {
    use super::*;

    /// Writes an object as git does, without compression. Returns its hash.
    fn write(git: &Path, kind: &str, content: &[u8]) -> String {
        let mut object = format!("{kind} {}\0", content.len()).into_bytes();
        object.extend_from_slice(content);
        let mut hasher = gix_hash::hasher(gix_hash::Kind::Sha1);
        hasher.update(&object);
        let hash = hasher.try_finalize().unwrap().to_string();
        let length = u16::try_from(object.len()).unwrap();
        let mut file = vec![0x78, 0x01, 0x01];
        file.extend(length.to_le_bytes());
        file.extend((!length).to_le_bytes());
        let (mut a, mut b) = (1_u32, 0_u32);
        for byte in &object {
            a = (a + u32::from(*byte)) % 65_521;
            b = (b + a) % 65_521;
        }
        file.extend(&object);
        file.extend((b << 16 | a).to_be_bytes());
        let (folder, name) = hash.split_at(2);
        let folder = git.join("objects").join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(name), file).unwrap();
        hash
    }

    const COMMIT: &[u8] = b"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor A <a@b> 1767344430 +0100\ncommitter A <a@b> 1767344431 +0100\n\nfix: a\n";

    #[test]
    fn commits_are_found_by_the_beginning_of_their_hash() {
        let folder = tempfile::tempdir().unwrap();
        let git = folder.path().join(".git");
        let commit = write(&git, "commit", COMMIT);
        let blob = write(&git, "blob", b"no commit");
        let long = write(&git, "commit", &[COMMIT, &[b'x'; 300][..]].concat());
        std::fs::write(git.join("config"), "[core]\n\tfsmonitor = /bin/false\n[include]\n\tpath = /nowhere\n").unwrap();
        let mut repository = Repository::of_folder(folder.path()).unwrap();
        let found = repository.commit(&commit[..7]).unwrap();
        assert_eq!((found.hash, found.time, &*found.message), (commit.clone(), 1_767_344_431_000_000, "fix: a"));
        assert!(repository.commit(&long[..7]).unwrap().message.ends_with("xxx"));
        for digits in [&blob[..7], "0000000", "zz", "", "../../x", "é123456"] {
            assert_eq!(repository.commit(digits), None, "{digits}");
        }
        let worktree = folder.path().join("worktree");
        std::fs::create_dir_all(git.join("worktrees/one")).unwrap();
        std::fs::write(git.join("worktrees/one/commondir"), "../..\n").unwrap();
        std::fs::create_dir(&worktree).unwrap();
        std::fs::write(worktree.join(".git"), "gitdir: ../.git/worktrees/one\n").unwrap();
        assert!(Repository::of_folder(&worktree).unwrap().commit(&commit[..7]).is_some());
        std::fs::create_dir_all(git.join("objects/info")).unwrap();
        std::fs::write(git.join("objects/info/alternates"), "/elsewhere\n").unwrap();
        assert!(Repository::of_folder(folder.path()).is_none(), "objects of others are not looked for");
    }

    #[test]
    fn what_is_damaged_gives_nothing() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Repository::of_folder(folder.path()).is_none());
        let git = folder.path().join(".git");
        let commit = write(&git, "commit", COMMIT);
        let (first, rest) = commit.split_at(2);
        std::fs::write(git.join("objects").join(first).join(rest), b"x\x01nonsense").unwrap();
        std::fs::create_dir_all(git.join("objects/pack")).unwrap();
        std::fs::write(git.join("objects/pack/pack-1.idx"), b"\xfftOc nonsense").unwrap();
        if let Some(mut repository) = Repository::of_folder(folder.path()) {
            assert_eq!(repository.commit(&commit[..7]), None);
        }
    }

    #[test]
    fn times_and_messages() {
        let text =
            b"tree 0\nauthor A <a@b> 1767344430 +0100\ncommitter A (aider) <a@b> 1767344431 +0100\n\nfix: a\n\nmore\n";
        assert_eq!(read(text), Some((1_767_344_431_000_000, "fix: a\n\nmore".to_owned())));
        assert_eq!(read(b"tree 0\n\nx"), None);
        assert_eq!(read(b"committer A <a@b> x\n\nx"), None);
    }
}
