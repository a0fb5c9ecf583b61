//! The table of every key: its name, values, meaning and setting.
//!
//! The documentation, the parser and its suggestions are all made from this table.

use std::collections::BTreeMap;
use std::time::Duration;

use repertoire_model::answer::{ErrorStyle, Render};
use repertoire_model::catalog::{Format, OverBudget, Tokenizer};
use repertoire_model::ledger::Reload;
use repertoire_model::name::Grammar;
use repertoire_model::policy::{
    Action, DescriptionSource, Duplicates, NameMismatch, OnInvalid, ResourceListing,
};
use repertoire_model::scope::Pattern;
use repertoire_model::{RuleId, Severity};

use super::agents::ConfiguredAgent;
use super::input::ConfiguredPath;
use super::oidc::{OTHERS_ROLES, OidcGroup};
use super::profile_choice::{PROFILES, ProfileChoice};
use super::settings::{
    CatalogPreference, Embeddings, ExecSettings, LinkTargets, MODEL_PROVIDERS, SandboxChoice, Settings,
};
use super::tools::{ARGUMENT_KEYS, TOOL_KEYS, tool_words};
use crate::proposal::ProposalMode;
use crate::session::{DenyStyle, Refresh, Requires, SkillAsTool, ToolCeiling, ToolExposure, Unload};
use crate::tool::{OPTIONAL_ARGUMENTS, OfferedTools, ToolNames};
use crate::{Inherit, ReloadMode, RoleBinding, Trust};

/// A key of the configuration.
pub struct Key {
    /// Its name, with its table: `catalog.format`.
    pub name: &'static str,
    /// The values that it takes.
    pub kind: ValueKind,
    /// Its meaning.
    pub summary: &'static str,
    /// The flag that sets it for one run.
    pub flag: Option<&'static str>,
    /// Returns its value as it would be written.
    pub get: fn(&Settings) -> String,
    /// Changes the setting; the value is one that the kind allows.
    pub set: fn(&mut Settings, &ConfigValue),
}

/// The values that a key takes.
#[derive(Clone, Copy)]
pub enum ValueKind {
    /// One of these words.
    Word(fn() -> Vec<&'static str>),
    /// A whole number between these two.
    Number(usize, usize),
    /// `true` or `false`.
    Switch,
    /// A name that a tool or an argument can have.
    Name,
    /// Any text of one line.
    Text,
    /// A list of strings.
    Words,
    /// A list of patterns over the names of skills.
    Patterns,
    /// The built-in tools that are offered.
    OfferedTools,
    /// A list of optional arguments of built-in tools.
    OptionalArguments,
    /// A list of directories, relative to their file.
    Paths,
    /// The severity of the rule that is the last part of the key's name.
    Severity,
    /// The definition of the agent that is the last part of the key's name.
    Agent,
    /// The definition of the kit that is the last part of the key's name.
    Kit,
    /// A file, relative to its file.
    File,
    /// The rights of the group that is the last part of the key's name.
    OidcGroup,
    /// The name of a profile, or a file with its keys, relative to its file.
    Profile,
    /// A table with some of these entries, whose values are of this kind.
    Table(&'static [&'static str], &'static ValueKind),
}

/// A value that some layer gives to a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigValue {
    /// For [`ValueKind::Word`], [`ValueKind::Name`] and [`ValueKind::Text`].
    Word(String),
    /// For [`ValueKind::Number`].
    Number(usize),
    /// For [`ValueKind::Switch`].
    Switch(bool),
    /// For [`ValueKind::Words`], [`ValueKind::Patterns`] and [`ValueKind::OptionalArguments`].
    Words(Vec<String>),
    /// For [`ValueKind::OfferedTools`].
    OfferedTools(OfferedTools),
    /// For [`ValueKind::Paths`], and for [`ValueKind::File`] with one path or none.
    Paths(Vec<ConfiguredPath>),
    /// For [`ValueKind::Severity`].
    Severity(RuleId, Option<Severity>),
    /// For [`ValueKind::Agent`].
    Agent(Box<ConfiguredAgent>),
    /// For [`ValueKind::Kit`]: its name, and its skills.
    Kit(String, Vec<Pattern>),
    /// For [`ValueKind::OidcGroup`]: its name, and its rights.
    OidcGroup(String, Box<OidcGroup>),
    /// For [`ValueKind::Profile`].
    Profile(ProfileChoice),
    /// For [`ValueKind::Table`]: the name of one entry, and its value.
    Entry(&'static str, Box<ConfigValue>),
}

/// The words of a setting with their meanings.
type Words<T> = &'static [(&'static str, T)];

/// The words for the severity of a rule.
pub(super) const SEVERITIES: Words<Option<Severity>> = &[
    ("off", None),
    ("info", Some(Severity::Info)),
    ("warning", Some(Severity::Warning)),
    ("error", Some(Severity::Error)),
];

