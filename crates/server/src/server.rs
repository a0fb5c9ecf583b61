//! A library made ready to be served.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use repertoire::{Entry, Library, Registry};

use crate::audience::Audience;
use crate::shelf::Shelf;
use crate::well_known::Archives;
use crate::{Error, ServerOptions};

/// A library made ready to be served.
///
/// ```
/// use std::sync::Arc;
/// use repertoire::{Library, MemoryProvider, SkillDefinition};
/// use repertoire_server::{Server, ServerOptions};
/// let options = ServerOptions::default();
/// let skill = SkillDefinition::new("greet", "Greets people. Use when someone says hello.", "# Greet\n");
/// let library = Library::builder()
///     .provider(Arc::new(MemoryProvider::new("builtin", vec![skill])))
///     .session_options(options.session_options(Default::default()))
///     .open_blocking()?;
/// let server = Server::new(library, options);
/// assert_eq!(server.library().snapshot().active().count(), 1);
/// # Ok::<(), repertoire::Error>(())
/// ```
#[derive(Clone)]
pub struct Server {
    shared: Arc<Shared>,
}

/// What all audiences share.
pub(crate) struct Shared {
    pub(crate) library: Library,
    pub(crate) registry: Registry,
    pub(crate) options: ServerOptions,
    pub(crate) shelf: Shelf,
    pub(crate) archives: Archives,
    /// Everybody who is served.
    audiences: Mutex<Vec<Weak<Audience>>>,
}

impl Shared {
    /// Tells everybody who may know of the skill that what they were told of it is no longer so.
    pub(crate) fn announce(&self, entry: &Entry) {
        let audiences = self.audiences.lock().unwrap_or_else(PoisonError::into_inner);
        for audience in audiences.iter().filter_map(Weak::upgrade).filter(|audience| audience.sees(entry)) {
            audience.resources_changed();
        }
    }
}

impl Server {
    /// Returns a server of the skills of `library`, which should have been opened with
    /// [`ServerOptions::session_options`].
    pub fn new(library: Library, options: ServerOptions) -> Self {
        let registry = library.registry().clone();
        let shelf = Shelf::new(registry.clone(), options.notices.clone());
        Self {
            shared: Arc::new(Shared {
                library,
                registry,
                options,
                shelf,
                archives: Archives::default(),
                audiences: Mutex::default(),
            }),
        }
    }

    /// Returns the library.
    pub fn library(&self) -> &Library {
        &self.shared.library
    }

    /// Waits until what was cancelled is over, where anything runs tools of skills.
    pub(crate) async fn settled(&self) {
        if let Some(executor) = self.library().executor() {
            executor.settled().await;
        }
    }

    /// Returns what the agent called `agent`, or one that may see everything, is served.
    pub(crate) async fn audience(&self, agent: Option<&str>) -> Result<Arc<Audience>, Error> {
        let audience = Audience::open(Arc::clone(&self.shared), agent).await?;
        let mut audiences = self.shared.audiences.lock().unwrap_or_else(PoisonError::into_inner);
        audiences.retain(|audience| audience.strong_count() > 0);
        audiences.push(Arc::downgrade(&audience));
        Ok(audience)
    }
}
