//! What the index knows of each skill, beside its terms.

use super::index::Key;
use super::record::{Pair, Term};
use super::vector::{Vector, Vectors};

/// What the index knows of each skill, by its slot.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Columns {
    pub(super) keys: Vec<Key>,
    /// How many words the body has.
    pub(super) lengths: Vec<u32>,
    /// How many different words the description has.
    pub(super) described: Vec<u16>,
    /// The terms of the name.
    pub(super) names: Lists<u64>,
    /// Which terms stand side by side, sorted.
    pub(super) pairs: Lists<u16>,
    pub(super) vectors: Vectors,
}

impl Columns {
    /// Returns how many skills there are.
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns the columns of one skill.
    pub(super) fn of(
        key: Key,
        lengths: (u32, u16),
        name: &[Term],
        pairs: &[Pair],
        vector: Option<&Vector>,
    ) -> Self {
        let (length, described) = lengths;
        let (mut names, mut side_by_side, mut vectors) =
            (Lists::default(), Lists::default(), Vectors::default());
        names.push(name.iter().map(|term| term.0));
        side_by_side.push(pairs.iter().map(|pair| pair.0));
        vectors.push(vector);
        Self {
            keys: vec![key],
            lengths: vec![length],
            described: vec![described],
            names,
            pairs: side_by_side,
            vectors,
        }
    }

    /// Returns those skills of all `inputs` that have a place, in order.
    pub(super) fn packed(inputs: &[(&Self, &[Option<u32>])]) -> Self {
        let kept = || {
            inputs.iter().flat_map(|(columns, places)| {
                let indices =
                    (0..columns.len()).filter(|index| places.get(*index).is_some_and(Option::is_some));
                indices.map(|index| (*columns, index))
            })
        };
        Self {
            keys: exactly(kept().map(|(columns, index)| columns.keys[index])),
            lengths: exactly(kept().map(|(columns, index)| columns.lengths[index])),
            described: exactly(kept().map(|(columns, index)| columns.described[index])),
            names: Lists::packed(kept().map(|(columns, index)| columns.names.get(index))),
            pairs: Lists::packed(kept().map(|(columns, index)| columns.pairs.get(index))),
            vectors: Vectors::packed(kept().map(|(columns, index)| (&columns.vectors, index))),
        }
    }

    /// Returns how many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        let Self { keys, lengths, described, names, pairs, vectors } = self;
        bytes_of(keys)
            + bytes_of(lengths)
            + bytes_of(described)
            + names.bytes()
            + pairs.bytes()
            + vectors.bytes()
    }
}

/// Lists of different lengths, one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lists<T> {
    /// Where each list ends; first of all 0.
    pub(super) ends: Vec<u32>,
    pub(super) items: Vec<T>,
}

impl<T> Default for Lists<T> {
    fn default() -> Self {
        Self { ends: vec![0], items: Vec::new() }
    }
}

impl<T: Copy> Lists<T> {
    fn push(&mut self, list: impl Iterator<Item = T>) {
        self.items.extend(list);
        self.ends.push(self.items.len() as u32);
    }

    /// Returns the list at `index`; an empty one where there is none.
    pub(super) fn get(&self, index: usize) -> &[T] {
        let bounds = self.ends.get(index).copied().zip(self.ends.get(index + 1).copied());
        bounds.and_then(|(start, end)| self.items.get(start as usize..end as usize)).unwrap_or_default()
    }

    fn packed<'a>(lists: impl Iterator<Item = &'a [T]> + Clone) -> Self
    where
        T: 'a,
    {
        let (count, items) =
            lists.clone().fold((0, 0), |(count, items), list| (count + 1, items + list.len()));
        let mut ends = Vec::with_capacity(count + 1);
        ends.push(0);
        let mut packed = Self { ends, items: Vec::with_capacity(items) };
        lists.for_each(|list| packed.push(list.iter().copied()));
        packed
    }

    fn bytes(&self) -> usize {
        bytes_of(&self.ends) + bytes_of(&self.items)
    }
}

/// Returns `items` with no room for more.
pub(super) fn exactly<T>(items: impl Iterator<Item = T> + Clone) -> Vec<T> {
    let mut column = Vec::with_capacity(items.clone().count());
    column.extend(items);
    column
}

/// Returns how many bytes `column` takes.
pub(super) fn bytes_of<T>(column: &Vec<T>) -> usize {
    column.capacity() * size_of::<T>()
}