/// The most days of any age: a hundred years.
const MAX_DAYS: usize = 36_500;

/// The least milliseconds between polls.
const MIN_POLL_MS: usize = 100;

/// The most milliseconds of any interval: an hour.
const MAX_INTERVAL_MS: usize = 3_600_000;

/// The most that any number of the configuration may be.
const LARGE: usize = 100_000_000;

macro_rules! key {
    (@kind $table:ident) => { ValueKind::Word(|| $table.iter().map(|(word, _)| *word).collect()) };
    // A word of a table.
    ($name:literal word $table:ident $($field:ident).+ , $flag:expr, $summary:literal) => {
        Key {
            name: $name, kind: key!(@kind $table), summary: $summary, flag: $flag,
            get: |settings| quoted($table.iter().find(|(_, value)| *value == settings.$($field).+).map_or("", |(word, _)| word)),
            set: |settings, value| {
                if let ConfigValue::Word(word) = value && let Some((_, value)) = $table.iter().find(|(known, _)| known == word) {
                    settings.$($field).+ = *value;
                }
            },
        }
    };
    // A word of a type that knows all its words.
    ($name:literal words of $type:ident, $($field:ident).+ , $flag:expr, $summary:literal) => {
        Key {
            name: $name, kind: ValueKind::Word(|| $type::ALL.map($type::as_str).to_vec()), summary: $summary, flag: $flag,
            get: |settings| quoted(settings.$($field).+.as_str()),
            set: |settings, value| {
                if let ConfigValue::Word(word) = value && let Some(value) = $type::parse(word) {
                    settings.$($field).+ = value;
                }
            },
        }
    };
    // A list of directories. The lists of all layers add up; those of a later layer come first.
    ($name:literal paths $field:ident, $flag:expr, $summary:literal) => {
        Key {
            name: $name, kind: ValueKind::Paths, summary: $summary, flag: $flag,
            get: |settings| paths(&settings.$field),
            set: |settings, value| if let ConfigValue::Paths(paths) = value { settings.$field.splice(0..0, paths.iter().cloned()); },
        }
    };
    // A table of values of one kind, each set by its position.
    ($name:literal table $entries:ident of $kind:expr, $variant:ident, $get:expr, $set:expr, $summary:literal) => {
        Key {
            name: $name, kind: ValueKind::Table(&$entries, &$kind), summary: $summary, flag: None,
            get: |settings| {
                let values: fn(&Settings) -> [String; $entries.len()] = $get;
                let entries: Vec<String> = $entries.iter().zip(values(settings)).map(|(entry, value)| format!("{entry} = {value}")).collect();
                format!("{{ {} }}", entries.join(", "))
            },
            set: |settings, value| {
                if let ConfigValue::Entry(entry, value) = value
                    && let ConfigValue::$variant(value) = &**value
                    && let Some(index) = $entries.iter().position(|known| known == entry)
                {
                    let set: fn(&mut Settings, usize, _) = $set;
                    set(settings, index, value.clone());
                }
            },
        }
    };
    // A table whose entries are settings.
    ($name:literal fields $entries:ident of $kind:expr, $variant:ident, $write:expr, [$($($field:ident).+),+], $summary:literal) => {
        key!($name table $entries of $kind, $variant,
            |settings| [$(&settings.$($field).+),+].map($write),
            |settings, index, value| *[$(&mut settings.$($field).+),+][index] = value,
            $summary)
    };
    // A time in milliseconds.
    ($name:literal milliseconds $least:tt to $most:ident, $($field:ident).+ , $summary:literal) => {
        Key {
            name: $name, kind: ValueKind::Number($least, $most), summary: $summary, flag: None,
            get: |settings| settings.$($field).+.as_millis().to_string(),
            set: |settings, value| if let ConfigValue::Number(value) = value { settings.$($field).+ = Duration::from_millis(*value as u64) },
        }
    };
    // A key that is read and changed in a way of its own.
    ($name:tt own $kind:expr, $get:expr, $variant:ident($($value:ident),+) |$settings:ident| $set:expr, $flag:expr, $summary:literal) => {
        Key {
            name: $name, kind: $kind, summary: $summary, flag: $flag, get: $get,
            set: |$settings, value| if let ConfigValue::$variant($($value),+) = value { $set },
        }
    };
    // A number, a switch or a list, which have one shape.
    ($name:literal $kind:expr, $variant:ident $($field:ident).+ , $write:expr, $flag:expr, $summary:literal) => {
        Key {
            name: $name, kind: $kind, summary: $summary, flag: $flag,
            get: |settings| $write(&settings.$($field).+),
            set: |settings, value| if let ConfigValue::$variant(value) = value { settings.$($field).+ = value.clone() },
        }
    };
}

