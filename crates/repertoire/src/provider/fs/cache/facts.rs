//! What is dear to work out about a skill and is remembered once known.

use repertoire_model::Digest;

use super::codec::{Reader, Writer};
use crate::provider::TokenCounts;

/// The most tokenizers whose counts are kept for a skill.
const MAX_TOKENIZERS: usize = 8;

/// What is remembered of a skill.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// The digest of its bundle, and the fingerprint of all its files when that was worked out.
    ///
    /// In a box, because few skills have one and a scan holds facts for all of them.
    pub(crate) bundle: Option<Box<(Digest, Digest)>>,
    tokens: Vec<(String, TokenCounts)>,
}

impl Facts {
    /// Returns whether nothing is remembered.
    pub(crate) fn is_empty(&self) -> bool {
        self.bundle.is_none() && self.tokens.is_empty()
    }

    /// Returns the counts of `tokenizer`.
    pub(crate) fn tokens(&self, tokenizer: &str) -> Option<TokenCounts> {
        self.tokens.iter().find(|(name, _)| name == tokenizer).map(|(_, counts)| *counts)
    }

    /// Remembers the counts of `tokenizer`; the one that was told longest ago makes room.
    pub(crate) fn set_tokens(&mut self, tokenizer: &str, counts: TokenCounts) {
        self.tokens.retain(|(name, _)| name != tokenizer);
        if self.tokens.len() >= MAX_TOKENIZERS {
            self.tokens.remove(0);
        }
        self.tokens.push((tokenizer.to_owned(), counts));
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        if self.is_empty() {
            return Vec::new();
        }
        let mut writer = Writer::default();
        writer.u8(u8::from(self.bundle.is_some()));
        if let Some((fingerprint, digest)) = self.bundle.as_deref() {
            writer.bytes.extend_from_slice(fingerprint.as_bytes());
            writer.bytes.extend_from_slice(digest.as_bytes());
        }
        writer.count(self.tokens.len());
        for (name, TokenCounts { body, entry }) in &self.tokens {
            writer.text(name);
            for count in [body, entry] {
                writer.u8(u8::from(count.is_some()));
                writer.u64(count.unwrap_or(0));
            }
        }
        writer.finish()
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.is_empty() {
            return Some(Self::default());
        }
        let mut reader = Reader::new(bytes)?;
        let bundle = if reader.bool()? {
            Some(Box::new((Digest::from_bytes(reader.array()?), Digest::from_bytes(reader.array()?))))
        } else {
            None
        };
        let count = reader.count()?;
        let tokens = (0..count)
            .map(|_| {
                let name = reader.text()?.to_owned();
                let mut number = || {
                    let known = reader.bool()?;
                    let count = reader.u64()?;
                    Some(known.then_some(count))
                };
                Some((name, TokenCounts { body: number()?, entry: number()? }))
            })
            .collect::<Option<_>>()?;
        reader.is_at_end().then_some(Self { bundle, tokens })
    }
}
