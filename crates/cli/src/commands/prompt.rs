//! `rep prompt`.

use std::collections::BTreeMap;
use std::time::SystemTime;

use clap::Args;
use repertoire::event::{Event, EventKind, Surface};
use repertoire::migrate::read_roles;
use repertoire::prompt::BoundSkill;
use repertoire::{
    Agent, AgentPrompt, BindingOptions, Error, Lookup, Registry, RoleOptions, RoleOrigin, RolePrompt,
    RoleResolver, SessionOptions, Snapshot,
};
use repertoire_model::Fragment;
use repertoire_model::prompt::{self, compose, ordered};
use repertoire_model::text::nearest;
use serde_json::{Value, json};

use super::catalog;
use crate::complete::{agent_names, skill_names};
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::Ui;
use crate::wire::{Context, report};

/// Prints the system prompt of an agent or of a role
///
/// Of an agent: its own prompt, the instructions of the skills it uses, its own instructions, hints, and the catalog
/// of what it may see. Of a role: the catalog and the instructions of the skill of that name; else the system_prompt.md
/// that `roles.directories` hold for it; else one sentence. With both, the agent's own parts and the role's. Exactly the text and nothing else goes to the output.
#[derive(Debug, Args)]
pub(crate) struct PromptArgs {
    /// The agent, as the configuration names it; with --role, the agent that has the role
    #[arg(long, value_name = "NAME", add = agent_names())]
    agent: Option<String>,
    /// The role
    #[arg(long, value_name = "ROLE", add = skill_names())]
    role: Option<String>,
    /// Set a variable of the template; may be given several times
    #[arg(long = "var", value_name = "KEY=VALUE", value_parser = variable)]
    variables: Vec<(String, String)>,
}

/// The prompt that is printed, of an agent or a role.
struct Prompt {
    fragments: Vec<Fragment>,
    bound: Vec<BoundSkill>,
    origin: &'static str,
    path: Option<String>,
}

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, context: &Context, args: &PromptArgs) -> Result<Exit, CliError> {
    let prompt = match (&args.role, &args.agent) {
        (Some(role), _) => role_prompt(ui, context, args, role)?,
        (None, Some(agent)) => agent_prompt(ui, context, args, agent)?,
        (None, None) => {
            return Err(CliError::usage("neither --agent NAME nor --role ROLE is given")
                .hint("`[agents.NAME]` in repertoire.toml defines an agent; a role is any name"));
        }
    };
    let text = compose(&prompt.fragments);
    // On a terminal a person looks at it.
    if !ui.out_is_terminal() {
        record(context, args, &prompt.bound);
    }
    if !ui.is_json() {
        ui.write_untrusted(text.as_bytes())?;
        return Ok(Exit::Success);
    }
    let tokenizer = context.settings.session.catalog.tokenizer;
    let fragments = ordered(&prompt.fragments).into_iter().map(|Fragment { name, priority, text }| {
        json!({"name": name, "priority": priority, "tokens": tokenizer.count(text)})
    });
    ui.write_json(&json!({
        "text": text,
        "tokens": tokenizer.count(&text),
        "tokenizer": tokenizer.as_str(),
        "fragments": fragments.collect::<Value>(),
        "bound": names(&prompt.bound),
        "origin": prompt.origin,
        "path": prompt.path,
    }))?;
    Ok(Exit::Success)
}

/// Hands an event for each skill in the prompt to the event sinks: a printed prompt is given to a model.
fn record(context: &Context, args: &PromptArgs, bound: &[BoundSkill]) {
    let sinks = context.sinks();
    for skill in bound {
        let mut event = Event::new(EventKind::SkillLoaded, "prompt", "", SystemTime::now());
        event.agent.clone_from(&args.agent);
        event.surface = Surface::Cli;
        skill.describe(&mut event);
        sinks.emit(&event);
    }
}

fn names(bound: &[BoundSkill]) -> Vec<String> {
    bound.iter().map(|skill| skill.name.to_string()).collect()
}

