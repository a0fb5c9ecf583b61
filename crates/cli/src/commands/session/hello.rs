//! The first line of a host: what it is able to do, and what it adds to the library.

use std::collections::BTreeMap;
use std::sync::Arc;

use repertoire::provider::memory::Resource;
use repertoire::tool::Definition;
use repertoire::{LibraryBuilder, MemoryProvider, SkillDefinition, define_skill};
use repertoire_model::Manifest;
use serde::Deserialize;
use serde_json::{Value, json};

use super::host::{Host, HostSkillTool, HostTool, decoded, host_file};
use super::refusal::{Answer, ProtocolRefusal, Request, bad, fields};

/// The newest version of the protocol.
const PROTOCOL: u64 = 1;

/// The things that a host can rely on beyond those of the version.
const FEATURES: [&str; 9] = [
    "approvals",
    "cancel",
    "changes",
    "events",
    "handle",
    "host_tools",
    "lazy_files",
    "sessions",
    "skills_in_code",
];

/// The label of skills that the host defines.
const LABEL: &str = "code";

/// The greeting of a host.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Hello {
    #[serde(rename = "op")]
    _op: String,
    #[serde(rename = "id")]
    _id: Option<Value>,
    protocol: u64,
    /// Whether skills are read from directories, too.
    #[serde(default = "yes")]
    pub(super) directories: bool,
    /// Whether the host asks a person for approvals.
    #[serde(default)]
    pub(super) approvals: bool,
    #[serde(default)]
    skills: Vec<CodeSkill>,
    #[serde(default)]
    tools: Vec<CodeTool>,
    #[serde(default)]
    handlers: Vec<CodeHandler>,
}

fn yes() -> bool {
    true
}

/// A skill that the host defines.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CodeSkill {
    name: String,
    description: String,
    body: String,
    license: Option<String>,
    compatibility: Option<String>,
    #[serde(default)]
    metadata: BTreeMap<String, String>,
    #[serde(default)]
    allowed_tools: Vec<String>,
    version: Option<String>,
    author: Option<String>,
    #[serde(default)]
    trigger_keywords: Vec<String>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    requires: Vec<String>,
    #[serde(default)]
    paths: Vec<String>,
    #[serde(default)]
    disable_model_invocation: bool,
    #[serde(default)]
    resources: BTreeMap<String, CodeFile>,
}

/// A file of such a skill.
#[derive(Deserialize)]
#[serde(untagged)]
enum CodeFile {
    Text(String),
    Bytes { base64: String },
    Lazy { lazy: bool },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CodeTool {
    name: String,
    description: String,
    input_schema: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CodeHandler {
    skill: String,
    tool: String,
}

impl Hello {
    pub(super) fn read(request: Request) -> Result<Self, ProtocolRefusal> {
        let hello: Self = serde_json::from_value(Value::Object(request))
            .map_err(|error| bad(format!("`hello` cannot be read: {error}")))?;
        if hello.protocol == 0 {
            return Err(bad(format!(
                "`protocol` is the newest version that the host knows, up to {PROTOCOL}"
            )));
        }
        Ok(hello)
    }

    /// Returns the answer: the version in force, which is the newest that both know.
    pub(super) fn answer(&self) -> Answer {
        let protocol = self.protocol.min(PROTOCOL);
        let version = env!("CARGO_PKG_VERSION");
        Ok(fields(json!({"protocol": protocol, "version": version, "features": FEATURES})))
    }

    /// Returns the skills that the host defines, each held to the open standard.
    pub(super) fn skills(&mut self, host: &Arc<Host>) -> Result<Vec<SkillDefinition>, ProtocolRefusal> {
        let invalid =
            |error: repertoire::Error| ProtocolRefusal { kind: "invalid_skill", message: error.chain() };
        let define = |skill: CodeSkill| define_skill(skill.defined(host)?).map_err(invalid);
        std::mem::take(&mut self.skills).into_iter().map(define).collect()
    }

    /// Adds `skills`, and the tools and handlers of the host, to a library.
    pub(super) fn add(
        &self,
        host: &Arc<Host>,
        skills: &[SkillDefinition],
        builder: LibraryBuilder,
    ) -> LibraryBuilder {
        let mut builder = builder;
        if !skills.is_empty() {
            builder = builder.provider(MemoryProvider::new(LABEL, skills.to_vec()));
        }
        for tool in &self.tools {
            let definition = Definition::new(&tool.name, &tool.description, tool.input_schema.clone());
            builder = builder.tool(HostTool { host: Arc::clone(host), definition });
        }
        for CodeHandler { skill, tool } in &self.handlers {
            let handler = HostSkillTool { host: Arc::clone(host), skill: skill.clone(), tool: tool.clone() };
            builder = builder.handler(skill, tool, Arc::new(handler));
        }
        builder
    }
}

impl CodeSkill {
    fn defined(self, host: &Arc<Host>) -> Result<SkillDefinition, ProtocolRefusal> {
        let mut manifest = Manifest::default();
        manifest.name = Some(self.name.as_str().into());
        manifest.description = Some(self.description.into());
        manifest.license = self.license;
        manifest.compatibility = self.compatibility;
        manifest.metadata = self.metadata.into_iter().collect();
        manifest.allowed_tools = self.allowed_tools;
        manifest.version = self.version;
        manifest.author = self.author;
        manifest.trigger_keywords = self.trigger_keywords;
        manifest.tags = self.tags;
        manifest.requires = self.requires;
        manifest.paths = self.paths;
        manifest.disable_model_invocation = self.disable_model_invocation;
        let mut definition = SkillDefinition::default();
        definition.manifest = manifest;
        definition.body = self.body;
        for (path, file) in self.resources {
            let bytes =
                |text: &str| decoded(text).map_err(|why| bad(format!("`{path}` of `{}`: {why}", self.name)));
            let resource = match file {
                CodeFile::Text(text) => Resource::from(text),
                CodeFile::Bytes { base64 } => Resource::from(bytes(&base64)?),
                CodeFile::Lazy { lazy: true } => host_file(host, &self.name, &path),
                CodeFile::Lazy { lazy: false } => continue,
            };
            definition.resources.insert(path, resource);
        }
        Ok(definition)
    }
}
