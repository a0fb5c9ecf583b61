//! The first bytes of a cache file: what it is, and what tells whether the rest is whole.

use repertoire_model::checksum;

use super::codec::Take;

/// The first bytes of every cache file.
const MAGIC: &[u8; 8] = b"REPCACHE";

/// The version of everything after the magic.
pub(super) const FORMAT: u32 = 3;

/// From this size on, in bytes, reading the blocks takes so much longer than it takes to start a thread for it that the thread is
/// worth its memory.
const LARGE_BYTES: u64 = 1024 * 1024;

/// The head of a cache file. Behind it stands an index of all skills, and then what is remembered of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) index_bytes: u64,
    pub(super) index_checksum: u64,
    pub(super) blocks_bytes: u64,
    pub(super) blocks_checksum: u64,
}

impl Head {
    /// How many bytes it takes.
    pub(super) const BYTES: usize = MAGIC.len() + size_of::<u32>() + 4 * size_of::<u64>();

    /// Returns the head of a file with these parts.
    pub(super) fn of(index: &[u8], blocks: &[u8]) -> Self {
        Self {
            index_bytes: index.len() as u64,
            index_checksum: checksum(index),
            blocks_bytes: blocks.len() as u64,
            blocks_checksum: checksum(blocks),
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let Self { index_bytes, index_checksum, blocks_bytes, blocks_checksum } = *self;
        let mut bytes = Vec::with_capacity(Self::BYTES);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&FORMAT.to_le_bytes());
        for number in [index_bytes, index_checksum, blocks_bytes, blocks_checksum] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// Returns the head that `bytes` are, if the file has as many as it says.
    pub(super) fn decode(bytes: [u8; Self::BYTES], file_bytes: u64) -> Option<Self> {
        let mut take = Take::new(&bytes);
        if take.array()? != *MAGIC || u32::from_le_bytes(take.array()?) != FORMAT {
            return None;
        }
        let mut number = || take.array().map(u64::from_le_bytes);
        let head = Self {
            index_bytes: number()?,
            index_checksum: number()?,
            blocks_bytes: number()?,
            blocks_checksum: number()?,
        };
        (head.blocks_start()?.checked_add(head.blocks_bytes)? == file_bytes).then_some(head)
    }

    /// Returns where the blocks start in the file.
    pub(super) fn blocks_start(&self) -> Option<u64> {
        (Self::BYTES as u64).checked_add(self.index_bytes)
    }

    /// Returns whether the parts are better read side by side.
    pub(super) fn is_large(&self) -> bool {
        self.blocks_bytes >= LARGE_BYTES
    }
}