/// Every key, in the order of the documentation.
pub const KEYS: &[Key] = &[
    // The profile is chosen before all other keys, on which it settles the defaults.
    key!("profile" own ValueKind::Profile,
        |settings| quoted(&settings.profile),
        Profile(choice) |settings| settings.profile = choice.name(),
        Some("--profile"), "The set of choices that all others start from. A file has the keys of this table; a project's file may not name one."),
    key!("roots" paths roots, Some("--root (replaces them)"), "More directories of skills than the discovered ones; earlier ones win, and the project's come before the user's."),
    key!("disabled" own ValueKind::Patterns,
        |settings| strings(&settings.policy.disabled.iter().map(Pattern::to_string).collect::<Vec<_>>()),
        Words(patterns) |settings| { settings.policy.disabled.extend(patterns.iter().filter_map(|it| Pattern::new(it).ok())); },
        None, "Skills that are switched off for all agents, as `rep disable` writes them; the lists of the user and of the project add up."),
    key!("duplicates" words of Duplicates, policy.duplicates, None, "What happens to skills of several sources that share a name; of twins within one source all but one are quarantined, whatever is chosen here."),
    key!("on_invalid" words of OnInvalid, policy.on_invalid, None, "What happens to a skill that cannot be understood."),
    key!("quarantine_errors" ValueKind::Switch, Switch policy.quarantine_errors, switch, None, "Whether every error in a `SKILL.md` sets the skill aside, not only the errors that make it unusable."),
    key!("name_mismatch" words of NameMismatch, policy.name_mismatch, None, "What happens when a skill's name differs from its directory."),
    key!("unload" words of Unload, session.loading.unload, None, "The effect of unloading on the transcript: the instructions stay until the next compaction, or the host takes them out at once."),
    key!("tool_exposure" words of ToolExposure, session.running.exposure, None, "How models are told of the tools that skills bring along: through one tool that calls all of them, so that the list of tools never changes; behind the others; or among them, for as long as the skill is loaded."),
    key!("name.grammar" words of Grammar, policy.name_grammar, None, "The grammar that names are held against."),
    key!("name.reserved" ValueKind::Words, Words policy.reserved_words, strings, None, "Words that a name should not hold."),
    key!("name.reserved_action" words of Action, policy.reserved_action, None, "How loudly a reserved word in a name is reported."),
    key!("description.min" ValueKind::Number(0, LARGE), Number policy.description_min, number, None, "The shortest description that is not reported, in characters."),
    key!("description.max" ValueKind::Number(1, LARGE), Number policy.description_max, number, None, "The longest description that is not reported, in characters."),
    key!("description.from" words of DescriptionSource, policy.description_from, None, "The source of descriptions: the frontmatter, and else the instructions; or the first heading, and else the frontmatter."),
    key!("frontmatter.unknown" words of Action, policy.unknown_fields, None, "How loudly an unknown key in a frontmatter is reported."),
    key!("frontmatter.required" ValueKind::Switch, Switch policy.frontmatter_required, switch, None, "Whether a missing frontmatter is reported."),
    key!("frontmatter.fields" ValueKind::Words, Words policy.known_fields, strings, None, "Fields that are part of the format beyond those of the open standard, so that `strict` allows them."),
    Key {
        name: "frontmatter.defaults",
        kind: ValueKind::Table(&DEFAULT_KEYS, &ValueKind::Text),
        summary: "The version and the author of a skill that states none.",
        flag: None,
        get: |settings| {
            let values = [&settings.policy.default_version, &settings.policy.default_author];
            let entries = DEFAULT_KEYS
                .iter()
                .zip(values)
                .filter_map(|(entry, value)| Some(format!("{entry} = {}", quoted(value.as_ref()?))));
            let entries: Vec<String> = entries.collect();
            if entries.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", entries.join(", ")) }
        },
        set: |settings, value| {
            if let ConfigValue::Entry(entry, value) = value
                && let ConfigValue::Word(text) = &**value
            {
                let policy = &mut settings.policy;
                let field = if *entry == "version" {
                    &mut policy.default_version
                } else {
                    &mut policy.default_author
                };
                *field = Some(text.clone());
            }
        },
    },
    key!("resources.listing" words of ResourceListing, policy.resource_listing, None, "Which files a skill is said to have: those found, those declared, or both."),
    key!("resources.max_listed" ValueKind::Number(0, LARGE), Number policy.max_listed, number, None, "The most files that are listed when a skill is loaded."),
    key!("catalog.format" words of Format, session.catalog.format, Some("catalog --format"), "The shape of the catalog."),
    key!("catalog.budget_tokens" own ValueKind::Number(0, LARGE),
        |settings| settings.session.catalog.budget_tokens.unwrap_or(0).to_string(),
        Number(tokens) |settings| settings.session.catalog.budget_tokens = Some(*tokens).filter(|tokens| *tokens > 0),
        Some("catalog --budget"), "The most tokens the catalog may have; 0 for any number."),
    key!("catalog.over_budget" words of OverBudget, session.catalog.over_budget, None, "What happens to a catalog over its budget."),
    key!("catalog.prefer" words of CatalogPreference, catalog_prefer, None, "Which descriptions a catalog over its budget keeps first: short ones, or those of the skills that were loaded most in the last 90 days, as the store has counted when the command starts."),
    key!("catalog.usage" ValueKind::Switch, Switch session.catalog.usage, switch, None, "Whether the catalog shows the call that loads a skill and says what to do if none matches; the format `compat` never does."),
    key!("catalog.show_loaded" ValueKind::Switch, Switch session.show_loaded, switch, None, "Whether the `menu` catalog may mark loaded skills; it defeats prompt caching."),
    key!("catalog.refresh" words of Refresh, session.refresh, None, "When the catalog of a session follows the library: at a compaction, only when asked, or at once, which defeats prompt caching."),
    key!("render.load" words of Render, session.render, Some("call --render, session --render"), "How answers of tools are written."),
    key!("load.include_frontmatter" ValueKind::Switch, Switch session.loading.include_frontmatter, switch, Some("show --raw"), "Whether a skill's frontmatter is shown with its instructions."),
    key!("load.location" ValueKind::Switch, Switch session.loading.show_location, switch, None, "Whether models are told where a skill lies, so that they can run its scripts with their own shell."),
    key!("load.reload" words of Reload, session.loading.reload, None, "What happens when an active skill is loaded again: acknowledged if it is surely in the context and unchanged, given again, or acknowledged as long as some version of it is there."),
    key!("load_skill.bucket_args" ValueKind::Switch, Switch session.tools.bucket_arguments, switch, None, "Whether `load_skill` takes `reference`, `script` and `asset`."),
    key!("requires.mode" words of Requires, session.loading.requires, None, "Whether the skills that a loaded one requires are named to the model or loaded with it."),
    key!("requires.max_tokens" ValueKind::Number(0, LARGE), Number session.loading.requires_max_tokens, number, None, "The most tokens of skills that are loaded because another one requires them."),
    key!("tools.offer" own ValueKind::OfferedTools,
        |settings| match &settings.session.tools.offered {
            OfferedTools::All => quoted("all"),
            OfferedTools::Needed(_) => quoted("needed"),
            OfferedTools::Minimal => quoted("minimal"),
            OfferedTools::Only(tools) | OfferedTools::Preset(tools) => strings(&tools.iter().cloned().collect::<Vec<_>>()),
        },
        OfferedTools(tools) |settings| settings.session.tools.offered = tools.clone(),
        None, "Which of the built-in tools models are offered: what a session needs, all, `load_skill` alone with a skill and a file of it as its only arguments, or `load_skill` and a list of others by their usual names. It never offers what is switched off otherwise. The list of a profile is only a default: what is switched on is offered beside it."),
    key!("tools.hide_args" own ValueKind::OptionalArguments,
        |settings| strings(&settings.session.tools.hidden_arguments.iter().cloned().collect::<Vec<_>>()),
        Words(names) |settings| settings.session.tools.hidden_arguments = names.iter().cloned().collect(),
        None, "Optional arguments that the schemas of tools do not show, by their usual names; a model that gives one is understood nevertheless."),
    key!("tools.descriptions" table TOOL_KEYS of ValueKind::Text, Word,
        |settings| descriptions(&settings.session.tools.descriptions),
        |settings, index, text| describe(&mut settings.session.tools.descriptions, index, text),
        "Descriptions of the built-in tools in place of the usual ones, by the keys of `tools.names`; empty for the usual one."),
    key!("tools.names" table TOOL_KEYS of ValueKind::Name, Word,
        |settings| settings.session.tools.names.all().map(quoted),
        |settings, index, name| *settings.session.tools.names.all_mut()[index] = name,
        "The names of the built-in tools."),
    key!("tools.args" table ARGUMENT_KEYS of ValueKind::Name, Word,
        |settings| settings.session.tools.arguments.all().map(quoted),
        |settings, index, name| *settings.session.tools.arguments.all_mut()[index] = name,
        "The names of arguments: `name` for the skill to load or unload, `skill` for that of a file, `path` for the file, and its first and last line."),
    key!("tools.arg_aliases" ValueKind::Switch, Switch session.tools.argument_aliases, switch, None, "Whether other usual names of arguments are understood too: `skill_name`, `skill_id`, `file_path` and the like."),
    key!("tools.unload" ValueKind::Switch, Switch session.tools.unload_tool, switch, None, "Whether there is a tool to unload skills."),
    key!("tools.skill_as_tool" words of SkillAsTool, session.tools.skill_as_tool, None, "The effect of calling a skill's name as if it were a tool: the skill is loaded, or an error shows the call to make."),
    key!("tools.ceiling" words of ToolCeiling, session.running.tool_ceiling, None, "Whether `allowed-tools` of active skills limits what may be called; what all of them name is left, and nothing is ever added."),
    key!("errors.style" words of ErrorStyle, session.errors, None, "How unknown skills are answered: with the nearest names, or with a pointer at the menu."),
    key!("scope.enforce" ValueKind::Switch, Switch session.scope.enforce, switch, None, "Whether what an agent may not see is kept from its tools too, not only from its catalog."),
    key!("scope.uses_skills" ValueKind::Switch, Switch scope_uses_skills, switch, None, "Whether an agent with `uses_skills` and without `skills.allow` sees only the skills that it uses."),
    key!("scope.deny_style" words of DenyStyle, session.scope.deny_style, None, "How an agent is told that a skill is not for it: as if it did not exist, or that it is not permitted."),
    key!("tokens.estimator" words of Tokenizer, session.catalog.tokenizer, None, "The tokenizer that counts tokens."),
    key!("scan.max_depth" ValueKind::Number(1, 10), Number scan.max_depth, number, None, "How many levels below a root skills are looked for; directories of skills are not searched. Directories that are named with `--root` are searched 5 levels deep by default, and hidden directories in them as well."),
    key!("scan.nested" ValueKind::Switch, Switch scan.nested, switch, None, "Whether skills inside other skills are looked for."),
    key!("scan.links" words of LinkTargets, scan_links, None, "Where symbolic links to skills and to groups of skills may lead: anywhere, or only into the roots that are looked at."),
    key!("discovery" fields DISCOVERY_KEYS of ValueKind::Switch, Switch, switch,
        [discover_project, discover_user, discover_plugins, discover_plugin_caches, discover_packages, discover_role_packs],
        "The places where skills are looked for: `project`, `.agents/skills`, `.claude/skills` and the like from the working directory up to the repository root; `user`, the same below the home directory; `plugins`, the plugins that Claude Code and Codex have installed and enabled; `plugin_caches`, all in Cursor's directories, since Cursor does not record which are enabled; `packages`, `skills` and `.agents/skills` in packages below `node_modules`, `.venv` and `venv` of the project; `role_packs`, `templates/skills`, also where there are no role prompts beside it."),
    key!("packs.directories" paths packs, None, "Directories whose every sub-directory is a pack of skills."),
    key!("model.provider" word MODEL_PROVIDERS model.provider, Some("agent --provider"), "The API that `rep agent` speaks: Anthropic's messages, OpenAI's chat completions or responses, or the one whose key is in the environment."),
    key!("model.name" ValueKind::Text, Word model.name, quoted, Some("agent --model"), "The model that `rep agent` talks to."),
    key!("model.url" ValueKind::Text, Word model.url, quoted, Some("agent --base-url"), "The address of the service that the model runs behind, such as `http://127.0.0.1:8080/v1`; empty for that of the provider itself."),
    key!("model.key_env" ValueKind::Text, Word model.key_env, quoted, None, "The environment variable with the key of the service; empty for `ANTHROPIC_API_KEY` or `OPENAI_API_KEY`. Local servers need none."),
    key!("model.max_output_tokens" ValueKind::Number(0, LARGE), Number model.max_output_tokens, number, Some("agent --max-output-tokens"), "The most tokens of one answer of the model; 0 for 8192 with Anthropic's API, and for what the service allows with others."),
    key!("model.context_tokens" ValueKind::Number(1000, LARGE), Number model.context_tokens, number, None, "The tokens that the context of the model holds; `rep agent` replaces the conversation by a summary before it is full."),
    key!("store.url" ValueKind::Text, Word store_url, quoted, None, "Where events, versions and proposals are kept: the path of a SQLite file, or `postgres://user@host/database`; empty for `repertoire.db` in the state directory, which has the files of added skills in any case."),
    key!("events.journal" ValueKind::Switch, Switch events_journal, switch, None, "Whether the use of skills by agents is recorded in the store; see https://github.com/repertoire-rs/repertoire/blob/main/docs/reference/events.md."),
    key!("events.keep_days" ValueKind::Number(1, MAX_DAYS), Number events_days, number, None, "The age in days at which events are removed. What is counted from them stays."),
    key!("proposals.mode" words of ProposalMode, proposals.mode, None, "The proposals that agents may make: changes and new skills that a person approves, new skills without approval, or nothing."),
    key!("proposals.offer" ValueKind::Switch, Switch session.tools.propose_tools, switch, None, "Whether agents are offered tools to propose changes of skills and new skills."),
    key!("proposals.locked" ValueKind::Patterns, Words proposals.locked, strings, None, "Skills that nobody may propose to change."),
    key!("proposals.always_review" ValueKind::Patterns, Words proposals.always_review, strings, None, "Skills whose versions that are published over HTTP wait for a reviewer, whoever publishes them, as in `store:stable:*`."),
    key!("proposals.never_review" ValueKind::Patterns, Words proposals.never_review, strings, None, "Skills whose versions that authors publish over HTTP are released at once, as in `store:next:*`."),
    key!("proposals.directory" ValueKind::Text, Word proposals.directory, quoted, None, "The directory that approved new skills are written to; empty for `.agents/skills` of the project, or of the home directory. With `--root` it is the first of these."),
    key!("proposals.notify_command" ValueKind::Words, Words proposals.notify_command, strings, None, "A program and its arguments that run for every new proposal, which is JSON on standard input; it is not confined."),
    key!("proposals.notify_url" ValueKind::Text, Word proposals.notify_url, quoted, None, "A URL that the JSON of every new proposal is posted to."),
    key!("proposals.notify_secret_env" ValueKind::Text, Word proposals.notify_secret_env, quoted, None, "The environment variable with the secret of the header `X-Repertoire-Signature: sha256=HEX` of such posts: the HMAC-SHA256 of the body."),
    key!("reload.mode" words of ReloadMode, reload.mode, None, "How sessions and servers follow the library: by events of the file system, by polling, on use, or not at all; see https://github.com/repertoire-rs/repertoire/blob/main/docs/guides/hot-reload.md."),
    key!("reload.poll_ms" milliseconds MIN_POLL_MS to MAX_INTERVAL_MS, reload.poll, "The least milliseconds between two polls; more where polling would take over 0.17 % of a core."),
    key!("reload.cooldown_ms" milliseconds 0 to MAX_INTERVAL_MS, reload.cooldown, "The least milliseconds between two looks at a library that is followed on use."),
    key!("binding.role_default" words of RoleBinding, role_binding, None, "The part of a role's skill that its prompt holds: the instructions, or a line that tells to load it."),
    key!("roles.directories" paths role_directories, None, "Directories with a `system_prompt.md` for each role that is not a skill; the last two, below the project's root, are always looked at."),
    key!("subagent.inherit" words of Inherit, subagent_inherit, None, "The things that an agent passes on to agents that it starts: nothing, the limits of its catalog, or these and the loaded skills."),
    key!("mcp.tools" ValueKind::Switch, Switch mcp_tools, switch, Some("serve --no-tools"), "Whether MCP clients are offered tools to load skills and to read their files."),
    key!("mcp.sep2640" ValueKind::Switch, Switch mcp_extension, switch, Some("serve --no-extension"), "Whether MCP clients are offered the Skills extension, and files of skills as resources."),
    key!("mcp.result" words of Render, mcp_result, Some("serve --render"), "How MCP clients get results of tools: as Markdown, XML or plain sentences, or as JSON in the text and as structured content."),
    key!("http.allow_hosts" ValueKind::Words, Words http_hosts, strings, Some("serve --allow-host"), "Names that the HTTP server goes by in `Host`, beside those of the machine itself."),
    key!("http.allow_origins" ValueKind::Words, Words http_origins, strings, Some("serve --allow-origin"), "Pages that may talk to the HTTP server, as in `https://app.example.com` or `http://localhost:*`."),
    key!("http.limits" fields LIMIT_KEYS of ValueKind::Number(0, LARGE), Number, number, [http_requests, http_kilobytes, http_runs],
        "Limits, each 0 for none: the requests, and the kilobytes sent and received, of all tokens with one name in a minute, beyond which requests get 429; and the tools and scripts of skills that run for one token at a time."),
    key!("http.access_log" ValueKind::Text, Word http_access_log, quoted, None, "The file that gets a line of JSON for each request, without secrets; `-` for standard error, empty for none."),
    key!("http.trusted_proxies" ValueKind::Words, Words http_proxies, strings, None, "Addresses of proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed, as in `10.0.0.7` or `10.0.0.0/8`."),
    key!("http.public_url" ValueKind::Text, Word http_public_url, quoted, Some("serve --public-url"), "The address that people reach the HTTP server at if a proxy is in front of it, as in `https://skills.example.com`."),
    key!("http.drain_seconds" ValueKind::Number(0, 300), Number http_drain, number, None, "The seconds after SIGTERM in which the HTTP server goes on serving while `/readyz` answers 503, so that proxies send requests elsewhere before it stops; a second signal ends the wait."),
    key!("oidc.issuer" ValueKind::Text, Word oidc.issuer, quoted, None, "The provider of OpenID Connect that people sign in at, as it calls itself; `https`, or `http` on this machine. Empty for none; see https://github.com/repertoire-rs/repertoire/blob/main/docs/guides/operating.md#signing-in."),
    key!("oidc.client_id" ValueKind::Text, Word oidc.client_id, quoted, None, "The name under which the provider knows the server."),
    key!("oidc.client_secret_file" own ValueKind::File,
        |settings| quoted(&settings.oidc.client_secret_file.as_ref().map(|file| file.given.to_string_lossy()).unwrap_or_default()),
        Paths(paths) |settings| settings.oidc.client_secret_file = paths.first().cloned(),
        None, "The file with the secret that the provider knows the server by; none for a public client."),
    key!("oidc.audience" ValueKind::Text, Word oidc.audience, quoted, None, "The audience of JSON Web Tokens of the provider that programs send; empty for `oidc.client_id`."),
    key!("oidc.claims" fields CLAIM_KEYS of ValueKind::Text, Word, |it: &String| quoted(it), [oidc.name_claim, oidc.groups_claim],
        "The claims with the name that events tell, and with the groups of a person. An empty `name` is `email` if the provider verified it, and else `sub`. People must not be able to choose their name."),
    key!("oidc.role" word OTHERS_ROLES oidc.role, None, "The role of people in none of the groups below; with `none` they have no access."),
    key!(OIDC_GROUPS_KEY own ValueKind::OidcGroup,
        |_| String::new(),
        OidcGroup(name, group) |settings| { settings.oidc.groups.insert(name.clone(), (**group).clone()); },
        None, "The rights of people in a group of the provider. The group with the highest role counts; several of that role give access to the skills of all of them."),
    key!("exec.enabled" ValueKind::Switch, Switch exec.enabled, switch, Some("session --exec, serve --exec"), "Whether models may call the tools of skills and run their scripts, once a person approved the skill; see https://github.com/repertoire-rs/repertoire/blob/main/docs/guides/tools-in-skills.md."),
    key!("exec.sandbox" words of SandboxChoice, exec.sandbox, Some("run --sandbox"), "The sandbox of such tools and scripts: the best that works here, or one by name; `none` gives no protection."),
    key!("exec.trust" table TRUST_KEYS of ValueKind::Word(|| Trust::ALL.map(Trust::as_str).to_vec()), Word,
        |settings| [settings.exec.trust_project, settings.exec.trust_user, settings.exec.trust_configured].map(|it| quoted(it.as_str())),
        |settings, index, word: String| {
            let ExecSettings { trust_project, trust_user, trust_configured, .. } = &mut settings.exec;
            *[trust_project, trust_user, trust_configured][index] = Trust::parse(&word).unwrap_or_default();
        },
        "How far skills are trusted to run something: at once, once a person approved them, or never. `project` is for those of the project, `user` for those of the user's own directories, `configured` for those of configured directories, of packs, plugins and packages, and of `--root`."),
    key!("exec.scripts_read" ValueKind::Switch, Switch exec.scripts_read, switch, Some("run --read"), "Whether scripts, which cannot ask for anything, may read the working directory."),
    key!("search.embeddings" words of Embeddings, search.embeddings, None, "The source of meanings for searches: the table inside the program, nothing, so that skills are found by their words alone, or a server; see https://github.com/repertoire-rs/repertoire/blob/main/docs/guides/search-by-meaning.md."),
    key!("search.url" ValueKind::Text, Word search.url, quoted, None, "The server that says what texts mean, before `/embeddings`, as in `https://api.openai.com/v1`. It is sent the texts of skills and queries."),
    key!("search.model" ValueKind::Text, Word search.model, quoted, None, "The model of that server."),
    key!("search.key_env" ValueKind::Text, Word search.key_env, quoted, None, "The environment variable that holds the key of that server; without it no key is sent."),
    key!("search.rerank" ValueKind::Text, Word search.rerank, quoted, None, "Puts the ten best results of a search in order: the URL of a rerank API, as in `http://localhost:8080/v1/rerank`, or a command with its arguments, split at blanks. It is sent the query and texts of these skills; see https://github.com/repertoire-rs/repertoire/blob/main/docs/guides/searching.md."),
    key!(AGENTS_KEY own ValueKind::Agent,
        |_| String::new(),
        Agent(configured) |settings| { settings.agents.insert(configured.agent.name.clone(), (**configured).clone()); },
        None, "An agent; the user's definition replaces the project's of the same name as a whole."),
    key!(KITS_KEY own ValueKind::Kit,
        |_| String::new(),
        Kit(name, skills) |settings| { settings.kits.insert(name.clone(), skills.clone()); },
        None, "A kit: a choice of skills, such as those for one kind of work. `rep kit use NAME` switches all other skills off; the user's definition replaces the project's of the same name."),
    key!(RULES_KEY own ValueKind::Severity,
        |_| String::new(),
        Severity(rule, severity) |settings| { settings.policy.rule_severities.insert(*rule, *severity); },
        None, "The severity of one rule; every rule is listed in https://github.com/repertoire-rs/repertoire/blob/main/docs/reference/rules.md."),
];

