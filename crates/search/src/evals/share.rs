//! Shares, with confidence intervals.

/// The normal quantile of a 95 % confidence interval.
const Z: f64 = 1.959_963_984_540_054;

/// A share, as two counts.
///
/// ```
/// use repertoire_search::evals::Share;
/// let share = Share { part: 9, whole: 10 };
/// assert_eq!(share.value(), Some(0.9));
/// let (low, high) = share.interval().unwrap();
/// assert!(low > 0.59 && low < 0.6 && high > 0.98 && high < 0.99);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Share {
    /// The count of the part.
    pub part: usize,
    /// The count of the whole.
    pub whole: usize,
}

impl Share {
    /// Counts one more item, which may belong to the part.
    pub fn count(&mut self, is_part: bool) {
        self.part += usize::from(is_part);
        self.whole += 1;
    }

    /// Returns the sum of this share and `other`.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { part: self.part + other.part, whole: self.whole + other.whole }
    }

    /// Returns the share, from 0 to 1; `None` if the whole is 0.
    pub fn value(self) -> Option<f64> {
        (self.whole > 0).then(|| self.part as f64 / self.whole as f64)
    }

    /// Returns the 95 % confidence interval of the share, by Wilson's score method; `None` if the whole is 0.
    ///
    /// Unlike the normal approximation it is useful for few queries, and for shares of 0 and 1.
    pub fn interval(self) -> Option<(f64, f64)> {
        let share = self.value()?;
        let whole = self.whole as f64;
        let z2 = Z * Z;
        let middle = share + z2 / (2.0 * whole);
        let half = Z * (share * (1.0 - share) / whole + z2 / (4.0 * whole * whole)).sqrt();
        let scale = 1.0 + z2 / whole;
        // The ends 0 and 1 are exact, not subject to rounding.
        let low = if self.part == 0 { 0.0 } else { (middle - half) / scale };
        let high = if self.part >= self.whole { 1.0 } else { (middle + half) / scale };
        Some((low.max(0.0), high.min(1.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_match_published_values() {
        for ((part, whole), (low, high)) in [
            ((0, 10), (0.0, 0.2775)),
            ((10, 10), (0.7225, 1.0)),
            ((5, 10), (0.2366, 0.7634)),
            ((81, 263), (0.2553, 0.3662)),
            ((1, 1), (0.2065, 1.0)),
        ] {
            let found = Share { part, whole }.interval().unwrap();
            assert!(
                (found.0 - low).abs() < 1e-4 && (found.1 - high).abs() < 1e-4,
                "{part}/{whole}: {found:?}"
            );
        }
    }

    #[test]
    fn an_empty_whole_has_no_share() {
        assert_eq!((Share::default().value(), Share::default().interval()), (None, None));
    }

    #[test]
    fn shares_add_up() {
        let mut share = Share::default();
        share.count(true);
        share.count(false);
        assert_eq!(share.and(Share { part: 1, whole: 1 }), Share { part: 2, whole: 3 });
    }
}
