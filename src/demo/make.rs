//! The demo's lake: made anew for each day, in a folder of its own.

use std::path::Path;

use chrono::NaiveDate;
use chrono_tz::Tz;

use super::{MACHINE, write};
use crate::etl::{self, Options, Silent};
use crate::lake::fs;
use crate::lake::layout::{Layout, STATE};
use crate::{Error, Result};

/// True if the lake in a folder is the demo's. `llrem etl` does not write to it.
pub fn is_demo(lake: &Path) -> bool {
    Layout::new(lake).demo().exists()
}

/// Makes the lake, or makes it anew. Returns false if it is the one of that day already.
///
/// # Errors
/// Fails if the folder holds anything else.
pub fn make(lake: &Path, today: NaiveDate, zone: Tz) -> Result<bool> {
    let lake = std::path::absolute(lake).map_err(Error::io("read", lake))?;
    let layout = Layout::new(&lake);
    let is_used = lake.read_dir().is_ok_and(|mut entries| entries.next().is_some());
    if is_used && !is_demo(&lake) {
        let place = lake.display();
        return Err(Error::Usage(format!("`{place}` holds something else; name another folder with --lake DIR")));
    }
    let made = format!("{today} {zone} {}\n", env!("CARGO_PKG_VERSION"));
    if fs::read(&layout.demo())?.is_some_and(|known| known == made.as_bytes()) {
        return Ok(false);
    }
    // The mark is there before everything else and after it, so that a crash leaves nothing but a demo's lake.
    fs::make_folder(&layout.state())?;
    fs::write(&layout.demo(), b"unfinished\n")?;
    clear(&layout)?;
    let home = layout.state().join("home");
    write(&home, today, zone)?;
    let options = Options { home: Some(home.clone()), machine: Some(MACHINE.to_owned()), zone, ..Options::new(lake) };
    let folder = options.lake.clone();
    etl::run(&options, &Silent)?;
    etl::fold_all(&folder)?;
    fs::remove_folder(&home)?;
    fs::write(&layout.demo(), made.as_bytes())?;
    Ok(true)
}

/// Removes everything but the mark.
fn clear(layout: &Layout) -> Result<()> {
    let mark = layout.demo();
    for folder in [layout.root().to_owned(), layout.state()] {
        for entry in folder.read_dir().map_err(Error::io("read", &folder))? {
            let path = entry.map_err(Error::io("read", &folder))?.path();
            if path == mark || path.ends_with(STATE) {
                continue;
            }
            if path.is_dir() { fs::remove_folder(&path)? } else { fs::remove(&path)? }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> NaiveDate {
        text.parse().unwrap()
    }

    #[test]
    fn a_folder_with_something_else_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let kept = folder.path().join("kept");
        fs::write(&kept, b"mine").unwrap();
        assert!(matches!(make(folder.path(), day("2026-07-17"), Tz::UTC), Err(Error::Usage(_))));
        assert_eq!(fs::read(&kept).unwrap().as_deref(), Some(&b"mine"[..]));
        assert_eq!(folder.path().read_dir().unwrap().count(), 1);
    }

    #[test]
    fn an_unfinished_lake_is_cleared_but_for_its_mark() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path());
        for path in [layout.root().join("usage/x.parquet"), layout.state().join("home/.claude/x"), layout.manifest()] {
            fs::make_folder(path.parent().unwrap()).unwrap();
            fs::write(&path, b"x").unwrap();
        }
        fs::write(&layout.demo(), b"unfinished\n").unwrap();
        clear(&layout).unwrap();
        let left = walkdir::WalkDir::new(folder.path()).into_iter().filter_map(std::result::Result::ok);
        let left: Vec<_> = left.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path).collect();
        assert_eq!(left, [layout.demo()]);
    }
}
