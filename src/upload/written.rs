//! Records what a lake has written to stores, to distinguish it from its copies: a machine image, a moved or synced
//! home. Copies have the same lake id, and lake and copy would silently delete each other's files.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::lake::fs;
use crate::lake::layout::Layout;
use crate::remote::manifest::MachineManifest;
use crate::{Error, Result};

/// Nonces of a URL that are kept. A store that was restored from a backup may have an old one.
const KEPT: usize = 256;

/// The nonces of the manifests that a lake has written, or was about to write when it was interrupted.
pub(super) struct Written {
    path: PathBuf,
    url: String,
    /// By URL, in order of time.
    nonces: BTreeMap<String, Vec<String>>,
}

impl Written {
    /// Reads them. If they cannot be read, no manifest counts as the lake's own.
    pub(super) fn load(layout: &Layout, url: &str) -> Result<Self> {
        let path = layout.uploads();
        let nonces = fs::read(&path)?.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        Ok(Self { path, url: url.to_owned(), nonces })
    }

    /// True if the lake wrote the manifest, even through another URL of the store.
    pub(super) fn has(&self, manifest: &MachineManifest) -> bool {
        let nonce = shown(manifest.nonce);
        self.nonces.values().flatten().any(|written| *written == nonce)
    }

    /// Marks a nonce that the store has as the latest one, so that it is kept.
    pub(super) fn found(&mut self, manifest: &MachineManifest) {
        self.push(shown(manifest.nonce));
    }

    /// Records a nonce before the manifest with it is written, so that an interrupted upload recognises its manifest.
    pub(super) fn note(&mut self, nonce: [u8; 16]) -> Result<()> {
        self.push(shown(nonce));
        let unwritten = |error| Error::Query(format!("cannot write what was uploaded: {error}"));
        let bytes = serde_json::to_vec(&self.nonces).map_err(unwritten)?;
        let staged = self.path.with_extension("new");
        fs::write(&staged, &bytes)?;
        fs::rename(&staged, &self.path)?;
        self.path.parent().map_or(Ok(()), fs::sync_folder)
    }

    fn push(&mut self, nonce: String) {
        let nonces = self.nonces.entry(self.url.clone()).or_default();
        nonces.retain(|other| *other != nonce);
        nonces.push(nonce);
        nonces.drain(..nonces.len().saturating_sub(KEPT));
    }
}

fn shown(nonce: [u8; 16]) -> String {
    format!("{:032x}", u128::from_be_bytes(nonce))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_kept_the_longest() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path());
        fs::make_folder(&layout.state()).unwrap();
        let manifest = |number: u128| MachineManifest { nonce: number.to_be_bytes(), ..MachineManifest::default() };
        let mut written = Written::load(&layout, "s3://b/x").unwrap();
        for number in 0..KEPT as u128 {
            written.note(number.to_be_bytes()).unwrap();
        }
        written.found(&manifest(0));
        written.note(u128::MAX.to_be_bytes()).unwrap();
        let mut again = Written::load(&layout, "s3a://b/x").unwrap();
        let has = |written: &Written| [0, 1, 2, u128::MAX].map(|number| written.has(&manifest(number)));
        assert_eq!(has(&again), [true, false, true, true], "by another name of the place");
        again.note([7; 16]).unwrap();
        assert_eq!(has(&Written::load(&layout, "s3://b/x").unwrap()), [true, false, true, true]);
        fs::write(&layout.uploads(), b"{").unwrap();
        assert_eq!(has(&Written::load(&layout, "s3://b/x").unwrap()), [false; 4]);
    }
}
