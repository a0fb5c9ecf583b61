//! The HTTP client for addresses of the configuration.

use std::time::Duration;

/// Returns a client whose requests take at most `limit`.
pub(super) fn http_agent(limit: Duration) -> ureq::Agent {
    ureq::Agent::config_builder()
        .timeout_global(Some(limit))
        // A redirect would lead to a server that the user did not choose.
        .max_redirects(0)
        .max_redirects_will_error(true)
        .user_agent("repertoire")
        .build()
        .new_agent()
}
