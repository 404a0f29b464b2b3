//! Names of sources: paths as text, from which the path can be restored.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::Write;
use std::path::Path;

/// Returns the path as text. Bytes that are not UTF-8 become `\xE9`, so that different paths have different names.
pub(crate) fn name_of(path: &Path) -> Cow<'_, str> {
    text_of(path.as_os_str())
}

/// Returns a path, or a part of one, as text, like [`name_of`].
pub(crate) fn text_of(path: &OsStr) -> Cow<'_, str> {
    if let Some(text) = path.to_str() {
        return Cow::Borrowed(text);
    }
    let mut name = String::new();
    for chunk in path.as_encoded_bytes().utf8_chunks() {
        name.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(name, "\\x{byte:02X}");
        }
    }
    Cow::Owned(name)
}

/// Returns the path of a name: as written if such a file exists or no other does.
pub(crate) fn path_of(name: &str) -> Cow<'_, Path> {
    let plain = Path::new(name);
    if !name.contains("\\x") || plain.exists() {
        return Cow::Borrowed(plain);
    }
    decoded(name).filter(|path| path.exists()).map_or(Cow::Borrowed(plain), Cow::Owned)
}

#[cfg(unix)]
fn decoded(name: &str) -> Option<std::path::PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let mut parts = name.split("\\x");
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let byte = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (byte, part.get(2..)) {
            (Some(byte), Some(rest)) => {
                bytes.push(byte);
                bytes.extend(rest.as_bytes());
            }
            _ => bytes.extend(["\\x", part].concat().into_bytes()),
        }
    }
    Some(std::ffi::OsString::from_vec(bytes).into())
}

#[cfg(not(unix))]
fn decoded(_name: &str) -> Option<std::path::PathBuf> {
    None
}

#[cfg(all(test, target_os = "linux"))]
#[expect(clippy::disallowed_methods, reason = "files of the test's own")]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn a_path_is_had_again_from_its_name() {
        let folder = tempfile::tempdir().unwrap();
        for (file, name) in [
            (b"caf\xe9 \xffx.jsonl".as_slice(), "caf\\xE9 \\xFFx.jsonl"),
            ("café.jsonl".as_bytes(), "café.jsonl"),
            (b"a\\x41.jsonl", "a\\x41.jsonl"),
            (b"\xe9\\xzz\\x", "\\xE9\\xzz\\x"),
        ] {
            let path = folder.path().join(OsStr::from_bytes(file));
            std::fs::write(&path, "").unwrap();
            let decoded = name_of(&path);
            assert_eq!(decoded, folder.path().join(name).to_str().unwrap());
            assert_eq!(path_of(&decoded), path);
        }
        assert_eq!(path_of("/gone/\\xE9"), Path::new("/gone/\\xE9"));
    }
}
