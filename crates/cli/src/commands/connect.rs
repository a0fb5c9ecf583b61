//! `rep connect`.

mod apply;
mod args;
mod overview;
mod report;

pub(crate) use args::ConnectArgs;

use repertoire_app::hook::prepare;
use repertoire_app::workspace::{ChangeSite, settings};
use repertoire_clients::connect::{self, ConnectAction, OwnEntries};
use repertoire_clients::{CLIENTS, Client, Places, hook};

use crate::env::Env;
use crate::error::CliError;
use crate::exit::Exit;
use crate::globals::Globals;
use crate::ui::Ui;
use crate::wire::{load, with_settings};

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, env: Env, globals: Globals, args: &ConnectArgs) -> Result<Exit, CliError> {
    if args.names_no_client() {
        return overview::run(ui, &load(ui, env, &globals)?);
    }
    let (places, options) = (env.places(), args.options());
    let chosen = chosen(&places, args)?;
    let server = connect::server(&places, &args.server(&globals))?;
    let ours = OwnEntries::new(&places).or_asked(&server);
    let site = (!args.dry_run).then(|| ChangeSite::of(&env, args.owner())).transpose()?;
    // Errors of the configuration are reported by the commands that need it.
    let settings = settings::load(&env, &globals.workspace_options());
    let workspace = settings.ok().map(|settings| with_settings(ui, env, &globals, settings));
    if let (Some(workspace), Some(agent)) = (&workspace, &args.agent) {
        workspace.expect_agent(agent)?;
    }
    // The lock covers reading and writing, unless a person is asked in between, who must not block others.
    let lock = site.as_ref().filter(|_| args.yes).map(ChangeSite::begin).transpose()?;
    let mut plans = if args.hooks {
        hook::plan(&places, &chosen, &server, options.owner)
    } else {
        connect::plan(&places, &ours, &chosen, &server, &options)
    };
    if options.action == ConnectAction::Connect && !args.hooks {
        connect::warn_of_second(&ours, &places, &args.name, &mut plans);
    }
    let exit = apply::run(ui, site.as_ref(), lock, &server, args, plans)?;
    if let Some(workspace) = workspace.filter(|_| args.hooks && !args.dry_run) {
        prepare(&workspace);
    }
    Ok(exit)
}

/// Returns the clients that the arguments select.
fn chosen(places: &Places, args: &ConnectArgs) -> Result<Vec<&'static Client>, CliError> {
    if !args.all {
        let mut chosen: Vec<&'static Client> = Vec::new();
        for client in args.clients.iter().filter_map(|word| Client::named(word)) {
            if !chosen.iter().any(|earlier| earlier.id == client.id) {
                chosen.push(client);
            }
        }
        return Ok(chosen);
    }
    let has_file = |client: &&Client| {
        if args.hooks {
            client.hooks.is_some()
        } else {
            !places.configuration(client, args.owner()).is_empty()
        }
    };
    let is_there = |client: &&Client| places.is_there(client);
    let chosen: Vec<&'static Client> = CLIENTS.iter().filter(has_file).filter(is_there).collect();
    if chosen.is_empty() {
        let ids: Vec<&str> = CLIENTS.iter().map(|client| client.id).collect();
        return Err(CliError::no("none of the clients that are known was found")
            .hint(format!("name one: {}", ids.join(", "))));
    }
    Ok(chosen)
}
