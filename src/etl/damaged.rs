//! Data files that are lost or damaged. A run that reads everything anew writes what their sources still hold again; any
//! other stops at them.

use std::collections::BTreeSet;

use rayon::prelude::*;

use crate::lake::commit::Step;
use crate::lake::is_whole;
use crate::lake::layout::{Layout, PartName};
use crate::lake::manifest::{FileEntry, Manifest};
use crate::tables::LAKE_TABLES;

/// The files that are not as they were written.
#[derive(Debug, Default)]
pub(super) struct Damaged {
    /// Parts that they are of.
    pub(super) parts: BTreeSet<PartName>,
    /// Their paths, relative to the lake.
    pub(super) paths: BTreeSet<String>,
}

impl Damaged {
    /// Looks at every data file, and takes those that are not whole out of the manifest: nothing is read of them.
    pub(super) fn give_up(layout: &Layout, manifest: &mut Manifest) -> Self {
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
        let (parts, paths) = found.into_iter().unzip();
        Self { parts, paths }
    }

    /// What takes away the files in whose place nothing is put.
    pub(super) fn removals(&self, steps: &[Step]) -> Vec<Step> {
        let is_placed = |path: &String| steps.iter().any(|step| matches!(step, Step::Place { to, .. } if to == path));
        let left = self.paths.iter().filter(|path| !is_placed(path));
        left.map(|path| Step::Remove { path: path.clone() }).collect()
    }
}
