//! The tables `[agents.NAME]`: their keys, and their parser.

use std::ops::Range;
use std::path::Path;

use repertoire_model::text::nearest;
use repertoire_model::{Pattern, SkillName};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::ConfigFault;
use super::input::ConfiguredPath;
use super::tools::{argument_names, hidden_arguments, offered, tool_descriptions, tool_names, tool_words};
use super::trust::FileTrust;
use crate::tool::{OPTIONAL_ARGUMENTS, OfferedTools};
use crate::{Agent, Bind, Inherit};

/// A key of an agent's table.
pub struct AgentKey {
    /// Its name within the table.
    pub name: &'static str,
    /// The description of its values.
    pub takes: &'static str,
    /// Its meaning.
    pub summary: &'static str,
    /// A value, as it would be written.
    pub example: &'static str,
}

macro_rules! agent_keys {
    ($($name:literal: $takes:expr, as in $example:literal; $summary:literal,)+) => {
        &[$(AgentKey { name: $name, takes: $takes, summary: $summary, example: $example },)+]
    };
}

/// Every key of an agent's table, in the order of the documentation.
pub const AGENT_KEYS: &[AgentKey] = agent_keys! {
    "uses_skills": "a list of skills, each a name or `source:name`", as in "[\"code-review\"]";
        "Skills whose instructions are always in the agent's prompt, in this order.",
    "skills.allow": PATTERNS, as in "[\"code-*\", \"user:*:git\"]";
        "The skills that the agent may see; without it, all, and with an empty list, none.",
    "skills.deny": PATTERNS, as in "[\"*-internal\"]";
        "The skills that the agent may not see, whatever is allowed.",
    "skills.kits": "a list of names of kits", as in "[\"web\"]";
        "Kits whose skills the agent may see, beside those of `skills.allow`; an agent of the user has only kits of the user.",
    "channel": "the name of a channel", as in "\"next\"";
        "The channel of the store that the agent follows, where several are served; by default, the last one.",
    "instructions": "a string", as in "\"Be brief.\"";
        "The text after the instructions of the skills, which so has the last word.",
    "prompt": "a file, relative to this one", as in "\"prompts/reviewer.md\"";
        "The template of the agent's own prompt, which comes first.",
    "variables": "a table of strings", as in "{ team = \"payments\" }";
        "The variables of the template.",
    "bind": "a table of skills, each `inline`, `hint`, `catalog` or `hidden`", as in "{ git = \"hint\" }";
        "How single skills are bound to the agent.",
    "inherit": "`none`, `catalog`, `active`", as in "\"none\"";
        "The things that it passes on to agents that it starts; by default, those of `subagent.inherit`.",
    "reviews": "`true` or `false`", as in "true";
        "Whether the agent has a tool to decide about proposals of others.",
    "tools.offer": "as the key `tools.offer`", as in "\"minimal\"";
        "The built-in tools that the agent is offered, out of `tools.offer`; if that is not set, in place of the tools of the profile.",
    "tools.hide_args": "as the key `tools.hide_args`", as in "[\"force\"]";
        "Optional arguments that its tools do not show, beside those of `tools.hide_args`.",
    "tools.names": "a table with the keys of `tools.names`; not in a project's file", as in "{ load = \"activate_skill\" }";
        "The names of its tools that differ.",
    "tools.args": "a table with the keys of `tools.args`; not in a project's file", as in "{ name = \"skill_name\" }";
        "The names of their arguments that differ.",
    "tools.descriptions": "a table with the keys of `tools.descriptions`; not in a project's file", as in "{ load = \"Load a skill before you begin.\" }";
        "How its tools are described, where it differs.",
    "token_file": "a file, relative to this one; not in a project's file", as in "\"/run/secrets/reviewer\"";
        "The file with the token that makes an HTTP client this agent.",
};

const PATTERNS: &str =
    "a list of patterns over names or `source:name`, where * stands for any text and ? for one character";

/// An agent as a configuration file defines it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfiguredAgent {
    /// The agent, without the text of its prompt.
    pub agent: Agent,
    /// The file of its prompt.
    pub prompt: Option<ConfiguredPath>,
    /// The kits whose skills it may see.
    pub kits: Vec<String>,
    /// The channel of a store that it follows, if the table names one.
    pub channel: Option<String>,
    /// Its own inheritance, if the table has one.
    pub inherit: Option<Inherit>,
    /// The file with the token that makes an HTTP client this agent.
    pub token_file: Option<ConfiguredPath>,
}

