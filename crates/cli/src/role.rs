//! The prompt of a role, for `rep prompt` and `rep session`.

use std::collections::BTreeMap;

use repertoire::migrate::read_roles;
use repertoire::{
    Agent, AgentPrompt, BindingOptions, Error, Lookup, Registry, RoleOptions, RoleOrigin, RolePrompt,
    RoleResolver, SessionOptions, Snapshot,
};
use repertoire_model::prompt::{self, compose};
use repertoire_model::text::nearest;

use crate::error::CliError;
use crate::ui::Ui;
use crate::wire::Workspace;

/// A role, and the agent that has it.
#[derive(Clone)]
pub(crate) struct Role {
    /// The role.
    pub name: String,
    /// The agent, if there is one: the prompt has its own parts too, and only skills that it may see.
    pub agent: Option<Agent>,
    /// The variables of a prompt file, beside those of the agent.
    pub variables: BTreeMap<String, String>,
}

impl Role {
    /// Warns that nothing but a stub was found for the role, if `origin` says so.
    pub(crate) fn warn_if_unknown(
        &self,
        ui: &mut Ui,
        workspace: &Workspace,
        snapshot: &Snapshot,
        origin: &RoleOrigin,
    ) -> Result<(), CliError> {
        if *origin != RoleOrigin::Stub {
            return Ok(());
        }
        ui.warn(&format!(
            "there is no skill and no prompt for the role `{}`, so the prompt says only its name",
            self.name
        ))?;
        if let Lookup::Disabled(entry) = snapshot.find(&self.name) {
            ui.hint(&format!("its skill is disabled by {}", workspace.disabled_where(entry)))?;
            return Ok(());
        }
        if let Some(near) = self.nearest(workspace, snapshot) {
            ui.hint(&format!("did you mean `{near}`?"))?;
        }
        Ok(())
    }

    /// Returns the name nearest to that of the role, of the skills and of the directories of role prompts.
    fn nearest(&self, workspace: &Workspace, snapshot: &Snapshot) -> Option<String> {
        let skills = snapshot.active().map(|entry| entry.name().to_string());
        let directories = workspace.role_directories();
        let read = directories.iter().filter_map(|directory| read_roles(directory).ok());
        let roles = read.flat_map(|found| found.roles).map(|role| role.name);
        let names: Vec<String> = skills.chain(roles).collect();
        nearest(&self.name, names.iter().map(String::as_str)).map(str::to_owned)
    }

    /// Returns the prompt of the role, with the words of a session with `options`.
    pub(crate) async fn resolve(
        &self,
        workspace: &Workspace,
        registry: &Registry,
        options: &SessionOptions,
    ) -> Result<RolePrompt, Error> {
        let binding = BindingOptions::of(options);
        let own = match &self.agent {
            Some(agent) => AgentPrompt::load(registry, agent, &binding).await?,
            None => AgentPrompt::default(),
        };
        let mut variables = self.agent.as_ref().map(|agent| agent.variables.clone()).unwrap_or_default();
        variables.extend(self.variables.clone());
        let mut catalog = options.catalog_options();
        catalog.bound = own.bound.iter().map(|skill| skill.name.to_string()).collect();
        let mut options = RoleOptions::default();
        options.binding = workspace.settings.role_binding;
        options.catalog = catalog;
        options.prompt = binding;
        options.variables = variables;
        let resolver = RoleResolver::new(registry.clone(), workspace.role_directories(), options);
        let mut prompt = match &self.agent {
            Some(agent) => resolver.resolve_for(agent, &self.name).await?,
            None => resolver.resolve(&self.name).await?,
        };
        if own.bound.iter().any(|skill| skill.name.as_str() == self.name) {
            // Once is enough.
            prompt.fragments.retain(|fragment| fragment.priority != prompt::ROLE_SKILL);
            prompt.bound.clear();
        }
        prompt.fragments.extend(own.fragments);
        prompt.bound.extend(own.bound);
        prompt.text = compose(&prompt.fragments);
        Ok(prompt)
    }
}
