//! Switches a skill off and on for the dashboard, as `rep disable` and `rep enable` do.

use repertoire::Entry;
use repertoire_app::workspace::settings;
use repertoire_clients::disable::{ClientChanges, DisabledList, matched};
use repertoire_model::Pattern;

use crate::disabling::FileArgs;
use crate::error::CliError;
use crate::wire::Context;

/// Switches the skill off or on in the user's configuration. Returns the patterns of all skills that are disabled now.
pub(super) fn switch(context: &Context, entry: &Entry, is_on: bool) -> Result<Vec<Pattern>, CliError> {
    // The configuration may have changed since the server was started.
    let context = context.reloaded()?;
    let library = context.inspect(context.settings.policy.clone());
    let name = entry.name().to_string();
    let pattern =
        Pattern::new(&name).map_err(|fault| CliError::usage(format!("`{name}` is no pattern: {fault}")))?;
    let args = FileArgs::default();
    let mut list = args.open_list(&context)?;
    let mut changes =
        if list.is_named() { None } else { ClientChanges::open(context.env.places(), args.owner(), None)? };
    if is_on {
        if list.remove(&pattern) {
            write(&list)?;
        }
        if let Some(changes) = &mut changes {
            changes.enable(&pattern);
            changes.apply_enable()?;
        }
    } else {
        if let Some(changes) = &mut changes {
            changes.disable(&pattern, &matched(&library.snapshot, &pattern), &library.places)?;
        }
        if !list.patterns().contains(&pattern) {
            list.add(&pattern);
            write(&list)?;
        }
        changes.iter_mut().try_for_each(ClientChanges::apply_disable)?;
    }
    let settings = settings::load(&context.env, &context.options)?;
    if is_on && settings.disabled_by(&entry.source, &name).next().is_some() {
        return Err(CliError::no(format!("`{name}` is still disabled by another pattern or file")));
    }
    Ok(settings.policy.disabled)
}

/// Writes the configuration; says what to do where the server may not.
fn write(list: &DisabledList) -> Result<(), CliError> {
    let elsewhere =
        "where the configuration is kept elsewhere, change `disabled` there and start the server again";
    list.write().map_err(|error| CliError::from(error).hint(elsewhere))
}
