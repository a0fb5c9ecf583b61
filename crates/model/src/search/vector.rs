//! Meanings as directions: how near two of them are is the cosine of the angle between them.

use fearless_simd::{Level, Simd, dispatch};

use super::columns::bytes_of;
use super::index::Slot;

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

/// The directions of all skills, by their slots; those without one are near to nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Vectors {
    /// Of how many dimensions they are; 0 while there are none.
    pub(super) dimensions: usize,
    pub(super) steps: Vec<i8>,
    pub(super) scales: Vec<f32>,
}

impl Vectors {
    pub(super) fn push(&mut self, vector: Option<&Vector>) {
        if let Some(vector) = vector
            && self.dimensions == 0
        {
            self.dimensions = vector.dimensions();
            self.steps.resize(self.scales.len() * self.dimensions, 0);
        }
        match vector.filter(|vector| vector.dimensions() == self.dimensions) {
            Some(vector) => {
                self.steps.extend(&vector.steps);
                self.scales.push(vector.scale);
            }
            None => {
                self.steps.resize(self.steps.len() + self.dimensions, 0);
                self.scales.push(0.0);
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

    /// Returns the skills that are at least as near to `vector` as `least`, which is above 0, with how near they are.
    pub(super) fn near(&self, vector: &Vector, least: f32) -> impl Iterator<Item = (f32, Slot)> {
        let skills = (0..self.scales.len()).map(|index| (self.cosine(index, vector), index as Slot));
        skills.filter(move |(cosine, _)| *cosine >= least)
    }

    /// Returns the directions at these places, in order.
    pub(super) fn packed<'a>(places: impl Iterator<Item = (&'a Self, usize)> + Clone) -> Self {
        // Whoever comes first says of how many dimensions they are.
        let dimensions = places.clone().map(|(vectors, _)| vectors.dimensions).find(|count| *count > 0);
        let dimensions = dimensions.unwrap_or_default();
        let count = places.clone().count();
        let (mut steps, mut scales) = (Vec::with_capacity(count * dimensions), Vec::with_capacity(count));
        for (vectors, index) in places {
            let row = vectors.steps.get(index * dimensions..(index + 1) * dimensions);
            match row.filter(|_| vectors.dimensions == dimensions) {
                Some(row) => {
                    steps.extend_from_slice(row);
                    scales.push(vectors.scales.get(index).copied().unwrap_or_default());
                }
                None => {
                    steps.resize(steps.len() + dimensions, 0);
                    scales.push(0.0);
                }
            }
        }
        Self { dimensions, steps, scales }
    }

    /// Returns how many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        let Self { dimensions: _, steps, scales } = self;
        bytes_of(steps) + bytes_of(scales)
    }
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
        let found = |vectors: &Vectors, vector: &Vector| -> Vec<Slot> {
            vectors.near(vector, 0.1).map(|(_, slot)| slot).collect()
        };
        assert_eq!(found(&vectors, &vector), [1]);
        let packed = |places: &[usize]| Vectors::packed(places.iter().map(|place| (&vectors, *place)));
        assert_eq!(found(&packed(&[1]), &vector), [0]);
        assert_eq!(packed(&[0, 1, 2]), vectors);
        assert!(found(&Vectors::default(), &vector).is_empty());
        assert!(found(&vectors, &Vector::of(&[1.0]).unwrap()).is_empty());
    }

    #[test]
    fn what_is_near_is_found() {
        let mut vectors = Vectors::default();
        for values in [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [-1.0, 0.0]] {
            vectors.push(Vector::of(&values).as_ref());
        }
        let query = Vector::of(&[1.0, 0.1]).unwrap();
        let found: Vec<Slot> = vectors.near(&query, 0.5).map(|(_, slot)| slot).collect();
        assert_eq!(found, [0, 1]);
    }

    #[test]
    fn products_are_whole_numbers() {
        let check = |a: &[i8], b: &[i8], expected: i32| assert_eq!(dot(a, b), expected);
        check(&[], &[], 0);
        check(&[-128; 1000], &[-128; 1000], 16_384_000);
        check(&[127; 33], &[-127; 33], -532_257);
    }
}
