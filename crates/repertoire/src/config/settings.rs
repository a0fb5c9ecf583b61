//! The settings in force: the choices of a profile, changed by the layers.

use std::collections::BTreeMap;
use std::path::PathBuf;

use repertoire_model::answer::Render;
use repertoire_model::scope::Pattern;
use repertoire_model::words;
use repertoire_model::{Policy, Profile};

use super::agents::ConfiguredAgent;
use super::input::{ConfigFileOwner, ConfiguredPath, KitChoice};
use super::oidc::OidcSettings;
use crate::proposal::ProposalMode;
use crate::provider::fs::ScanLimits;
use crate::provider::fs::limits::GIVEN_DEPTH;
use crate::{Inherit, ReloadOptions, RoleBinding, SessionOptions, Trust};

/// The usual directories of role prompts, relative to the project's root.
const ROLE_DIRECTORIES: [&str; 2] = ["templates/roles", "roles"];

words! {
    /// The directories that links to skills may lead to.
    LinkTargets {
        /// Any directory.
        Anywhere "anywhere",
        /// Directories that are searched for skills.
        Roots "roots",
    }
}

words! {
    /// The embedder of search.
    #[derive(Default)]
    Embeddings {
        /// The table inside the program.
        #[default]
        Builtin "builtin",
        /// Nothing: skills are found by their words alone.
        Off "off",
        /// A server.
        Http "http",
    }
}

words! {
    /// The skills whose descriptions a catalog over its budget keeps first.
    #[derive(Default)]
    CatalogPreference {
        /// Those with short descriptions.
        #[default]
        Short "short",
        /// The skills that were loaded most.
        Used "used",
    }
}

words! {
    /// The sandbox of tools and scripts of skills.
    #[derive(Default)]
    SandboxChoice {
        /// The best one that works here.
        #[default]
        Auto "auto",
        /// Bubblewrap only.
        Bubblewrap "bubblewrap",
        /// Landlock only.
        Landlock "landlock",
        /// Seatbelt only.
        Seatbelt "seatbelt",
        /// No sandbox.
        None "none",
    }
}

/// The settings of tools and scripts of skills.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ExecSettings {
    /// True if models may run tools and scripts.
    pub enabled: bool,
    /// The sandbox.
    pub sandbox: SandboxChoice,
    /// The trust in skills of the project.
    pub trust_project: Trust,
    /// The trust in skills of the user.
    pub trust_user: Trust,
    /// The trust in other skills.
    pub trust_configured: Trust,
    /// True if scripts may read the working directory.
    pub scripts_read: bool,
}

/// The settings of search.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SearchSettings {
    /// The embedder.
    pub embeddings: Embeddings,
    /// The URL of the server, before `/embeddings`.
    pub url: String,
    /// Its model.
    pub model: String,
    /// The environment variable that holds its key; empty for no key.
    pub key_env: String,
    /// The URL or the command of the reranker; empty for none.
    pub rerank: String,
}

repertoire_model::options! {
    /// The settings of proposals.
    #[derive(Debug, Clone)]
    #[non_exhaustive]
    pub struct ProposalSettings {
        /// The freedom that agents have to change skills.
        pub mode: ProposalMode = ProposalMode::Controlled,
        /// Patterns of skills that may not be changed.
        pub locked: Vec<String>,
        /// Patterns of skills whose published versions always wait for a review.
        pub always_review: Vec<String>,
        /// Patterns of skills whose published versions never wait for a review.
        pub never_review: Vec<String>,
        /// The directory of new skills; empty for the default.
        pub directory: String,
        /// The program, with its arguments, that gets new proposals; empty for none.
        pub notify_command: Vec<String>,
        /// The URL that new proposals are posted to; empty for none.
        pub notify_url: String,
        /// The environment variable with the secret that posts are signed with; empty for no signature.
        pub notify_secret_env: String,
    }
}

/// The days for which events are kept by default.
const EVENTS_DAYS: usize = 400;

repertoire_model::options! {
    /// The model of `rep agent`, and the service that it runs behind.
    #[derive(Debug, Clone, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct ModelSettings {
        /// The API of the service; `auto` for the one whose key is there.
        pub provider: &'static str = "auto",
        /// The name of the model.
        pub name: String,
        /// The address of the service; empty for that of the provider itself.
        pub url: String,
        /// The environment variable with the key; empty for the usual one.
        pub key_env: String,
        /// The tokens that the model's context holds.
        pub context_tokens: usize = 200_000,
        /// The most tokens of one answer; 0 for what is usual with the API.
        pub max_output_tokens: usize,
    }
}

/// The words for the API of a service.
pub(super) const MODEL_PROVIDERS: &[(&str, &str)] = &[
    ("auto", "auto"),
    ("anthropic", "anthropic"),
    ("openai", "openai"),
    ("openai-responses", "openai-responses"),
];

/// A pattern of skills that a configuration file disables.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DisabledPattern {
    /// The pattern.
    pub pattern: Pattern,
    /// The owner of the file.
    pub owner: ConfigFileOwner,
    /// The file.
    pub file: PathBuf,
}

