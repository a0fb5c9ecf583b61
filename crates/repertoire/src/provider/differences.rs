//! Where two lists of shared things are not the same, found by looking at little more than their addresses.

use std::cmp::Ordering;
use std::sync::Arc;

use super::{Listed, Locator};

/// Something that is known by a locator.
pub(crate) trait Located {
    /// Returns the locator it is known by.
    fn locator(&self) -> &Locator;
}

impl Located for Listed {
    fn locator(&self) -> &Locator {
        &self.locator
    }
}

/// What stands in one list at a place where it is not what stands in the other: before and now.
pub(crate) type Difference<'a, T> = (Option<&'a Arc<T>>, Option<&'a Arc<T>>);

/// Returns what of `before` and `now`, both sorted by locator, is not the very same in both, in pairs of one locator.
///
/// Lists of one library share what did not change, so that most of it need not even be touched. Where a list is not sorted more
/// may be told than there is, but nothing is left out.
pub(crate) fn differences<'a, T: Located>(
    before: &'a [Arc<T>],
    now: &'a [Arc<T>],
) -> impl Iterator<Item = Difference<'a, T>> {
    let (mut before, mut now) = (before.iter().peekable(), now.iter().peekable());
    std::iter::from_fn(move || {
        loop {
            let order = match (before.peek(), now.peek()) {
                (None, None) => return None,
                (Some(old), Some(new)) if Arc::ptr_eq(old, new) => {
                    before.next();
                    now.next();
                    continue;
                }
                (Some(old), Some(new)) => old.locator().cmp(new.locator()),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
            };
            let old = if order.is_le() { before.next() } else { None };
            let new = if order.is_ge() { now.next() } else { None };
            return Some((old, new));
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug)]
    struct Item(Locator);

    impl Located for Item {
        fn locator(&self) -> &Locator {
            &self.0
        }
    }

    /// What became of the item at a place between the two lists.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Fate {
        Kept,
        Replaced,
        Gone,
        New,
    }

    proptest! {
        #[test]
        fn what_is_not_shared_is_told_and_nothing_else(
            fates in prop::collection::vec(
                prop::sample::select(vec![Fate::Kept, Fate::Replaced, Fate::Gone, Fate::New]), 0..20),
        ) {
            let item = |index: usize| Arc::new(Item(Locator::new(format!("{index:02}"))));
            let (mut before, mut now, mut expected) = (Vec::new(), Vec::new(), Vec::new());
            for (index, fate) in fates.into_iter().enumerate() {
                let (old, new) = (item(index), item(index));
                match fate {
                    Fate::Kept => now.push(Arc::clone(&old)),
                    Fate::Replaced | Fate::New => now.push(Arc::clone(&new)),
                    Fate::Gone => {}
                }
                if fate != Fate::New {
                    before.push(old);
                }
                if fate != Fate::Kept {
                    expected.push((index, fate != Fate::New, fate != Fate::Gone));
                }
            }
            let told: Vec<(usize, bool, bool)> = differences(&before, &now)
                .map(|(old, new)| {
                    let locator = old.or(new).unwrap().locator().as_str();
                    (locator.parse().unwrap(), old.is_some(), new.is_some())
                })
                .collect();
            prop_assert_eq!(told, expected);
        }
    }
}
