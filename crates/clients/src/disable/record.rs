//! The record of the links and switches that were changed to disable skills, so that they can be enabled as they were:
//! `.agents/.repertoire-disabled.json` in the project or the home directory.
//!
//! A project's record may come from a cloned repository. So it names no files but links, which are made only where `rep link` makes
//! them, and a switch is changed back only in the file of its client, and only if it has the value that `rep disable` gave it.

use std::path::Path;

use repertoire::change::PathStep;
use repertoire_model::Pattern;
use serde::{Deserialize, Serialize};

use super::client_switch::RecordedSwitch;
use crate::DISABLED_FILE;
use crate::Error;
use crate::link::RecordedLink;
use crate::record_file::{self, VERSION};
use crate::{Owner, Places};

/// The changes of a project or a home directory.
#[derive(Debug, Default)]
pub(super) struct DisabledRecord {
    pub(super) changes: Vec<RecordedChange>,
    /// The text as it was read.
    text: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct RecordJson {
    version: u32,
    disabled: Vec<RecordedChange>,
}

/// The links and switches that were changed to disable the skills of one pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RecordedChange {
    /// The pattern, as it was given to `rep disable`.
    pub(super) pattern: String,
    /// The only client that the skills are disabled for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) client: Option<String>,
    /// The links that were removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) links: Vec<RecordedLink>,
    /// The switches that were turned off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) switches: Vec<RecordedSwitch>,
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

impl DisabledRecord {
    /// Reads the record of `base`, which is `owner`'s; empty if there is no record.
    pub(super) fn load(places: &Places, owner: Owner, base: &Path) -> Result<Self, Error> {
        let path = base.join(DISABLED_FILE);
        let Some(text) = record_file::read(places, owner, &path)? else { return Ok(Self::default()) };
        let broken = |error| {
            Error::refused(format!("{} is not a record of disabled skills", path.display()))
                .because(error)
                .hint("remove it, and change links and settings of clients back by hand")
        };
        let record: RecordJson = record_file::parse(&text).map_err(broken)?;
        Ok(Self { changes: record.disabled, text: Some(text) })
    }

    /// Adds `change` to what is recorded about its pattern and client.
    pub(super) fn add(&mut self, change: RecordedChange) {
        let is_same = |it: &&mut RecordedChange| it.pattern == change.pattern && it.client == change.client;
        match self.changes.iter_mut().find(is_same) {
            Some(earlier) => {
                earlier.links.extend(change.links);
                earlier.switches.extend(change.switches);
            }
            None => self.changes.push(change),
        }
    }

    /// Returns the step that writes the record, or removes it if nothing is recorded.
    pub(super) fn step(&self, base: &Path) -> Result<Option<PathStep>, Error> {
        let record = RecordJson { version: VERSION, disabled: self.changes.clone() };
        let record = Some(&record).filter(|record| !record.disabled.is_empty());
        record_file::step(base.join(DISABLED_FILE), record, self.text.as_deref())
    }
}
