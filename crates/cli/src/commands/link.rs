//! `rep link`.

mod added;
mod apply;
mod args;
mod copy;
mod disabled_clients;
pub(crate) mod paths;
mod plan;
mod record;
pub(crate) mod record_file;
mod report;
mod switched;
mod undo;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

pub(crate) use added::{AddedLinks, forget_links, link_added, link_completed, links_to, missing_links};
pub(crate) use apply::make_link;
pub(crate) use args::LinkArgs;
pub(crate) use disabled_clients::{DISABLED_FILE, DisabledClient, client_readers, disabled_for_clients};
use plan::{LinkStep, Occupancy, SkippedClient};
pub(crate) use record::{RecordedLink, recorded};
use repertoire::{Entry, State};
use report::Notes;
pub(crate) use report::Warning;
pub(crate) use switched::{RestoredLink, links_to_skill, remove_links, restore_links};
pub(crate) use undo::remove_link;

use crate::clients::{CANONICAL, CLIENTS, Client, Owner, Places};
use crate::commands::connect::{self, Connection, Files, OwnEntries, connected_to_all, connections, present};
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::Ui;
use crate::wire::{Context, Library};

/// Records the link at `path` that says `to`, which another command made for `clients`, so that `--undo` removes it.
pub(crate) fn record_link(
    places: &Places,
    owner: Owner,
    base: &Path,
    path: &Path,
    to: &Path,
    clients: Vec<String>,
) -> Result<(), CliError> {
    let mut record = record::Record::load(places, owner, base)?;
    let to = Some(to.to_string_lossy().into_owned());
    record.add(record::RecordedLink { path: paths::shown(base, path), to, digest: None, clients });
    record.save(base)
}

/// Removes the link at `path` from the record.
pub(crate) fn forget_link(places: &Places, owner: Owner, base: &Path, path: &Path) -> Result<(), CliError> {
    let mut record = record::Record::load(places, owner, base)?;
    record.forget(base, path);
    record.save(base)
}

/// Returns the links that were made and lead nowhere by now, as they are shown, with the command that removes all links.
pub(crate) fn dangling(places: &Places) -> Vec<(Vec<String>, &'static str)> {
    let of_owner = |owner: Owner| {
        let base = places.base(owner)?;
        let record = record::Record::load(places, owner, &base).ok()?;
        let leads_nowhere = |made: &&record::RecordedLink| {
            let path = made.place(places, owner, &base).filter(|_| made.to.is_some());
            let leads_out = |path: &Path| path.parent().is_none_or(|it| paths::leads_out(places, owner, it));
            let path = path.filter(|path| path.is_symlink() && !leads_out(path));
            path.is_some_and(|path| matches!(path.try_exists(), Ok(false)))
        };
        let links: Vec<String> =
            record.made.iter().filter(leads_nowhere).map(|made| made.path.clone()).collect();
        let command = if owner == Owner::User { "rep link --undo --user" } else { "rep link --undo" };
        (!links.is_empty()).then_some((links, command))
    };
    [Owner::Project, Owner::User].into_iter().filter_map(of_owner).collect()
}

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, context: &Context, args: &LinkArgs) -> Result<Exit, CliError> {
    let places = Places::new(&context.env);
    let base = places.base(args.owner()).ok_or_else(|| {
        CliError::usage("there is no home directory to link skills in").hint("set HOME, or leave --user out")
    })?;
    let named: Vec<&'static Client> = args.clients.iter().filter_map(|word| connect::client(word)).collect();
    if args.undo {
        return undo::run(ui, context, &places, args, &base, &named);
    }
    let connections = connections(&OwnEntries::new(&context.env), &places);
    let (clients, mut skipped) = chosen(&connections, &places, args, named)?;
    let library = context.open()?;
    let (skills, left_out) = skills(context, &library, &places, args)?;
    let mut plan = plan::plan(&library, &places, args, &base, &clients, &skills)?;
    skipped.append(&mut plan.refused);
    let warnings = warnings(&library, &places, &connections, &clients, &plan.steps);
    apply::run(ui, &library, args, &base, plan, &Notes { skipped, left_out, warnings })
}

/// Returns the clients that are meant, and those that are left out.
fn chosen(
    connections: &[Connection],
    places: &Places,
    args: &LinkArgs,
    named: Vec<&'static Client>,
) -> Result<(Vec<&'static Client>, Vec<SkippedClient>), CliError> {
    let is_named = !named.is_empty();
    let clients = if is_named { named } else { found(places, args.owner()) };
    if clients.is_empty() {
        let ids =
            CLIENTS.iter().filter(|client| !client.directories().project.is_empty()).map(|client| client.id);
        let ids: Vec<&str> = ids.collect();
        return Err(CliError::no("none of the clients that read skills was found")
            .hint(format!("name one: {}", ids.join(", "))));
    }
    let (mut chosen, mut skipped) = (Vec::new(), Vec::new());
    let to_all = connected_to_all(connections);
    for client in clients {
        let connection = connections.iter().find(|connection| connection.client.id == client.id);
        let mut skip =
            |reason: String, is_refusal| skipped.push(SkippedClient { client, reason, is_refusal });
        if places.skills(client, args.owner()).is_empty() {
            skip(format!("{} reads no skills from files", client.title()), is_named);
        } else if !args.force && to_all.contains(client.id) {
            skip(
                format!(
                    "{} is connected to the MCP server, which offers it every skill, and needs no links; --force makes \
                     them all the same",
                    client.title(),
                ),
                is_named,
            );
        } else if let Some(connection) = connection.filter(|_| !args.force) {
            skip(
                format!(
                    "{} is connected to the MCP server and would be offered every skill twice; {}, or link all the same \
                     with --force",
                    client.title(),
                    connection.undo_in_words(),
                ),
                is_named,
            );
        } else {
            chosen.push(client);
        }
    }
    Ok((chosen, skipped))
}

