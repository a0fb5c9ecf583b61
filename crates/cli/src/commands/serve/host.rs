//! Answers the dashboard's questions about the surroundings of the library.

use std::sync::{Arc, OnceLock, Weak};

use repertoire::{Entry, Registry, Watcher};
use repertoire_app::doctor::{HealthItem, following, sandbox};
use repertoire_app::{approvals, explain, install, switch};
use repertoire_model::toolbox::Toolbox;
use repertoire_model::{Digest, Pattern};
use repertoire_web::dashboard::{Decision, Host, NewestVersion, SkillOrigin};

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
}

impl Host for DashboardHost {
    fn explain(&self, registry: &Registry, name: &str) -> Result<Vec<Decision>, String> {
        let decisions =
            explain::decisions(&self.context, registry, name).map_err(|error| error.message_with_causes())?;
        let decision = |it: explain::Decision| Decision { topic: it.topic.to_owned(), text: it.text };
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
        let check = install::check_of(&self.context, entry).map_err(|error| error.message_with_causes())?;
        Ok(check.map(|check| NewestVersion {
            state: install::word(&check.newest),
            detail: install::newest_in_words(&check.newest),
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
        switch::still_read(&self.context, entry)
    }

    fn health(&self) -> Vec<HealthItem> {
        let watcher = self.watcher.get().and_then(|watcher| watcher.as_ref()?.upgrade());
        let sandbox = self.sandbox.get_or_init(|| sandbox(&self.context)).clone();
        vec![following(&self.context, watcher.as_deref()), sandbox]
    }
}
