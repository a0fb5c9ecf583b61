//! Options of sessions.

use std::collections::{BTreeMap, BTreeSet};

use repertoire_model::answer::{ErrorStyle, Render, Wording};
use repertoire_model::catalog::CatalogOptions;
use repertoire_model::ledger::Reload;
use repertoire_model::words;

use crate::event::Surface;
use crate::tool::{
    AgentTools, ArgumentNames, FILE_ARGUMENT, OPTIONAL_ARGUMENTS, OfferedTools, SELDOM_NEEDED, ToolNames,
};

/// The default limit of names that a schema lists.
pub const ENUM_LIMIT: usize = 100;
/// The default limit of bytes of a file that one call reads.
pub const READ_BYTES: usize = 64 * 1024;
/// The default number of tokens from which instructions come with a warning and an outline.
pub const SOFT_LIMIT_TOKENS: usize = 8_000;
/// The default limit of tokens of skills that are loaded because another one requires them.
pub const REQUIRED_TOKENS: usize = 8_000;

words! {
    /// Decides whether the skills that a loaded one requires are loaded with it.
    #[derive(Default)]
    Requires {
        /// The answer names the skills that are not active; the default.
        #[default]
        Hint "hint",
        /// They are loaded with it, within the ceiling of tokens.
        AutoLoad "auto_load",
    }
}

words! {
    /// Decides whether a session tracks the skills in its model's context.
    #[derive(Default)]
    Account {
        /// It does; the default.
        #[default]
        Kept "kept",
        /// It cannot, because one session answers many conversations: every skill is always given.
        None "none",
    }
}

words! {
    /// When a session's catalog follows the library.
    #[derive(Default)]
    Refresh {
        /// At a compaction, when the prompt is rewritten anyway, and on request; the default.
        #[default]
        OnCompaction "on_compaction",
        /// Only on request.
        Session "session",
        /// Whenever the library changes, at the price of the prompt cache.
        Immediate "immediate",
    }
}

words! {
    /// The effect of unloading a skill on the transcript.
    #[derive(Default)]
    Unload {
        /// Its instructions stay until the next compaction; the default.
        #[default]
        Mark "mark",
        /// The host takes them out of the transcript at once.
        Evict "evict",
    }
}

words! {
    /// The answer to an agent that requests a skill outside its scope.
    #[derive(Default)]
    DenyStyle {
        /// As if the skill did not exist; the default.
        #[default]
        NotFound "not_found",
        /// That it is not permitted.
        NotPermitted "not_permitted",
    }
}

words! {
    /// The way in which models see the tools of skills.
    #[derive(Default)]
    ToolExposure {
        /// One tool calls all of them, and loading a skill describes its tools: the list of tools never
        /// changes; the default.
        #[default]
        Stable "stable",
        /// The tools of a loaded skill are added behind the others, and stay until the catalog is refreshed.
        Append "append",
        /// The tools of loaded skills are among the others, sorted, for as long as the skill is loaded.
        Dynamic "dynamic",
    }
}

words! {
    /// The answer to a call of a skill's name as if it were a tool.
    #[derive(Default)]
    SkillAsTool {
        /// The skill is loaded; the default.
        #[default]
        Load "load",
        /// The answer is an error that shows the call to make.
        Explain "explain",
    }
}

words! {
    /// The effect of `allowed-tools` of active skills.
    #[derive(Default)]
    ToolCeiling {
        /// They are handed to the host, and nothing more; the default.
        #[default]
        Off "off",
        /// They are all that may be called: what every active skill that names some names.
        Active "active",
    }
}

/// The options of sessions.
///
/// ```
/// use repertoire::SessionOptions;
/// let mut options = SessionOptions::default();
/// options.catalog.budget_tokens = Some(2_000);
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SessionOptions {
    /// The format of answers.
    pub render: Render,
    /// The options of the catalog; the names of tools in it are those of `names`.
    pub catalog: CatalogOptions,
    /// Marks loaded skills in the catalog, which defeats prompt caching; the `menu` format only.
    pub show_loaded: bool,
    /// When the catalog follows the library.
    pub refresh: Refresh,
    /// The style of the answer to unknown skills.
    pub errors: ErrorStyle,
    /// The surface that events name.
    pub surface: Surface,
    /// The options of loading skills.
    pub loading: LoadOptions,
    /// The options of the built-in tools.
    pub tools: ToolOptions,
    /// The effect of the scope of an agent.
    pub scope: ScopeOptions,
    /// The options of running the tools and scripts of skills.
    pub running: RunningOptions,
}

