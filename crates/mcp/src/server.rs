//! The server of a library over MCP.

use std::sync::Arc;

use repertoire::serve::{AgentView, ServedLibrary, ViewLimits};
use repertoire::{Error, Library};

use crate::McpOptions;
use crate::http::AllSessions;

/// Serves a library over MCP. Clones serve the same library.
///
/// ```
/// use std::sync::Arc;
/// use repertoire::serve::{Notices, ServedLibrary};
/// use repertoire::{Library, MemoryProvider, SkillDefinition};
/// use repertoire_mcp::{McpOptions, Server};
/// let options = McpOptions::default();
/// let skill = SkillDefinition::new("greet", "Greets people. Use when someone says hello.", "# Greet\n");
/// let library = Library::builder()
///     .provider(Arc::new(MemoryProvider::new("builtin", vec![skill])))
///     .session_options(options.session_options(Default::default()))
///     .open();
/// let library = pollster::block_on(library)?;
/// let server = Server::new(ServedLibrary::new(library, Notices::default()), options);
/// assert_eq!(server.library().snapshot().active().count(), 1);
/// # Ok::<(), repertoire::Error>(())
/// ```
#[derive(Clone)]
pub struct Server {
    served: Arc<ServedLibrary>,
    options: Arc<McpOptions>,
    sessions: Arc<AllSessions>,
}

impl Server {
    /// Returns a server of `served`, whose library should be opened with [`McpOptions::session_options`].
    pub fn new(served: Arc<ServedLibrary>, options: McpOptions) -> Self {
        Self { served, options: Arc::new(options), sessions: Arc::default() }
    }

    /// Returns the library.
    pub fn library(&self) -> &Library {
        &self.served.library
    }

    pub(crate) fn options(&self) -> &Arc<McpOptions> {
        &self.options
    }

    pub(crate) fn sessions(&self) -> &Arc<AllSessions> {
        &self.sessions
    }

    /// Waits until cancelled tools of skills have been cleaned up.
    pub(crate) async fn settled(&self) {
        self.served.settled().await;
    }

    /// Returns the view of the agent called `agent`, or of one without restriction.
    pub(crate) async fn view(&self, agent: Option<&str>) -> Result<Arc<AgentView>, Error> {
        let library = self.library().clone();
        AgentView::open(Arc::clone(&self.served), library, agent, ViewLimits::default()).await
    }
}
