//! Shows the plan, asks, and makes the links.

use std::collections::BTreeSet;
use std::path::Path;

use repertoire_app::workspace::ChangeSite;
use repertoire_clients::link::{LinkPlan, NewLinks, Occupancy, Warning};
use repertoire_clients::paths;

use super::args::LinkArgs;
use super::report::{self, LinkLine, LinkState, Notes};
use crate::error::{CliError, not_written};
use crate::exit::Exit;
use crate::ui::{Consent, Style, Ui};
use crate::wire::Workspace;

/// Shows `plan`, and carries it out if that is wanted.
pub(super) fn run(
    ui: &mut Ui,
    workspace: &Workspace,
    args: &LinkArgs,
    base: &Path,
    mut plan: LinkPlan<'_>,
    notes: &Notes,
) -> Result<Exit, CliError> {
    let owner = args.place.owner(&workspace.env);
    let free = plan.steps.iter().filter(|step| step.is_free()).count();
    for step in plan.steps.iter().filter(|step| step.is_free()) {
        let path = paths::shown(base, &step.path);
        let line = if args.copy {
            format!("+ {path} (a copy of {})", paths::shown(base, &step.skill.directory))
        } else {
            format!("+ {path} -> {}", step.to.display())
        };
        ui.write_planned(Some(Style::Added), &line)?;
    }
    for Warning { message, hint } in &notes.warnings {
        ui.warn(message)?;
        ui.hint(hint)?;
    }
    let consent = match free {
        0 => Consent::Given,
        _ if args.dry_run => Consent::Refused,
        1 => ui.consent("make it?", args.yes)?,
        _ => ui.consent(&format!("make these {free}?"), args.yes)?,
    };
    let mut made = Vec::new();
    if consent == Consent::Given && !args.dry_run {
        let NewLinks { links, mut change, .. } = plan.new_links(args.kind(), base)?;
        let clients: BTreeSet<&String> = links.iter().flat_map(|link| &link.clients).collect();
        (change.command, change.about) = ("rep link", clients.into_iter().cloned().collect());
        // The directory of the state need not be writable if nothing changes.
        if !change.skills.is_empty() || !change.steps.is_empty() {
            let site = ChangeSite::of(&workspace.env, owner)?;
            ui.warn_all(&site.apply(&site.begin()?, &change)?)?;
        }
        made = links;
    }
    let mut made = made.into_iter();
    let mut lines = Vec::new();
    for step in &plan.steps {
        let mut line = LinkLine::of(base, step);
        if step.is_free()
            && let Some(made) = made.next()
        {
            line.state = if made.to.is_some() { LinkState::Linked } else { LinkState::Copied };
        }
        lines.push(line);
    }
    report::write(ui, args, owner, base, &lines, notes, plan.reached)?;
    if consent != Consent::Given && !args.dry_run {
        return Err(not_written(consent, format!("{free} would be made")));
    }
    let is_taken = plan.steps.iter().any(|step| matches!(step.occupancy, Occupancy::Taken(_)));
    let is_refused = notes.skipped.iter().any(|skipped| skipped.is_refusal);
    Ok(if is_taken || is_refused { Exit::No } else { Exit::Success })
}
