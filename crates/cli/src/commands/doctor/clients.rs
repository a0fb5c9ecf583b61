//! Which clients are connected, and whether a skill is offered to one of them by more than one path.

use super::Status;
use super::checks::Checks;
use crate::cli::Globals;
use crate::clients::Places;
use crate::commands::connect::{connections, offered_names, overlap};
use crate::wire::{Context, Library};

impl Checks {
    /// Tells of every client that is connected, and warns where it reads the same skills from files.
    pub(super) fn clients(&mut self, context: &Context, library: &Library) {
        let places = Places::new(&context.env);
        for connection in connections(&places) {
            let title = connection.client.title;
            let roots = connection.roots();
            // A server that is confined to some directories offers nothing else.
            let names = if roots.is_empty() {
                offered_names(library)
            } else {
                let roots = roots.iter().map(|root| places.project().join(root)).collect();
                let globals = Globals { root: roots, ..context.globals.clone() };
                let settings = context.settings.clone();
                let confined = Context { env: context.env.clone(), globals, settings };
                offered_names(&confined.inspect(context.settings.policy.clone()))
            };
            let path = context.shown(&connection.path.display().to_string());
            let overlap = overlap(&places, connection.client, &names);
            if overlap.names.is_empty() {
                self.ok("client", format!("{title} is connected ({path})"));
                continue;
            }
            let message =
                format!("{title} is connected ({path}) and also reads {} by itself", overlap.told());
            let hint = format!(
                "a skill is best offered one way: run `{}`, or `rep link --undo {}` where it was linked",
                connection.undo_command(),
                connection.client.id
            );
            self.add(Status::Warn, "client", message, Some(&hint));
        }
    }
}
