//! A skill in detail.

use repertoire::registry::available_files;
use repertoire::{Entry, Skill};
use repertoire_model::toolbox::SkillTool;
use repertoire_model::{FileEntry, Policy, document};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::skill::address_of;
use super::{FileView, SkillView};

/// A skill in detail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct SkillDetailView {
    /// The skill as in lists.
    #[serde(flatten)]
    pub listed: SkillView,
    /// The instructions: `SKILL.md` without its frontmatter.
    pub body: String,
    /// The files of `references/`, as the setting `resources.listing` has it.
    pub available_references: Vec<String>,
    /// The files of `scripts/`.
    pub available_scripts: Vec<String>,
    /// The files of `assets/`.
    pub available_assets: Vec<String>,
    /// The licence in its frontmatter.
    pub license: Option<String>,
    /// The requirements in its frontmatter.
    pub compatibility: Option<String>,
    /// The tools that its frontmatter allows, split outside parentheses.
    pub allowed_tools: Vec<String>,
    /// Every key of its frontmatter, typed as YAML 1.2 has it.
    pub frontmatter: Map<String, Value>,
    /// The file that was asked for.
    #[serde(flatten)]
    pub content: Option<ShownFileView>,
    /// The facts that servers add.
    #[serde(flatten)]
    pub server: Option<ServerSkillView>,
}

impl SkillDetailView {
    /// Returns the view of `entry` with `files`; `skill` is its content, where that can be read.
    pub fn new(entry: &Entry, skill: Option<&Skill>, files: &[FileEntry], policy: &Policy) -> Self {
        let manifest = &entry.document.manifest;
        let available = available_files(manifest, files, policy);
        let frontmatter = skill.and_then(|skill| document::frontmatter_json(&skill.text));
        Self {
            listed: SkillView::new(entry),
            body: skill.map(|skill| skill.body().to_owned()).unwrap_or_default(),
            available_references: available.references,
            available_scripts: available.scripts,
            available_assets: available.assets,
            license: manifest.license.clone(),
            compatibility: manifest.compatibility.clone(),
            allowed_tools: manifest.allowed_tools.clone(),
            frontmatter: frontmatter.unwrap_or_default(),
            content: None,
            server: None,
        }
    }
}

/// The file of a skill that was asked for, in the shape of Bernstein's `load_skill`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ShownFileView {
    /// The text of the file, with `--reference`.
    pub reference_content: Option<String>,
    /// The text of the file, with `--script`.
    pub script_content: Option<String>,
    /// The text of the file, with `--asset`.
    pub asset_content: Option<String>,
    /// The text of the file, with `--file`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_content: Option<String>,
    /// The reason that the file cannot be shown; from the command line.
    pub error: Option<String>,
}

/// The facts about a skill that servers add.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ServerSkillView {
    /// The whole `SKILL.md`; from servers.
    pub text: String,
    /// The reason that its instructions cannot be read; from servers.
    pub unreadable: Option<String>,
    /// The files; from servers.
    pub files: Vec<FileView>,
    /// The tools that it brings along; from servers.
    pub tools: Vec<SkillToolView>,
    /// The state of the approval of its tools, `null` if they were never approved; from servers.
    pub approval: Option<String>,
    /// Its entry in a catalog, in each format; from servers.
    pub catalog_lines: Vec<CatalogLineView>,
    /// The newest version in its source, as it was when the source was asked last; from servers.
    pub update: Option<UpdateView>,
    /// Other paths that lead to the same skill; from servers.
    pub also: Vec<String>,
    /// Skills of the same name; from servers.
    pub namesakes: Vec<NamesakeView>,
    /// A sentence about each client that reads it from files although it is disabled; from servers.
    pub still_read: Vec<String>,
}

/// A tool that a skill brings along.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SkillToolView {
    /// The name.
    pub name: String,
    /// The description.
    pub description: String,
    /// The command that it runs.
    pub command: Option<Vec<String>>,
    /// The capabilities that it declares, such as the network.
    pub needs: Vec<String>,
}

impl SkillToolView {
    /// Returns the view of `tool`.
    pub fn new(tool: SkillTool) -> Self {
        Self {
            needs: tool.needs.clauses(),
            name: tool.name,
            description: tool.description,
            command: tool.command,
        }
    }
}

/// The entry of a skill in a catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CatalogLineView {
    /// The format.
    pub format: &'static str,
    /// The text.
    pub text: String,
}

/// The newest version of a skill in its source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UpdateView {
    /// The state: `current`, `outdated`, `renamed`, `removed`, `broken`, `unreachable`, or `untracked` for a
    /// skill that was not added with `rep add`.
    pub state: String,
    /// The newest version, the new name, or the reason that it is not known.
    pub newest: Option<String>,
    /// The time at which the source was asked, in RFC 3339.
    pub time: String,
}

/// A skill of the same name as another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NamesakeView {
    /// The name by which the API finds it.
    pub address: String,
    /// The source.
    pub source: String,
    /// The state.
    pub state: &'static str,
}

impl NamesakeView {
    /// Returns the view of `entry`.
    pub fn new(entry: &Entry) -> Self {
        Self { address: address_of(entry), source: entry.source.to_string(), state: entry.state.as_str() }
    }
}
