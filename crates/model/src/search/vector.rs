//! Meanings as directions: how near two of them are is the cosine of the angle between them.

use fearless_simd::{Level, Simd, dispatch};

use super::columns::{bytes_of, fit};
use super::index::Slot;
use super::sketch::{Sketch, Sketches};

/// A direction, in steps of a hundredth or so.
#[derive(Debug, Clone, PartialEq)]
pub struct Vector {
    steps: Vec<i8>,
    /// What a step is worth, so that the whole is of length 1.
    scale: f32,
}

impl Vector {
    /// Returns the direction of `values`; `None` where they have none.
    pub fn of(values: &[f32]) -> Option<Self> {
        let largest = values.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
        if !largest.is_finite() || largest == 0.0 {
            return None;
        }
        let steps: Vec<i8> = values.iter().map(|value| (value / largest * 127.0).round() as i8).collect();
        let length = steps.iter().map(|step| f64::from(*step) * f64::from(*step)).sum::<f64>().sqrt();
        Some(Self { steps, scale: (1.0 / length) as f32 })
    }

    /// Returns of how many dimensions it is.
    pub fn dimensions(&self) -> usize {
        self.steps.len()
    }

    /// Returns its values, those of a direction of length 1.
    pub fn values(&self) -> Vec<f32> {
        self.steps.iter().map(|step| f32::from(*step) * self.scale).collect()
    }

    /// Returns how near it is to `other`, from -1 to 1; 0 where they are not of one kind.
    pub fn cosine(&self, other: &Self) -> f32 {
        if self.steps.len() != other.steps.len() {
            return 0.0;
        }
        dot(&self.steps, &other.steps) as f32 * self.scale * other.scale
    }
}

/// Up to how many skills are compared in full; among more, those that look near are found first.
const MAX_COMPARED: usize = 4096;
/// How many skills that look near are compared in full.
const LOOKED_AT: usize = 512;
/// How many times as many must look near as are asked for.
const LOOKED_AT_TIMES: usize = 8;

/// The directions of all skills, by their slots; those without one are near to nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Vectors {
    /// Of how many dimensions they are; 0 while there are none.
    pub(super) dimensions: usize,
    pub(super) steps: Vec<i8>,
    pub(super) scales: Vec<f32>,
    /// The same directions, roughly; none while there are no dimensions.
    pub(super) sketches: Sketches,
}

impl Vectors {
    pub(super) fn push(&mut self, vector: Option<&Vector>) {
        if let Some(vector) = vector
            && self.dimensions == 0
        {
            self.dimensions = vector.dimensions();
            self.steps.resize(self.scales.len() * self.dimensions, 0);
            (0..self.scales.len()).for_each(|_| self.sketches.push_none(self.dimensions));
        }
        match vector.filter(|vector| vector.dimensions() == self.dimensions) {
            Some(vector) => {
                self.steps.extend(&vector.steps);
                self.scales.push(vector.scale);
                self.sketches.push(&vector.steps);
            }
            None => {
                self.steps.resize(self.steps.len() + self.dimensions, 0);
                self.scales.push(0.0);
                if self.dimensions > 0 {
                    self.sketches.push_none(self.dimensions);
                }
            }
        }
    }

    /// Returns how near `vector` is to that of the skill at `index`.
    pub(super) fn cosine(&self, index: usize, vector: &Vector) -> f32 {
        let start = index * self.dimensions;
        let steps =
            self.steps.get(start..start + self.dimensions).filter(|steps| steps.len() == vector.steps.len());
        let scale = self.scales.get(index).copied().unwrap_or_default();
        steps.map_or(0.0, |steps| dot(steps, &vector.steps) as f32 * scale * vector.scale)
    }

