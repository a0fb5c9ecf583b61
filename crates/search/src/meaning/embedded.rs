//! The embedding table that is compiled into the program.

use std::sync::LazyLock;

use repertoire::{BoxFuture, Error};

use super::embedder::Embedder;
use super::table::EmbeddingTable;
use super::vector::Vector;
use crate::parallel::map;
use crate::skill_text::SkillText;

/// The bytes of the table, see `models/README.md`.
#[cfg(feature = "embedded-model")]
static TABLE: &[u8] = include_bytes!("router.bin");
#[cfg(not(feature = "embedded-model"))]
static TABLE: &[u8] = &[];

/// The identity of the table: its checksum, compared by a test, as computing it takes longer than a search.
const TABLE_ID: &str = "builtin-ef1c446becbcba57";

/// Returns the embedding table of the program; `None` without the feature `embedded-model`.
pub fn embedded_table() -> Option<&'static EmbeddingTable<'static>> {
    static PARSED: LazyLock<Option<EmbeddingTable<'static>>> = LazyLock::new(|| EmbeddingTable::new(TABLE));
    PARSED.as_ref()
}

/// Computes embeddings with the table of the program: offline, in microseconds. Without the feature
/// `embedded-model` there are not any.
#[derive(Debug, Clone, Copy, Default)]
pub struct EmbeddedModel;

impl Embedder for EmbeddedModel {
    fn id(&self) -> String {
        if TABLE.is_empty() { String::new() } else { TABLE_ID.to_owned() }
    }

    fn query<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<Option<Vector>, Error>> {
        Box::pin(async move { Ok(embedded_table().and_then(|table| table.embed_query(text))) })
    }

    fn skills<'a>(
        &'a self,
        skills: &'a [SkillText<'a>],
    ) -> BoxFuture<'a, Result<Vec<Option<Vector>>, Error>> {
        let embed = |skill: &SkillText<'_>| embedded_table().and_then(|table| table.embed_skill(skill));
        Box::pin(async move { Ok(map(skills, embed)) })
    }
}

#[cfg(all(test, feature = "embedded-model"))]
mod tests {
    use super::*;

    /// Vectors computed by the program that created the table.
    const GOLDEN: &str = include_str!("golden.json");

    #[test]
    fn the_identity_is_the_checksum() {
        assert_eq!(TABLE_ID, format!("builtin-{:016x}", repertoire_model::checksum(TABLE)));
    }

    #[test]
    fn the_embedder_suite_passes() {
        pollster::block_on(crate::testing::embedder_suite(&EmbeddedModel));
    }

    #[test]
    fn embeddings_match_the_golden_file() {
        let golden: serde_json::Value = serde_json::from_str(GOLDEN).unwrap();
        for case in golden.as_array().unwrap() {
            let text = case["text"].as_str().unwrap();
            let expected: Vec<f32> = case["vector"]
                .as_array()
                .unwrap()
                .iter()
                .map(|value| value.as_f64().unwrap() as f32)
                .collect();
            let found = embedded_table().unwrap().embed_query(text);
            let found = found.map(|vector| vector.values()).unwrap_or(vec![0.0; 8]);
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() < 3e-3, "{text:?}: {found} {expected}");
            }
        }
    }
}
