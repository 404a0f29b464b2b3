//! Lost or damaged files of parts. A run that reads everything rewrites what their sources still hold; any other run
//! fails.

use std::collections::{BTreeSet, HashMap};

use rayon::prelude::*;

use super::reclaimed;
use crate::error::{Error, Result};
use crate::identity::Replica;
use crate::lake::claims;
use crate::lake::commit::Step;
use crate::lake::is_whole;
use crate::lake::layout::{Layout, PartName};
use crate::lake::manifest::{FileEntry, Manifest};
use crate::tables::LAKE_TABLES;

/// Files that are missing or have changed since they were written.
#[derive(Debug, Default)]
pub(super) struct Damaged {
    /// Parts of these files.
    pub(super) parts: BTreeSet<PartName>,
    /// Their paths, relative to the lake.
    pub(super) paths: BTreeSet<String>,
    /// Claims that were rebuilt from rows, for parts whose claims files are among these files.
    pub(super) claims: HashMap<PartName, Vec<Replica>>,
}

impl Damaged {
    /// Checks every file, and removes damaged data files from the manifest, so that nothing is read from them.
    pub(super) fn give_up(layout: &Layout, manifest: &mut Manifest) -> Result<Self> {
        let machine = manifest.machine.clone();
        let is_lost = |path: &str, file: &FileEntry| !is_whole(&layout.root().join(path), file);
        let found: Vec<(PartName, String)> = manifest
            .parts
            .par_iter_mut()
            .flat_map_iter(|(name, part)| {
                let files = LAKE_TABLES.into_iter().zip(&mut part.files);
                let files = files.map(|(table, file)| (Layout::part(table, &machine, name), file));
                let lost = files.filter_map(|(path, file)| file.take_if(|file| is_lost(&path, file)).map(|_| path));
                lost.map(|path| (name.clone(), path)).collect::<Vec<_>>()
            })
            .collect();
        let (mut parts, mut paths): (BTreeSet<PartName>, BTreeSet<String>) = found.into_iter().unzip();
        let claims_of = |name: &PartName| claims::open(&layout.root().join(Layout::claims(name)));
        let is_lost = |name: &&PartName| matches!(claims_of(name), Err(Error::DamagedData { .. }));
        let lost: Vec<&PartName> = manifest.parts.keys().par_bridge().filter(is_lost).collect();
        let mut claims = HashMap::new();
        for (name, part) in lost.into_iter().filter_map(|name| manifest.parts.get_key_value(name)) {
            claims.insert(name.clone(), reclaimed::of_rows(layout, manifest, name, part)?);
            paths.insert(Layout::claims(name));
            parts.insert(name.clone());
        }
        Ok(Self { parts, paths, claims })
    }

    /// Returns the steps that delete the files that nothing replaces.
    pub(super) fn removals(&self, steps: &[Step]) -> Vec<Step> {
        let is_placed = |path: &String| steps.iter().any(|step| matches!(step, Step::Place { to, .. } if to == path));
        let left = self.paths.iter().filter(|path| !is_placed(path));
        left.map(|path| Step::Remove { path: path.clone() }).collect()
    }
}
