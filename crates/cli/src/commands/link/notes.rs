//! Clients and skills that were left out, and warnings.

use crate::clients::Client;

/// Clients and skills that were left out, and warnings.
#[derive(Default)]
pub(super) struct Notes {
    pub(super) skipped: Vec<SkippedClient>,
    /// The number of skills that were left out because they lie outside.
    pub(super) left_out: usize,
    pub(super) warnings: Vec<Warning>,
}

/// A client that was left out, and the reason.
pub(super) struct SkippedClient {
    pub(super) client: &'static Client,
    pub(super) reason: String,
    pub(super) is_refusal: bool,
}

/// A warning before links are made, with a hint.
pub(super) struct Warning {
    pub(super) message: String,
    pub(super) hint: String,
}