/// The name of agents in the table.
pub(super) const AGENTS_KEY: &str = "agents.<name>";

/// The name of groups of a provider in the table.
pub(super) const OIDC_GROUPS_KEY: &str = "oidc.groups.<name>";

/// The name of kits in the table.
pub(super) const KITS_KEY: &str = "kits.<name>";

/// The name of the severities of rules in the table.
pub(super) const RULES_KEY: &str = "rules.<rule-id>";

/// The entries of `discovery`.
const DISCOVERY_KEYS: [&str; 6] = ["project", "user", "plugins", "plugin_caches", "packages", "role_packs"];

/// The entries of `frontmatter.defaults`.
const DEFAULT_KEYS: [&str; 2] = ["version", "author"];

/// The entries of `exec.trust`.
const TRUST_KEYS: [&str; 3] = ["project", "user", "configured"];

/// The entries of `http.limits`.
const LIMIT_KEYS: [&str; 3] = ["requests_per_minute", "kilobytes_per_minute", "max_runs"];

/// The entries of `oidc.claims`.
const CLAIM_KEYS: [&str; 2] = ["name", "groups"];

impl Key {
    /// Returns the names under which it is set: its own, or those of the entries of a table.
    pub fn names(&self) -> Vec<String> {
        match self.kind {
            ValueKind::Table(entries, _) => {
                entries.iter().map(|entry| format!("{}.{entry}", self.name)).collect()
            }
            _ => vec![self.name.to_owned()],
        }
    }

