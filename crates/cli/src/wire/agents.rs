//! The agents of the configuration, and the directories of role prompts.

use std::path::PathBuf;

use repertoire::prompt::MAX_TEMPLATE_BYTES;
use repertoire::{Agent, discovery};
use repertoire_model::text::nearest;

use super::context::Context;
use crate::config::Trust;
use crate::error::CliError;
use crate::regular_file;

impl Context {
    /// Returns the agent called `name`, its prompt read, or the error that tells which there are.
    pub(crate) fn agent(&self, name: &str) -> Result<Agent, CliError> {
        let agents = &self.settings.agents;
        let Some(configured) = agents.get(name) else { return Err(self.unknown_agent(name)) };
        let mut agent = configured.agent.clone();
        agent.inherit = configured.inherit.unwrap_or(self.settings.subagent_inherit);
        if let Some(file) = &configured.prompt {
            let about = || format!("cannot read the prompt of the agent `{name}`, {}", file.path.display());
            let bytes = regular_file::read(&file.path, MAX_TEMPLATE_BYTES)
                .map_err(|error| CliError::usage(about()).because(error))?;
            let text = String::from_utf8(bytes).map_err(|error| CliError::usage(about()).because(error))?;
            agent.prompt = Some(text);
        }
        Ok(agent)
    }

    /// Fails if no agent of the configuration is called `name`.
    pub(crate) fn expect_agent(&self, name: &str) -> Result<(), CliError> {
        if self.settings.agents.contains_key(name) { Ok(()) } else { Err(self.unknown_agent(name)) }
    }

    pub(super) fn unknown_agent(&self, name: &str) -> CliError {
        let error = CliError::usage(format!("there is no agent `{name}`"));
        let names: Vec<&str> = self.settings.agents.keys().map(String::as_str).collect();
        if names.is_empty() {
            return error.hint("no agents are configured; `[agents.NAME]` in repertoire.toml defines one");
        }
        let error = match nearest(name, names.iter().copied()) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error,
        };
        error.hint(format!("there are: {}", names.join(", ")))
    }

    /// Returns the directories of role prompts, first ones first.
    pub(crate) fn role_directories(&self) -> Vec<PathBuf> {
        let working_directory = self.env.working_directory();
        let root = discovery::repository_root(working_directory, self.env.home().as_deref());
        let root = root.unwrap_or_else(|| working_directory.to_owned());
        // What is configured was looked at then; what is looked for by habit may not lead out of the project either.
        let trust = Trust::Within(root.clone());
        let is_sound = |path: &PathBuf| trust.objection_to_path("roles.directories", path).is_none();
        let directories = self.settings.role_directories.iter();
        directories
            .map(|directory| (directory.path.is_absolute(), root.join(&directory.path)))
            .filter(|(is_configured, path)| *is_configured || is_sound(path))
            .map(|(_, path)| path)
            .collect()
    }
}
