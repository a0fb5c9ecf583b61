//! What whoever runs a server is told on standard error.

use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use repertoire_server::Notice;

use crate::ui::escape;

/// The most notices that are written; the rest is `rep check --publish`'s to tell.
const MAX_NOTICES: usize = 20;

/// Writes notices to standard error, a bounded number of them.
#[derive(Debug, Default)]
pub(crate) struct Teller {
    told: AtomicUsize,
}

impl Teller {
    /// Writes `notice`.
    pub(crate) fn tell(&self, notice: &Notice) {
        let line = match (self.told.fetch_add(1, Ordering::Relaxed), notice) {
            (..MAX_NOTICES, Notice::Withheld { skill, reasons, .. }) => {
                let reason = reasons.first();
                let why = reason
                    .map(|reason| format!(": {} [{}]", reason.message, reason.rule))
                    .unwrap_or_default();
                format!("rep: `{skill}` is not on skills/list{why}; tools still reach it\n")
            }
            (MAX_NOTICES, _) => "rep: there are more; run `rep check --publish` for all of them\n".to_owned(),
            _ => return,
        };
        // There is nobody left to tell when stderr is gone.
        let _ = std::io::stderr().write_all(escape(&line).as_bytes());
    }
}
