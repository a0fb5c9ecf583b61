//! The agents of the configuration, and the directories of role prompts.

use std::path::PathBuf;

use repertoire::config::FileTrust;
use repertoire::{Agent, discovery};
use repertoire_model::scope::Pattern;
use repertoire_model::text::nearest;

use super::handle::Workspace;
use crate::error::Error;

impl Workspace {
    /// Returns the agent called `name` with its prompt, or an error that names the agents there are.
    pub fn agent(&self, name: &str) -> Result<Agent, Error> {
        let agent = self.settings.agent(name).map_err(Error::from)?;
        let mut agent = agent.ok_or_else(|| self.unknown_agent(name))?;
        agent.scope.deny.extend(self.channels_not_followed(name)?);
        Ok(agent)
    }

    /// Returns the patterns of the skills of those served channels that the agent called `name` does not
    /// follow: all before the one that its configuration names, or before the last one.
    fn channels_not_followed(&self, name: &str) -> Result<Vec<Pattern>, Error> {
        let followed = self.settings.agents.get(name).and_then(|configured| configured.channel.as_ref());
        let first = match followed {
            Some(channel) if !self.served.is_empty() => {
                self.served.iter().position(|served| served == channel).ok_or_else(|| {
                    Error::usage(format!("agents.{name}.channel: the channel `{channel}` is not served"))
                        .hint(format!("give `--channel {channel}` before the others"))
                })?
            }
            _ => self.served.len().saturating_sub(1),
        };
        let of_channel = |channel: &String| Pattern::new(&format!("store:{channel}:*")).ok();
        Ok(self.served[..first].iter().filter_map(of_channel).collect())
    }

    /// Fails if no agent of the configuration is called `name`.
    pub fn expect_agent(&self, name: &str) -> Result<(), Error> {
        if self.settings.agents.contains_key(name) { Ok(()) } else { Err(self.unknown_agent(name)) }
    }

    pub(super) fn unknown_agent(&self, name: &str) -> Error {
        let error = Error::usage(format!("there is no agent `{name}`"));
        let names: Vec<&str> = self.settings.agents.keys().map(String::as_str).collect();
        if names.is_empty() {
            return error
                .hint(format!("no agents are configured; `[agents.{name}]` in repertoire.toml defines one"));
        }
        let error = match nearest(name, names.iter().copied()) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error,
        };
        error.hint(format!("there are: {}", names.join(", ")))
    }

    /// Returns the directories of role prompts, first ones first.
    pub fn role_directories(&self) -> Vec<PathBuf> {
        let working_directory = self.env.working_directory();
        let root = discovery::repository_root(working_directory, self.env.home().as_deref());
        let root = root.unwrap_or_else(|| working_directory.to_owned());
        // Configured directories were checked before; the usual ones may not lead out of the project either.
        let trust = FileTrust::Within(root.clone());
        let is_sound = |path: &PathBuf| trust.objection_to_path("roles.directories", path).is_none();
        let directories = self.settings.role_directories.iter();
        directories
            .map(|directory| (directory.path.is_absolute(), root.join(&directory.path)))
            .filter(|(is_configured, path)| *is_configured || is_sound(path))
            .map(|(_, path)| path)
            .collect()
    }
}
