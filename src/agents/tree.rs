//! The tree of a session whose entries name what they follow: which message row an entry became, and which branches
//! were left.

use crate::extract::KeyMap;

/// The parent of an entry.
pub(super) enum Parent {
    /// Below the entry of that key.
    Entry(u64),
    /// Below the entry before it: it names no parent, or one that is not there.
    Before,
    /// Nowhere: the conversation began anew.
    Root,
}

/// Marks a node and all above it. Parents come before their children, so the path ends.
pub(super) fn path_to_root<N>(nodes: &[N], leaf: Option<u32>, parent_of: impl Fn(&N) -> Option<u32>) -> Vec<bool> {
    let mut active = vec![false; nodes.len()];
    let mut place = leaf;
    while let Some(at) = place {
        let Some(flag) = active.get_mut(at as usize) else { break };
        *flag = true;
        place = nodes.get(at as usize).and_then(&parent_of);
    }
    active
}

struct Node {
    parent: Option<u32>,
    /// The nearest entry above it that became a row: what is above an entry is complete when the entry comes.
    above: Option<u32>,
    /// Place of the message row that the entry became, and the row's id.
    row: Option<(u32, Box<str>)>,
    /// True if the conversation never went through it: what OpenClaw writes outside its thread.
    is_beside: bool,
}

/// Collects the entries of one session, in file order.
#[derive(Default)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    places: KeyMap<u32>,
    /// The entry that the next one continues, unless it says otherwise.
    last: Option<u32>,
    /// The current end of the conversation: the last entry that moves it on.
    leaf: Option<u32>,
    /// Entries up to when it was last moved. Count.
    moved_at: usize,
}

impl Tree {
    /// Returns true if there is an entry of that key.
    pub(super) fn has(&self, key: u64) -> bool {
        self.places.contains_key(&key)
    }

    /// Returns true if the last entry has that key.
    pub(super) fn is_last(&self, key: u64) -> bool {
        self.places.get(&key).is_some_and(|place| self.last == Some(*place))
    }

    /// Adds an entry.
    pub(super) fn add(&mut self, key: Option<u64>, parent: &Parent, is_beside: bool, moves_leaf: bool) {
        let Ok(place) = u32::try_from(self.nodes.len()) else { return };
        let parent = match parent {
            Parent::Entry(key) => self.places.get(key).copied().or(self.last),
            Parent::Before => self.last,
            Parent::Root => None,
        };
        let above = parent.and_then(|place| {
            let node = self.nodes.get(place as usize)?;
            if node.row.is_some() { Some(place) } else { node.above }
        });
        self.nodes.push(Node { parent, above, row: None, is_beside });
        if let Some(key) = key {
            self.places.insert(key, place);
        }
        if !is_beside {
            self.last = Some(place);
            if moves_leaf {
                (self.leaf, self.moved_at) = (Some(place), self.nodes.len());
            }
        }
    }

    /// Takes an entry that only says where the conversation goes on: below another entry, or nowhere.
    pub(super) fn turn_to(&mut self, key: Option<u64>, target: Option<u64>) {
        let place = target.and_then(|target| self.places.get(&target).copied());
        if target.is_some() && place.is_none() {
            return;
        }
        (self.leaf, self.last, self.moved_at) = (place, place, self.nodes.len());
        if let (Some(key), Some(place)) = (key, place) {
            self.places.insert(key, place);
        }
    }

    /// Says which row the newest entry became.
    pub(super) fn set_row(&mut self, row: usize, id: &str) {
        if let (Some(node), Ok(row)) = (self.nodes.last_mut(), u32::try_from(row)) {
            node.row = Some((row, id.into()));
        }
    }

    /// Id of the row that the newest entry continues: of the nearest entry above it that became one.
    pub(super) fn row_above(&self) -> Option<&str> {
        let above = self.nodes.get(self.nodes.last()?.above? as usize)?;
        above.row.as_ref().map(|(_, id)| &**id)
    }

    /// Rows of the entries that are not on the path from the conversation's end to the root. What came after it was last
    /// moved is not left.
    pub(super) fn abandoned_rows(&self) -> Vec<usize> {
        let active = path_to_root(&self.nodes, self.leaf, |node| node.parent);
        let nodes = self.nodes.iter().zip(active).take(self.moved_at);
        let left = nodes.filter(|(node, active)| !active && !node.is_beside);
        left.filter_map(|(node, _)| usize::try_from(node.row.as_ref()?.0).ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(entries: &[(u64, Parent)]) -> Tree {
        let mut tree = Tree::default();
        for (row, (key, parent)) in entries.iter().enumerate() {
            tree.add(Some(*key), parent, false, true);
            tree.set_row(row, &key.to_string());
        }
        tree
    }

    #[test]
    fn what_hangs_beside_the_way_to_the_leaf_is_abandoned() {
        let entries = [
            (1, Parent::Root),
            (2, Parent::Entry(1)),
            (3, Parent::Entry(2)),
            (4, Parent::Entry(1)),
            (5, Parent::Entry(4)),
        ];
        assert_eq!(tree(&entries).abandoned_rows(), [1, 2]);
    }

    #[test]
    fn what_comes_behind_the_last_move_is_not_left() {
        let mut tree = tree(&[(1, Parent::Root), (2, Parent::Entry(1)), (3, Parent::Entry(1))]);
        tree.add(Some(4), &Parent::Before, false, false);
        tree.set_row(3, "4");
        assert_eq!((tree.abandoned_rows(), tree.row_above()), (vec![1], Some("3")));
        tree.add(Some(5), &Parent::Entry(3), false, true);
        assert_eq!(tree.abandoned_rows(), [1, 3]);
    }

    #[test]
    fn entries_without_a_known_parent_follow_the_one_before() {
        let entries = [(1, Parent::Root), (2, Parent::Before), (3, Parent::Entry(99)), (4, Parent::Before)];
        let tree = tree(&entries);
        assert!(tree.abandoned_rows().is_empty());
        assert_eq!(tree.row_above(), Some("3"));
    }

    #[test]
    fn a_turn_leaves_what_came_after_its_target() {
        let mut tree = tree(&[(1, Parent::Root), (2, Parent::Entry(1)), (3, Parent::Entry(2))]);
        tree.turn_to(Some(9), Some(77));
        assert!(tree.abandoned_rows().is_empty());
        tree.turn_to(Some(9), Some(1));
        assert_eq!(tree.abandoned_rows(), [1, 2]);
        tree.add(Some(4), &Parent::Entry(9), false, true);
        assert_eq!(tree.row_above(), Some("1"));
        tree.turn_to(None, None);
        assert_eq!(tree.abandoned_rows(), [0, 1, 2]);
    }

    #[test]
    fn a_new_root_leaves_all_before_it() {
        assert_eq!(tree(&[(1, Parent::Root), (2, Parent::Before), (3, Parent::Root)]).abandoned_rows(), [0, 1]);
    }
}
