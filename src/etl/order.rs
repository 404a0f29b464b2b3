//! The order in which groups are processed.

use super::group::{Group, PART_WEIGHT};

/// Moves groups that take long forward, so that the other threads have enough to do meanwhile: otherwise one thread
/// works alone at the end. All others stay in the order of time, because a copy that is judged before its original has
/// to be read again.
pub(super) fn long_ones_in_time(groups: Vec<Group>, threads: usize) -> Vec<Group> {
    let costs: Vec<u64> = groups.iter().map(Group::cost).collect();
    let mut groups: Vec<Option<Group>> = groups.into_iter().map(Some).collect();
    order(&costs, threads).into_iter().filter_map(|place| groups.get_mut(place)?.take()).collect()
}

/// Returns the groups in the order in which to begin them. A group is long if it takes more than two usual ones. Long
/// groups of equal length keep their order.
fn order(costs: &[u64], threads: usize) -> Vec<usize> {
    let others = u64::try_from(threads).unwrap_or(u64::MAX).saturating_sub(1);
    let mut order: Vec<(usize, u64)> = costs.iter().copied().enumerate().collect();
    for (place, cost) in costs.iter().copied().enumerate().filter(|(_, cost)| *cost > 2 * PART_WEIGHT) {
        let Some(now) = order.iter().position(|(other, _)| *other == place) else { continue };
        let mut following: u64 = order.iter().skip(now + 1).map(|(_, cost)| cost).sum();
        let mut begins = now;
        while let Some((_, before)) = begins.checked_sub(1).and_then(|before| order.get(before))
            && *before < cost
            && following < cost.saturating_mul(others)
        {
            following += before;
            begins -= 1;
        }
        if let Some(turned) = order.get_mut(begins..=now) {
            turned.rotate_right(1);
        }
    }
    order.into_iter().map(|(place, _)| place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MIB: u64 = 1 << 20;

    fn ordered(mebibytes: &[u64], threads: usize) -> Vec<usize> {
        let costs: Vec<u64> = mebibytes.iter().map(|cost| cost * MIB).collect();
        order(&costs, threads)
    }

    #[test]
    fn a_long_group_begins_when_the_others_still_have_as_much_to_do() {
        assert_eq!(ordered(&[16, 16, 16, 16, 100], 2), [4, 0, 1, 2, 3]);
        assert_eq!(ordered(&[16, 16, 16, 16, 40], 2), [0, 4, 1, 2, 3]);
        assert_eq!(ordered(&[100, 16, 16, 16, 16, 16, 40], 2), [0, 1, 2, 6, 3, 4, 5]);
    }

    #[test]
    fn the_order_of_time_stays_where_nobody_would_wait() {
        assert_eq!(ordered(&[16, 40, 16, 16, 16], 2), [0, 1, 2, 3, 4]);
        assert_eq!(ordered(&[16, 32, 16, 32], 2), [0, 1, 2, 3]);
        assert_eq!(ordered(&[16, 16, 100], 1), [0, 1, 2]);
    }

    #[test]
    fn groups_that_take_as_long_keep_their_order() {
        assert_eq!(ordered(&[16, 16, 100, 100], 2), [0, 1, 2, 3]);
        assert_eq!(ordered(&[16, 16, 40, 100], 2), [3, 0, 1, 2]);
    }

    proptest! {
        #[test]
        fn every_group_is_worked_on_once(costs in prop::collection::vec(0_u64..200, 0..40), threads in 0_usize..9) {
            let mut order = ordered(&costs, threads);
            order.sort_unstable();
            prop_assert_eq!(order, (0..costs.len()).collect::<Vec<_>>());
        }
    }
}
