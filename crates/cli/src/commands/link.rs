//! `rep link`.

mod apply;
mod args;
mod report;

pub(crate) use args::LinkArgs;

use repertoire::{Entry, State};
use repertoire_clients::connect::{OwnEntries, connections};
use repertoire_clients::link::{self, LinkedSkill};
use repertoire_clients::{Client, Owner, Places, paths};

use self::report::Notes;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::Ui;
use crate::wire::{Library, Workspace};

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, args: &LinkArgs) -> Result<Exit, CliError> {
    let places = workspace.env.places();
    let base = places.base(args.place.owner(&workspace.env)).ok_or_else(|| {
        CliError::usage("there is no home directory to link skills in").hint("set HOME, or use `--project`")
    })?;
    let named: Vec<&'static Client> = args.clients.iter().filter_map(|word| Client::named(word)).collect();
    let connections = connections(&OwnEntries::new(&places), &places);
    let (clients, mut skipped) =
        link::chosen(&connections, &places, args.place.owner(&workspace.env), args.connected(), named)?;
    let library = workspace.open()?;
    let (skills, left_out) = skills(workspace, &library, &places, args)?;
    let skills: Vec<LinkedSkill<'_>> = skills.into_iter().map(LinkedSkill::of).collect();
    let mut plan = link::plan(&places, args.place.owner(&workspace.env), &base, &clients, &skills)?;
    skipped.append(&mut plan.refused);
    let warnings = link::warnings(library.opened(), &places, &connections, &clients, &plan.steps);
    apply::run(ui, workspace, args, &base, plan, &Notes { skipped, left_out, warnings })
}

/// Returns the skills that are meant, and how many are left out because they lie outside.
fn skills<'l>(
    workspace: &Workspace,
    library: &'l Library,
    places: &Places,
    args: &LinkArgs,
) -> Result<(Vec<&'l Entry>, usize), CliError> {
    let agent = args.agent.as_ref().map(|name| workspace.agent(name)).transpose()?;
    let is_seen = |entry: &&Entry| agent.as_ref().is_none_or(|agent| agent.sees(entry));
    if !args.skill.is_empty() {
        let enabled = |name: &String| match library.find(name)? {
            entry if entry.state == State::Disabled => Err(workspace.disabled_error(entry)),
            entry => Ok(entry),
        };
        let found: Result<Vec<&Entry>, CliError> = args.skill.iter().map(enabled).collect();
        return Ok((found?.into_iter().filter(is_seen).collect(), 0));
    }
    let seen: Vec<&Entry> = library.snapshot.active().filter(is_seen).collect();
    // Directories that were named are meant, wherever they lie.
    if !workspace.options.roots.is_empty() {
        return Ok((seen, 0));
    }
    let project = paths::resolved(places.project());
    let is_home = places.base(Owner::User).is_some_and(|home| paths::resolved(&home) == project);
    let is_inside = |entry: &&Entry| paths::of(entry).starts_with(&project);
    let (inside, outside): (Vec<&Entry>, Vec<&Entry>) = seen.into_iter().partition(is_inside);
    Ok(match args.place.owner(&workspace.env) {
        Owner::User if is_home => (inside, 0),
        Owner::User => (outside, inside.len()),
        Owner::Project => (inside, outside.len()),
    })
}
