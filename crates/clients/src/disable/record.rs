//! The record of links and switches that were changed to disable skills, to enable them as they were.
//!
//! A project's record may come from a cloned repository. So it names no files but links, which are made only
//! where `rep link` makes them, and a switch is changed back only in the file of its client, and only if it
//! has the value that `rep disable` gave it.

use repertoire_model::Pattern;
use serde::{Deserialize, Serialize};

use super::client_switch::RecordedSwitch;
use crate::link::RecordedLink;

/// The links and switches that were changed to disable the skills of one pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RecordedChange {
    /// The pattern, as it was given to `rep disable`.
    pub(crate) pattern: String,
    /// The only client that the skills are disabled for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) client: Option<String>,
    /// The links that were removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) links: Vec<RecordedLink>,
    /// The switches that were turned off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) switches: Vec<RecordedSwitch>,
}

impl RecordedChange {
    /// Returns `true` if nothing was changed.
    pub(super) fn is_empty(&self) -> bool {
        self.links.is_empty() && self.switches.is_empty()
    }

    /// Returns `true` if this is about `pattern` for `client`, or for all clients.
    pub(super) fn is_about(&self, pattern: &Pattern, client: Option<&str>) -> bool {
        Pattern::new(&self.pattern).ok().as_ref() == Some(pattern) && self.client.as_deref() == client
    }
}

/// Adds `change` to what `changes` have about its pattern and client.
pub(super) fn add(changes: &mut Vec<RecordedChange>, change: RecordedChange) {
    let is_same = |it: &&mut RecordedChange| it.pattern == change.pattern && it.client == change.client;
    match changes.iter_mut().find(is_same) {
        Some(earlier) => {
            earlier.links.extend(change.links);
            earlier.switches.extend(change.switches);
        }
        None => changes.push(change),
    }
}
