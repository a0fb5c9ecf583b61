//! Answers of `load_skill`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{AvailableFiles, FileText};
use crate::document::MANIFEST_FILE;
use crate::outline::Section;
use crate::{Digest, FileKind, SkillName};

/// A skill's instructions, with the skills that it needs first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadAnswer {
    /// Skills that this one requires and that were loaded with it, each after the skills that it builds on.
    pub first: Vec<LoadedSkill>,
    /// The requested skill.
    pub skill: LoadedSkill,
    /// True if the skill changed since it was loaded.
    pub is_changed: bool,
    /// Notes for the model, one sentence each: required skills that are not active, and the like.
    pub notes: Vec<String>,
}

/// One skill's instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedSkill {
    /// Its name.
    pub name: SkillName,
    /// Its address: its name, or `source:name` if another skill holds the name.
    pub address: String,
    /// The source that it comes from, such as `project:.agents/skills`; empty where it is not known.
    pub source: String,
    /// The spelling of its `SKILL.md`.
    pub manifest_file: String,
    /// Its location, if the host lets models know it.
    pub location: Option<String>,
    /// Its instructions, byte for byte; the whole `SKILL.md` where the policy wants the frontmatter too.
    pub body: String,
    /// The digest of `body`.
    pub digest: Digest,
    /// The number of tokens in `body`.
    pub tokens: usize,
    /// Its version, where it states one.
    pub version: Option<String>,
    /// Its author.
    pub author: Option<String>,
    /// Its licence.
    pub license: Option<String>,
    /// Its requirements on the environment.
    pub compatibility: Option<String>,
    /// `allowed-tools`, as its author wrote it: a text, or a list of texts. Advice to the host, nothing more.
    pub allowed_tools: Option<Value>,
    /// Its files other than `SKILL.md`, by path, as many as are listed.
    pub files: Vec<String>,
    /// The descriptions of the files that have one, by path.
    pub file_descriptions: BTreeMap<String, String>,
    /// The number of files that are not listed.
    pub more_files: usize,
    /// The files it is reported to have, by kind.
    pub available: AvailableFiles,
    /// The tools that it brings along and that can be called.
    pub tools: Vec<String>,
    /// The schemas of these, if the model gets them here.
    pub schemas: Vec<ToolSchema>,
    /// Its sections, where it is larger than `soft_limit`.
    pub outline: Vec<Section>,
    /// The number of tokens that it exceeds, where it does.
    pub soft_limit: Option<usize>,
}

impl LoadedSkill {
    /// Returns the skill `name` with nothing but the instructions `body`, whose price is not known.
    pub fn new(name: SkillName, body: impl Into<String>) -> Self {
        let body = body.into();
        Self {
            address: name.to_string(),
            name,
            source: String::new(),
            manifest_file: MANIFEST_FILE.to_owned(),
            location: None,
            digest: Digest::of(body.as_bytes()),
            body,
            tokens: 0,
            version: None,
            author: None,
            license: None,
            compatibility: None,
            allowed_tools: None,
            files: Vec::new(),
            file_descriptions: BTreeMap::new(),
            more_files: 0,
            available: AvailableFiles::default(),
            tools: Vec::new(),
            schemas: Vec::new(),
            outline: Vec::new(),
            soft_limit: None,
        }
    }
}

/// The description of a skill's tool for a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSchema {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
}

// JSON has no numbers that are not themselves.
impl Eq for ToolSchema {}

/// The answer that the instructions are in the context already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acknowledgement {
    /// The skill.
    pub name: SkillName,
    /// The source that it comes from; empty where it is not known.
    pub source: String,
    /// The turn at which it was loaded.
    pub turn: u64,
    /// True if it is part of the prompt.
    pub is_bound: bool,
    /// Notes for the model, one sentence each.
    pub notes: Vec<String>,
    /// Its version, where it states one.
    pub version: Option<String>,
    /// The files it is reported to have, by kind.
    pub available: AvailableFiles,
}

impl Acknowledgement {
    /// Returns the acknowledgement of the skill `name` that was loaded at `turn`.
    pub fn new(name: SkillName, turn: u64) -> Self {
        Self {
            name,
            source: String::new(),
            turn,
            is_bound: false,
            notes: Vec::new(),
            version: None,
            available: AvailableFiles::default(),
        }
    }
}

/// The files that were requested with `reference`, `script` and `asset`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketText {
    /// The skill.
    pub skill: SkillName,
    /// Its version, where it states one.
    pub version: Option<String>,
    /// The files, at least one, each with its kind.
    pub files: Vec<(FileKind, FileText)>,
    /// The files it is reported to have, by kind.
    pub available: AvailableFiles,
}