    /// Returns the `count` skills of those that `is_seen` picks that are nearest to `vector`, nearest first, with how near they are.
    ///
    /// Skills that are not near at all are left out. Among many skills, one in a thousand of the nearest may be missed.
    pub(super) fn nearest(
        &self,
        vector: &Vector,
        count: usize,
        is_seen: impl Fn(Slot) -> bool,
    ) -> Vec<(f32, Slot)> {
        if self.dimensions == 0 || vector.dimensions() != self.dimensions {
            return Vec::new();
        }
        let is_seen =
            |slot: Slot| self.scales.get(slot as usize).is_some_and(|scale| *scale > 0.0) && is_seen(slot);
        let mut nearest = Best::new(count);
        nearest.raise(0.0);
        let mut compare = |slot: Slot| {
            nearest.offer(self.cosine(slot as usize, vector), slot, is_seen);
        };
        if self.scales.len() <= MAX_COMPARED {
            (0..self.scales.len() as Slot).for_each(compare);
        } else {
            let mut near = Best::new(LOOKED_AT.max(count.saturating_mul(LOOKED_AT_TIMES)));
            let mut slot = 0;
            self.sketches.each(&Sketch::of(&vector.steps), |look| {
                near.offer(look, slot, is_seen);
                slot += 1;
            });
            let mut slots: Vec<Slot> = near.into_sorted().into_iter().map(|(_, slot)| slot).collect();
            // In order, so that the first of equals wins.
            slots.sort_unstable();
            slots.into_iter().for_each(&mut compare);
        }
        nearest.into_sorted()
    }

    pub(super) fn picked(&self, indices: &[usize]) -> Self {
        let rows = indices.iter().flat_map(|index| {
            self.steps.get(index * self.dimensions..(index + 1) * self.dimensions).unwrap_or_default()
        });
        let scales = indices.iter().map(|index| self.scales.get(*index).copied().unwrap_or_default());
        // Whoever comes first when all are gone says of how many dimensions they are.
        let dimensions = if indices.is_empty() { 0 } else { self.dimensions };
        let sketches = if dimensions > 0 { self.sketches.picked(indices) } else { Sketches::default() };
        Self { dimensions, steps: rows.copied().collect(), scales: scales.collect(), sketches }
    }

    /// Gives back room that is not needed soon.
    pub(super) fn fit(&mut self) {
        let Self { dimensions: _, steps, scales, sketches } = self;
        fit(steps);
        fit(scales);
        sketches.columns_mut().for_each(fit);
    }

    /// Returns how many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        let Self { dimensions: _, steps, scales, sketches } = self;
        bytes_of(steps) + bytes_of(scales) + sketches.columns().map(bytes_of).sum::<usize>()
    }
}

/// The best of what is offered in order of slots; of equals the first.
struct Best {
    limit: usize,
    /// What counts, and some that no longer does.
    items: Vec<(f32, Slot)>,
    /// What must be exceeded to count.
    least: f32,
}

impl Best {
    fn new(limit: usize) -> Self {
        Self { limit, items: Vec::new(), least: f32::NEG_INFINITY }
    }

    /// Leaves out what is not above `least`.
    fn raise(&mut self, least: f32) {
        self.least = least;
    }

    #[inline(always)]
    fn offer(&mut self, value: f32, slot: Slot, is_seen: impl Fn(Slot) -> bool) {
        if value > self.least && is_seen(slot) {
            self.take(value, slot);
        }
    }

    #[cold]
    fn take(&mut self, value: f32, slot: Slot) {
        self.items.push((value, slot));
        // Sorting out is put off until it is worth it.
        if self.items.len() >= self.limit.saturating_mul(2).max(1) {
            self.sort_out();
        }
    }

    fn sort_out(&mut self) {
        if let Some(last) = self.limit.checked_sub(1).filter(|_| self.items.len() > self.limit) {
            let (_, (least, _), _) = self.items.select_nth_unstable_by(last, better);
            self.least = *least;
        }
        self.items.truncate(self.limit);
    }

    fn into_sorted(mut self) -> Vec<(f32, Slot)> {
        self.sort_out();
        self.items.sort_unstable_by(better);
        self.items
    }
}

fn better(a: &(f32, Slot), b: &(f32, Slot)) -> std::cmp::Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}

/// Returns the sum of the products of `a` and `b`, the same on every machine.
fn dot(a: &[i8], b: &[i8]) -> i32 {
    dispatch!(Level::new(), simd => products(simd, a, b))
}