    /// Returns the kind of its value, or that of the values in a table.
    pub fn value_kind(&self) -> ValueKind {
        match self.kind {
            ValueKind::Table(_, kind) => *kind,
            kind => kind,
        }
    }

    /// Returns `value` as the value of the key that is set under `name`.
    pub(super) fn value(&self, name: &str, value: ConfigValue) -> ConfigValue {
        let ValueKind::Table(entries, _) = self.kind else { return value };
        let entry = entries.iter().find(|entry| name.ends_with(&format!(".{entry}")));
        entry.map_or(value.clone(), |entry| ConfigValue::Entry(entry, Box::new(value)))
    }
}

/// Returns the key that is set under `name`.
pub(super) fn find_key(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.names().iter().any(|known| known == name))
}

/// Returns the descriptions of all tools, as they would be written.
fn descriptions(descriptions: &BTreeMap<String, String>) -> [String; 11] {
    let usual = ToolNames::default();
    usual.all().map(|tool| quoted(descriptions.get(tool).map_or("", String::as_str)))
}

/// Changes the description of the tool at `index`; an empty one is the usual one.
fn describe(descriptions: &mut BTreeMap<String, String>, index: usize, text: String) {
    let usual = ToolNames::default();
    let tool = usual.all()[index];
    descriptions.remove(tool);
    if !text.is_empty() {
        descriptions.insert(tool.to_owned(), text);
    }
}

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