/// Returns the agent `name` that `table` defines, and adds its errors to `faults`.
pub(super) fn parse_agent(
    name: &Spanned<std::borrow::Cow<'_, str>>,
    table: &Spanned<DeValue<'_>>,
    directory: &Path,
    trust: &FileTrust,
    faults: &mut Vec<ConfigFault>,
) -> ConfiguredAgent {
    let given = name.get_ref();
    let mut parser = AgentParser {
        prefix: format!("agents.{given}"),
        directory,
        trust,
        configured: ConfiguredAgent {
            agent: Agent { is_of_project: *trust != FileTrust::Whole, ..Agent::new(given.to_string()) },
            ..ConfiguredAgent::default()
        },
        faults,
    };
    if SkillName::new(given).is_none_or(|name| name.as_str() != given) {
        let help = SkillName::slug(given).map(|near| format!("did you mean `{near}`?"));
        parser.fault(name.span(), format!("`{given}` is not a valid name for an agent"), help);
    }
    match table.get_ref() {
        DeValue::Table(table) => parser.table("", table),
        _ => {
            let help = format!("write `[agents.{given}]` on a line of its own, and its keys below");
            parser.fault(table.span(), format!("`agents.{given}` is a table of keys"), Some(help));
        }
    }
    parser.configured
}

struct AgentParser<'a> {
    prefix: String,
    directory: &'a Path,
    trust: &'a FileTrust,
    configured: ConfiguredAgent,
    faults: &'a mut Vec<ConfigFault>,
}

