//! Embedding vectors, compared by cosine.

use serde::{Deserialize, Serialize};

/// An embedding vector of length 1, with eight bits per dimension.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Vector {
    pub(crate) steps: Vec<i8>,
    /// The factor that scales the vector to the length 1.
    pub(crate) scale: f32,
}

impl Vector {
    /// Returns the vector in the direction of `values`; `None` if they are all zero or not finite.
    pub fn of(values: &[f32]) -> Option<Self> {
        let largest = values.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
        if !largest.is_finite() || largest == 0.0 {
            return None;
        }
        let steps: Vec<i8> = values.iter().map(|value| (value / largest * 127.0).round() as i8).collect();
        let length = steps.iter().map(|step| f64::from(*step) * f64::from(*step)).sum::<f64>().sqrt();
        Some(Self { steps, scale: (1.0 / length) as f32 })
    }

    /// Returns the number of dimensions.
    pub fn dimensions(&self) -> usize {
        self.steps.len()
    }

    /// Returns the values of all dimensions.
    pub fn values(&self) -> Vec<f32> {
        self.steps.iter().map(|step| f32::from(*step) * self.scale).collect()
    }

    /// Returns the cosine similarity with `other`, from -1 to 1; 0 if the numbers of dimensions differ.
    pub fn cosine(&self, other: &Self) -> f32 {
        if self.steps.len() != other.steps.len() {
            return 0.0;
        }
        dot(&self.steps, &other.steps) as f32 * self.scale * other.scale
    }
}

/// Returns the dot product of `a` and `b`, which is the same on every machine.
fn dot(a: &[i8], b: &[i8]) -> i32 {
    a.iter().zip(b).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cosine_is_one_for_the_same_direction() {
        let vector = |values: &[f32]| Vector::of(values).unwrap();
        assert!((vector(&[1.0, 2.0]).cosine(&vector(&[10.0, 20.0])) - 1.0).abs() < 0.01);
        assert!(vector(&[1.0, 0.0]).cosine(&vector(&[0.0, 1.0])).abs() < 0.01);
        assert!((vector(&[1.0, 0.0]).cosine(&vector(&[-3.0, 0.0])) + 1.0).abs() < 0.01);
        assert_eq!(vector(&[1.0]).cosine(&vector(&[1.0, 0.0])), 0.0, "other dimensions");
        assert_eq!(Vector::of(&[0.0, 0.0]), None);
        assert_eq!(Vector::of(&[]), None);
        assert_eq!(Vector::of(&[f32::NAN, f32::INFINITY]), None);
    }

    #[test]
    fn dot_products_are_exact() {
        let check = |a: &[i8], b: &[i8], expected: i32| assert_eq!(dot(a, b), expected);
        check(&[], &[], 0);
        check(&[-128; 1000], &[-128; 1000], 16_384_000);
        check(&[127; 33], &[-127; 33], -532_257);
    }
}
