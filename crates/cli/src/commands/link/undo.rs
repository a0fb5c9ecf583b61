//! Shows which links and copies are removed, asks, and removes them.

use std::path::Path;

use repertoire::change::ChangeSteps;
use repertoire_app::workspace::ChangeSite;
use repertoire_clients::link::{LinkRemoval, RemovalState, RemovedLink};
use repertoire_clients::{Client, Places};

use super::args::LinkArgs;
use super::report::{self, LinkLine, Notes};
use crate::error::{CliError, not_written};
use crate::exit::Exit;
use crate::ui::{Consent, Style, Ui};
use crate::wire::Workspace;

/// Removes the links and copies made for the clients in `named`, or for all clients if it is empty.
pub(super) fn run(
    ui: &mut Ui,
    workspace: &Workspace,
    places: &Places,
    args: &LinkArgs,
    base: &Path,
    named: &[&'static Client],
) -> Result<Exit, CliError> {
    let mut removal = LinkRemoval::plan(places, args.owner(places), base, named)?;
    let is_planned = |removed: &&RemovedLink| removed.state == RemovalState::Planned;
    for removed in removal.links.iter().filter(is_planned) {
        ui.write_planned(Some(Style::Removed), &format!("- {}", removed.link.path))?;
    }
    ui.flush()?;
    let planned = removal.links.iter().filter(is_planned).count();
    let consent = match planned {
        _ if args.dry_run => Consent::Refused,
        0 => Consent::Given,
        number => ui.consent(&format!("remove {number}?"), args.yes)?,
    };
    if consent == Consent::Given {
        let site = ChangeSite::of(&workspace.env, args.owner(places))?;
        let lock = site.begin()?;
        // They may have changed while the user was asked.
        removal = LinkRemoval::plan(places, args.owner(places), base, named)?;
        let change = ChangeSteps { command: "rep link --undo", ..removal.change(base)? };
        site.apply(&lock, &change)?;
        removal.finish(base);
    }
    let lines: Vec<LinkLine> = removal.links.iter().map(LinkLine::of_removed).collect();
    report::write(ui, args, args.owner(places), base, &lines, &Notes::default(), 0)?;
    if consent != Consent::Given && !args.dry_run {
        let what = format!("{planned} would be removed");
        return Err(not_written(consent, &what, "`--yes` removes them without asking"));
    }
    let is_changed = removal.links.iter().any(|removed| matches!(removed.state, RemovalState::Changed(_)));
    Ok(if is_changed { Exit::No } else { Exit::Success })
}
