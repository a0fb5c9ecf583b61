//! Health checks.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;

use super::app::App;

/// Answers that the process is alive.
pub(super) async fn alive() -> &'static str {
    "ok\n"
}

/// Answers whether the first snapshot of the library is published.
pub(super) async fn ready(State(app): State<Arc<App>>) -> (StatusCode, &'static str) {
    match app.server.library().snapshot().number() {
        0 => (StatusCode::SERVICE_UNAVAILABLE, "not yet\n"),
        _ => (StatusCode::OK, "ready\n"),
    }
}
