//! The table of meanings inside the program.

use std::sync::LazyLock;

use repertoire_model::search::{Meanings, SkillText, Vector};

use super::embedder::Embedder;
use super::read::of_each;
use crate::Error;
use crate::provider::BoxFuture;

/// The table, made as `models/README.md` tells.
static TABLE: &[u8] = include_bytes!("router.bin");

/// Returns the table of meanings inside the program.
pub fn builtin() -> Option<&'static Meanings<'static>> {
    static MEANINGS: LazyLock<Option<Meanings<'static>>> = LazyLock::new(|| Meanings::new(TABLE));
    MEANINGS.as_ref()
}

/// Says what texts mean by the table inside the program: offline, in microseconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct BuiltinEmbedder;

impl Embedder for BuiltinEmbedder {
    fn id(&self) -> String {
        format!("builtin-{:016x}", repertoire_model::checksum(TABLE))
    }

    fn query<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<Option<Vector>, Error>> {
        Box::pin(async move { Ok(builtin().and_then(|meanings| meanings.of_query(text))) })
    }

    fn skills<'a>(
        &'a self,
        skills: &'a [SkillText<'a>],
    ) -> BoxFuture<'a, Result<Vec<Option<Vector>>, Error>> {
        let of_skill = |skill: &SkillText<'_>| builtin().and_then(|meanings| meanings.of_skill(skill));
        Box::pin(async move { Ok(of_each(skills, of_skill)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The directions that the program which made the table says its texts have.
    const GOLDEN: &str = include_str!("../../../../models/golden.json");

    #[test]
    fn the_embedder_suite_holds() {
        pollster::block_on(crate::testing::embedder_suite(&BuiltinEmbedder));
    }

    #[test]
    fn texts_mean_what_they_meant_when_the_table_was_made() {
        let golden: serde_json::Value = serde_json::from_str(GOLDEN).unwrap();
        for case in golden.as_array().unwrap() {
            let text = case["text"].as_str().unwrap();
            let expected: Vec<f32> = case["vector"]
                .as_array()
                .unwrap()
                .iter()
                .map(|value| value.as_f64().unwrap() as f32)
                .collect();
            let found =
                builtin().unwrap().of_query(text).map(|vector| vector.values()).unwrap_or(vec![0.0; 8]);
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() < 3e-3, "{text:?}: {found} {expected}");
            }
        }
    }
}
