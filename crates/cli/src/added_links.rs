//! Links to skills that commands add, update or restore.

use std::path::PathBuf;

use repertoire_clients::Owner;
use repertoire_clients::link::{AddedLinks, LinkReceivers};

use crate::env::Env;
use crate::error::CliError;
use crate::globals::Globals;
use crate::ui::Ui;
use crate::wire::{Context, load};

/// Makes the links that the clients which are found need to read the skills in `directories`.
pub(crate) fn link_added(
    context: &Context,
    owner: Owner,
    directories: &[PathBuf],
) -> Result<AddedLinks, CliError> {
    let places = context.env.places();
    match LinkReceivers::found(&places, owner, directories) {
        Some(receivers) => Ok(receivers.link(context.open()?.opened())?),
        None => Ok(AddedLinks::default()),
    }
}

/// Returns the links, as they are shown, that the clients which are found need to read the skills in `directories` and that are not there.
pub(crate) fn missing_links(
    context: &Context,
    owner: Owner,
    directories: &[PathBuf],
) -> Result<Vec<String>, CliError> {
    let places = context.env.places();
    match LinkReceivers::found(&places, owner, directories) {
        Some(receivers) => Ok(receivers.missing(context.open()?.opened())?),
        None => Ok(Vec::new()),
    }
}

/// Makes the links to the skills in `directories`, whose change was interrupted and is completed, and says so.
pub(crate) fn link_completed(
    ui: &mut Ui,
    env: &Env,
    globals: &Globals,
    owner: Owner,
    directories: &[PathBuf],
) {
    let linked = load(ui, env.clone(), globals).and_then(|context| link_added(&context, owner, directories));
    let _ = match linked {
        Ok(links) if links.paths.is_empty() => Ok(()),
        Ok(links) => ui.hint(&format!("linked for other clients: {}", links.paths.join(", "))),
        Err(error) => ui.warn(&format!("links to the skills could not be made: {}", error.message())),
    };
}
