//! The first line of a host: what it is able to do, and what it adds to the library.

use std::collections::BTreeMap;
use std::sync::Arc;

use repertoire::provider::memory::Resource;
use repertoire::tool::Definition;
use repertoire::{Error, LibraryBuilder, MemoryProvider, SkillDefinition, define_skill};
use repertoire_model::document::MANIFEST_FILE;
use repertoire_model::{Document, ManifestSource, Policy};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::host::{Host, HostSkillTool, HostTool, decoded, host_file};
use super::refusal::{ProtocolRefusal, Request, bad, fields};

/// The newest version of the protocol.
const PROTOCOL: u64 = 1;

/// The features that a host can rely on in addition to the version.
const FEATURES: &str = "approvals cancel changes events handle host_tools lazy_files sessions skills_in_code";

/// The fields of the greeting that this version knows.
const FIELDS: [&str; 6] = ["protocol", "directories", "approvals", "skills", "tools", "handlers"];

/// The most bytes of the name of a tool, as the APIs of models permit.
const MAX_TOOL_NAME_BYTES: usize = 64;

/// The label of skills that the host defines.
const LABEL: &str = "code";

/// The greeting of a host.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Hello {
    protocol: u64,
    /// True if skills are read from directories, too.
    pub(super) directories: bool,
    /// True if the host asks a person for approvals.
    pub(super) approvals: bool,
    skills: Vec<CodeSkill>,
    tools: Vec<CodeTool>,
    handlers: Vec<CodeHandler>,
}

/// A conversation over a pipe has only what is on the disk.
impl Default for Hello {
    fn default() -> Self {
        let (skills, tools, handlers) = Default::default();
        Self { protocol: 0, directories: true, approvals: false, skills, tools, handlers }
    }
}

/// A skill that the host defines: the fields of its frontmatter, its instructions and its files.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CodeSkill {
    frontmatter: Value,
    body: String,
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
    /// Returns the greeting in `request`, and the skills that it defines, each held to the open standard.
    pub(super) fn read(
        mut request: Request,
        host: &Arc<Host>,
    ) -> Result<(Self, Vec<SkillDefinition>), ProtocolRefusal> {
        request.retain(|key, _| key != "op" && key != "id");
        // A host of a newer version may say more than is understood here.
        if request.get("protocol").and_then(Value::as_u64).is_some_and(|version| version > PROTOCOL) {
            request.retain(|key, _| FIELDS.contains(&key.as_str()));
        }
        let read = serde_json::from_value(Value::Object(request));
        let mut hello: Self = read.map_err(|error| bad(format!("`hello` cannot be read: {error}")))?;
        if hello.protocol == 0 {
            return Err(bad(format!(
                "`protocol` is the newest version that the host knows, 1 to {PROTOCOL}"
            )));
        }
        hello.tools.iter().try_for_each(CodeTool::check)?;
        let skills = std::mem::take(&mut hello.skills).into_iter().map(|skill| {
            let invalid = |error: Error| ProtocolRefusal { kind: "invalid_skill", message: error.chain() };
            define_skill(skill.defined(host)?).map_err(invalid)
        });
        let skills = skills.collect::<Result<_, _>>()?;
        Ok((hello, skills))
    }

    /// Returns the answer: the version in force, which is the newest that both know.
    pub(super) fn answer(&self) -> Map<String, Value> {
        let (protocol, features) = (self.protocol.min(PROTOCOL), FEATURES.split(' ').collect::<Vec<_>>());
        let version = env!("CARGO_PKG_VERSION");
        fields(json!({"protocol": protocol, "version": version, "features": features}))
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

impl CodeTool {
    fn check(&self) -> Result<(), ProtocolRefusal> {
        let is_plain = |letter: u8| letter.is_ascii_alphanumeric() || matches!(letter, b'_' | b'-');
        if !(1..=MAX_TOOL_NAME_BYTES).contains(&self.name.len()) || !self.name.bytes().all(is_plain) {
            let name = self.name.escape_debug();
            let rule = format!("at most {MAX_TOOL_NAME_BYTES} letters, digits, `_` and `-`");
            return Err(bad(format!("`{name}` cannot be the name of a tool, which has {rule}")));
        }
        if !self.input_schema.is_object() {
            return Err(bad(format!("`input_schema` of the tool `{}` is not an object", self.name)));
        }
        Ok(())
    }
}

impl CodeSkill {
    fn defined(self, host: &Arc<Host>) -> Result<SkillDefinition, ProtocolRefusal> {
        // JSON is YAML, so the fields are read as in a file; but YAML has some characters as escapes only.
        let mut text = "---\n".to_owned();
        for letter in self.frontmatter.to_string().chars() {
            match letter {
                '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => {
                    text += &format!("\\u{:04x}", u32::from(letter))
                }
                _ => text.push(letter),
            }
        }
        text += "\n---\n";
        let source = ManifestSource { bytes: text.as_bytes(), directory: None, file_name: MANIFEST_FILE };
        let mut definition = SkillDefinition::default();
        definition.manifest = Document::parse(source, &Policy::default()).manifest;
        definition.body = self.body;
        let name = definition.manifest.name.clone().unwrap_or_default();
        for (path, file) in self.resources {
            let resource = match file {
                CodeFile::Text(text) => Resource::from(text),
                CodeFile::Lazy { lazy: true } => host_file(host, &name, &path),
                CodeFile::Lazy { lazy: false } => {
                    return Err(bad(format!(
                        "`{path}` of `{name}`: a file that is not lazy has its text or `base64`"
                    )));
                }
                CodeFile::Bytes { base64 } => {
                    let bytes = decoded(&base64);
                    Resource::from(bytes.map_err(|why| bad(format!("`{path}` of `{name}`: {why}")))?)
                }
            };
            definition.resources.insert(path, resource);
        }
        Ok(definition)
    }
}