repertoire_model::options! {
    /// The settings in force.
    #[derive(Debug, Clone)]
    #[non_exhaustive]
    pub struct Settings {
        /// The name of the profile, or the path of its file as it was written.
        pub profile: String = Profile::Standard.as_str().to_owned(),
        /// The keys left out of a profile that only a project chose, because they are the user's to set.
        pub profile_left_out: Vec<String>,
        /// The policy that skills are judged by.
        pub policy: Policy,
        /// The patterns of skills that the policy disables, with the files that have them.
        pub disabled: Vec<DisabledPattern>,
        /// The skills of every kit, by its name.
        pub kits: BTreeMap<String, Vec<Pattern>>,
        /// The kits that are in use, which the policy has the skills of.
        pub kits_in_use: Option<KitChoice>,
        /// `true` if the skills of the user are not discovered because the project's file says so.
        pub user_off_by_project: bool,
        /// More directories of skills than the discovered ones, the strongest first.
        pub roots: Vec<ConfiguredPath>,
        /// The options of sessions and of catalogs.
        pub session: SessionOptions,
        /// The skills whose descriptions a catalog over its budget keeps first.
        pub catalog_prefer: CatalogPreference,
        /// The limits of a scan.
        pub scan: ScanLimits,
        /// The number of levels below a directory given on the command line that are searched for skills.
        pub given_depth: usize = GIVEN_DEPTH,
        /// The directories that links to skills may lead to.
        pub scan_links: LinkTargets = LinkTargets::Anywhere,
        /// True if the project's directories are searched for skills.
        pub discover_project: bool = true,
        /// True if the user's directories are searched for skills.
        pub discover_user: bool = true,
        /// Reads the skills of plugins that Claude Code and Codex have enabled.
        pub discover_plugins: bool = true,
        /// Reads the skills of all plugins in Cursor's directories.
        pub discover_plugin_caches: bool,
        /// Reads the skills of packages that are installed in the project.
        pub discover_packages: bool,
        /// Reads role packs, also where there are no role prompts beside them.
        pub discover_role_packs: bool,
        /// Directories of packs.
        pub packs: Vec<ConfiguredPath>,
        /// The model of `rep agent`.
        pub model: ModelSettings,
        /// The location of the store; empty for the default.
        pub store_url: String,
        /// True if events are recorded in the store.
        pub events_journal: bool = true,
        /// The days for which events are kept.
        pub events_days: usize = EVENTS_DAYS,
        /// The settings of proposals.
        pub proposals: ProposalSettings,
        /// The way in which sessions and servers follow the library.
        pub reload: ReloadOptions,
        /// The binding of the skill that is an agent's role.
        pub role_binding: RoleBinding,
        /// Directories of role prompts, first ones first; relative ones lie below the project's root.
        pub role_directories: Vec<ConfiguredPath>
            = ROLE_DIRECTORIES.map(|path| ConfiguredPath { given: path.into(), path: path.into() }).to_vec(),
        /// The inheritance of agents, unless they have their own.
        pub subagent_inherit: Inherit,
        /// True if MCP clients are offered tools.
        pub mcp_tools: bool = true,
        /// True if MCP clients are offered the Skills extension.
        pub mcp_extension: bool = true,
        /// The form of tool results for MCP clients.
        pub mcp_result: Render = Render::Markdown,
        /// The host names of the HTTP server.
        pub http_hosts: Vec<String>,
        /// The origins of pages that may call the HTTP server.
        pub http_origins: Vec<String>,
        /// The most requests of one token in a minute.
        pub http_requests: usize,
        /// The most kilobytes of one token in a minute.
        pub http_kilobytes: usize,
        /// The most tools that run for one token at a time.
        pub http_runs: usize,
        /// The file of the access log.
        pub http_access_log: String,
        /// The proxies whose headers are believed.
        pub http_proxies: Vec<String>,
        /// The seconds that a server goes on serving after it was asked to stop.
        pub http_drain: usize,
        /// The address that people reach the HTTP server at; empty if there is no proxy.
        pub http_public_url: String,
        /// The settings of OpenID Connect.
        pub oidc: OidcSettings,
        /// The settings of search.
        pub search: SearchSettings,
        /// The settings of tools and scripts of skills.
        pub exec: ExecSettings,
        /// True if an agent with `uses_skills` sees only these, unless it has other allowed skills.
        pub scope_uses_skills: bool,
        /// The agents, by name.
        pub agents: BTreeMap<String, ConfiguredAgent>,
    }
}

impl Settings {
    /// Returns the patterns that disable the skill `name` of `source`.
    pub fn disabled_by(&self, source: &str, name: &str) -> impl Iterator<Item = &DisabledPattern> {
        self.disabled.iter().filter(move |it| it.pattern.matches(source, name))
    }

    /// Returns the patterns of `disabled` that the project's file has and no file of the user.
    pub(super) fn disabled_by_project_alone(&self) -> Vec<Pattern> {
        let is_users = |pattern: &Pattern| {
            self.disabled.iter().any(|it| it.owner != ConfigFileOwner::Project && it.pattern == *pattern)
        };
        let of_project = self.disabled.iter().filter(|it| it.owner == ConfigFileOwner::Project);
        of_project.map(|it| &it.pattern).filter(|pattern| !is_users(pattern)).cloned().collect()
    }

    /// Returns the settings of a profile of the model before any layer changes them.
    pub fn of(profile: Profile) -> Self {
        Self { profile: profile.as_str().to_owned(), policy: Policy::of(profile), ..Self::default() }
    }
}
