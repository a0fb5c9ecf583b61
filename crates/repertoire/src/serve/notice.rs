//! Messages for the operator of a server.

use std::sync::Arc;

use repertoire_model::Diagnostic;

/// A message for the operator of the server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Notice {
    /// A skill is missing from `skills/list`; tools still reach it.
    Withheld {
        /// The skill.
        skill: String,
        /// Its path.
        path: String,
        /// The reasons, the most important first.
        reasons: Vec<Diagnostic>,
    },
}

/// Receives notices. It is called from any thread and must not block.
#[derive(Clone, Default)]
pub struct Notices(Option<Arc<NoticeCallback>>);

type NoticeCallback = dyn Fn(&Notice) + Send + Sync;

impl Notices {
    /// Returns a receiver that calls `take`.
    pub fn new(take: impl Fn(&Notice) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(take)))
    }

    /// Hands over `notice`.
    pub fn give(&self, notice: &Notice) {
        if let Some(take) = &self.0 {
            take(notice);
        }
    }
}
