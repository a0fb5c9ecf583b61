//! `rep prompt`.

use std::collections::BTreeMap;

use clap::Args;
use repertoire::tokens::TokenMemory;
use repertoire::{AgentPrompt, BindingOptions, RoleOptions, RoleOrigin, RoleResolver};
use repertoire_model::Fragment;
use repertoire_model::prompt::{self, compose, ordered};
use serde::Serialize;

use super::catalog;
use crate::cli::skill_names;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::Ui;
use crate::wire::{Context, Library};

/// Prints the system prompt of an agent or of a role
///
/// Of an agent: its own prompt, the instructions of the skills it uses, its own instructions, hints, and the catalog
/// of what it may see. Of a role: the catalog and the instructions of the skill of that name; else the system_prompt.md
/// that `roles.directories` hold for it; else one sentence. Exactly the text and nothing else goes to the output.
#[derive(Debug, Args)]
pub(crate) struct PromptArgs {
    /// The agent, as the configuration names it; with --role, whose skills count
    #[arg(long, value_name = "NAME", required_unless_present = "role")]
    agent: Option<String>,
    /// The role
    #[arg(long, value_name = "ROLE", add = skill_names())]
    role: Option<String>,
    /// Set a variable of the template; may be given several times
    #[arg(long = "var", value_name = "KEY=VALUE", value_parser = variable)]
    variables: Vec<(String, String)>,
}

#[derive(Serialize)]
struct PromptJson<'a> {
    text: &'a str,
    tokens: usize,
    tokenizer: &'static str,
    fragments: Vec<FragmentJson<'a>>,
    bound: Vec<&'a str>,
    origin: &'static str,
    path: Option<String>,
}

#[derive(Serialize)]
struct FragmentJson<'a> {
    name: &'a str,
    priority: i32,
    tokens: usize,
}

/// What is printed, whatever it was made of.
struct Prompt {
    fragments: Vec<Fragment>,
    bound: Vec<String>,
    origin: &'static str,
    path: Option<String>,
}

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, context: &Context, args: &PromptArgs) -> Result<Exit, CliError> {
    let prompt = match (&args.role, &args.agent) {
        (Some(role), _) => role_prompt(context, args, role)?,
        (None, Some(agent)) => agent_prompt(context, args, agent)?,
        (None, None) => return Err(CliError::usage("name an agent or a role")),
    };
    let text = compose(&prompt.fragments);
    if !ui.is_json() {
        ui.write_untrusted(text.as_bytes())?;
        return Ok(Exit::Success);
    }
    let memory = TokenMemory::new(context.cache_directory());
    let tokenizer = context.settings.estimator;
    let fragments = ordered(&prompt.fragments).into_iter().map(|fragment| FragmentJson {
        name: &fragment.name,
        priority: fragment.priority,
        tokens: memory.count(tokenizer, &fragment.text),
    });
    ui.write_json(&PromptJson {
        text: &text,
        tokens: memory.count(tokenizer, &text),
        tokenizer: tokenizer.name(),
        fragments: fragments.collect(),
        bound: prompt.bound.iter().map(String::as_str).collect(),
        origin: prompt.origin,
        path: prompt.path,
    })?;
    Ok(Exit::Success)
}

fn agent_prompt(context: &Context, args: &PromptArgs, name: &str) -> Result<Prompt, CliError> {
    let mut agent = context.agent(name)?;
    agent.variables.extend(args.variables.iter().cloned());
    let library = context.open()?;
    let loaded = pollster::block_on(AgentPrompt::load(&library.registry, &agent, &binding(context)))?;
    let AgentPrompt { mut fragments, bound } = loaded;
    let catalog = catalog::render_for(&library, &agent, &catalog::configured(context))?;
    fragments.push(Fragment::new("skills", prompt::SKILLS, catalog.text));
    let bound = bound.iter().map(|(name, _)| name.to_string()).collect();
    Ok(Prompt { fragments, bound, origin: "agent", path: None })
}

fn role_prompt(context: &Context, args: &PromptArgs, role: &str) -> Result<Prompt, CliError> {
    let agent = args.agent.as_deref().map(|name| context.agent(name)).transpose()?;
    let Library { registry, .. } = context.open()?;
    let mut variables: BTreeMap<String, String> =
        agent.as_ref().map(|agent| agent.variables.clone()).unwrap_or_default();
    variables.extend(args.variables.iter().cloned());
    let options = RoleOptions {
        binding: context.settings.role_binding,
        catalog: catalog::configured(context),
        prompt: binding(context),
        variables,
    };
    let resolver = RoleResolver::new(registry.clone(), context.role_directories(), options);
    let resolved = pollster::block_on(async {
        match &agent {
            Some(agent) => resolver.resolve_for(agent, role).await,
            None => resolver.resolve(role).await,
        }
    })?;
    let path = match &resolved.origin {
        RoleOrigin::Legacy(path) => Some(path.display().to_string()),
        RoleOrigin::SkillPack | RoleOrigin::Stub => None,
    };
    let bound = resolved.bound.iter().map(|(name, _)| name.to_string()).collect();
    Ok(Prompt { fragments: resolved.fragments, bound, origin: resolved.origin.as_str(), path })
}

fn binding(context: &Context) -> BindingOptions {
    BindingOptions { tokenizer: context.settings.estimator, ..BindingOptions::default() }
}

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.to_owned())),
        _ => Err("write it as KEY=VALUE".to_owned()),
    }
}
