//! What says what texts mean.

use repertoire_model::search::{SkillText, Vector};

use crate::Error;
use crate::provider::BoxFuture;

/// Says what texts mean, as directions: what means the same points the same way.
///
/// Where one fails, skills are found by their words alone; nothing else depends on it. The suite in [`crate::testing`] holds every
/// implementation to this page.
pub trait Embedder: Send + Sync {
    /// Returns what tells its directions from those of others: a model and a version, say. Directions of another name are made anew.
    fn id(&self) -> String;

    /// Returns what `text`, which somebody asks for, means; `None` where it says nothing.
    fn query<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<Option<Vector>, Error>>;

    /// Returns what each of `skills` is about, in their order; `None` for those that say nothing.
    fn skills<'a>(&'a self, skills: &'a [SkillText<'a>])
    -> BoxFuture<'a, Result<Vec<Option<Vector>>, Error>>;
}
