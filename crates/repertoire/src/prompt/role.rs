//! The prompt of a role: a skill pack of that name, else a prompt file of old, else one sentence.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use repertoire_model::answer::LoadedSkill;
use repertoire_model::prompt::{self, Fragment, compose};
use repertoire_model::words;
use repertoire_model::{CatalogOptions, Digest, SkillName, Standing, State, text};

use super::agent::Agent;
use super::binding::{BindingOptions, BoundSkill, bindable, element};
use super::hiding::hiding_note;
#[cfg(feature = "fs")]
use super::role_file;
use crate::event::Via;
use crate::provider::OpenedSkill;
use crate::registry::{Entry, Lookup, Registry, Snapshot};
use crate::{Error, ErrorKind};

const MAX_CACHED: usize = 256;

/// The most characters of a name that no role can have in the error about it.
const MAX_SHOWN_CHARS: usize = 100;

words! {
    /// The form of a role's skill in the prompt.
    #[derive(Default)]
    RoleBinding {
        /// Its instructions; the default, because an agent with a role needs them from the first turn.
        #[default]
        Inline "inline",
        /// One line that tells the agent to load it.
        Hint "hint",
    }
}

/// The options of a [`RoleResolver`].
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct RoleOptions {
    /// The form of the role's skill in the prompt.
    pub binding: RoleBinding,
    /// The shape of the catalog; its `highlight` is set to the role.
    pub catalog: CatalogOptions,
    /// The options of prompts: the renderer of prompt files, and how instructions are written.
    pub prompt: BindingOptions,
    /// The variables of prompt files; `role` is always among them.
    pub variables: BTreeMap<String, String>,
}

/// The origin of a role's prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoleOrigin {
    /// A skill of the role's name.
    SkillPack,
    /// This file.
    Legacy(PathBuf),
    /// Nothing is known of the role but its name.
    Stub,
}

impl RoleOrigin {
    /// Returns the word used on every surface.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::SkillPack => "skill-pack",
            Self::Legacy(_) => "legacy",
            Self::Stub => "stub",
        }
    }
}

/// The prompt of a role.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RolePrompt {
    /// The prompt.
    pub text: String,
    /// The parts of it.
    pub fragments: Vec<Fragment>,
    /// Its origin.
    pub origin: RoleOrigin,
    /// The skills whose instructions are in it.
    pub bound: Vec<BoundSkill>,
}

impl RolePrompt {
    fn new(origin: RoleOrigin, fragments: Vec<Fragment>, bound: Vec<BoundSkill>) -> Self {
        Self { text: compose(&fragments), fragments, origin, bound }
    }
}

/// Finds the prompt for a role, once per agent that is started.
///
/// 1. An active skill of that name: the catalog with it as the primary skill, and its instructions.
/// 2. `<directory>/<role>/system_prompt.md`, rendered.
/// 3. `You are a <role> specialist.`
///
/// An unchanged prompt is not rendered again. Changes are detected by content, not by the times of files, so
/// that no edit is missed.
///
/// ```
/// # pollster::block_on(async {
/// use std::sync::Arc;
/// use repertoire::{MemoryProvider, Policy, Registry, RoleOptions, RoleOrigin, RoleResolver, SkillDefinition};
/// let skill = SkillDefinition::new("backend", "Builds servers. Use when the API changes.", "Test first.\n");
/// let provider = Arc::new(MemoryProvider::new("builtin", vec![skill]));
/// let registry = Registry::open(vec![provider], Policy::default()).await?;
/// let resolver = RoleResolver::new(registry, vec!["templates/roles".into()], RoleOptions::default());
/// assert!(resolver.resolve("backend").await?.text.contains("Test first."));
/// assert_eq!(resolver.resolve("frontend").await?.text, "You are a frontend specialist.");
/// assert!(resolver.resolve("../secrets").await.is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RoleResolver {
    pub(super) registry: Registry,
    #[cfg_attr(not(feature = "fs"), allow(dead_code))]
    directories: Vec<PathBuf>,
    options: RoleOptions,
    cache: Mutex<HashMap<CacheKey, (PromptInputs, RolePrompt)>>,
    renders: AtomicUsize,
}

/// A role, and the name of the agent that it is for.
type CacheKey = (SkillName, Option<String>);

/// The inputs of a prompt; equal inputs give equal prompts.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PromptInputs {
    Pack { snapshot: u64, agent: Option<Box<Agent>>, skill: Box<LoadedSkill> },
    Legacy { path: PathBuf, digest: Digest },
}

