//! The arguments of `rep pack`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::complete::skill_names;

/// Packs skills for clients and marketplaces
///
/// A skill becomes an archive that claude.ai accepts, several become an Agent Plugin, and the plugins of a
/// directory a marketplace that Claude Code, Codex and `npx skills` read. Existing files are never
/// overwritten without --force.
#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub(crate) struct PackArgs {
    #[command(subcommand)]
    pub(super) form: Form,
}

/// The form of what is made.
#[derive(Debug, Subcommand)]
pub(super) enum Form {
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
pub(super) struct SkillPackArgs {
    /// The skill, as NAME or as SOURCE:NAME
    #[arg(add = skill_names())]
    pub(super) name: String,
    /// The archive; by default NAME.skill
    #[arg(long, short, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// Replace an archive that is there
    #[arg(long)]
    pub(super) force: bool,
}

#[derive(Debug, Args)]
pub(super) struct PluginPackArgs {
    /// The name of the plugin
    pub(super) name: String,
    /// Pack this skill; may be given several times; by default all that are active
    #[arg(long, short, value_name = "NAME", add = skill_names())]
    pub(super) skill: Vec<String>,
    /// The version of the plugin
    #[arg(long, value_name = "VERSION")]
    pub(super) plugin_version: Option<String>,
    /// The description of the plugin
    #[arg(long, value_name = "TEXT")]
    pub(super) description: Option<String>,
    /// The directory to make; by default NAME
    #[arg(long, short, value_name = "DIR")]
    pub(super) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct MarketplacePackArgs {
    /// The directory with the plugins
    #[arg(default_value = ".")]
    pub(super) directory: PathBuf,
    /// The name of the marketplace; by default that of the directory
    #[arg(long, value_name = "NAME")]
    pub(super) name: Option<String>,
    /// The name of its owner
    #[arg(long, value_name = "NAME")]
    pub(super) owner: String,
    /// Replace a marketplace.json that is there
    #[arg(long)]
    pub(super) force: bool,
}
