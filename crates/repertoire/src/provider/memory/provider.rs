//! The provider of skills defined in code.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use repertoire_model::document::MANIFEST_FILE;
use repertoire_model::validate::Reporter;
use repertoire_model::{
    Bundle, BundleFile, Digest, Document, FileEntry, FileKind, LineRange, ManifestSource, Policy, RuleId,
    SkillPath,
};

use super::definition::{Resource, SkillDefinition};
use super::render;
use crate::provider::limits::FILE_BYTES;
use crate::provider::{
    FileContent, FileListing, ListedSkill, Listing, Locator, Provider, ResultFuture, Skill,
};
use crate::{Error, ErrorKind};

/// The skills that were defined in code.
///
/// ```
/// use repertoire::provider::memory::{MemoryProvider, SkillDefinition, define_skill};
/// let skill = SkillDefinition::new("greet", "Greets people. Use when someone says hello.", "# Greet\n")
///     .with_resource("references/tone.md", "Be warm.\n");
/// let provider = MemoryProvider::new("builtin", vec![define_skill(skill)?]);
/// # Ok::<(), repertoire::Error>(())
/// ```
#[derive(Debug)]
pub struct MemoryProvider {
    label: String,
    skills: Vec<MemorySkill>,
}

/// A skill with its `SKILL.md` written out.
#[derive(Debug)]
struct MemorySkill {
    locator: Locator,
    text: String,
    resources: Vec<MemoryResource>,
    /// Resources with an invalid path, with the reason.
    misnamed: Vec<(String, String)>,
}

#[derive(Debug)]
struct MemoryResource {
    path: SkillPath,
    resource: Resource,
    /// The result of the loader. It is called once, so that every reader sees the same bytes.
    loaded: OnceLock<Arc<[u8]>>,
}

impl MemoryProvider {
    /// Returns a provider of `skills`.
    pub fn new(label: impl Into<String>, skills: Vec<SkillDefinition>) -> Self {
        let mut held: Vec<MemorySkill> = Vec::with_capacity(skills.len());
        let mut taken = HashSet::with_capacity(skills.len());
        for (index, skill) in skills.into_iter().enumerate() {
            let name = skill.manifest.name.as_deref().unwrap_or_default();
            let mut locator = Locator::new(name);
            let mut number = index;
            // A skill may be called what another is given for want of a name of its own.
            while !taken.insert(locator.clone()) {
                locator = Locator::new(format!("{name}#{number}"));
                number += 1;
            }
            held.push(MemorySkill::new(locator, skill));
        }
        held.sort_by(|a, b| a.locator.cmp(&b.locator));
        Self { label: label.into(), skills: held }
    }

    fn held(&self, locator: &Locator) -> Option<&MemorySkill> {
        let index = self.skills.binary_search_by(|held| held.locator.cmp(locator)).ok()?;
        self.skills.get(index)
    }

    fn expect_held(&self, locator: &Locator) -> Result<&MemorySkill, Error> {
        self.held(locator).ok_or_else(|| Error::new(ErrorKind::SkillNotFound).about(locator.as_str()))
    }
}

impl MemorySkill {
    fn new(locator: Locator, skill: SkillDefinition) -> Self {
        let text = render::skill_md(&skill.manifest, &skill.body);
        let mut resources = Vec::with_capacity(skill.resources.len());
        let mut misnamed = Vec::new();
        for (path, resource) in skill.resources {
            match SkillPath::new(&path) {
                Ok(path) if path.as_str() != MANIFEST_FILE => {
                    resources.push(MemoryResource { path, resource, loaded: OnceLock::new() });
                }
                Ok(_) => misnamed.push((path, "the frontmatter and the body make up this file".to_owned())),
                Err(fault) => misnamed.push((path, fault.to_string())),
            }
        }
        Self { locator, text, resources, misnamed }
    }

    /// Returns the files that can be read, each with its bytes unless they are not loaded yet.
    fn files(&self) -> impl Iterator<Item = (SkillPath, Option<&[u8]>)> {
        // `SKILL.md` keeps to the grammar of paths.
        let manifest = SkillPath::new(MANIFEST_FILE).ok().map(|path| (path, Some(self.text.as_bytes())));
        let shown = self.resources.iter().filter(|resource| !resource.path.is_hidden());
        manifest.into_iter().chain(shown.map(|resource| (resource.path.clone(), resource.known())))
    }

    fn source(&self) -> ManifestSource<'_> {
        ManifestSource { bytes: self.text.as_bytes(), directory: None, file_name: MANIFEST_FILE }
    }

    async fn bytes(&self, path: &SkillPath) -> Result<Arc<[u8]>, Error> {
        let fail = |kind| Error::new(kind).about(path.as_str());
        if path.as_str() == MANIFEST_FILE {
            return Ok(Arc::from(self.text.as_bytes()));
        }
        if path.is_hidden() {
            return Err(fail(ErrorKind::Forbidden));
        }
        let Some(resource) = self.resources.iter().find(|resource| resource.path == *path) else {
            let is_below = |other: &MemoryResource| {
                other.path.as_str().strip_prefix(path.as_str()).is_some_and(|rest| rest.starts_with('/'))
            };
            let directory = self.resources.iter().any(is_below);
            return Err(fail(if directory { ErrorKind::IsDirectory } else { ErrorKind::FileNotFound }));
        };
        resource.bytes().await
    }
}

