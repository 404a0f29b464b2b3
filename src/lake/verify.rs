//! `llrem verify`: the lake against its manifest, and against its own rules.

use super::layout::Layout;
use super::manifest::Manifest;
use crate::error::Result;

pub(super) fn verify(_layout: &Layout, _manifest: &Manifest, _read_data: bool) -> Result<Vec<String>> {
    Ok(Vec::new())
}