fn number(number: &usize) -> String {
    number.to_string()
}

fn switch(switch: &bool) -> String {
    switch.to_string()
}

fn strings(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    format!("[{}]", words.join(", "))
}

fn coded(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

fn paths(roots: &[ConfiguredPath]) -> String {
    let roots: Vec<String> = roots.iter().map(|root| quoted(&root.given.to_string_lossy())).collect();
    format!("[{}]", roots.join(", "))
}

impl ValueKind {
    /// Returns the description of the values.
    pub fn describe(self) -> String {
        match self {
            Self::Word(words) => coded(&words()),
            Self::Number(least, LARGE) => format!("a whole number, at least {least}"),
            Self::Number(least, most) => format!("a whole number, {least} to {most}"),
            Self::Switch => "`true`, `false`".to_owned(),
            Self::Name => "a name of letters, digits, `_` and `-`".to_owned(),
            Self::Text => "a text of one line".to_owned(),
            Self::Words => "a list of strings".to_owned(),
            Self::Patterns => "a list of patterns over names or `source:name`, where `*` stands for any text and `?` for one character".to_owned(),
            Self::OfferedTools => format!("`needed`, `all`, `minimal`, or a list of {}", coded(&tool_words())),
            Self::OptionalArguments => format!("a list of {}", coded(&OPTIONAL_ARGUMENTS)),
            Self::Paths => "a list of directories".to_owned(),
            Self::Severity => "`off`, `info`, `warning`, `error`".to_owned(),
            Self::Agent => "a table of the keys of an agent".to_owned(),
            Self::File => "a file, relative to this one".to_owned(),
            Self::OidcGroup => "a table with `role`, and with `agent`, `allow`, `deny` and `kits` as `rep team token create` takes them".to_owned(),
            Self::Table(entries, kind) => {
                format!("a table with {}, each {}", coded(entries), kind.describe())
            }
            Self::Profile => format!("{}, or a file, relative to this one", coded(&PROFILES)),
            Self::Kit => "a table with `skills`, a list of patterns over names or `source:name`".to_owned(),
        }
    }
}