impl AgentParser<'_> {
    fn table(&mut self, within: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            self.entry(&format!("{within}{}", key.get_ref()), &key.span(), value);
        }
    }

    fn entry(&mut self, key: &str, key_range: &Range<usize>, value: &Spanned<DeValue<'_>>) {
        if let Some((message, help)) = self.trust.objection_to_key(&format!("{}.{key}", self.prefix)) {
            self.fault(value.span(), message, Some(help));
        }
        let is_known = match (key, value.get_ref()) {
            ("skills", DeValue::Table(table)) => return self.table("skills.", table),
            ("tools", DeValue::Table(table)) => return self.table("tools.", table),
            ("uses_skills", DeValue::Array(items)) => self.words(items).map(|words| {
                self.configured.agent.uses_skills = words;
            }),
            ("skills.allow", DeValue::Array(items)) => self.patterns(key, items).map(|patterns| {
                self.configured.agent.scope.allow = Some(patterns);
            }),
            ("skills.deny", DeValue::Array(items)) => self.patterns(key, items).map(|patterns| {
                self.configured.agent.scope.deny = patterns;
            }),
            ("skills.kits", DeValue::Array(items)) => self.words(items).map(|words| {
                self.configured.kits = words;
            }),
            ("channel", DeValue::String(name)) => {
                SkillName::new(name).filter(|valid| valid.as_str() == *name).map(|valid| {
                    self.configured.channel = Some(valid.to_string());
                })
            }
            ("instructions", DeValue::String(text)) => {
                self.configured.agent.instructions = Some(text.to_string());
                Some(())
            }
            ("prompt", DeValue::String(given)) if !given.is_empty() => {
                self.prompt(key, given, value.span());
                Some(())
            }
            ("token_file", DeValue::String(given)) if !given.is_empty() => {
                self.token_file(given);
                Some(())
            }
            ("variables", DeValue::Table(table)) => self.variables(table),
            ("bind", DeValue::Table(table)) => {
                self.bind(table);
                Some(())
            }
            ("inherit", DeValue::String(word)) => Inherit::parse(word).map(|inherit| {
                self.configured.inherit = Some(inherit);
            }),
            ("reviews", DeValue::Boolean(reviews)) => {
                self.configured.agent.reviews = *reviews;
                Some(())
            }
            _ => self.tools(key, value),
        };
        if is_known.is_some() {
            return;
        }
        match AGENT_KEYS.iter().find(|known| known.name == key) {
            Some(known) => {
                let takes = match known.name {
                    "tools.offer" => {
                        format!("needed, all, minimal, or a list of {}", tool_words().join(", "))
                    }
                    "tools.hide_args" => format!("a list of {}", OPTIONAL_ARGUMENTS.join(", ")),
                    _ => known.takes.replace('`', ""),
                };
                let help = format!("it takes {takes}");
                let near = value.get_ref().as_str().and_then(|word| nearest_inherit(key, word));
                let help = near.map_or(help, |near| format!("did you mean \"{near}\"?"));
                self.fault(value.span(), format!("bad value for `{}.{key}`", self.prefix), Some(help));
            }
            None => {
                let near = nearest(key, AGENT_KEYS.iter().map(|known| known.name));
                let help = match near {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => {
                        let names: Vec<&str> = AGENT_KEYS.iter().map(|known| known.name).collect();
                        format!("an agent has: {}", names.join(", "))
                    }
                };
                self.fault(key_range.clone(), format!("unknown key `{}.{key}`", self.prefix), Some(help));
            }
        }
    }

    /// Returns the strings of `items`, if they are nothing else.
    fn words(&mut self, items: &[Spanned<DeValue<'_>>]) -> Option<Vec<String>> {
        items.iter().map(|item| item.get_ref().as_str().map(str::to_owned)).collect()
    }

    fn patterns(&mut self, key: &str, items: &[Spanned<DeValue<'_>>]) -> Option<Vec<Pattern>> {
        let mut patterns = Vec::new();
        for item in items {
            match Pattern::for_scope(item.get_ref().as_str()?) {
                Ok(pattern) => patterns.push(pattern),
                Err(fault) => {
                    let message = format!("bad pattern in `{}.{key}`: {fault}", self.prefix);
                    self.fault(item.span(), message, None);
                }
            }
        }
        Some(patterns)
    }

    fn prompt(&mut self, key: &str, given: &str, range: Range<usize>) {
        let file = ConfiguredPath { given: given.into(), path: self.directory.join(given) };
        let name = format!("{}.{key}", self.prefix);
        if let Some((message, _)) = self.trust.objection_to_path(&name, &file.path) {
            let help = "put the file into the project, or the agent into your user configuration";
            self.fault(range, message, Some(help.to_owned()));
        }
        self.configured.prompt = Some(file);
    }

    fn token_file(&mut self, given: &str) {
        let path = self.directory.join(given);
        self.configured.token_file = Some(ConfiguredPath { given: given.into(), path });
    }

    /// Reads a key of the agent's tools; `None` if it is another key or has a bad value.
    fn tools(&mut self, key: &str, value: &Spanned<DeValue<'_>>) -> Option<()> {
        let own = &mut self.configured.agent.tools;
        match key {
            "tools.offer" => {
                own.offered = match offered(value.get_ref())? {
                    // Otherwise it would mean what the profile offers, as without the key.
                    OfferedTools::All => {
                        OfferedTools::Only(tool_words().into_iter().map(str::to_owned).collect())
                    }
                    chosen => chosen,
                }
            }
            "tools.hide_args" => own.hidden_arguments = hidden_arguments(value.get_ref())?,
            "tools.names" => own.names = tool_names(value.get_ref())?,
            "tools.args" => own.arguments = argument_names(value.get_ref())?,
            "tools.descriptions" => own.descriptions = tool_descriptions(value.get_ref())?,
            _ => return None,
        }
        Some(())
    }

    fn variables(&mut self, table: &DeTable<'_>) -> Option<()> {
        for (name, value) in table {
            let value = value.get_ref().as_str()?;
            self.configured.agent.variables.insert(name.get_ref().to_string(), value.to_owned());
        }
        Some(())
    }

    fn bind(&mut self, table: &DeTable<'_>) {
        for (skill, value) in table {
            let word = value.get_ref().as_str().unwrap_or_default();
            match Bind::parse(word) {
                Some(bind) => {
                    self.configured.agent.bind.insert(skill.get_ref().to_string(), bind);
                }
                None => {
                    let near = nearest(word, Bind::ALL.map(Bind::as_str));
                    let help = near.map_or_else(
                        || format!("it takes {}", Bind::ALL.map(Bind::as_str).join(", ")),
                        |near| format!("did you mean \"{near}\"?"),
                    );
                    let message = format!("bad value for `{}.bind.{}`", self.prefix, skill.get_ref());
                    self.fault(value.span(), message, Some(help));
                }
            }
        }
    }

    fn fault(&mut self, range: Range<usize>, message: String, help: Option<String>) {
        self.faults.push(ConfigFault { range, message, help });
    }
}

fn nearest_inherit(key: &str, word: &str) -> Option<&'static str> {
    if key == "inherit" { nearest(word, Inherit::ALL.map(Inherit::as_str)) } else { None }
}
