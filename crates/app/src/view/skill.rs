//! A skill, its files and its usage.

use repertoire::event::jsonl::rfc3339;
use repertoire::usage::SkillUsage;
use repertoire::{Entry, State};
use repertoire_model::FileEntry;
use schemars::JsonSchema;
use serde::Serialize;

use super::{DiagnosticView, OriginView, SeeingClientView};

/// A skill in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct SkillView {
    /// The name.
    pub name: String,
    /// The name that leads to this skill: `source:name` unless it is active.
    pub address: String,
    /// The description.
    pub description: String,
    /// The source.
    pub source: String,
    /// The location, for people.
    pub path: String,
    /// The version in its frontmatter; under the profile `bernstein`, `1.0.0` by default.
    pub version: Option<String>,
    /// The author in its frontmatter.
    pub author: Option<String>,
    /// The tags.
    pub tags: Vec<String>,
    /// The state: `active`, `shadowed`, `disabled` or `quarantined`.
    pub state: &'static str,
    /// True if agents are offered it.
    pub is_offered: bool,
    /// The digest of its files, `null` if it is too large; with `--digest`, and from servers for one skill.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<Option<String>>,
    /// Its tokens; with `--tokens`, and from servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<SkillTokensView>,
    /// Its usage in the last 30 days; from servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageView>,
    /// The patterns that disable it; from the command line, if it is disabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled_by: Option<Vec<DisabledByView>>,
    /// The kits in use; from the command line, if it is in none of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside_kits: Option<Vec<String>>,
    /// The clients that it is disabled for; from the command line, if it is not disabled for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled_for: Option<Vec<String>>,
    /// The records of installers about it; with `--origin`, and from servers for one skill.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origins: Option<Vec<OriginView>>,
    /// The clients of this machine, with what each gets of it; from `rep list`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<Vec<SeeingClientView>>,
    /// The findings about its frontmatter and its name.
    pub diagnostics: Vec<DiagnosticView>,
}

impl SkillView {
    /// Returns the view of `entry`, without what is told on request.
    pub fn new(entry: &Entry) -> Self {
        let manifest = &entry.document.manifest;
        Self {
            address: address_of(entry),
            name: entry.name().to_string(),
            description: entry.document.description.to_string(),
            source: entry.source.to_string(),
            path: entry.path.to_string(),
            version: manifest.version.clone(),
            author: manifest.author.clone(),
            tags: manifest.tags.clone(),
            state: entry.state.as_str(),
            is_offered: entry.is_offered(),
            digest: None,
            tokens: None,
            usage: None,
            disabled_by: None,
            outside_kits: None,
            disabled_for: None,
            origins: None,
            clients: None,
            diagnostics: entry.diagnostics().map(|found| DiagnosticView::of_skill(entry, found)).collect(),
        }
    }
}

/// Returns the name that leads to `entry`: `source:name` unless it is active.
pub fn address_of(entry: &Entry) -> String {
    if entry.state == State::Active { entry.name().to_string() } else { entry.qualified_name() }
}

/// The tokens of a skill.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SkillTokensView {
    /// The tokens that its entry adds to a catalog in the configured format.
    pub catalog: u64,
    /// The tokens of its instructions; from the command line, and from servers for one skill.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<u64>,
}

/// A pattern that disables a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DisabledByView {
    /// The pattern.
    pub pattern: String,
    /// The file that has it.
    pub file: String,
}

/// The usage of a skill.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct UsageView {
    /// The number of times that its instructions were given.
    pub loads: u64,
    /// The number of times that its files were given.
    pub reads: u64,
    /// The number of calls about it that failed.
    pub failures: u64,
    /// The tokens of instructions and files that were given.
    pub tokens: u64,
    /// The number of agents that the host named.
    pub agents: usize,
    /// The time of its last use, in RFC 3339, also before the time of the report.
    pub last_use: Option<String>,
    /// The loads of each of the last days, at most 30, today last; empty without loads.
    pub daily_loads: Vec<u64>,
}

impl UsageView {
    /// Returns the view of `usage`, with the loads of each day.
    pub fn new(usage: &SkillUsage, daily_loads: &[u64]) -> Self {
        Self {
            loads: usage.loads,
            reads: usage.reads,
            failures: usage.failures,
            tokens: usage.tokens,
            agents: usage.agents,
            last_use: usage.last_use.map(rfc3339),
            daily_loads: daily_loads.to_vec(),
        }
    }
}

/// The files of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileListView {
    /// The name of the skill.
    pub name: String,
    /// The source of the skill.
    pub source: String,
    /// The location of the skill.
    pub path: String,
    /// The files, sorted bytewise by path.
    pub files: Vec<FileView>,
    /// The findings about files that are not listed.
    pub problems: Vec<DiagnosticView>,
}

/// A file of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct FileView {
    /// The path in the skill.
    pub path: String,
    /// The size in bytes.
    pub size: Option<u64>,
    /// The kind: `manifest`, `reference`, `script`, `asset` or `file`.
    pub kind: &'static str,
    /// True if it is executable.
    pub executable: bool,
    /// Its first heading or comment, if that says more than its name; on the command line for the first 50.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The digest of its bytes; from servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The number of times that agents read it in the last 30 days; from servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reads: Option<u64>,
    /// The time of the last read, in RFC 3339; from servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_use: Option<String>,
}

impl FileView {
    /// Returns the view of `file`, without what is told on request.
    pub fn new(file: &FileEntry) -> Self {
        Self {
            path: file.path.to_string(),
            size: file.size,
            kind: file.kind.as_str(),
            executable: file.executable,
            description: None,
            digest: None,
            reads: None,
            last_use: None,
        }
    }
}
