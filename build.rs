//! Lists the canned queries, so that adding one is adding its file.
#![allow(clippy::disallowed_methods, reason = "a build script may read its own sources")]

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = Path::new("sql").canonicalize()?;
    let mut files: Vec<(String, String)> = Vec::new();
    for folder in fs::read_dir(&root)? {
        let folder = folder?.path();
        if !folder.is_dir() {
            continue;
        }
        println!("cargo::rerun-if-changed={}", folder.display());
        for file in fs::read_dir(&folder)? {
            let file = file?.path();
            let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if file.extension().is_some_and(|extension| extension == "sql") {
                files.push((format!("{}/{}", name(&folder), name(&file)), file.to_string_lossy().into_owned()));
            }
        }
    }
    println!("cargo::rerun-if-changed=sql");
    files.sort();
    let mut list = String::from("&[\n");
    for (name, path) in files {
        let _ = writeln!(list, "    ({name:?}, include_str!({path:?})),");
    }
    list.push(']');
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo names no OUT_DIR"))?;
    fs::write(Path::new(&out).join("canned_queries.rs"), list)
}