impl MemoryResource {
    /// Returns its bytes, unless a loader that was not called yet has them.
    fn known(&self) -> Option<&[u8]> {
        match &self.resource {
            Resource::Bytes(bytes) => Some(bytes),
            Resource::Lazy(_) | Resource::LazyAsync(_) => self.loaded.get().map(|bytes| &**bytes),
        }
    }

    fn is_lazy(&self) -> bool {
        !matches!(self.resource, Resource::Bytes(_))
    }

    async fn bytes(&self) -> Result<Arc<[u8]>, Error> {
        if let Some(bytes) = self.loaded.get() {
            return Ok(Arc::clone(bytes));
        }
        let fail = |kind| Error::new(kind).about(self.path.as_str());
        let bytes = self.resource.load().await.map_err(|source| fail(ErrorKind::Io).because(source))?;
        if bytes.len() as u64 > FILE_BYTES {
            return Err(fail(ErrorKind::TooLarge));
        }
        // If two readers load at once, the first result is kept.
        Ok(Arc::clone(self.loaded.get_or_init(|| bytes)))
    }
}

impl Provider for MemoryProvider {
    fn label(&self) -> &str {
        &self.label
    }

    fn list<'a>(&'a self, policy: &'a Policy) -> ResultFuture<'a, Listing> {
        let listed = |held: &MemorySkill| ListedSkill {
            locator: held.locator.clone(),
            path: format!("{}:{}", self.label, held.locator.as_str()).into(),
            manifest_file: Cow::Borrowed(MANIFEST_FILE),
            identity: None,
            document: Arc::new(Document::parse_for_listing(held.source(), policy)),
        };
        let skills = self.skills.iter().map(listed).map(Arc::new).collect();
        Box::pin(std::future::ready(Ok(Listing { skills, problems: Vec::new() })))
    }

    fn get<'a>(&'a self, locator: &'a Locator, policy: &'a Policy) -> ResultFuture<'a, Option<Skill>> {
        let skill = self
            .held(locator)
            .map(|held| Skill { document: Document::parse(held.source(), policy), text: held.text.clone() });
        Box::pin(std::future::ready(Ok(skill)))
    }

    fn files<'a>(&'a self, locator: &'a Locator, policy: &'a Policy) -> ResultFuture<'a, FileListing> {
        Box::pin(async move {
            let held = self.expect_held(locator)?;
            let mut reporter = Reporter::new(policy);
            let mut files = Vec::with_capacity(held.resources.len() + 1);
            for (path, bytes) in held.files() {
                let (size, kind) =
                    (bytes.map(|bytes| bytes.len() as u64), FileKind::of(&path, MANIFEST_FILE));
                if size.is_some_and(|size| size > FILE_BYTES) {
                    let message = format!("`{path}` has more than {FILE_BYTES} bytes");
                    reporter.report(RuleId::FileTooLarge, message).in_file(path.as_str());
                } else {
                    files.push(FileEntry { path, size, kind, executable: false });
                }
            }
            for (path, reason) in &held.misnamed {
                let message = format!("`{path}` cannot be a file of a skill: {reason}");
                reporter.report(RuleId::FileName, message).help("rename it").in_file(path);
            }
            files.sort_by(|a, b| a.path.cmp(&b.path));
            Ok(FileListing { files, problems: reporter.finish() })
        })
    }

    fn read<'a>(
        &'a self,
        locator: &'a Locator,
        path: &'a SkillPath,
        lines: LineRange,
    ) -> ResultFuture<'a, FileContent> {
        Box::pin(async move {
            let bytes = self.expect_held(locator)?.bytes(path).await?;
            Ok(FileContent::of(&bytes, lines))
        })
    }

    /// Returns a digest of all but the content of lazy files: it calls no loader, and no read changes it.
    fn digest<'a>(&'a self, locator: &'a Locator) -> ResultFuture<'a, Digest> {
        let digest = self.expect_held(locator).map(|held| {
            let is_lazy = |path: &SkillPath| held.resources.iter().any(|it| it.path == *path && it.is_lazy());
            let file = |(path, bytes): (SkillPath, Option<&[u8]>)| {
                let bytes = bytes.filter(|_| !is_lazy(&path)).unwrap_or_default();
                BundleFile { path, size: bytes.len() as u64, executable: false, digest: Digest::of(bytes) }
            };
            Bundle::new(held.files().map(file).collect()).digest()
        });
        Box::pin(std::future::ready(digest))
    }
}