/// Does what [`dot`] does, with whatever instructions the processor has.
#[inline(always)]
fn products<S: Simd>(_: S, a: &[i8], b: &[i8]) -> i32 {
    a.iter().zip(b).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_points_the_same_way_is_near() {
        let vector = |values: &[f32]| Vector::of(values).unwrap();
        assert!((vector(&[1.0, 2.0]).cosine(&vector(&[10.0, 20.0])) - 1.0).abs() < 0.01);
        assert!(vector(&[1.0, 0.0]).cosine(&vector(&[0.0, 1.0])).abs() < 0.01);
        assert!((vector(&[1.0, 0.0]).cosine(&vector(&[-3.0, 0.0])) + 1.0).abs() < 0.01);
        assert_eq!(vector(&[1.0]).cosine(&vector(&[1.0, 0.0])), 0.0, "another kind");
        assert_eq!(Vector::of(&[0.0, 0.0]), None);
        assert_eq!(Vector::of(&[]), None);
        assert_eq!(Vector::of(&[f32::NAN, f32::INFINITY]), None);
    }

    #[test]
    fn skills_without_a_direction_are_near_to_nothing() {
        let vector = Vector::of(&[1.0, 1.0]).unwrap();
        let mut vectors = Vectors::default();
        vectors.push(None);
        vectors.push(Some(&vector));
        vectors.push(Some(&Vector::of(&[1.0]).unwrap()));
        let found = vectors.nearest(&vector, 9, |_| true);
        assert_eq!(found.iter().map(|(_, slot)| *slot).collect::<Vec<_>>(), [1]);
        assert_eq!(vectors.picked(&[1]).nearest(&vector, 9, |_| true)[0].1, 0);
        assert_eq!(Vectors::default().nearest(&vector, 9, |_| true), []);
        assert_eq!(vectors.nearest(&Vector::of(&[1.0]).unwrap(), 9, |_| true), []);
    }

    /// Returns directions around common ones, as those of skills are.
    fn many(count: usize, dimensions: usize) -> Vec<Vector> {
        let mut state = 7u64;
        let mut random = move || {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
            (state >> 40) as f32 / (1u64 << 24) as f32 - 0.5
        };
        let topics: Vec<Vec<f32>> = (0..40).map(|_| (0..dimensions).map(|_| random()).collect()).collect();
        (0..count)
            .map(|number| {
                let topic = &topics[number % topics.len()];
                let values: Vec<f32> = topic.iter().map(|value| value * 0.7 + random()).collect();
                Vector::of(&values).unwrap()
            })
            .collect()
    }

    fn exact(
        vectors: &Vectors,
        vector: &Vector,
        count: usize,
        is_seen: impl Fn(Slot) -> bool,
    ) -> Vec<(f32, Slot)> {
        let slots = (0..vectors.scales.len() as Slot).filter(|slot| is_seen(*slot));
        let mut all: Vec<(f32, Slot)> = slots
            .map(|slot| (vectors.cosine(slot as usize, vector), slot))
            .filter(|found| found.0 > 0.0)
            .collect();
        all.sort_by(better);
        all.truncate(count);
        all
    }

    #[test]
    fn few_skills_are_compared_in_full() {
        let all = many(300, 16);
        let mut vectors = Vectors::default();
        all.iter().for_each(|vector| vectors.push(Some(vector)));
        all.iter().take(50).for_each(|vector| vectors.push(Some(vector)));
        for is_seen in [(|_| true) as fn(Slot) -> bool, |slot| slot.is_multiple_of(3), |_| false] {
            for count in [0, 1, 7, 64, 1000] {
                let found = vectors.nearest(&all[5], count, is_seen);
                assert_eq!(found, exact(&vectors, &all[5], count, is_seen), "{count}");
            }
        }
    }

    #[test]
    fn among_many_skills_nearly_all_of_the_nearest_are_found() {
        let all = many(6000, 256);
        let mut vectors = Vectors::default();
        all.iter().for_each(|vector| vectors.push(Some(vector)));
        let is_seen = |slot: Slot| !slot.is_multiple_of(5);
        let (mut found, mut expected) = (0, 0);
        for query in all.iter().step_by(200) {
            let nearest = vectors.nearest(query, 64, is_seen);
            let exact = exact(&vectors, query, 64, is_seen);
            assert!(nearest.windows(2).all(|pair| better(&pair[0], &pair[1]).is_lt()), "best first");
            found += exact.iter().filter(|one| nearest.contains(one)).count();
            expected += exact.len();
        }
        assert!(found * 1000 >= expected * 995, "{found} of {expected}");
    }

    #[test]
    fn products_are_whole_numbers() {
        let check = |a: &[i8], b: &[i8], expected: i32| assert_eq!(dot(a, b), expected);
        check(&[], &[], 0);
        check(&[-128; 1000], &[-128; 1000], 16_384_000);
        check(&[127; 33], &[-127; 33], -532_257);
    }
}
