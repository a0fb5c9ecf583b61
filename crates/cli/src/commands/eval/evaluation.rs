//! The result of trigger evals.

use repertoire::Entry;
use repertoire_search::evals::{Share, TriggerReport};

/// A required rate, with the measured one.
pub(super) struct Threshold {
    /// The option.
    pub(super) option: &'static str,
    /// The required rate.
    pub(super) asked: f64,
    /// The rate that was measured.
    pub(super) found: Share,
    /// True if the rate is good enough. It is not without queries, or if not all evals were understood.
    pub(super) is_met: bool,
}

/// The result of trigger evals.
pub(super) struct Evaluation<'a> {
    /// The entries that the report refers to.
    pub(super) entries: &'a [Entry],
    /// The number of skills that an agent is shown.
    pub(super) shown: usize,
    /// The outcome of the queries.
    pub(super) report: TriggerReport,
    /// Files that were not understood, with the reason.
    pub(super) problems: Vec<(String, String)>,
    /// The required rates.
    pub(super) thresholds: Vec<Threshold>,
}
