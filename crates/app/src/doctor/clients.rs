//! Checks the connected clients, and skills that are offered to one of them by more than one path.

use std::collections::BTreeMap;

use repertoire_clients::connect::{
    ClientFiles, OwnEntries, broken_files, connections, offered_names, present,
};
use repertoire_clients::link;
use repertoire_model::text::{count, list};

use super::checks::{Checks, MAX_NAMED};
use crate::explain::first_of;
use crate::listing::listings;
use crate::view::CheckStatus as Status;
use crate::workspace::{Library, Workspace, WorkspaceOptions, settings};

impl Checks {
    /// Warns of links that were made to skills which are no longer there.
    pub(super) fn links(&mut self, workspace: &Workspace) {
        for links in link::dangling(&workspace.env.places()) {
            let lead = if links.len() == 1 { "leads" } else { "lead" };
            let message = format!(
                "{} {lead} nowhere: {}",
                count(links.len(), "link"),
                first_of(&links, MAX_NAMED, "more")
            );
            let hint = "their skills are gone: take the links back by their number in `rep undo --list`";
            self.add(Status::Warn, "link", message, Some(hint));
        }
    }

    /// Reports every connected client.
    pub(super) fn clients(&mut self, workspace: &Workspace) {
        let places = workspace.env.places();
        for (path, (client, fault)) in broken_files(&places) {
            let line = fault.line.map(|line| format!(", line {line}")).unwrap_or_default();
            let path = workspace.shown(&path.display().to_string());
            let message = format!(
                "the configuration of {} cannot be parsed: {} ({path}{line})",
                client.title(),
                fault.message
            );
            self.add(Status::Warn, "client", message, Some("correct the file"));
        }
        let connections = connections(&OwnEntries::new(&places), &places);
        for connection in connections {
            if let Some((message, hint)) = connection.fault(&places) {
                self.add(Status::Warn, "client", message, Some(&hint));
                continue;
            }
            let path = workspace.shown(&connection.path.display().to_string());
            let title = connection.client.title();
            if let Some(outside) = connection.path_outside(&places) {
                let outside = outside.display();
                self.info(
                    "client",
                    format!(
                        "{title} uses {outside}, which is outside of the project and not looked at ({path})"
                    ),
                );
                continue;
            }
            let config = connection.config().map(|file| places.project().join(file));
            let settings =
                settings::load(&workspace.env, &WorkspaceOptions { config, ..WorkspaceOptions::default() });
            // Errors of a configuration are reported by the commands that need it.
            if let Some((message, hint)) =
                settings.ok().and_then(|settings| connection.refused_argument(&settings))
            {
                self.add(Status::Warn, "client", message, Some(&hint));
                continue;
            }
            self.ok("client", format!("{title} is connected ({path})"));
        }
    }

    /// Warns of clients whose listing is too short for the skills that they read from files.
    pub(super) fn listings(&mut self, workspace: &Workspace, library: &Library) {
        let lossy = listings(workspace, library).into_iter().filter(|listing| !listing.losses().is_empty());
        let lossy: Vec<_> = lossy.map(|it| (it.client, format!("{}: {}", it.title, it.losses()))).collect();
        let Some((first, _)) = lossy.first() else { return };
        let hint = format!("run `rep list --client {first}` to see which, and what brings most");
        let clients: Vec<&str> = lossy.iter().map(|(_, words)| words.as_str()).collect();
        let message = format!("models do not get all of the skills; {}", clients.join("; "));
        self.add(Status::Warn, "listing", message, Some(&hint));
    }

    /// Warns of clients that are there and read the same skill from more than one directory.
    pub(super) fn files_read_twice(&mut self, workspace: &Workspace, library: &Library) {
        let places = workspace.env.places();
        let connections = connections(&OwnEntries::new(&places), &places);
        let (names, present) = (offered_names(&library.snapshot), present(&places, &connections));
        let files = ClientFiles::new(library.opened(), &places, &connections, BTreeMap::new(), &[]);
        // Clients with one advice are one thing to do.
        let mut advice: Vec<(String, String, Vec<&str>)> = Vec::new();
        for client in present.iter().filter(|client| places.is_there(client)) {
            let Some((message, hint)) = files.read_twice(client, &names, &present) else { continue };
            match advice.iter_mut().find(|(_, other, _)| *other == hint) {
                Some((.., others)) => others.push(client.title()),
                None => advice.push((message, hint, Vec::new())),
            }
        }
        for (mut message, hint, others) in advice {
            if !others.is_empty() {
                message += &format!("; so do {}", list(&others));
            }
            self.add(Status::Warn, "client", message, Some(&hint));
        }
    }
}
