//! The changes of a channel as `rep publish` and `rep team channel` print them.

use std::collections::BTreeMap;

use repertoire::store::{ReleaseChange, Store};
use repertoire_model::Digest;
use repertoire_model::text::count;
use serde_json::{Value, json};

use crate::error::CliError;
use crate::ui::{Style, Ui, escape};

/// The changes of a channel, for people and programs.
pub(crate) struct ChannelChanges<'a> {
    pub(crate) channel: &'a str,
    pub(crate) changes: &'a [ReleaseChange],
    /// The skills that the channel had before.
    pub(crate) before: &'a BTreeMap<String, Digest>,
    /// The number of the release, if one was made.
    pub(crate) release: Option<u64>,
}

impl ChannelChanges<'_> {
    fn kind(&self, change: &ReleaseChange) -> (&'static str, char, Style) {
        match (self.before.contains_key(&change.name), change.digest) {
            (_, None) => ("removed", '-', Style::Error),
            (true, Some(_)) => ("changed", '~', Style::Warning),
            (false, Some(_)) => ("added", '+', Style::Good),
        }
    }

    /// Writes the outcome.
    pub(crate) fn write(&self, ui: &mut Ui, store: &dyn Store, is_dry: bool) -> Result<(), CliError> {
        let (channel, location) = (self.channel, store.location());
        // Another process may have made the same changes in the meantime.
        let changes = if self.release.is_some() || is_dry { self.changes } else { &[] };
        if ui.is_json() {
            let change = |change: &ReleaseChange| {
                let digest = change.digest.map(|digest| digest.to_string());
                json!({"name": change.name, "change": self.kind(change).0, "digest": digest})
            };
            let changes: Vec<Value> = changes.iter().map(change).collect();
            return Ok(ui.write_json(&json!({
                "store": location,
                "channel": channel,
                "release": self.release,
                "changes": changes,
            }))?);
        }
        for change in changes {
            let (_, sign, style) = self.kind(change);
            ui.line(style, &format!("{sign} {}", escape(&change.name)))?;
        }
        let number = count(changes.len(), "change");
        let location = escape(&location).into_owned();
        match self.release {
            Some(release) => writeln!(ui.out(), "release {release}: {number} of {channel} in {location}")?,
            None if !changes.is_empty() => {
                writeln!(ui.out(), "{number} of {channel} in {location}, not made")?
            }
            None => writeln!(ui.out(), "{channel} in {location} is up to date")?,
        }
        Ok(())
    }
}