impl RoleResolver {
    /// Returns a resolver over the skills of `registry` and the prompt files in `directories`, in order.
    ///
    /// The directories are trusted; their content is not.
    pub fn new(registry: Registry, directories: Vec<PathBuf>, options: RoleOptions) -> Self {
        let cache = Mutex::default();
        Self { registry, directories, options, cache, renders: AtomicUsize::new(0) }
    }

    /// Returns the prompt for `role`.
    ///
    /// Fails with [`ErrorKind::InvalidRole`] where `role` is not a name that a skill could have, with
    /// [`ErrorKind::InvalidSkill`] where the skill of that name is quarantined or broken, and with the error
    /// of a file that cannot be read or rendered: a role with a prompt never gets the stub instead.
    pub async fn resolve(&self, role: &str) -> Result<RolePrompt, Error> {
        self.find(role, None).await
    }

    /// Returns the prompt for `role`, to `agent`, which may not see every skill.
    pub async fn resolve_for(&self, agent: &Agent, role: &str) -> Result<RolePrompt, Error> {
        self.find(role, Some(agent)).await
    }

    /// Returns the number of times that a prompt was rendered rather than taken from memory.
    pub fn renders(&self) -> usize {
        self.renders.load(Ordering::Relaxed)
    }

    async fn find(&self, role: &str, agent: Option<&Agent>) -> Result<RolePrompt, Error> {
        let invalid = || Error::new(ErrorKind::InvalidRole).about(text::shorten(role, MAX_SHOWN_CHARS));
        let role = SkillName::new(role).ok_or_else(invalid)?;
        if let Some((snapshot, skill)) = self.pack(&role, agent).await? {
            return self.pack_prompt(&role, agent, &snapshot, skill);
        }
        if let Some((path, template)) = self.role_file(&role).await? {
            return self.legacy_prompt(&role, path, &template);
        }
        let text = format!("You are a {role} specialist.");
        let fragments = vec![Fragment::new("role", prompt::ROLE, text)];
        Ok(RolePrompt::new(RoleOrigin::Stub, fragments, Vec::new()))
    }

    /// Returns the path and the text of the role's prompt file, if there is one.
    #[cfg(feature = "fs")]
    async fn role_file(&self, role: &SkillName) -> Result<Option<(PathBuf, String)>, Error> {
        let (directories, name) = (self.directories.clone(), role.clone());
        blocking::unblock(move || role_file::read(&directories, &name)).await
    }

    /// Returns no prompt file: there are no files without the feature `fs`.
    #[cfg(not(feature = "fs"))]
    async fn role_file(&self, _: &SkillName) -> Result<Option<(PathBuf, String)>, Error> {
        Ok(None)
    }

    /// Returns the current skill of the role, with its snapshot.
    async fn pack(
        &self,
        role: &SkillName,
        agent: Option<&Agent>,
    ) -> Result<Option<(Arc<Snapshot>, LoadedSkill)>, Error> {
        let mut snapshot = self.registry.snapshot();
        // The snapshot may be older than the skill; then a new one is taken, once.
        for is_last in [false, true] {
            let Some(entry) = active(&snapshot, role, agent)? else { return Ok(None) };
            match self.registry.open_skill(entry).await {
                Ok(opened) if is_last || opened.skill.document == *entry.document => {
                    sound(entry, &opened)?;
                    let skill = bindable(entry, &opened, self.registry.policy(), &self.options.prompt);
                    return Ok(Some((snapshot, skill)));
                }
                Err(error) if is_last || error.kind() != ErrorKind::SkillNotFound => return Err(error),
                Ok(_) | Err(_) => snapshot = self.registry.newest().await,
            }
        }
        Ok(None)
    }

