//! `rep prompt`.

use std::collections::BTreeMap;
use std::time::SystemTime;

use clap::Args;
use repertoire::event::{Event, EventKind, Surface};
use repertoire::prompt::BoundSkill;
use repertoire::{AgentPrompt, BindingOptions, RoleOrigin, RolePrompt};
use repertoire_model::Fragment;
use repertoire_model::prompt::{self, compose, ordered};
use serde_json::{Value, json};

use crate::complete::{agent_names, skill_names};
use crate::error::CliError;
use crate::exit::Exit;
use crate::role::Role;
use crate::ui::Ui;
use crate::wire::{Workspace, report};

/// Prints the system prompt of an agent or of a role
///
/// Of an agent: its own prompt, the instructions of the skills it uses, its own instructions, hints, and the
/// catalog of what it may see. Of a role: the catalog and the instructions of the skill of that name; else
/// the system_prompt.md that `roles.directories` hold for it; else one sentence. With both, the agent's own
/// parts and the role's. Exactly the text and nothing else goes to the output.
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

pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, args: &PromptArgs) -> Result<Exit, CliError> {
    let prompt = match (&args.role, &args.agent) {
        (Some(role), _) => role_prompt(ui, workspace, args, role)?,
        (None, Some(agent)) => agent_prompt(ui, workspace, args, agent)?,
        (None, None) => {
            return Err(CliError::usage("neither --agent NAME nor --role ROLE is given")
                .hint("`[agents.NAME]` in repertoire.toml defines an agent; a role is any name"));
        }
    };
    let text = compose(&prompt.fragments);
    // On a terminal a person looks at it.
    if !ui.out_is_terminal() {
        record(workspace, args, &prompt.bound);
    }
    if !ui.is_json() {
        ui.write_untrusted(text.as_bytes())?;
        return Ok(Exit::Success);
    }
    let tokenizer = workspace.settings.session.catalog.tokenizer;
    let fragments = ordered(&prompt.fragments).into_iter().map(|Fragment { name, priority, text }| {
        json!({"name": name, "priority": priority, "tokens": tokenizer.count(text)})
    });
    Ok(ui.answer(&json!({
        "text": text,
        "tokens": tokenizer.count(&text),
        "tokenizer": tokenizer.as_str(),
        "fragments": fragments.collect::<Value>(),
        "bound": names(&prompt.bound),
        "origin": prompt.origin,
        "path": prompt.path,
    }))?)
}

/// Hands an event for each skill in the prompt to the event sinks: a printed prompt is given to a model.
fn record(workspace: &Workspace, args: &PromptArgs, bound: &[BoundSkill]) {
    let sinks = workspace.sinks();
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

fn agent_prompt(
    ui: &mut Ui,
    workspace: &Workspace,
    args: &PromptArgs,
    name: &str,
) -> Result<Prompt, CliError> {
    let mut agent = workspace.agent(name)?;
    agent.variables.extend(args.variables.iter().cloned());
    let library = workspace.open()?;
    report(ui, workspace, &library.snapshot, &library.problems)?;
    workspace.expect_enabled(&library.snapshot, &agent)?;
    let session = workspace.session_options(None).with_tools(&agent.tools);
    let loaded =
        pollster::block_on(AgentPrompt::load(&library.registry, &agent, &BindingOptions::of(&session)))?;
    let AgentPrompt { mut fragments, bound, .. } = loaded;
    let mut options = session.catalog_options();
    options.bound = names(&bound);
    repertoire::prompt::check(&library.snapshot, &agent)?;
    let catalog = library.snapshot.catalog_of(&options, |entry| agent.sees(entry))?;
    fragments.push(Fragment::new("skills", prompt::SKILLS, catalog.text));
    Ok(Prompt { fragments, bound, origin: "agent", path: None })
}

fn role_prompt(
    ui: &mut Ui,
    workspace: &Workspace,
    args: &PromptArgs,
    role: &str,
) -> Result<Prompt, CliError> {
    let mut agent = args.agent.as_deref().map(|name| workspace.agent(name)).transpose()?;
    let variables: BTreeMap<String, String> = args.variables.iter().cloned().collect();
    if let Some(agent) = &mut agent {
        agent.variables.extend(variables.clone());
    }
    let library = workspace.open()?;
    report(ui, workspace, &library.snapshot, &library.problems)?;
    let mut session = workspace.session_options(None);
    if let Some(agent) = &agent {
        session = session.with_tools(&agent.tools);
    }
    let role = Role { name: role.to_owned(), agent, variables };
    let resolved = pollster::block_on(role.resolve(workspace, &library.registry, &session))?;
    role.warn_if_unknown(ui, workspace, &library.snapshot, &resolved.origin)?;
    let origin = resolved.origin.as_str();
    let path = match &resolved.origin {
        RoleOrigin::Legacy(path) => Some(path.display().to_string()),
        RoleOrigin::SkillPack | RoleOrigin::Stub => None,
    };
    let RolePrompt { fragments, bound, .. } = resolved;
    Ok(Prompt { fragments, bound, origin, path })
}

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.to_owned())),
        _ => Err("write it as KEY=VALUE".to_owned()),
    }
}
