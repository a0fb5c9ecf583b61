//! Answers the dashboard's questions about the surroundings of the library.

use std::sync::{Arc, OnceLock, Weak};

use repertoire::{Entry, Registry, Watcher};
use repertoire_clients::disable::still_read;
use repertoire_exec::{Launcher, probe};
use repertoire_model::toolbox::Toolbox;
use repertoire_model::{Digest, Pattern};
use repertoire_web::dashboard::{Decision, HealthItem, HealthState, Host, NewestVersion, SkillOrigin};

use super::switch;
use crate::commands::{approvals, explain, update};
use crate::wire::{Context, compared_origins};

/// The program around the dashboard.
pub(super) struct DashboardHost {
    context: Arc<Context>,
    /// The watcher of the library, once it was started; `None` if it could not be.
    watcher: OnceLock<Option<Weak<Watcher>>>,
    /// The sandbox that is used, once it was looked for.
    sandbox: OnceLock<HealthItem>,
}

impl DashboardHost {
    /// Returns the host for commands in `context`.
    pub(super) fn new(context: Arc<Context>) -> Self {
        Self { context, watcher: OnceLock::new(), sandbox: OnceLock::new() }
    }

    /// Notes the watcher of the library.
    pub(super) fn follows(&self, watcher: Option<&Arc<Watcher>>) {
        let _ = self.watcher.set(watcher.map(Arc::downgrade));
    }

    fn following(&self) -> HealthItem {
        let part = "watcher".to_owned();
        let mode = self.context.settings.reload.mode.as_str();
        let Some(watcher) = self.watcher.get().and_then(|watcher| watcher.as_ref()?.upgrade()) else {
            let detail = "changes are looked for when skills are used".to_owned();
            return HealthItem { part, state: HealthState::Off, detail };
        };
        match watcher.problems().first() {
            Some(problem) => {
                HealthItem { part, state: HealthState::Warning, detail: problem.diagnostic.message.clone() }
            }
            None => {
                let detail = format!("{mode}, {} directories watched", watcher.watches());
                HealthItem { part, state: HealthState::Ok, detail }
            }
        }
    }

    fn sandbox(&self) -> HealthItem {
        let part = "sandbox".to_owned();
        if !self.context.settings.exec.enabled {
            let detail = "tools and scripts of skills do not run here".to_owned();
            return HealthItem { part, state: HealthState::Off, detail };
        }
        let found = probe(&Launcher::CurrentExe);
        match found.best() {
            Some(sandbox) => {
                HealthItem { part, state: HealthState::Ok, detail: format!("{} works", sandbox.name()) }
            }
            None => HealthItem { part, state: HealthState::Error, detail: "none works here".to_owned() },
        }
    }
}

impl Host for DashboardHost {
    fn explain(&self, registry: &Registry, name: &str) -> Result<Vec<Decision>, String> {
        let decisions =
            explain::decisions(&self.context, registry, name).map_err(|error| error.message_with_causes())?;
        let decision = |(topic, text): (&str, String)| Decision { topic: topic.to_owned(), text };
        Ok(decisions.into_iter().map(decision).collect())
    }

    fn origins(&self, entry: &Entry) -> Vec<SkillOrigin> {
        let (places, _) = self.context.places(&self.context.settings.policy);
        let origins = self.context.origins_around(&places);
        let compared = compared_origins(&origins, entry);
        let origin = compared.iter().map(|compared| SkillOrigin {
            installer: compared.origin.installer.command().to_owned(),
            source: compared.origin.in_words(),
            state: compared.state_in_words(),
        });
        origin.collect()
    }

    fn approval(&self, entry: &Entry, digest: &Digest, toolbox: &Toolbox) -> Option<String> {
        approvals::state_of(&self.context, entry, digest, toolbox)
    }

    fn newest(&self, entry: &Entry) -> Result<Option<NewestVersion>, String> {
        let check = update::check_of(&self.context, entry).map_err(|error| error.message_with_causes())?;
        Ok(check.map(|check| NewestVersion {
            state: update::word(&check.newest),
            detail: update::newest_in_words(&check.newest),
        }))
    }

    fn switch_refusal(&self) -> Option<String> {
        // The configuration of one server says nothing to the other servers of the store.
        let reason = "a server of a store does not switch skills: the releases of the channel and the scopes of tokens decide who gets them";
        (!self.context.served_channels().is_empty()).then(|| reason.to_owned())
    }

    fn switch(&self, entry: &Entry, is_on: bool) -> Result<Vec<Pattern>, String> {
        switch::switch(&self.context, entry, is_on)
            .map_err(|error| [&[error.message_with_causes()], error.hints()].concat().join("; "))
    }

    fn still_read(&self, entry: &Entry) -> Vec<String> {
        let (places, _) = self.context.places(&self.context.settings.policy);
        // A skill of a store is in no files of clients.
        let is_file = entry.identity.is_some();
        if is_file { still_read(&self.context.env.places(), &places, entry) } else { Vec::new() }
    }

    fn health(&self) -> Vec<HealthItem> {
        vec![self.following(), self.sandbox.get_or_init(|| self.sandbox()).clone()]
    }
}