fn agent_prompt(ui: &mut Ui, context: &Context, args: &PromptArgs, name: &str) -> Result<Prompt, CliError> {
    let mut agent = context.agent(name)?;
    agent.variables.extend(args.variables.iter().cloned());
    let library = context.open()?;
    report(ui, context, &library.snapshot, &library.problems)?;
    context.expect_enabled(&library.snapshot, &agent)?;
    let session = context.session_options(None).with_tools(&agent.tools);
    let loaded =
        pollster::block_on(AgentPrompt::load(&library.registry, &agent, &BindingOptions::of(&session)))?;
    let AgentPrompt { mut fragments, bound, .. } = loaded;
    let mut options = session.catalog_options();
    options.bound = names(&bound);
    let catalog = catalog::render_for(&library, &agent, &options)?;
    fragments.push(Fragment::new("skills", prompt::SKILLS, catalog.text));
    Ok(Prompt { fragments, bound, origin: "agent", path: None })
}

fn role_prompt(ui: &mut Ui, context: &Context, args: &PromptArgs, role: &str) -> Result<Prompt, CliError> {
    let mut agent = args.agent.as_deref().map(|name| context.agent(name)).transpose()?;
    let variables: BTreeMap<String, String> = args.variables.iter().cloned().collect();
    if let Some(agent) = &mut agent {
        agent.variables.extend(variables.clone());
    }
    let library = context.open()?;
    report(ui, context, &library.snapshot, &library.problems)?;
    let mut session = context.session_options(None);
    if let Some(agent) = &agent {
        session = session.with_tools(&agent.tools);
    }
    let role = Role { name: role.to_owned(), agent, variables };
    let resolved = pollster::block_on(role.resolve(context, &library.registry, &session))?;
    role.warn_if_unknown(ui, context, &library.snapshot, &resolved.origin)?;
    let origin = resolved.origin.as_str();
    let path = match &resolved.origin {
        RoleOrigin::Legacy(path) => Some(path.display().to_string()),
        RoleOrigin::SkillPack | RoleOrigin::Stub => None,
    };
    let RolePrompt { fragments, bound, .. } = resolved;
    Ok(Prompt { fragments, bound, origin, path })
}

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
        context: &Context,
        snapshot: &Snapshot,
        origin: &RoleOrigin,
    ) -> Result<(), CliError> {
        if *origin != RoleOrigin::Stub {
            return Ok(());
        }
        ui.warn(&format!("nothing is known of the role `{}` but its name", self.name))?;
        if let Lookup::Disabled(entry) = snapshot.find(&self.name) {
            ui.hint(&format!("its skill is disabled by {}", context.disabled_where(entry)))?;
            return Ok(());
        }
        if let Some(near) = self.nearest(context, snapshot) {
            ui.hint(&format!("did you mean `{near}`?"))?;
        }
        Ok(())
    }

    /// Returns the name nearest to that of the role, of the skills and of the directories of role prompts.
    fn nearest(&self, context: &Context, snapshot: &Snapshot) -> Option<String> {
        let skills = snapshot.active().map(|entry| entry.name().to_string());
        let directories = context.role_directories();
        let read = directories.iter().filter_map(|directory| read_roles(directory).ok());
        let roles = read.flat_map(|found| found.roles).map(|role| role.name);
        let names: Vec<String> = skills.chain(roles).collect();
        nearest(&self.name, names.iter().map(String::as_str)).map(str::to_owned)
    }

    /// Returns the prompt of the role, with the words of a session with `options`.
    pub(crate) async fn resolve(
        &self,
        context: &Context,
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
        catalog.bound = names(&own.bound);
        let mut options = RoleOptions::default();
        options.binding = context.settings.role_binding;
        options.catalog = catalog;
        options.prompt = binding;
        options.variables = variables;
        let resolver = RoleResolver::new(registry.clone(), context.role_directories(), options);
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

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.to_owned())),
        _ => Err("write it as KEY=VALUE".to_owned()),
    }
}
