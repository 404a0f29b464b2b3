//! The tree of a conversation: the row of each line, and abandoned branches.

use uuid::Uuid;

use crate::agents::tree::path_to_root;
use crate::extract::KeyMap;

/// An agent's id of a line. Nearly all are UUIDs, stored compactly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Id {
    Uuid(Uuid),
    Text(Box<str>),
}

impl Id {
    pub(super) fn new(text: &str) -> Self {
        match Uuid::try_parse(text) {
            Ok(id) if id.hyphenated().encode_lower(&mut Uuid::encode_buffer()) == text => Self::Uuid(id),
            _ => Self::Text(text.into()),
        }
    }

    pub(super) fn text(&self) -> String {
        match self {
            Self::Uuid(id) => id.hyphenated().encode_lower(&mut Uuid::encode_buffer()).to_owned(),
            Self::Text(text) => text.to_string(),
        }
    }
}

/// Place of a line in the tree, in file order.
#[derive(Debug, Clone, Copy)]
struct Node {
    parent: Option<u32>,
    /// Place of the id of the nearest row above it: all lines above are complete when the line comes.
    above: Option<u32>,
    /// Place of the message row that the line belongs to, and of the row's id.
    row: Option<u32>,
    id: Option<u32>,
    /// True if it is a prompt, so that leaving it abandons a branch.
    is_prompt: bool,
    is_sidechain: bool,
}

/// Collects the lines of one transcript.
#[derive(Default)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    places: KeyMap<u32>,
    ids: Vec<Id>,
    /// The last line of the main thread, which a line without a known parent continues.
    last: Option<u32>,
}

impl Tree {
    /// Returns true if a line of that key was added already.
    pub(super) fn contains(&self, key: u64) -> bool {
        self.places.contains_key(&key)
    }

    /// Adds a line. Without a known parent, it follows the line before it.
    pub(super) fn add(&mut self, key: u64, parent: Option<u64>, is_prompt: bool, is_sidechain: bool) {
        let parent = parent.and_then(|parent| self.places.get(&parent).copied());
        let parent = parent.or(if is_sidechain { None } else { self.last });
        let Ok(place) = u32::try_from(self.nodes.len()) else { return };
        let above = parent.and_then(|parent| self.nodes.get(parent as usize)).and_then(|node| node.id.or(node.above));
        self.nodes.push(Node { parent, above, row: None, id: None, is_prompt, is_sidechain });
        self.places.insert(key, place);
        if !is_sidechain {
            self.last = Some(place);
        }
    }

    /// Notes that the line of that key begins the message row of that id.
    pub(super) fn begin_row(&mut self, key: u64, id: &str) {
        let place = u32::try_from(self.ids.len()).ok();
        self.ids.push(Id::new(id));
        if let Some(node) = self.node_mut(key) {
            node.id = place;
        }
    }

    /// Notes that a line continues the row that another line began.
    pub(super) fn continue_row(&mut self, key: u64, first: u64) {
        let id = self.node_mut(first).and_then(|node| node.id);
        if let Some(node) = self.node_mut(key) {
            node.id = id;
        }
    }

    /// Sets the place of the message row of the line of that key.
    pub(super) fn set_row(&mut self, key: u64, row: usize) {
        if let Some(node) = self.node_mut(key) {
            node.row = u32::try_from(row).ok();
        }
    }

    /// Returns the id of the row of that line, or of the nearest line above it with a row.
    pub(super) fn row_id(&self, key: u64) -> Option<&Id> {
        let node = self.nodes.get(*self.places.get(&key)? as usize)?;
        self.ids.get(node.id.or(node.above)? as usize)
    }

    fn node_mut(&mut self, key: u64) -> Option<&mut Node> {
        self.places.get(&key).and_then(|place| self.nodes.get_mut(*place as usize))
    }

    /// Returns message rows on abandoned branches: those off the path from the last line to the root that hold a
    /// prompt. Branches without one are tool results that ran in parallel.
    pub(super) fn abandoned_rows(&self) -> Vec<usize> {
        let mut rows: Vec<usize> =
            self.abandoned().filter_map(|node| node.row).filter_map(|row| usize::try_from(row).ok()).collect();
        rows.dedup();
        rows
    }

    fn abandoned(&self) -> impl Iterator<Item = &Node> {
        let active = path_to_root(&self.nodes, self.last, |node| node.parent);
        let holds_prompt = self.holds_prompt();
        let mut left = vec![false; self.nodes.len()];
        for (place, node) in self.nodes.iter().enumerate() {
            let parent_left = node.parent.is_some_and(|parent| at(&left, parent as usize));
            let leaves = !at(&active, place) && at(&holds_prompt, place);
            if let Some(flag) = left.get_mut(place) {
                *flag = !node.is_sidechain && (parent_left || leaves);
            }
        }
        self.nodes.iter().zip(left).filter_map(|(node, left)| left.then_some(node))
    }

    /// Returns true if a line or one of its descendants is a prompt. Parents always come before their children.
    fn holds_prompt(&self) -> Vec<bool> {
        let mut holds: Vec<bool> = self.nodes.iter().map(|node| node.is_prompt && !node.is_sidechain).collect();
        for (place, node) in self.nodes.iter().enumerate().rev() {
            if at(&holds, place)
                && let Some(flag) = node.parent.and_then(|parent| holds.get_mut(parent as usize))
            {
                *flag = true;
            }
        }
        holds
    }
}

fn at(flags: &[bool], place: usize) -> bool {
    flags.get(place).copied().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(lines: &[(u64, Option<u64>, bool)]) -> Tree {
        let mut tree = Tree::default();
        for (place, (key, parent, is_prompt)) in lines.iter().enumerate() {
            tree.add(*key, *parent, *is_prompt, false);
            tree.set_row(*key, place);
        }
        tree
    }

    #[test]
    fn a_rewound_prompt_and_its_answer_are_abandoned() {
        let tree = tree(&[
            (1, None, true),
            (2, Some(1), false),
            (3, Some(2), true),
            (4, Some(3), false),
            (5, Some(2), true),
            (6, Some(5), false),
        ]);
        assert_eq!(tree.abandoned_rows(), [2, 3]);
    }

    #[test]
    fn ids_come_back_as_they_were() {
        for id in ["e0000000-0000-4000-8000-00000000000a", "E0000000-0000-4000-8000-00000000000a", "", "ü", "ffff"] {
            assert_eq!(Id::new(id).text(), id);
        }
    }

    #[test]
    fn parallel_results_and_new_roots_are_not() {
        let tree = tree(&[
            (1, None, true),
            (2, Some(1), false),
            (3, Some(1), false),
            (4, Some(3), false),
            (5, None, true),
            (6, Some(99), false),
        ]);
        assert!(tree.abandoned_rows().is_empty());
    }
}