repertoire_model::options! {
    /// The options of loading skills.
    #[derive(Debug, Clone)]
    #[non_exhaustive]
    pub struct LoadOptions {
        /// Decides whether the session tracks the skills in the context.
        pub account: Account,
        /// The answer when an active skill is loaded again.
        pub reload: Reload,
        /// Decides whether the skills that a loaded one requires are loaded with it.
        pub requires: Requires,
        /// The most tokens of skills that are loaded because another one requires them.
        pub requires_max_tokens: usize = REQUIRED_TOKENS,
        /// The effect of unloading on the transcript.
        pub unload: Unload,
        /// Gives a skill's frontmatter with its instructions.
        pub include_frontmatter: bool,
        /// Shows models the directory of a skill, so that they can run its scripts with a shell of their own.
        pub show_location: bool,
        /// The number of tokens from which instructions come with a warning and an outline.
        pub soft_limit: usize = SOFT_LIMIT_TOKENS,
    }
}

repertoire_model::options! {
    /// The options of the built-in tools.
    #[derive(Debug, Clone)]
    #[non_exhaustive]
    pub struct ToolOptions {
        /// The built-in tools that are offered, where they can do something.
        pub offered: OfferedTools = OfferedTools::Needed(None),
        /// The optional arguments that the schemas of tools do not show, by usual name.
        pub hidden_arguments: BTreeSet<String>,
        /// The descriptions of built-in tools that differ from the usual ones, by the usual tool names.
        pub descriptions: BTreeMap<String, String>,
        /// The names of the built-in tools.
        pub names: ToolNames,
        /// The names of their arguments.
        pub arguments: ArgumentNames,
        /// Accepts other usual names of arguments, too.
        pub argument_aliases: bool = true,
        /// Adds the arguments `reference`, `script` and `asset` to `load_skill`.
        pub bucket_arguments: bool = true,
        /// Offers a tool to unload skills.
        pub unload_tool: bool = true,
        /// Shows the tools to propose changes where tools are offered by need, if there is a proposer.
        pub propose_tools: bool,
        /// The most names that a schema lists; 0 lists none.
        pub enum_limit: usize = ENUM_LIMIT,
        /// The most bytes of a file that one call reads.
        pub read_bytes: usize = READ_BYTES,
        /// The answer to a call of a skill's name as if it were a tool.
        pub skill_as_tool: SkillAsTool,
    }
}

repertoire_model::options! {
    /// The effect of the scope of an agent.
    #[derive(Debug, Clone)]
    #[non_exhaustive]
    pub struct ScopeOptions {
        /// Applies an agent's scope to its tools, not only to its catalog.
        pub enforce: bool = true,
        /// The answer to an agent that requests a skill outside its scope.
        pub deny_style: DenyStyle,
    }
}

/// The options of running the tools and scripts of skills.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RunningOptions {
    /// The way in which models see the tools of skills, if these can be called at all.
    pub exposure: ToolExposure,
    /// The effect of `allowed-tools` of active skills.
    pub tool_ceiling: ToolCeiling,
    /// The command by which a person approves a skill, before its name, where there is one.
    pub approve_command: Option<String>,
    /// The host runs tools of skills itself, outside of the session: models are told of all that skills
    /// declare, and a runner is only asked for the tools of a `tools.py`.
    pub host_runs_tools: bool,
    /// The host's own text on why tools and scripts of skills are not run and what to do about it.
    pub running_off: Option<String>,
}

impl SessionOptions {
    /// Returns options that offer `load_skill` with the name of a skill, and `read_skill_file` with its file.
    ///
    /// ```
    /// use repertoire::SessionOptions;
    /// let options = SessionOptions::two_tools();
    /// assert!(options.tools.offered.includes("read_skill_file") && !options.tools.offered.includes("list_skills"));
    /// ```
    pub fn two_tools() -> Self {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let mut options = Self::default();
        options.tools.offered = OfferedTools::Only(words(&["read_skill_file"]));
        options.tools.hidden_arguments =
            words(&["reference", "script", "asset", "force", "start_line", "end_line"]);
        options
    }

    /// Returns the options of a session of an agent with these tools.
    ///
    /// An agent is offered no tool that these options lack, unless they have the default of a profile.
    #[must_use]
    pub fn with_tools(&self, tools: &AgentTools) -> Self {
        let mut options = self.clone();
        options.tools.offered = self.tools.offered.of_agent(&tools.offered);
        options.tools.hidden_arguments.extend(tools.hidden_arguments.iter().cloned());
        options.tools.names = tools.tool_names(&self.tools.names);
        options.tools.arguments = tools.argument_names(&self.tools.arguments);
        options.tools.descriptions.extend(tools.descriptions.clone());
        options
    }

