//! The options of commands that serve the skills of a store. Every doc comment here is help text.

use clap::Args;
use repertoire_model::SkillName;

use crate::env::Env;
use crate::error::CliError;
use crate::globals::Globals;
use crate::ui::Ui;
use crate::wire::{Workspace, load};

/// The channel that is meant where none is named.
pub(crate) const STABLE: &str = "stable";

/// The options of commands that serve the skills of a store.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ServedArgs {
    /// Offer the skills that `rep publish` put into this store, instead of those on disk
    ///
    /// It is postgres://user@host/database or the path of a SQLite file, and `store.url` where --channel is
    /// given alone. Events are recorded in it. Skills of --root come before it.
    #[arg(long, value_name = "URL")]
    pub(crate) store: Option<String>,
    /// Offer the skills of this channel of the store; stable by default
    ///
    /// Given several times, earlier channels win over later ones. An agent follows the last one, unless its
    /// `channel` names another.
    #[arg(long, value_name = "CHANNEL", value_parser = channel_name)]
    pub(crate) channel: Vec<String>,
}

impl ServedArgs {
    /// Loads the workspace whose skills are served.
    pub(crate) fn load(&self, ui: &Ui, env: Env, globals: &Globals) -> Result<Workspace, CliError> {
        load(ui, env, globals)?.serving(self.store.as_deref(), self.channels())
    }

    /// Returns the channels to serve; none if the skills on disk are served.
    pub(crate) fn channels(&self) -> Vec<String> {
        match (self.channel.as_slice(), &self.store) {
            ([], Some(_)) => vec![STABLE.to_owned()],
            (channels, _) => channels.to_vec(),
        }
    }
}

/// Returns `text` if it can be the name of a channel.
pub(crate) fn channel_name(text: &str) -> Result<String, String> {
    match SkillName::new(text) {
        Some(name) if name.as_str() == text => Ok(text.to_owned()),
        _ => Err("a channel is named like a skill: lower-case letters, digits and single hyphens".to_owned()),
    }
}
