//! Choices that a seed repeats.

/// A stream of random numbers (xorshift64*).
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// Returns the stream number `index` of `seed`.
    pub(crate) fn new(seed: u64, index: usize) -> Self {
        let mixed =
            (seed ^ 0x9e37_79b9_7f4a_7c15).wrapping_add((index as u64).wrapping_mul(0xbf58_476d_1ce4_e5b9));
        Self(mixed | 1)
    }

    /// Returns a number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % end
    }
}
