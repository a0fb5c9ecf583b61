//! The trait of embedders.

use repertoire::{BoxFuture, Error};

use super::vector::Vector;
use crate::skill_text::SkillText;

/// Computes embeddings of texts: texts that mean the same have vectors of nearly the same direction.
///
/// If it fails, skills are found by words alone. [`testing::embedder_suite`](crate::testing::embedder_suite) is the conformance suite.
pub trait Embedder: Send + Sync {
    /// Returns the identity of its vectors, such as a model and a version. Vectors of another identity are computed again.
    fn id(&self) -> String;

    /// Returns the embedding of the query `text`; `None` if it says nothing.
    fn query<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<Option<Vector>, Error>>;

    /// Returns the embedding of each of `skills`, in their order; `None` for those that say nothing.
    fn skills<'a>(&'a self, skills: &'a [SkillText<'a>])
    -> BoxFuture<'a, Result<Vec<Option<Vector>>, Error>>;
}
