//! The tree of a session: which row stands for a line, and which branches a rewind left.

use crate::extract::KeyMap;

/// Where a line hangs.
pub(super) enum Parent {
    /// Below the line of that key.
    Line(u64),
    /// Below the line before it.
    Before,
    /// Nowhere: the conversation began anew.
    Root,
}

struct Node {
    parent: Option<usize>,
    /// Place of the message row that the line became, and the row's id.
    row: Option<(usize, Box<str>)>,
}

/// Collects the lines of one session, in file order.
#[derive(Default)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    places: KeyMap<usize>,
    /// The last line of the conversation.
    leaf: Option<usize>,
}

impl Tree {
    /// Adds a line; a parent that is not known makes it follow the line before it.
    pub(super) fn add(&mut self, key: u64, parent: &Parent, moves_leaf: bool) {
        let place = self.nodes.len();
        let before = place.checked_sub(1);
        let parent = match parent {
            Parent::Line(key) => self.places.get(key).copied().or(before),
            Parent::Before => before,
            Parent::Root => None,
        };
        self.nodes.push(Node { parent, row: None });
        self.places.insert(key, place);
        if moves_leaf {
            self.leaf = Some(place);
        }
    }

    /// Says which row the newest line became.
    pub(super) fn set_row(&mut self, row: usize, id: &str) {
        if let Some(node) = self.nodes.last_mut() {
            node.row = Some((row, id.into()));
        }
    }

    /// Id of the row of the nearest line above the newest one.
    pub(super) fn row_above(&self) -> Option<&str> {
        let mut place = self.nodes.last()?.parent;
        loop {
            let node = self.nodes.get(place?)?;
            if let Some((_, id)) = &node.row {
                return Some(id);
            }
            place = node.parent;
        }
    }

    /// Rows beside the way from the last line to the root. Those behind the last line of the conversation are not left.
    pub(super) fn abandoned_rows(&self) -> Vec<usize> {
        let mut is_active = vec![false; self.nodes.len()];
        let mut place = self.leaf;
        while let Some(flag) = place.and_then(|at| is_active.get_mut(at)) {
            *flag = true;
            place = place.and_then(|at| self.nodes.get(at)?.parent);
        }
        let lines = self.nodes.iter().zip(is_active).take(self.leaf.map_or(0, |leaf| leaf + 1));
        lines.filter(|(_, is_active)| !is_active).filter_map(|(node, _)| Some(node.row.as_ref()?.0)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hangs_beside_the_way_to_the_last_line_is_abandoned() {
        let mut tree = Tree::default();
        let lines = [(1, Parent::Root), (2, Parent::Before), (3, Parent::Line(2)), (4, Parent::Line(1))];
        for (row, (key, parent)) in lines.iter().enumerate() {
            tree.add(*key, parent, true);
            tree.set_row(row, &key.to_string());
        }
        assert_eq!((tree.abandoned_rows(), tree.row_above()), (vec![1, 2], Some("1")));
        tree.add(5, &Parent::Line(99), true);
        assert_eq!(tree.row_above(), Some("4"));
        tree.add(6, &Parent::Root, true);
        assert_eq!(tree.abandoned_rows(), [0, 1, 2, 3]);
    }
}
