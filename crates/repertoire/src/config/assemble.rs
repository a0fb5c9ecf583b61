//! Builds a library as configured.

use repertoire_model::Pattern;

use super::error::ConfigError;
use super::input::ConfigInput;
use super::settings::Settings;
use crate::Agent;
use crate::library::LibraryBuilder;
use crate::prompt::MAX_TEMPLATE_BYTES;
use crate::regular_file;

impl LibraryBuilder {
    /// Adds the skills, policy, session options and agents of `repertoire.toml`, as `rep` does.
    ///
    /// ```
    /// use repertoire::Library;
    /// use repertoire::config::ConfigInput;
    /// # let project = tempfile::tempdir()?;
    /// # std::fs::create_dir_all(project.path().join("shared/greet"))?;
    /// # std::fs::write(project.path().join("repertoire.toml"), "roots = [\"shared\"]\n")?;
    /// # std::fs::write(project.path().join("shared/greet/SKILL.md"), "---\nname: greet\ndescription: Greets people. Use when someone says hello.\n---\n# Greet\n")?;
    /// let input = ConfigInput::new(project.path());
    /// let library = pollster::block_on(Library::builder().configured(&input)?.open())?;
    /// assert!(library.snapshot().active().any(|skill| skill.name().as_str() == "greet"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn configured(self, input: &ConfigInput) -> Result<Self, ConfigError> {
        let settings = Settings::load(input)?;
        let policy = settings.policy.clone();
        let (places, _) = settings.places(input, &policy);
        let links = settings.link_scope(places.iter());
        let mut builder =
            self.policy(policy).session_options(settings.session.clone()).inherit(settings.subagent_inherit);
        for options in settings.provider_options(places.iter(), &links) {
            builder = builder.directory_with(options);
        }
        for name in settings.agents.keys() {
            if let Some(agent) = settings.agent(name)? {
                builder = builder.agent(agent);
            }
        }
        Ok(builder)
    }
}

impl Settings {
    /// Returns the agent called `name` with its prompt, or `None` if the configuration has no such agent.
    pub fn agent(&self, name: &str) -> Result<Option<Agent>, ConfigError> {
        let Some(configured) = self.agents.get(name) else { return Ok(None) };
        let mut agent = configured.agent.clone();
        agent.inherit = configured.inherit.unwrap_or(self.subagent_inherit);
        if self.scope_uses_skills && agent.scope.allow.is_none() && !agent.uses_skills.is_empty() {
            agent.scope.allow =
                Some(agent.uses_skills.iter().filter_map(|id| Pattern::new(id).ok()).collect());
        }
        if let Some(file) = &configured.prompt {
            let message = || format!("cannot read the prompt of the agent `{name}`, {}", file.path.display());
            let bytes = regular_file::read(&file.path, MAX_TEMPLATE_BYTES)
                .map_err(|error| ConfigError::new(message()).because(error))?;
            let text =
                String::from_utf8(bytes).map_err(|error| ConfigError::new(message()).because(error))?;
            agent.prompt = Some(text);
        }
        Ok(Some(agent))
    }
}
