//! The server of a library.

use std::sync::Arc;

use repertoire::Library;
use repertoire::serve::{AgentView, ServedLibrary, ViewLimits};

use crate::dashboard::DashboardState;
use crate::metrics::MetricsSink;
use crate::server_state::ServerState;
use crate::well_known::Archives;
use crate::{Error, ServerOptions};

/// Serves a library over HTTP. Clones serve the same library.
///
/// ```
/// use std::sync::Arc;
/// use repertoire::serve::{Notices, ServedLibrary};
/// use repertoire::{Library, MemoryProvider, SkillDefinition};
/// use repertoire_web::{MetricsSink, Server, ServerOptions};
/// let skill = SkillDefinition::new("greet", "Greets people. Use when someone says hello.", "# Greet\n");
/// let library = Library::builder().provider(Arc::new(MemoryProvider::new("builtin", vec![skill]))).open();
/// let metrics = Arc::new(MetricsSink::default());
/// let library = pollster::block_on(library)?.with_sink(metrics.clone());
/// let server = Server::new(ServedLibrary::new(library, Notices::default()), metrics, ServerOptions::default());
/// assert_eq!(server.library().snapshot().active().count(), 1);
/// # Ok::<(), repertoire::Error>(())
/// ```
#[derive(Clone)]
pub struct Server {
    shared: Arc<ServerState>,
}

impl Server {
    /// Returns a server of the skills of `served`, whose library has the sink `metrics`.
    pub fn new(served: Arc<ServedLibrary>, metrics: Arc<MetricsSink>, options: ServerOptions) -> Self {
        Self {
            shared: Arc::new(ServerState {
                served,
                options: Arc::new(options),
                metrics,
                archives: Archives::default(),
                dashboard: DashboardState::default(),
            }),
        }
    }

    /// Returns the library.
    pub fn library(&self) -> &Library {
        &self.shared.served.library
    }

    pub(crate) fn options(&self) -> &Arc<ServerOptions> {
        &self.shared.options
    }

    /// Returns the state that requests share.
    pub(crate) fn state(&self) -> &Arc<ServerState> {
        &self.shared
    }

    /// Waits until cancelled tools of skills have been cleaned up.
    pub(crate) async fn settled(&self) {
        self.shared.served.settled().await;
    }

    /// Returns the view of `library` for the agent called `agent`, or an unrestricted one, within `limits`.
    pub(crate) async fn limited_view(
        &self,
        library: Library,
        agent: Option<&str>,
        limits: ViewLimits,
    ) -> Result<Arc<AgentView>, Error> {
        Ok(AgentView::open(Arc::clone(&self.shared.served), library, agent, limits).await?)
    }
}
