//! Answers of `load_skill`.

use serde_json::Value;

use super::FileText;
use crate::document::MANIFEST_FILE;
use crate::{Digest, FileKind, SkillName};

/// A skill's instructions, with those that it needs first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// Skills that this one requires and that were loaded with it, in the order in which they build on each other.
    pub first: Vec<LoadedSkill>,
    /// The skill that was asked for.
    pub skill: LoadedSkill,
    /// Why the instructions are given.
    pub occasion: Occasion,
    /// What else the model should know, one sentence each: skills that are required and not active, and the like.
    pub notes: Vec<String>,
}

/// Why instructions are given rather than acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Occasion {
    /// The skill was not in the context.
    First,
    /// The caller insisted.
    Forced,
    /// The skill changed since it was loaded.
    Changed,
    /// The skill was unloaded, or lost in a compaction, or nobody can tell that it is still there.
    Again,
}

/// One skill's instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedSkill {
    /// Its name.
    pub name: SkillName,
    /// What it is called by: its name, or `source:name` where another skill holds the name.
    pub address: String,
    /// How its `SKILL.md` is spelled.
    pub manifest_file: String,
    /// Where it lies, where the host lets models know.
    pub location: Option<String>,
    /// Its instructions, byte for byte; the whole `SKILL.md` where the policy wants the frontmatter too.
    pub body: String,
    /// The digest of `body`.
    pub digest: Digest,
    /// How many tokens `body` has.
    pub tokens: usize,
    /// Its version, where it states one.
    pub version: Option<String>,
    /// Its licence.
    pub license: Option<String>,
    /// What it needs of its surroundings.
    pub compatibility: Option<String>,
    /// The tools that its author wants pre-approved; advice to the host, nothing more.
    pub allowed_tools: Vec<String>,
    /// Its files other than `SKILL.md`, by path, as many as are listed.
    pub files: Vec<String>,
    /// How many files are not listed.
    pub more_files: usize,
    /// Files below `references/`, relative to it.
    pub references: Vec<String>,
    /// Files below `scripts/`, relative to it.
    pub scripts: Vec<String>,
    /// Files below `assets/`, relative to it.
    pub assets: Vec<String>,
    /// The tools that it brings along and that can be called.
    pub tools: Vec<String>,
    /// What the model is told of these, where it is told here.
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
            manifest_file: MANIFEST_FILE.to_owned(),
            location: None,
            digest: Digest::of(body.as_bytes()),
            body,
            tokens: 0,
            version: None,
            license: None,
            compatibility: None,
            allowed_tools: Vec::new(),
            files: Vec::new(),
            more_files: 0,
            references: Vec::new(),
            scripts: Vec::new(),
            assets: Vec::new(),
            tools: Vec::new(),
            schemas: Vec::new(),
            outline: Vec::new(),
            soft_limit: None,
        }
    }
}

/// What a model is told of a tool that a skill brings along.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSchema {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
}

// JSON has no numbers that are not themselves.
impl Eq for ToolSchema {}

/// A section of a skill's instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Its heading.
    pub title: String,
    /// How deep it is nested: 1 for `#`.
    pub level: u8,
    /// Its first line in `SKILL.md`, counted from 1.
    pub first_line: usize,
    /// Its last line, that of its last sub-section.
    pub last_line: usize,
    /// How many tokens it has, sub-sections included.
    pub tokens: usize,
}

/// Says that the instructions are in the context already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acknowledged {
    /// The skill.
    pub name: SkillName,
    /// The turn at which it was loaded.
    pub turn: u64,
    /// Whether it is part of the prompt.
    pub is_bound: bool,
    /// What else the model should know, one sentence each.
    pub notes: Vec<String>,
    /// Its version, where it states one.
    pub version: Option<String>,
    /// Files below `references/`, relative to it.
    pub references: Vec<String>,
    /// Files below `scripts/`, relative to it.
    pub scripts: Vec<String>,
    /// Files below `assets/`, relative to it.
    pub assets: Vec<String>,
}

impl Acknowledged {
    /// Returns the acknowledgement of the skill `name` that was loaded at `turn`.
    pub fn new(name: SkillName, turn: u64) -> Self {
        Self {
            name,
            turn,
            is_bound: false,
            notes: Vec::new(),
            version: None,
            references: Vec::new(),
            scripts: Vec::new(),
            assets: Vec::new(),
        }
    }
}

/// A file that was asked for with `reference`, `script` or `asset`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketText {
    /// Which of the three.
    pub kind: FileKind,
    /// The file.
    pub file: FileText,
    /// Files below `references/`, relative to it.
    pub references: Vec<String>,
    /// Files below `scripts/`, relative to it.
    pub scripts: Vec<String>,
    /// Files below `assets/`, relative to it.
    pub assets: Vec<String>,
}
