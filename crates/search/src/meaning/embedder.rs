//! The trait of embedders.

use repertoire::{BoxFuture, Error};

use super::vector::Vector;
use crate::skill_text::SkillText;

/// Computes embeddings of texts: texts of similar meaning have vectors of similar direction.
///
/// If it fails, skills are found by words only. [`testing::embedder_suite`](crate::testing::embedder_suite)
/// is the conformance suite.
pub trait Embedder: Send + Sync {
    /// Returns the identity of the vectors, such as model and version. Other stored vectors are recomputed.
    fn id(&self) -> String;

    /// Returns the embedding of the query `text`; `None` if it has no meaning, such as an empty text.
    fn query<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<Option<Vector>, Error>>;

    /// Returns the embeddings of `skills`, in order; `None` for those without meaning.
    fn skills<'a>(&'a self, skills: &'a [SkillText<'a>])
    -> BoxFuture<'a, Result<Vec<Option<Vector>>, Error>>;
}
