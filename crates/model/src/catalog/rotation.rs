//! The rotation of skills shown in full: a few at a time, in an order independent of what their names mean.

use crate::checksum::checksum;

/// The skills of this turn, and those of the next ones.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Turn {
    /// Those whose turn it is.
    pub(super) now: Vec<usize>,
    /// All others, the next first.
    pub(super) next: Vec<usize>,
    /// After how many epochs all have had their turn.
    pub(super) turns: usize,
}

/// Returns whose turn it is in `epoch` among `skills`, each with its index, its name and its price.
///
/// As many as `share` pays for go together, at least one: each skill has exactly one turn in `turns` epochs.
pub(super) fn turn<'a>(
    skills: impl IntoIterator<Item = (usize, &'a str, usize)>,
    share: usize,
    epoch: u64,
) -> Turn {
    let mut ring: Vec<(u64, &str, usize, usize)> = skills
        .into_iter()
        .map(|(index, name, price)| (checksum(name.as_bytes()), name, index, price))
        .collect();
    ring.sort_unstable();
    let mut starts = Vec::new();
    let mut spent = 0;
    for (place, (.., price)) in ring.iter().enumerate() {
        if starts.is_empty() || spent + price > share {
            starts.push(place);
            spent = 0;
        }
        spent += price;
    }
    let turns = starts.len();
    let turn =
        epoch.checked_rem(turns as u64).and_then(|turn| usize::try_from(turn).ok()).unwrap_or_default();
    let start = starts.get(turn).copied().unwrap_or_default();
    let end = starts.get(turn + 1).copied().unwrap_or(ring.len());
    let index = |(.., index, _): &(u64, &str, usize, usize)| *index;
    let next = ring[end..].iter().chain(&ring[..start]).map(index).collect();
    Turn { now: ring[start..end].iter().map(index).collect(), next, turns }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn equal_skills_take_turns_of_equal_size() {
        let names: Vec<String> = (0..10).map(|number| format!("skill-{number}")).collect();
        let at =
            |epoch| turn(names.iter().enumerate().map(|(index, name)| (index, name.as_str(), 5)), 17, epoch);
        let sizes: Vec<usize> = (0..4).map(|epoch| at(epoch).now.len()).collect();
        assert_eq!(sizes, [3, 3, 3, 1]);
        assert_eq!(at(0), at(4));
        assert_eq!(at(1).next[..3], at(2).now);
        assert_eq!(at(u64::MAX), at(u64::MAX % 4));
        let expected = ["skill-0", "skill-1", "skill-2", "skill-3", "skill-4"];
        assert_ne!(at(0).now, [0, 1, 2], "{expected:?} are not in the order of their names");
    }

    #[test]
    fn a_turn_without_skills_is_empty() {
        assert_eq!(turn([], 10, 3), Turn { now: vec![], next: vec![], turns: 0 });
        assert_eq!(turn([(7, "a", 99)], 10, 3), Turn { now: vec![7], next: vec![], turns: 1 });
    }

    proptest! {
        #[test]
        fn every_skill_has_one_turn_and_none_costs_more_than_the_share(
            prices in prop::collection::vec(0usize..60, 1..40),
            share in 0usize..120,
            first in any::<u64>(),
        ) {
            let names: Vec<String> = (0..prices.len()).map(|number| format!("n{number}")).collect();
            let at = |epoch| {
                let skills = names.iter().enumerate().map(|(index, name)| (index, name.as_str(), prices[index]));
                turn(skills, share, epoch)
            };
            let turns = at(0).turns as u64;
            let mut seen = Vec::new();
            // If the number of the epoch wraps around, a turn may come early.
            let first = first.min(u64::MAX - turns);
            for epoch in first..first + turns {
                let Turn { now, next, .. } = at(epoch);
                prop_assert_eq!(now.len() + next.len(), names.len());
                prop_assert!(now.len() == 1 || now.iter().map(|index| prices[*index]).sum::<usize>() <= share);
                seen.extend(now);
            }
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..names.len()).collect::<Vec<_>>());
        }
    }
}