    fn pack_prompt(
        &self,
        role: &SkillName,
        agent: Option<&Agent>,
        snapshot: &Snapshot,
        skill: LoadedSkill,
    ) -> Result<RolePrompt, Error> {
        let (number, skill) = (snapshot.number(), Box::new(skill));
        let cached = agent.cloned().map(Box::new);
        let inputs = PromptInputs::Pack { snapshot: number, agent: cached, skill: skill.clone() };
        self.cached_or(role, agent, inputs, || {
            let entry = active(snapshot, role, agent)?;
            let is_offered = entry.is_some_and(Entry::is_offered);
            let is_inline = self.options.binding == RoleBinding::Inline;
            let mut options = self.options.catalog.clone();
            options.highlight = is_offered.then(|| role.to_string());
            options.bound.extend(is_inline.then(|| role.to_string()));
            let catalog = match agent {
                Some(agent) => snapshot.catalog_for(agent, &options),
                None => snapshot.catalog(&options),
            };
            let catalog = catalog
                .map_err(|error| Error::new(ErrorKind::InvalidRole).about(role.as_str()).because(error))?;
            let mut fragments = vec![Fragment::new("skills", prompt::SKILLS, catalog.text)];
            let mut bound = Vec::new();
            match self.options.binding {
                RoleBinding::Inline => {
                    bound.extend(entry.map(|entry| BoundSkill::new(entry, &skill, Via::Role)));
                    let note = entry.and_then(|entry| hiding_note(snapshot, entry, agent.into_iter()));
                    let text = element(*skill, note, &self.options.prompt.wording);
                    fragments.push(Fragment::new("role-skill", prompt::ROLE_SKILL, text));
                }
                RoleBinding::Hint => {
                    let CatalogOptions { tool_name, name_argument, .. } = &options;
                    let text = format!("Role: {role}. Call {tool_name} with the {name_argument} {role}.");
                    fragments.push(Fragment::new("role", prompt::ROLE, text));
                }
            }
            Ok(RolePrompt::new(RoleOrigin::SkillPack, fragments, bound))
        })
    }

    fn legacy_prompt(&self, role: &SkillName, path: PathBuf, template: &str) -> Result<RolePrompt, Error> {
        let inputs = PromptInputs::Legacy { path: path.clone(), digest: Digest::of(template.as_bytes()) };
        self.cached_or(role, None, inputs, || {
            let mut variables = self.options.variables.clone();
            variables.entry("role".to_owned()).or_insert_with(|| role.to_string());
            let text =
                self.options.prompt.renderer.render(template, &variables).map_err(|error| error.at(&path))?;
            let fragments = vec![Fragment::new("role", prompt::ROLE, text)];
            Ok(RolePrompt::new(RoleOrigin::Legacy(path), fragments, Vec::new()))
        })
    }

    /// Returns the prompt that was made of equal inputs before, or makes it.
    fn cached_or(
        &self,
        role: &SkillName,
        agent: Option<&Agent>,
        inputs: PromptInputs,
        make: impl FnOnce() -> Result<RolePrompt, Error>,
    ) -> Result<RolePrompt, Error> {
        let key = (role.clone(), agent.map(|agent| agent.name.clone()));
        if let Some((_, prompt)) = self.cache().get(&key).filter(|(known, _)| *known == inputs) {
            return Ok(prompt.clone());
        }
        let prompt = make()?;
        self.renders.fetch_add(1, Ordering::Relaxed);
        let mut cache = self.cache();
        if cache.len() >= MAX_CACHED && !cache.contains_key(&key) {
            cache.clear();
        }
        cache.insert(key, (inputs, prompt.clone()));
        Ok(prompt)
    }

    fn cache(&self) -> MutexGuard<'_, HashMap<CacheKey, (PromptInputs, RolePrompt)>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the skill that holds the name of the role, unless `agent` does not see it.
fn active<'a>(
    snapshot: &'a Snapshot,
    role: &SkillName,
    agent: Option<&Agent>,
) -> Result<Option<&'a Entry>, Error> {
    let is_seen = |entry: &Entry| agent.is_none_or(|agent| agent.sees(entry));
    match snapshot.find(role.as_str()) {
        // Another spelling of the name is another role.
        Lookup::Found(entry) if entry.name() == role && entry.state == State::Active => {
            Ok(Some(entry).filter(|entry| is_seen(entry)))
        }
        Lookup::Quarantined(entry) if entry.name() == role && is_seen(entry) => {
            let diagnostics = entry.diagnostics().cloned().collect();
            Err(Error::new(ErrorKind::InvalidSkill).about(role.as_str()).at(&*entry.path).with(diagnostics))
        }
        _ => Ok(None),
    }
}

/// Returns an error if the skill was found broken when it was read.
fn sound(entry: &Entry, opened: &OpenedSkill) -> Result<(), Error> {
    let document = &opened.skill.document;
    if document.standing == Standing::Sound {
        return Ok(());
    }
    let error = Error::new(ErrorKind::InvalidSkill).about(entry.name().as_str()).at(&*entry.path);
    Err(error.with(document.diagnostics.clone()))
}
