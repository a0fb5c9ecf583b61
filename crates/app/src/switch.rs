//! Switches skills off and on in the configuration.

use repertoire::Entry;
use repertoire::change::ChangeSteps;
use repertoire::config::{ConfigFileOwner, FILE_NAME};
use repertoire_clients::Owner;
use repertoire_clients::disable::{self, ClientChanges, DisabledList, matched};
use repertoire_model::Pattern;

use crate::error::Error;
use crate::workspace::{ChangeSite, Workspace, settings};

/// Switches the skill off or on in the user's configuration. Returns the patterns of all skills that are disabled now.
pub fn switch(workspace: &Workspace, entry: &Entry, is_on: bool) -> Result<Vec<Pattern>, Error> {
    // The configuration may have changed since the server was started.
    let workspace = workspace.reloaded()?;
    let library = workspace.inspect(workspace.settings.policy.clone());
    let name = entry.name().to_string();
    let pattern =
        Pattern::new(&name).map_err(|fault| Error::usage(format!("`{name}` is not a pattern: {fault}")))?;
    let elsewhere =
        "where the configuration is kept elsewhere, change `disabled` there and start the server again";
    // A file that is named belongs to no one, and is written alone.
    let is_named = workspace.config_input().file.is_some();
    let site = ChangeSite::of(&workspace.env, if is_named { Owner::Project } else { Owner::User })?;
    let lock = site.begin()?;
    let mut list = disabled_list(&workspace, None)?;
    let mut changes =
        if list.is_named() { None } else { ClientChanges::open(workspace.env.places(), Owner::User, None)? };
    let mut steps = Vec::new();
    if is_on {
        list.remove(&pattern);
        if let Some(changes) = &mut changes {
            changes.enable(&pattern);
            steps = changes.enable_steps()?;
        }
    } else {
        if !list.patterns().contains(&pattern) {
            list.add(&pattern);
        }
        if let Some(changes) = &mut changes {
            changes.disable(&pattern, &matched(&library.snapshot, &pattern), &library.places)?;
            steps = changes.disable_steps()?;
        }
    }
    steps.extend(list.step());
    let command = if is_on { "rep enable" } else { "rep disable" };
    site.apply(&lock, &ChangeSteps { command, steps, ..ChangeSteps::default() })
        .map_err(|error| error.hint(elsewhere))?;
    drop(lock);
    let settings = settings::load(&workspace.env, &workspace.options)?;
    if is_on && settings.disabled_by(&entry.source, &name).next().is_some() {
        return Err(Error::no(format!("`{name}` is still disabled by another pattern or file")));
    }
    Ok(settings.policy.disabled)
}

/// Reads the list of the configuration file of `owner`, or of the one that is written by default: that which
/// is named, or else the user's.
pub fn disabled_list(workspace: &Workspace, owner: Option<Owner>) -> Result<DisabledList, Error> {
    let input = workspace.config_input();
    let is_named = input.file.is_some();
    if is_named && owner.is_some() {
        let message = "`--project` and `--user` choose a file, and the configuration file is named already";
        return Err(Error::usage(message).hint("leave out either that, or `--config` and REPERTOIRE_CONFIG"));
    }
    let owner = match owner {
        _ if is_named => ConfigFileOwner::Named,
        Some(Owner::Project) => ConfigFileOwner::Project,
        Some(Owner::User) | None => ConfigFileOwner::User,
    };
    let none = || {
        Error::usage("there is no home directory, and so no configuration file of the user")
            .hint(format!("`--project` writes {FILE_NAME} of the project"))
    };
    Ok(DisabledList::open(input.file_of(owner).ok_or_else(none)?, owner)?)
}

/// Returns a sentence about each client that reads the skill of `entry` from files although it is disabled.
pub fn still_read(workspace: &Workspace, entry: &Entry) -> Vec<String> {
    // A skill of a store is in no files of clients.
    if entry.identity.is_none() {
        return Vec::new();
    }
    let (places, _) = workspace.places(&workspace.settings.policy);
    disable::still_read(&workspace.env.places(), &places, entry)
}