/// Returns warnings about clients that would be offered skills twice by `steps`: those that links are made for, those of which
/// there is a sign, and those that are connected.
fn warnings(
    library: &Library,
    places: &Places,
    connections: &[Connection],
    linked: &[&'static Client],
    steps: &[LinkStep<'_>],
) -> Vec<Warning> {
    let made = steps.iter().filter(|step| matches!(step.occupancy, Occupancy::Free));
    let names: BTreeSet<String> = made.clone().map(|step| step.entry.name().to_string()).collect();
    let planned = made.map(|step| (step.path.clone(), paths::of(step.entry))).collect();
    let files = Files::new(library, places, connections, planned, linked);
    let mut present = present(places, connections);
    present.extend(linked);
    present.sort_by_key(|client| client.id);
    present.dedup_by_key(|client| client.id);
    let mut warnings = Vec::new();
    for client in CLIENTS {
        let connection = connections.iter().find(|connection| connection.client.id == client.id);
        let is_linked = linked.iter().any(|linked| linked.id == client.id);
        if !is_linked && connection.is_none() && !places.is_there(client) {
            continue;
        }
        // A server that is confined to directories of its own may offer other skills.
        if connection.is_some_and(|connection| !connection.roots().is_empty()) {
            continue;
        }
        if let Some((message, hint)) = files.offered_twice(places, client, connection, &names, &present) {
            warnings.push(Warning { message: format!("with these links {message}"), hint });
        }
    }
    warnings
}

/// Returns the warnings about clients that read some of the skills `names` twice because of links that were made.
fn warnings_after(
    library: &Library,
    places: &Places,
    connections: &[Connection],
    names: &BTreeSet<String>,
) -> Vec<Warning> {
    let files = Files::new(library, places, connections, BTreeMap::new(), &[]);
    let present = present(places, connections);
    let there = present.iter().filter(|client| places.is_there(client));
    let warning = |client: &&'static Client| {
        let (message, hint) = files.offered_twice(places, client, None, names, &present)?;
        Some(Warning { message, hint })
    };
    there.filter_map(warning).collect()
}

/// Returns the clients that read skills and of which there is a sign, in the home directory or in the project.
fn found(places: &Places, owner: Owner) -> Vec<&'static Client> {
    let has_directory = |client: &Client| {
        // The one place is no sign of a particular client.
        let own = places.skills(client, Owner::Project).into_iter().find(|own| !own.ends_with(CANONICAL));
        own.and_then(|own| own.parent().map(Path::is_dir)).unwrap_or(false)
    };
    let reads = CLIENTS.iter().filter(|client| !places.skills(client, owner).is_empty());
    reads
        .filter(|client| places.is_there(client) || (owner == Owner::Project && has_directory(client)))
        .collect()
}

/// Returns the skills that are meant, and how many are left out because they lie outside.
fn skills<'l>(
    context: &Context,
    library: &'l Library,
    places: &Places,
    args: &LinkArgs,
) -> Result<(Vec<&'l Entry>, usize), CliError> {
    let agent = args.agent.as_ref().map(|name| context.agent(name)).transpose()?;
    let is_seen = |entry: &&Entry| agent.as_ref().is_none_or(|agent| agent.sees(entry));
    if !args.skill.is_empty() {
        let enabled = |name: &String| match library.find(name)? {
            entry if entry.state == State::Disabled => Err(context.disabled_error(entry)),
            entry => Ok(entry),
        };
        let found: Result<Vec<&Entry>, CliError> = args.skill.iter().map(enabled).collect();
        return Ok((found?.into_iter().filter(is_seen).collect(), 0));
    }
    let seen: Vec<&Entry> = library.snapshot.active().filter(is_seen).collect();
    // Directories that were named are meant, wherever they lie.
    if !context.globals.root.is_empty() {
        return Ok((seen, 0));
    }
    let project = paths::resolved(places.project());
    let is_home = places.base(Owner::User).is_some_and(|home| paths::resolved(&home) == project);
    let is_inside = |entry: &&Entry| paths::of(entry).starts_with(&project);
    let (inside, outside): (Vec<&Entry>, Vec<&Entry>) = seen.into_iter().partition(is_inside);
    Ok(match args.owner() {
        Owner::User if is_home => (inside, 0),
        Owner::User => (outside, inside.len()),
        Owner::Project => (inside, outside.len()),
    })
}
