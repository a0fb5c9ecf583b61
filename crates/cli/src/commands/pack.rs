//! `rep pack`.

mod files;
mod marketplace;
mod plugin;
mod skill;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::complete::skill_names;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::Ui;
use crate::wire::Context;

/// Packs skills for clients and marketplaces
///
/// A skill becomes an archive that claude.ai accepts, several become an Agent Plugin, and the plugins of a directory a
/// marketplace that Claude Code, Codex and `npx skills` read. What is there is never overwritten without --force.
#[derive(Debug, Args)]
pub(crate) struct PackArgs {
    #[command(subcommand)]
    form: Form,
}

#[derive(Debug, Subcommand)]
enum Form {
    /// Makes NAME.skill, an archive that claude.ai accepts
    ///
    /// A skill that breaks a rule of claude.ai is refused, with the reasons.
    Skill(SkillPackArgs),
    /// Makes a directory that is an Agent Plugin and a plugin of Claude Code
    Plugin(PluginPackArgs),
    /// Makes .claude-plugin/marketplace.json from the plugins in a directory
    ///
    /// They are the directory itself and those in it and in its plugins/ that have a plugin.json.
    Marketplace(MarketplacePackArgs),
}

#[derive(Debug, Args)]
struct SkillPackArgs {
    /// The skill, as NAME or as SOURCE:NAME
    #[arg(add = skill_names())]
    name: String,
    /// The archive; by default NAME.skill
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace an archive that is there
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Args)]
struct PluginPackArgs {
    /// The name of the plugin
    name: String,
    /// Pack this skill; may be given several times; by default all that are active
    #[arg(long, short, value_name = "NAME", add = skill_names())]
    skill: Vec<String>,
    /// The version of the plugin
    #[arg(long, value_name = "VERSION")]
    plugin_version: Option<String>,
    /// The description of the plugin
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// The directory to make; by default NAME
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct MarketplacePackArgs {
    /// The directory with the plugins
    #[arg(default_value = ".")]
    directory: PathBuf,
    /// The name of the marketplace; by default that of the directory
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The name of its owner
    #[arg(long, value_name = "NAME")]
    owner: String,
    /// Replace a marketplace.json that is there
    #[arg(long)]
    force: bool,
}

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, context: &Context, args: &PackArgs) -> Result<Exit, CliError> {
    match &args.form {
        Form::Skill(args) => skill::run(ui, context, args),
        Form::Plugin(args) => plugin::run(ui, context, args),
        Form::Marketplace(args) => marketplace::run(ui, context, args),
    }
}
