//! Options of the dashboard.

use std::sync::{Arc, Weak};

use repertoire::Watcher;
use repertoire::store::LazyStore;
use repertoire_app::workspace::Workspace;

/// Options of the dashboard and its API.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct DashboardOptions {
    /// True if the pages and the API are served.
    pub is_served: bool,
    /// True if requests without a token may change something: decide about proposals, restore versions. The
    /// server needs a [`PageSecret`](crate::http::PageSecret) or a token then.
    pub allows_writes: bool,
    /// The store of events, versions and proposals.
    pub store: Option<LazyStore>,
    /// The name under which requests without a token decide: `user:NAME`.
    pub person: String,
    /// The workspace around the library, which decisions, origins and newest versions of skills come from,
    /// and in which skills are switched.
    pub workspace: Option<Arc<Workspace>>,
    /// The watcher of the library, if it is followed.
    pub watcher: Option<Weak<Watcher>>,
    /// The name of the library on the pages, such as that of its project.
    pub title: String,
}
