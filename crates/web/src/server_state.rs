//! State shared by everything that is served over HTTP.

use std::sync::Arc;

use repertoire::serve::ServedLibrary;

use crate::ServerOptions;
use crate::dashboard::DashboardState;
use crate::metrics::MetricsSink;
use crate::well_known::Archives;

/// State shared by everything that is served over HTTP.
pub(crate) struct ServerState {
    pub(crate) served: Arc<ServedLibrary>,
    pub(crate) options: Arc<ServerOptions>,
    /// Counts the events of the library's sessions.
    pub(crate) metrics: Arc<MetricsSink>,
    pub(crate) archives: Archives,
    /// The state that requests of the dashboard share.
    pub(crate) dashboard: DashboardState,
}
