//! State shared by everything that is served.

use std::sync::Arc;

use repertoire::{Library, Registry};
use tokio::sync::watch;

use crate::ServerOptions;
use crate::dashboard::DashboardState;
use crate::metrics::MetricsSink;
use crate::published_skills::PublishedSkills;
use crate::well_known::Archives;

/// State shared by everything that is served.
pub(crate) struct ServerState {
    pub(crate) library: Library,
    pub(crate) registry: Registry,
    pub(crate) options: ServerOptions,
    /// Counts the events of the library's sessions.
    pub(crate) metrics: Arc<MetricsSink>,
    pub(crate) published: PublishedSkills,
    pub(crate) archives: Archives,
    /// Counts published skills whose files changed after they were announced to clients.
    pub(crate) republished: watch::Sender<u64>,
    /// The state that requests of the dashboard share.
    pub(crate) dashboard: DashboardState,
}
