//! A library with what its servers share.

use std::sync::Arc;

use super::notice::Notices;
use super::published_skills::PublishedSkills;
use crate::library::Library;
use crate::registry::Registry;

/// A library with what its servers share.
pub struct ServedLibrary {
    /// The library.
    pub library: Library,
    /// Its registry.
    pub registry: Registry,
    /// Its skills as clients see them.
    pub published: PublishedSkills,
}

impl ServedLibrary {
    /// Returns `library` for servers whose operator receives `notices`.
    pub fn new(library: Library, notices: Notices) -> Arc<Self> {
        let registry = library.registry().clone();
        let published = PublishedSkills::new(registry.clone(), notices);
        Arc::new(Self { library, registry, published })
    }

    /// Waits until cancelled tools of skills have been cleaned up.
    pub async fn settled(&self) {
        if let Some(runner) = self.library.runner() {
            runner.settled().await;
        }
    }
}