    /// Returns `true` if models can run something of skills, where that is switched on.
    pub fn offers_running(&self) -> bool {
        self.running.exposure != ToolExposure::Stable
            || ["call_skill_tool", "run_skill_script"].iter().any(|tool| self.tools.offered.includes(tool))
    }

    /// Returns `true` if schemas do not show the argument that is called `argument`.
    pub(crate) fn hides(&self, argument: &str) -> bool {
        let arguments = [
            (self.tools.arguments.start_line.as_str(), "start_line"),
            (self.tools.arguments.end_line.as_str(), "end_line"),
        ];
        let usual =
            arguments.into_iter().find(|(name, _)| *name == argument).map_or(argument, |(_, usual)| usual);
        let is_without = match self.tools.offered {
            OfferedTools::Minimal => usual != FILE_ARGUMENT && OPTIONAL_ARGUMENTS.contains(&usual),
            OfferedTools::Needed(_) => SELDOM_NEEDED.contains(&usual),
            _ => false,
        };
        is_without || self.tools.hidden_arguments.contains(usual)
    }

    /// Returns the name of the tool with the usual name `tool`, if it is offered.
    fn offered_name(&self, tool: &str) -> Option<String> {
        self.tools.offered.includes(tool).then(|| self.tools.names.configured(tool).to_owned())
    }

    /// Returns the name of the tool with the usual name `tool`, if it is offered and not only by need.
    fn always_offered_name(&self, tool: &str) -> Option<String> {
        self.offered_name(tool).filter(|_| !self.tools.offered.are_by_need())
    }

    /// Returns the words that answers are written with; a tool that is not offered is not named.
    pub fn wording(&self) -> Wording {
        let ToolOptions { names, arguments, .. } = &self.tools;
        let (read_file, skill, path) = if self.tools.offered.load_reads_files() {
            (Some(names.load.clone()), &arguments.name, FILE_ARGUMENT)
        } else {
            (self.offered_name("read_skill_file"), &arguments.skill, arguments.path.as_str())
        };
        Wording {
            load: names.load.clone(),
            name: arguments.name.clone(),
            read_file,
            skill: skill.clone(),
            path: path.to_owned(),
            start_line: self.tools.arguments.start_line.clone(),
            end_line: self.tools.arguments.end_line.clone(),
            list_files: self.always_offered_name("list_skill_files"),
            reads_directories: self.tools.offered.read_directories(),
            list: self.always_offered_name("list_skills"),
            call: None,
            run_script: None,
            approve: self.running.approve_command.clone(),
            running_off: self.running.running_off.clone(),
            errors: self.errors,
        }
    }

    /// Returns the options of catalogs: those of the host, with the names of its tools.
    pub fn catalog_options(&self) -> CatalogOptions {
        let mut options = self.catalog.clone();
        options.tool_name = self.tools.names.load.clone();
        options.name_argument = self.tools.arguments.name.clone();
        // By need, the answer of `load_skill` names it.
        options.file_tool = self.always_offered_name("read_skill_file");
        options.search_tool = self.offered_name("search_skills");
        options.list_tool = self.offered_name("list_skills");
        options
    }

    /// Returns a name that two tools, or two arguments of one tool, would share.
    pub fn clash(&self) -> Option<&str> {
        self.clash_of_tools().or_else(|| self.clash_of_arguments())
    }

    fn clash_of_tools(&self) -> Option<&str> {
        let (names, usual) = (self.tools.names.all(), ToolNames::default());
        let usual = usual.all();
        let index = (0..names.len()).find(|index| {
            // A tool is always known by its usual name too, so no other may have it.
            let others = (0..names.len()).filter(|other| other != index);
            others.into_iter().any(|other| [names[other], usual[other]].contains(&names[*index]))
        })?;
        Some(names[index])
    }

    fn clash_of_arguments(&self) -> Option<&str> {
        let ArgumentNames { name, skill, path, start_line, end_line } = &self.tools.arguments;
        let tools: [&[&str]; 5] = [
            &["reference", "script", "asset", "force", FILE_ARGUMENT, start_line, end_line, name],
            &["directory", skill],
            &[skill, path, start_line, end_line],
            &["tool", "arguments", skill],
            &["args", "stdin", skill, path],
        ];
        let twice = |names: &[&str]| (1..names.len()).find(|index| names[..*index].contains(&names[*index]));
        let clash = tools.into_iter().find_map(|names| twice(names).map(|index| names[index].to_owned()))?;
        [name, skill, path, start_line, end_line].into_iter().map(String::as_str).find(|name| *name == clash)
    }
}
