//! Options of the dashboard.

use std::fmt;
use std::sync::Arc;

use repertoire::store::LazyStore;

use super::host::Host;

/// Options of the dashboard and its API.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct DashboardOptions {
    /// True if the pages and the API are served.
    pub is_served: bool,
    /// True if requests without a token may change something: decide about proposals, restore versions. The server needs a
    /// [`PageSecret`](crate::http::PageSecret) or a token then.
    pub allows_writes: bool,
    /// The store of events, versions and proposals.
    pub store: Option<LazyStore>,
    /// The name under which requests without a token decide: `user:NAME`.
    pub person: String,
    /// Answers what the library does not know.
    pub host: Option<Arc<dyn Host>>,
    /// The name of the library on the pages, such as that of its project.
    pub title: String,
}

impl fmt::Debug for DashboardOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DashboardOptions")
            .field("is_served", &self.is_served)
            .field("allows_writes", &self.allows_writes)
            .field("person", &self.person)
            .field("title", &self.title)
            .finish_non_exhaustive()
    }
}
