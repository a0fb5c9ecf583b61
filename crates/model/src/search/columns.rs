//! What the index knows of each skill, beside its terms.

use super::index::{Key, Slot};
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

    /// Adds a skill.
    pub(super) fn push(
        &mut self,
        key: Key,
        (length, described): (u32, u16),
        name: &[Term],
        pairs: &[Pair],
        vector: Option<&Vector>,
    ) {
        self.keys.push(key);
        self.lengths.push(length);
        self.described.push(described);
        self.names.push(name.iter().map(|term| term.0));
        self.pairs.push(pairs.iter().map(|pair| pair.0));
        self.vectors.push(vector);
    }

    /// Keeps the skills that `is_kept` picks, in order.
    pub(super) fn retain(&mut self, is_kept: impl Fn(Slot) -> bool) {
        let kept: Vec<usize> = (0..self.len()).filter(|index| is_kept(*index as Slot)).collect();
        if kept.len() < self.len() {
            self.keys = kept.iter().map(|index| self.keys[*index]).collect();
            self.lengths = kept.iter().map(|index| self.lengths[*index]).collect();
            self.described = kept.iter().map(|index| self.described[*index]).collect();
            self.names = self.names.picked(&kept);
            self.pairs = self.pairs.picked(&kept);
            self.vectors = self.vectors.picked(&kept);
        }
        let Self { keys, lengths, described, names, pairs, vectors } = self;
        fit(keys);
        fit(lengths);
        fit(described);
        names.fit();
        pairs.fit();
        vectors.fit();
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

    fn picked(&self, indices: &[usize]) -> Self {
        let mut picked = Self::default();
        indices.iter().for_each(|index| picked.push(self.get(*index).iter().copied()));
        picked
    }

    fn fit(&mut self) {
        fit(&mut self.ends);
        fit(&mut self.items);
    }

    fn bytes(&self) -> usize {
        bytes_of(&self.ends) + bytes_of(&self.items)
    }
}

/// Returns how many items a column of `count` has room for: a few more, so that one skill more does not move them all.
pub(super) fn roomy(count: usize) -> usize {
    count + count / 64
}

/// Gives back room in `column` that is not needed soon.
pub(super) fn fit<T>(column: &mut Vec<T>) {
    column.shrink_to(roomy(column.len()));
}

/// Returns how many bytes `column` takes.
pub(super) fn bytes_of<T>(column: &Vec<T>) -> usize {
    column.capacity() * size_of::<T>()
}
