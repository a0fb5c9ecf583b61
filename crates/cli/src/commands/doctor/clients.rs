//! Which clients are connected, and whether a skill is offered to one of them by more than one path.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::check::Status;
use super::checks::Checks;
use crate::clients::{CLIENTS, Owner, Places};
use crate::commands::connect::{Files, Ours, connections, describe_beside, describe_twice, offered_names};
use crate::commands::link;
use crate::globals::Globals;
use crate::wire::{Context, Library};
use repertoire::config::FileTrust;

/// The most links that are named one by one.
const MAX_NAMED: usize = 5;

impl Checks {
    /// Warns of links that were made to skills which are no longer there.
    pub(super) fn links(&mut self, context: &Context) {
        for (links, undo) in link::dangling(&Places::new(&context.env)) {
            let mut named: Vec<&str> = links.iter().take(MAX_NAMED).map(String::as_str).collect();
            if links.len() > MAX_NAMED {
                named.push("and more");
            }
            let message = match links.len() {
                1 => format!("a link leads nowhere: {}", named.join(", ")),
                number => format!("{number} links lead nowhere: {}", named.join(", ")),
            };
            let hint = format!("their skills are gone; remove the links, or all of them with `{undo}`");
            self.add(Status::Warn, "link", message, Some(&hint));
        }
    }

    /// Tells of every client that is connected, and warns where it reads the same skills from files.
    pub(super) fn clients(&mut self, context: &Context, library: &Library) {
        let places = Places::new(&context.env);
        for connection in connections(&Ours::new(&context.env), &places) {
            let title = connection.client.title;
            let roots = connection.roots();
            let roots: Vec<PathBuf> = roots.iter().map(|root| places.project().join(root)).collect();
            // A server that is confined to some directories offers nothing else; which, a clone may not make us look at.
            let trust = FileTrust::Within(places.project().to_owned());
            let is_strange = |root: &PathBuf| trust.objection_to_path("", root).is_some();
            let names = if roots.is_empty() {
                offered_names(library)
            } else if connection.owner == Owner::Project && roots.iter().any(is_strange) {
                BTreeSet::new()
            } else {
                let globals = Globals { root: roots, ..context.globals.clone() };
                let settings = context.settings.clone();
                let confined = Context { env: context.env.clone(), globals, settings };
                offered_names(&confined.inspect(context.settings.policy.clone()))
            };
            let path = context.shown(&connection.path.display().to_string());
            let overlap = Files::default().read_by(&places, connection.client, &names);
            if overlap.names.is_empty() {
                self.ok("client", format!("{title} is connected ({path})"));
                continue;
            }
            let message = describe_beside(connection.client, &path, &overlap);
            let undo = match connection.undo_command() {
                Some(undo) => format!("run `{undo}`"),
                None => format!("remove its entry from {path} by hand"),
            };
            let hint = match link::undo_command(&places, connection.client) {
                Some(unlink) => format!("a skill is best offered one way: {undo}, or `{unlink}`"),
                None => format!("a skill is best offered one way: {undo}, or move the skills elsewhere"),
            };
            self.add(Status::Warn, "client", message, Some(&hint));
        }
    }

    /// Warns of clients that are there and read the same skill from more than one directory.
    pub(super) fn files_read_twice(&mut self, context: &Context, library: &Library) {
        let places = Places::new(&context.env);
        let names = offered_names(library);
        let connections = connections(&Ours::new(&context.env), &places);
        for client in CLIENTS.iter().filter(|client| places.is_there(client)) {
            let twice = Files::default().read_twice_by(&places, client, &names);
            if twice.names.is_empty() {
                continue;
            }
            let hint = match link::instead_of_links(&places, &connections, &twice.directories) {
                Some((unlink, None)) => format!(
                    "a skill is best offered by one path: `{unlink}` removes links there, and the server offers \
                     the skills already"
                ),
                Some((unlink, Some(connect))) => format!(
                    "a skill is best offered by one path: `{unlink}` removes links there, and `{connect}` serves the \
                     skills instead"
                ),
                None => "a skill is best offered by one path: keep it in one of the directories, and serve the skills to \
                         the clients that read only the other with `rep connect`"
                    .to_owned(),
            };
            self.add(Status::Warn, "client", describe_twice(client, &twice), Some(&hint));
        }
    }
}
