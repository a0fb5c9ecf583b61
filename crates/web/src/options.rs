//! Options of a server.

use std::sync::Arc;

use repertoire::event::Event;

use crate::dashboard::DashboardOptions;
use crate::http::Mount;
use crate::publish::PublishOptions;

/// A question that the server asks its host. It may be asked from any thread, and may block for a short time.
#[derive(Clone)]
pub struct Probe<T>(Option<Arc<dyn Fn() -> T + Send + Sync>>);

impl<T> Probe<T> {
    /// Returns a probe that calls `ask`.
    pub fn new(ask: impl Fn() -> T + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(ask)))
    }

    /// Returns the answer, if there is anything to ask.
    pub(crate) fn ask(&self) -> Option<T> {
        self.0.as_ref().map(|ask| ask())
    }
}

impl<T> Default for Probe<T> {
    fn default() -> Self {
        Self(None)
    }
}

repertoire_model::options! {
    /// Options of a server.
    #[derive(Clone)]
    #[non_exhaustive]
    pub struct ServerOptions {
        /// The version of the server.
        pub version: String = env!("CARGO_PKG_VERSION").to_owned(),
        /// The service at `/mcp`.
        pub mcp: Mount,
        /// Returns the number of events that the journal dropped, for `/metrics`.
        pub dropped_events: Probe<u64>,
        /// Returns the events that other processes here recorded since the last call, for `/metrics`.
        pub other_events: Probe<Vec<Event>>,
        /// Returns whether the store answers, which `/readyz` reports.
        pub store: Probe<bool>,
        /// The pages for people, and their API.
        pub dashboard: DashboardOptions,
        /// Options of publishing over HTTP; `None` if versions of skills are not taken.
        pub publish: Option<PublishOptions>,
    }
}
