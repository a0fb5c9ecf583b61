//! Whether the server is well, for whoever watches over it.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;

use super::router::App;

/// Says that the process is alive.
pub(super) async fn alive() -> &'static str {
    "ok\n"
}

/// Says whether there are skills to be served: the first snapshot is published.
pub(super) async fn ready(State(app): State<Arc<App>>) -> (StatusCode, &'static str) {
    match app.server.library().snapshot().number() {
        0 => (StatusCode::SERVICE_UNAVAILABLE, "not yet\n"),
        _ => (StatusCode::OK, "ready\n"),
    }
}
