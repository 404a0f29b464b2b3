//! The findings that `llrem detect --new` has reported. They are kept next to the lake's own state; no row depends on
//! them.

use std::collections::BTreeMap;

use super::fs;
use super::layout::Layout;
use super::lock::Lock;
use crate::error::Result;

/// Begins the file, with the version of its form. A BLAKE3 hash and the findings follow.
const MAGIC: &[u8; 8] = b"LLREMRF\x01";

/// The reported findings, each with its highest severity. Nobody else reports any while this is open.
pub struct Reported {
    layout: Layout,
    known: BTreeMap<u128, u8>,
    /// True if the file was damaged. Then nothing counts as reported.
    pub is_damaged: bool,
    _lock: Lock,
}

impl Reported {
    pub(super) fn open(layout: &Layout) -> Result<Self> {
        let lock = Lock::take_for_report(layout)?;
        let bytes = fs::read(&layout.reported())?;
        let known = bytes.as_deref().map_or_else(|| Some(BTreeMap::new()), decode);
        let is_damaged = known.is_none();
        Ok(Self { layout: layout.clone(), known: known.unwrap_or_default(), is_damaged, _lock: lock })
    }

    /// True if a finding was never reported, or only as less severe.
    pub fn is_new(&self, finding: u128, severity: u8) -> bool {
        self.known.get(&finding).is_none_or(|known| *known < severity)
    }

    /// Notes that findings are reported. After a crash before the end, they are reported once more.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn add(&mut self, findings: impl IntoIterator<Item = (u128, u8)>) -> Result<()> {
        for (finding, severity) in findings {
            let known = self.known.entry(finding).or_default();
            *known = severity.max(*known);
        }
        let path = self.layout.reported();
        let next = path.with_extension("next");
        fs::write(&next, &encode(&self.known))?;
        fs::rename(&next, &path)?;
        fs::sync_folder(&self.layout.state())
    }
}

fn encode(known: &BTreeMap<u128, u8>) -> Vec<u8> {
    let content: Vec<u8> =
        known.iter().flat_map(|(finding, severity)| finding.to_le_bytes().into_iter().chain([*severity])).collect();
    [MAGIC.as_slice(), blake3::hash(&content).as_bytes(), &content].concat()
}

/// Returns `None` if the bytes are not what was written.
fn decode(bytes: &[u8]) -> Option<BTreeMap<u128, u8>> {
    let (hash, content) = bytes.strip_prefix(MAGIC)?.split_first_chunk::<32>()?;
    let (findings, []) = content.as_chunks::<17>() else { return None };
    let finding = |bytes: &[u8; 17]| {
        let (finding, severity) = bytes.split_first_chunk::<16>()?;
        Some((u128::from_le_bytes(*finding), *severity.first()?))
    };
    if blake3::hash(content).as_bytes() == hash { findings.iter().map(finding).collect() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lake() -> (tempfile::TempDir, Layout) {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path());
        fs::make_folder(&layout.state()).unwrap();
        (folder, layout)
    }

    #[test]
    fn a_finding_is_new_once_and_again_if_it_becomes_worse() {
        let (_folder, layout) = lake();
        let mut reported = Reported::open(&layout).unwrap();
        assert!(reported.is_new(7, 0));
        reported.add([(7, 1), (8, 0), (7, 0)]).unwrap();
        drop(reported);
        let reported = Reported::open(&layout).unwrap();
        assert!(!reported.is_damaged);
        assert!(!reported.is_new(7, 1) && !reported.is_new(7, 0) && !reported.is_new(8, 0));
        assert!(reported.is_new(7, 2) && reported.is_new(9, 0));
    }

    #[test]
    fn damage_is_noticed_and_everything_is_new_again() {
        let (_folder, layout) = lake();
        Reported::open(&layout).unwrap().add([(7, 1), (u128::MAX, 2)]).unwrap();
        let whole = fs::read(&layout.reported()).unwrap().unwrap();
        for cut in 0..whole.len() {
            assert!(decode(&whole[..cut]).is_none(), "{cut}");
        }
        for place in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[place] ^= 1;
            fs::write(&layout.reported(), &flipped).unwrap();
            let reported = Reported::open(&layout).unwrap();
            assert!(reported.is_damaged && reported.is_new(7, 0), "{place}");
        }
    }
}
