//! A skill as a value.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use repertoire_model::name::{Grammar, grammar_faults};
use repertoire_model::{
    Diagnostic, Document, Manifest, ManifestSource, Policy, RuleId, Severity, SkillPath, Standing,
};

use super::render;
use crate::provider::BoxFuture;
use crate::provider::limits::FILES;
use crate::{Error, ErrorKind};
use repertoire_model::document::MANIFEST_FILE;

/// The longest description the open standard allows, in characters.
const MAX_DESCRIPTION_CHARS: usize = 1024;

/// The error of a loader.
pub type LoadError = Box<dyn std::error::Error + Send + Sync>;

type Loader = dyn Fn() -> Result<Vec<u8>, LoadError> + Send + Sync;
type AsyncLoader = dyn Fn() -> BoxFuture<'static, Result<Vec<u8>, LoadError>> + Send + Sync;

/// A skill defined in code.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SkillDefinition {
    /// Its metadata, as in the frontmatter of a `SKILL.md`.
    pub manifest: Manifest,
    /// Its instructions, in Markdown.
    pub body: String,
    /// Its other files, by path.
    pub resources: BTreeMap<String, Resource>,
}

impl SkillDefinition {
    /// Returns the skill `name` with nothing but a description and instructions.
    pub fn new(name: impl Into<Arc<str>>, description: impl Into<Arc<str>>, body: impl Into<String>) -> Self {
        let mut manifest = Manifest::default();
        manifest.name = Some(name.into());
        manifest.description = Some(description.into());
        Self { manifest, body: body.into(), resources: BTreeMap::new() }
    }

    /// Returns this skill with the file `path`.
    #[must_use]
    pub fn with_resource(mut self, path: impl Into<String>, resource: impl Into<Resource>) -> Self {
        self.resources.insert(path.into(), resource.into());
        self
    }
}

/// A file of a skill defined in code.
#[derive(Clone)]
pub enum Resource {
    /// These bytes.
    Bytes(Arc<[u8]>),
    /// The result of a function, which is called when the file is first read.
    ///
    /// A file that was not read yet has no size, and the digest of the skill does not cover its content.
    /// Versions, publications and the Skills extension read all files.
    Lazy(Arc<Loader>),
    /// The result of a future, which is awaited when the file is first read.
    LazyAsync(Arc<AsyncLoader>),
}

impl Resource {
    /// Returns a file that `load` loads when it is first read.
    pub fn lazy(load: impl Fn() -> Result<Vec<u8>, LoadError> + Send + Sync + 'static) -> Self {
        Self::Lazy(Arc::new(load))
    }

    /// Returns a file that the future of `load` loads when it is first read.
    pub fn lazy_async<F>(load: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Vec<u8>, LoadError>> + Send + 'static,
    {
        Self::LazyAsync(Arc::new(move || Box::pin(load())))
    }

    pub(super) async fn load(&self) -> Result<Arc<[u8]>, LoadError> {
        match self {
            Self::Bytes(bytes) => Ok(Arc::clone(bytes)),
            Self::Lazy(load) => load().map(Arc::from),
            Self::LazyAsync(load) => load().await.map(Arc::from),
        }
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "Bytes({})", bytes.len()),
            Self::Lazy(_) => f.write_str("Lazy"),
            Self::LazyAsync(_) => f.write_str("LazyAsync"),
        }
    }
}

impl<T: AsRef<[u8]>> From<T> for Resource {
    fn from(bytes: T) -> Self {
        Self::Bytes(Arc::from(bytes.as_ref()))
    }
}

/// Returns `skill` if it keeps to the open standard.
///
/// Skills found on a disk are accepted with flaws; one written in code is held to the letter, because its
/// author is there to fix it. Fails with [`ErrorKind::InvalidSkill`] and everything that is wrong.
pub fn define_skill(skill: SkillDefinition) -> Result<SkillDefinition, Error> {
    let mut faults = Faults::default();
    faults.name(skill.manifest.name.as_deref().unwrap_or_default());
    faults.description(skill.manifest.description.as_deref().unwrap_or_default());
    faults.resources(&skill.resources);
    if faults.0.is_empty() {
        let text = render::skill_md(&skill.manifest, &skill.body);
        let source = ManifestSource { bytes: text.as_bytes(), directory: None, file_name: MANIFEST_FILE };
        let document = Document::parse(source, &Policy::default());
        if document.standing != Standing::Sound {
            faults.0 = document.diagnostics;
        }
    }
    if faults.0.is_empty() {
        return Ok(skill);
    }
    let name = skill.manifest.name.as_deref().unwrap_or_default();
    Err(Error::new(ErrorKind::InvalidSkill).about(name).with(faults.0))
}

#[derive(Default)]
struct Faults(Vec<Diagnostic>);

impl Faults {
    fn add(&mut self, rule: RuleId, message: String, file: Option<&str>) {
        let mut fault = Diagnostic::new(rule, Severity::Error, message);
        fault.file = file.map(str::to_owned);
        self.0.push(fault);
    }

    fn name(&mut self, name: &str) {
        if name.is_empty() {
            self.add(RuleId::NameMissing, "the skill has no name".to_owned(), None);
        } else if !grammar_faults(name, Grammar::AgentSkills).is_empty() {
            let message = format!(
                "the name `{name}` is not 1 to 64 characters of a-z, 0-9 and single hyphens between them"
            );
            self.add(RuleId::NameGrammar, message, None);
        }
    }

    fn description(&mut self, description: &str) {
        let length = description.chars().count();
        if description.trim().is_empty() {
            self.add(RuleId::DescriptionMissing, "the skill has no description".to_owned(), None);
        } else if length > MAX_DESCRIPTION_CHARS {
            let message =
                format!("the description has {length} characters, more than {MAX_DESCRIPTION_CHARS}");
            self.add(RuleId::DescriptionLong, message, None);
        }
    }

    fn resources(&mut self, resources: &BTreeMap<String, Resource>) {
        if resources.len() > FILES {
            let message = format!("the skill has {} files, more than {FILES}", resources.len());
            self.add(RuleId::FileCount, message, None);
        }
        let mut keys = BTreeMap::from([(MANIFEST_FILE.to_lowercase(), MANIFEST_FILE)]);
        for path in resources.keys() {
            match SkillPath::new(path) {
                Err(fault) => {
                    let message = format!("`{path}` cannot be a file of a skill: {fault}");
                    self.add(RuleId::FileName, message, Some(path));
                }
                Ok(skill_path) if skill_path.is_hidden() => {
                    let message = format!("`{path}` is hidden and would never be read");
                    self.add(RuleId::FileName, message, Some(path));
                }
                Ok(skill_path) => {
                    if let Some(other) = keys.insert(skill_path.collision_key(), path) {
                        let message = format!("`{path}` and `{other}` are one file on some systems");
                        self.add(RuleId::FileCollision, message, Some(path));
                    }
                }
            }
        }
    }
}
