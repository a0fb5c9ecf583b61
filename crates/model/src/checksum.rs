//! A checksum that detects damaged or edited bytes.

/// Returns a checksum of `bytes`; any change within eight consecutive bytes changes it.
///
/// It detects damage and edits, not malice: collisions are easy to construct. Where that matters, use
/// [`crate::Digest`], at many times the cost.
pub fn checksum(bytes: &[u8]) -> u64 {
    let mut sum = Checksum::new(bytes.len());
    sum.add(bytes);
    sum.finish()
}

/// The checksum of bytes that come one after the other.
#[derive(Debug, Clone)]
pub(crate) struct Checksum {
    lanes: [u64; 4],
    /// The bytes since the last whole block.
    pending: [u8; BLOCK],
    filled: usize,
}

/// The size of a block, in bytes.
const BLOCK: usize = 32;

impl Checksum {
    /// Returns that of `length` bytes, of which none came yet.
    pub(crate) fn new(length: usize) -> Self {
        Self { lanes: [length as u64, 1, 2, 3], pending: [0; BLOCK], filled: 0 }
    }

    /// Adds `bytes`.
    pub(crate) fn add(&mut self, mut bytes: &[u8]) {
        if self.filled > 0 {
            let (first, rest) = bytes.split_at(bytes.len().min(BLOCK - self.filled));
            self.pending[self.filled..self.filled + first.len()].copy_from_slice(first);
            self.filled += first.len();
            bytes = rest;
            if self.filled < BLOCK {
                return;
            }
            take(&mut self.lanes, &self.pending);
        }
        let (blocks, rest) = bytes.as_chunks::<BLOCK>();
        blocks.iter().for_each(|block| take(&mut self.lanes, block));
        self.pending = [0; BLOCK];
        self.pending[..rest.len()].copy_from_slice(rest);
        self.filled = rest.len();
    }

    /// Returns the checksum of all that came.
    pub(crate) fn finish(mut self) -> u64 {
        self.pending[self.filled..].fill(0);
        take(&mut self.lanes, &self.pending);
        self.lanes.into_iter().fold(0, mix)
    }
}

fn mix(lane: u64, word: u64) -> u64 {
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
    (lane ^ word).wrapping_mul(ODD).rotate_left(29)
}

/// Takes a block. Four lanes keep the processor busy, so that megabytes cost next to nothing.
fn take(lanes: &mut [u64; 4], block: &[u8; BLOCK]) {
    let (words, _) = block.as_chunks::<8>();
    lanes.iter_mut().zip(words).for_each(|(lane, word)| *lane = mix(*lane, u64::from_le_bytes(*word)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_may_come_in_pieces() {
        let bytes: Vec<u8> = (0..=255).cycle().take(300).collect();
        let whole = checksum(&bytes);
        for pieces in [1, 7, 31, 32, 33, 100] {
            let mut sum = Checksum::new(bytes.len());
            bytes.chunks(pieces).for_each(|piece| sum.add(piece));
            assert_eq!(sum.finish(), whole, "{pieces}");
        }
    }
}
