//! Token counts of whole texts, remembered between runs.
//!
//! Counting a catalog of ten thousand skills takes most of a second, and its text seldom changes. What is remembered is
//! keyed by the digest of tokenizer and text, so it cannot be stale; each record carries a checksum, so a damaged one
//! is not believed.

use std::path::PathBuf;

use repertoire_model::Digest;
use repertoire_model::catalog::Tokenizer;

use crate::stored;

/// The file that records lie in.
const FILE: &str = "texts.tokens";
/// The bytes of a record: the key, the count, the start of the digest of both.
const RECORD: usize = 32 + 8 + 8;
/// The most records that are kept, newest first.
const MAX_RECORDS: usize = 256;

/// Counts tokens, and remembers the counts in a directory.
#[derive(Debug, Clone)]
pub struct TokenMemory {
    directory: Option<PathBuf>,
}

impl TokenMemory {
    /// Returns a memory in `directory`, or one that forgets at once where there is none.
    pub fn new(directory: Option<PathBuf>) -> Self {
        Self { directory }
    }

    /// Returns how many tokens `text` has.
    pub fn count(&self, tokenizer: Tokenizer, text: &str) -> usize {
        let Some(directory) = &self.directory else { return tokenizer.count(text) };
        let key = Digest::of(format!("{}\0{}", tokenizer.name(), Digest::of(text.as_bytes())).as_bytes());
        let records = self.records();
        if let Some(count) = records.chunks_exact(RECORD).find_map(|record| recall(record, &key)) {
            return count;
        }
        let count = tokenizer.count(text);
        let mut kept = record(&key, count);
        kept.extend_from_slice(&records[..records.len().min((MAX_RECORDS - 1) * RECORD)]);
        // A memory that cannot be kept costs time, nothing else.
        let _ = stored::replace(directory, FILE, &kept);
        count
    }

    /// Returns the records that are kept, whole ones only.
    fn records(&self) -> Vec<u8> {
        let path = self.directory.as_ref().map(|directory| directory.join(FILE));
        let mut bytes = path.and_then(|path| stored::read(&path, MAX_RECORDS * RECORD)).unwrap_or_default();
        bytes.truncate(bytes.len() / RECORD * RECORD);
        bytes
    }
}

fn record(key: &Digest, count: usize) -> Vec<u8> {
    let mut record = key.as_bytes().to_vec();
    record.extend_from_slice(&(count as u64).to_le_bytes());
    let check = Digest::of(&record);
    record.extend_from_slice(&check.as_bytes()[..8]);
    record
}

fn recall(bytes: &[u8], key: &Digest) -> Option<usize> {
    if !bytes.starts_with(key.as_bytes()) {
        return None;
    }
    let count = u64::from_le_bytes(bytes.get(32..40)?.try_into().ok()?);
    let count = usize::try_from(count).ok()?;
    (record(key, count) == bytes).then_some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(directory: &tempfile::TempDir) -> TokenMemory {
        TokenMemory::new(Some(directory.path().to_owned()))
    }

    #[test]
    fn counts_are_remembered_by_text_and_tokenizer() {
        let directory = tempfile::tempdir().unwrap();
        let memory = memory(&directory);
        assert_eq!(memory.count(Tokenizer::Chars4, "twelve chars"), 3);
        // A record that lies, but has a right checksum, shows that it is asked.
        let key = Digest::of(format!("{}\0{}", Tokenizer::Chars4.name(), Digest::of(b"known")).as_bytes());
        stored::replace(directory.path(), FILE, &record(&key, 77)).unwrap();
        assert_eq!(memory.count(Tokenizer::Chars4, "known"), 77);
        assert_eq!(memory.count(Tokenizer::Chars4, "known!"), 2);
        assert_eq!(memory.count(Tokenizer::Chars4, "known"), 77, "older records stay");
    }

    #[test]
    fn damage_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let memory = memory(&directory);
        let count = memory.count(Tokenizer::Chars4, "some text");
        let whole = stored::read(&directory.path().join(FILE), RECORD).unwrap();
        for position in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[position] ^= 1;
            stored::replace(directory.path(), FILE, &bytes).unwrap();
            assert_eq!(memory.count(Tokenizer::Chars4, "some text"), count, "byte {position}");
        }
    }

    #[test]
    fn the_memory_is_bounded() {
        let directory = tempfile::tempdir().unwrap();
        let memory = memory(&directory);
        for number in 0..MAX_RECORDS + 10 {
            memory.count(Tokenizer::Chars4, &number.to_string());
        }
        assert_eq!(memory.records().len(), MAX_RECORDS * RECORD);
    }
}
