//! The server of a library.

use std::sync::Arc;

use repertoire::Library;
use tokio::sync::watch;

use crate::agent_view::{AgentView, ViewLimits};
use crate::dashboard::DashboardState;
use crate::metrics::MetricsSink;
use crate::published_skills::PublishedSkills;
use crate::server_state::ServerState;
use crate::well_known::Archives;
use crate::{Error, ServerOptions};

/// Serves a library over MCP and HTTP. Clones serve the same library.
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
///     .open();
/// let library = pollster::block_on(library)?;
/// let server = Server::new(library, options);
/// assert_eq!(server.library().snapshot().active().count(), 1);
/// # Ok::<(), repertoire::Error>(())
/// ```
#[derive(Clone)]
pub struct Server {
    shared: Arc<ServerState>,
}

impl Server {
    /// Returns a server of the skills of `library`, which should have been opened with
    /// [`ServerOptions::session_options`].
    pub fn new(library: Library, options: ServerOptions) -> Self {
        let metrics = Arc::new(MetricsSink::default());
        let library = library.with_sink(metrics.clone());
        let registry = library.registry().clone();
        let published = PublishedSkills::new(registry.clone(), options.notices.clone());
        let (archives, republished) = (Archives::default(), watch::Sender::new(0));
        Self {
            shared: Arc::new(ServerState {
                library,
                registry,
                options,
                metrics,
                published,
                archives,
                republished,
                dashboard: DashboardState::default(),
            }),
        }
    }

    /// Returns the library.
    pub fn library(&self) -> &Library {
        &self.shared.library
    }

    pub(crate) fn options(&self) -> &ServerOptions {
        &self.shared.options
    }

    /// Waits until cancelled tools of skills have been cleaned up.
    pub(crate) async fn settled(&self) {
        if let Some(runner) = self.library().runner() {
            runner.settled().await;
        }
    }

    /// Returns the view of the agent called `agent`, or of one without restriction.
    pub(crate) async fn view(&self, agent: Option<&str>) -> Result<Arc<AgentView>, Error> {
        self.limited_view(self.library().clone(), agent, ViewLimits::default()).await
    }

    /// Returns the view of the agent called `agent` of `library`, or of one without restriction, within `limits`.
    pub(crate) async fn limited_view(
        &self,
        library: Library,
        agent: Option<&str>,
        limits: ViewLimits,
    ) -> Result<Arc<AgentView>, Error> {
        AgentView::open(Arc::clone(&self.shared), library, agent, limits).await
    }
}
