//! Counts of requests, for the metrics.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::http::{Method, StatusCode};

use crate::metrics_text::{Histogram, MetricsText};

#[derive(Default)]
pub(crate) struct RequestMetrics(Mutex<BTreeMap<&'static str, RouteCounts>>);

#[derive(Default)]
struct RouteCounts {
    by_status: BTreeMap<u16, u64>,
    durations: Histogram,
}

impl RequestMetrics {
    /// Counts a request whose response began after `duration`.
    pub(crate) fn answered(&self, route: &'static str, status: StatusCode, duration: Duration) {
        let mut routes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = routes.entry(route).or_default();
        *counts.by_status.entry(status.as_u16()).or_default() += 1;
        counts.durations.observe(duration);
    }

    /// Writes the counts.
    pub(crate) fn render(&self, text: &mut MetricsText) {
        let routes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let labels = |route: &str, status: u16| vec![route.to_owned(), status.to_string()];
        let requests = routes.iter().flat_map(|(route, counts)| {
            counts.by_status.iter().map(move |(status, count)| (labels(route, *status), *count))
        });
        let requests: BTreeMap<Vec<String>, u64> = requests.collect();
        text.counter("skill_http_requests_total", "Requests over HTTP.", &["route", "code"], &requests);
        let durations = routes.iter().map(|(route, counts)| (*route, &counts.durations));
        text.histogram(
            "skill_http_request_duration_seconds",
            "Time until the response to a request began.",
            "route",
            durations,
        );
    }
}

/// Returns the label of a request: the part of the server that answers it.
pub(super) fn route(method: &Method, path: &str) -> &'static str {
    match path {
        "/mcp" => "mcp",
        "/metrics" | "/healthz" | "/readyz" => "operation",
        _ if path.starts_with("/.well-known/") => "well_known",
        _ if path.starts_with("/api/") && *method == Method::PUT => "publish",
        _ if path.starts_with("/api/") => "api",
        _ => "page",
    }
}
