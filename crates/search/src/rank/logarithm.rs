//! Logarithms and powers that are the same on every machine, because a catalog for a task has the same bytes
//! everywhere. Those of the standard library depend on the platform's rounding.

use std::f64::consts::{LN_2, SQRT_2};

/// The number of terms of the series of a logarithm; further ones are too small for an `f64`.
const LN_TERMS: u32 = 11;
/// The number of terms of the series of an exponential.
const EXP_TERMS: u32 = 15;
/// The number of fraction bits of an `f64`, and the bias of its exponent.
const FRACTION_BITS: u32 = 52;
const BIAS: i64 = 1023;

/// Returns the natural logarithm of `value`; 0 unless it is normal and positive.
pub(crate) fn ln(value: f32) -> f32 {
    ln_of(f64::from(value)) as f32
}

/// Returns the natural logarithm of 1 + `value`, which must not be negative.
pub(crate) fn ln_1p(value: f32) -> f32 {
    ln_of(1.0 + f64::from(value)) as f32
}

/// Returns `value`, which must not be negative, to the power of `exponent`.
pub(crate) fn pow(value: f32, exponent: f32) -> f32 {
    if value > 0.0 {
        exp_of(f64::from(exponent) * ln_of(f64::from(value))) as f32
    } else if exponent == 0.0 {
        1.0
    } else {
        0.0
    }
}

fn ln_of(value: f64) -> f64 {
    if !value.is_normal() || value < 0.0 {
        return 0.0;
    }
    let bits = value.to_bits();
    let mut exponent = (bits >> FRACTION_BITS) as i64 - BIAS;
    let fraction = bits & ((1 << FRACTION_BITS) - 1);
    let mut rest = f64::from_bits(fraction | (BIAS as u64) << FRACTION_BITS);
    // Brings the fraction near 1, where the series converges fast.
    if rest > SQRT_2 {
        rest /= 2.0;
        exponent += 1;
    }
    let ratio = (rest - 1.0) / (rest + 1.0);
    let square = ratio * ratio;
    let series = (0..LN_TERMS).rev().fold(0.0, |sum, term| sum * square + 1.0 / f64::from(2 * term + 1));
    exponent as f64 * LN_2 + 2.0 * ratio * series
}

fn exp_of(value: f64) -> f64 {
    // Avoids underflow and overflow of the exponent.
    let value = value.clamp(-700.0, 700.0);
    let doublings = (value / LN_2).round();
    let rest = value - doublings * LN_2;
    let series = (1..=EXP_TERMS).rev().fold(1.0, |sum, term| 1.0 + sum * rest / f64::from(term));
    series * f64::from_bits(((doublings as i64 + BIAS) as u64) << FRACTION_BITS)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn results_match_the_standard_library(value in 1e-6f32..1e6, exponent in -3.0f32..3.0) {
            let near = |found: f32, expected: f64| (f64::from(found) - expected).abs() <= expected.abs() * 1e-7;
            prop_assert!(near(ln(value), f64::from(value).ln()), "{value}");
            prop_assert!(near(ln_1p(value), f64::from(value).ln_1p()), "{value}");
            prop_assert!(near(pow(value, exponent), f64::from(value).powf(f64::from(exponent))), "{value} {exponent}");
        }
    }

    #[test]
    fn edge_cases_are_finite() {
        assert_eq!((ln(1.0), ln_1p(0.0)), (0.0, 0.0));
        assert_eq!((pow(0.0, 0.5), pow(0.0, 0.0), pow(2.0, 0.0), pow(9.0, 0.5)), (0.0, 1.0, 1.0, 3.0));
        for value in [0.0, -1.0, f32::NAN, f32::INFINITY, f32::MIN_POSITIVE / 2.0] {
            assert!(ln(value).is_finite(), "{value}");
        }
    }

    #[test]
    fn results_have_the_same_bits_everywhere() {
        let bits = [ln(10.0), ln_1p(25_229.0), pow(7.5, 0.2), pow(0.3, 0.84)].map(f32::to_bits);
        assert_eq!(bits, [0x4013_5d8e, 0x4122_2c31, 0x3fbf_8609, 0x3eba_3b1f], "{bits:x?}");
    }
}
