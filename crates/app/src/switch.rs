//! Switches skills off and on in the configuration.

use repertoire::Entry;
use repertoire::change::{ChangeSteps, PathStep, TakenBack};
use repertoire::config::{ConfigFileOwner, FILE_NAME};
use repertoire_clients::Owner;
use repertoire_clients::disable::{self, ChangeState, ClientChanges, DisabledList, matched};
use repertoire_model::Pattern;

use crate::error::Error;
use crate::workspace::{ChangeSite, Workspace, settings};

/// Switches the skill off or on in the user's configuration. Returns the patterns of all disabled skills.
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
    let steps = if is_on {
        switched_on(&workspace, Owner::User, None, &[pattern])?.change.steps
    } else {
        let mut list = disabled_list(&workspace, None)?;
        if !list.patterns().contains(&pattern) {
            list.add(&pattern);
        }
        let mut steps: Vec<PathStep> = list.step().into_iter().collect();
        let places = workspace.env.places();
        let changes = if is_named { None } else { ClientChanges::open(places, Owner::User, None)? };
        if let Some(mut changes) = changes {
            changes.disable(&pattern, &matched(&library.snapshot, &pattern), &library.places)?;
            steps.extend(changes.disable_steps()?);
        }
        steps
    };
    let command = if is_on { "rep enable" } else { "rep disable" };
    let change = ChangeSteps { command, about: vec![name.clone()], steps, ..ChangeSteps::default() };
    let note = site.apply(&lock, &change).map_err(|error| error.hint(elsewhere))?;
    note.iter().for_each(|note| workspace.reporter.warn(note));
    drop(lock);
    let settings = settings::load(&workspace.env, &workspace.options)?;
    if is_on && settings.disabled_by(&entry.source, &name).next().is_some() {
        return Err(Error::no(format!("`{name}` is still disabled by another pattern or file")));
    }
    Ok(settings.policy.disabled)
}

/// Plans to switch on the skills of `patterns` for `client`, or for all agents, in the configuration of
/// `owner` or in the one that is named.
pub fn switched_on(
    workspace: &Workspace,
    owner: Owner,
    client: Option<&str>,
    patterns: &[Pattern],
) -> Result<TakenBack, Error> {
    let mut back = TakenBack::default();
    let is_named = workspace.config_input().file.is_some();
    if client.is_none() {
        let mut list = disabled_list(workspace, (!is_named).then_some(owner))?;
        patterns.iter().for_each(|pattern| _ = list.remove(pattern));
        back.change.steps.extend(list.step());
    }
    if let Some(mut changes) = ClientChanges::open(workspace.env.places(), owner, client)?
        && !(is_named && client.is_none())
    {
        patterns.iter().for_each(|pattern| _ = changes.enable(pattern));
        back.change.steps.extend(changes.enable_steps()?);
        let left = changes.lines.into_iter().filter(|line| line.state != ChangeState::Planned);
        back.changed.extend(left.map(|line| (line.path.into(), line.reason.unwrap_or_default())));
    }
    Ok(back)
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
