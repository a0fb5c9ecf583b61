//! A checksum that detects damaged or edited bytes.

/// Returns a checksum of `bytes`; any change within eight consecutive bytes changes it.
///
/// It detects damage and edits, not malice: collisions are easy to construct. Where that matters, use
/// [`crate::Digest`], at many times the cost.
pub fn checksum(bytes: &[u8]) -> u64 {
    let mut lanes = [bytes.len() as u64, 1, 2, 3];
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    let mut last = [0; BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    blocks.iter().chain([&last]).for_each(|block| take(&mut lanes, block));
    lanes.into_iter().fold(0, mix)
}

/// The size of a block, in bytes.
const BLOCK: usize = 32;

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
    fn every_byte_and_the_length_count() {
        let bytes = [7; 70];
        for index in 0..bytes.len() {
            let mut edited = bytes;
            edited[index] = 8;
            assert_ne!(checksum(&edited), checksum(&bytes), "{index}");
            assert_ne!(checksum(&bytes[..index]), checksum(&bytes), "{index}");
        }
    }
}
