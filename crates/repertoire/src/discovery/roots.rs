//! The directories that agents keep skills in, in a project and in a home.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{canonicalize, metadata, symlink_metadata};
use std::path::{Path, PathBuf};

use super::clients::{
    CANONICAL, CLIENT_DIRECTORIES, UserDirectories, VISIBLE_DIRECTORIES, VISIBLE_OF_PACKAGE,
};
use super::monorepo::package_roots;
use crate::provider::fs::FsOptions;
use crate::regular_file;

/// The directories of skills in a project and in a home directory that come first, in order of precedence;
/// the others of the table of clients follow.
const FIRST_DIRECTORIES: [&str; 8] = [
    CANONICAL,
    ".claude/skills",
    ".cursor/skills",
    ".codex/skills",
    ".github/skills",
    ".opencode/skills",
    ".gemini/skills",
    ".goose/skills",
];

/// The directory of role packs in a project, searched where the directory of role prompts is beside it.
const ROLE_PACKS: &str = "templates/skills";

/// The directory of role prompts in a project.
const ROLE_PROMPTS: &str = "templates/roles";

/// Further directories of a user that come before the others of the table of clients.
const FIRST_USER_DIRECTORIES: [&str; 5] = [
    "~/.copilot/skills",
    "~/.codeium/windsurf/skills",
    "~/.openclaw/skills",
    "$CONFIG/agents/skills",
    "$CONFIG/opencode/skills",
];

/// The largest `package.json` that is read, in bytes.
const MAX_PACKAGE_BYTES: u64 = 1024 * 1024;

/// The most directories searched between the working directory and the root of its repository.
const MAX_ANCESTORS: usize = 64;

/// The directories that discovery starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiscoveryInput {
    /// The working directory.
    pub working_directory: PathBuf,
    /// The user's home.
    pub home: Option<PathBuf>,
    /// The user's configuration directory, if it is not below home.
    pub xdg_config: Option<PathBuf>,
    /// The directories that environment variables of clients name, as `CODEX_HOME`, by variable.
    pub client_homes: BTreeMap<String, PathBuf>,
    /// Looks for the project's skills.
    pub project: bool,
    /// Looks for the user's skills.
    pub user: bool,
    /// Looks for role packs in `templates/skills` of the project also where there is no `templates/roles`.
    pub role_packs: bool,
}

impl DiscoveryInput {
    /// Returns the input for all skills of the project around `working_directory` and of the user.
    pub fn new(working_directory: impl Into<PathBuf>, home: impl Into<Option<PathBuf>>) -> Self {
        let (working_directory, home) = (working_directory.into(), home.into());
        let client_homes = BTreeMap::new();
        Self {
            working_directory,
            home,
            xdg_config: None,
            client_homes,
            project: true,
            user: true,
            role_packs: false,
        }
    }
}

repertoire_model::words! {
    /// The owner of the skills in a root.
    #[derive(PartialOrd, Ord)]
    Tier {
        /// Those of a directory that the caller gave.
        Given "given on the command line",
        /// The roots that come with the project, from its authors.
        Project "a place of the project",
        /// Those the user installed.
        User "a place of the user",
        /// Those a configuration names.
        Configured "configured",
        /// Those of a plugin pack.
        Pack "a pack",
        /// Those of an Agent Plugin, or of a plugin that a client has installed.
        Plugin "a plugin",
    }
}

/// A directory of skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// The name of the source, as in `project:.agents/skills`; no two are the same.
    pub label: String,
    /// Its path.
    pub path: PathBuf,
    /// The owner.
    pub tier: Tier,
}

impl Root {
    /// Returns the options of a provider of its skills, for the caller to complete.
    ///
    /// The directory need not exist: a provider finds what is put there later when it lists again, and until
    /// then reports a configured one.
    pub fn options(&self) -> FsOptions {
        let mut options = FsOptions::new(&*self.label, &*self.path);
        options.is_expected = self.tier == Tier::Configured;
        options
    }
}

/// The state of a directory that may hold skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presence {
    /// A directory.
    Found,
    /// Nothing.
    Missing,
    /// Something that is not a directory, or that may not be read.
    NotDirectory,
    /// The very directory that the root with this label leads to.
    SameAs(String),
}

/// A place that is searched for skills.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// The root that it is or would be.
    pub root: Root,
    /// Its state.
    pub presence: Presence,
}

impl Place {
    /// Returns the place of `root`, with its state.
    pub fn of(root: Root) -> Self {
        let presence = match metadata(&root.path) {
            Ok(metadata) if metadata.is_dir() => Presence::Found,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Presence::Missing,
            _ => Presence::NotDirectory,
        };
        Self { root, presence }
    }

    /// Gives every place a label of its own: a later one of the same label gets a number.
    pub fn distinct(mut places: Vec<Self>) -> Vec<Self> {
        distinct(places.iter_mut().map(|place| &mut place.root.label));
        places
    }
}

/// The result of discovery.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Discovery {
    /// The directories of skills that exist, those of the project first, nearest first.
    pub roots: Vec<Root>,
    /// Every place that was examined, in the same order.
    pub places: Vec<Place>,
}

impl Discovery {
    /// Looks at `roots`, in order of precedence, and sees to it that no two have the same label.
    pub fn of(mut roots: Vec<Root>) -> Self {
        distinct(roots.iter_mut().map(|root| &mut root.label));
        let mut discovery = Self::default();
        let mut seen: HashMap<PathBuf, String> = HashMap::new();
        for root in roots {
            let mut place = Place::of(root);
            if place.presence == Presence::Found {
                place.presence = look(&place.root, &mut seen);
            }
            if place.presence == Presence::Found {
                discovery.roots.push(place.root.clone());
            }
            discovery.places.push(place);
        }
        discovery
    }

    /// Returns the roots that hold skills now or may one day, missing ones included.
    ///
    /// A long-running program makes a provider of each, so that a directory that is made later is seen at the
    /// next [`crate::Registry::reload`]; for a program that runs once, [`Discovery::roots`] is enough.
    pub fn lasting_roots(&self) -> impl Iterator<Item = &Root> {
        let lasting = |place: &&Place| matches!(place.presence, Presence::Found | Presence::Missing);
        self.places.iter().filter(lasting).map(|place| &place.root)
    }
}

/// Numbers labels that occur more than once: a later `x` becomes `x#2`.
pub fn distinct<'a>(labels: impl IntoIterator<Item = &'a mut String>) {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for label in labels {
        let given = label.clone();
        while counts.contains_key(label) {
            let count = counts.entry(given.clone()).or_default();
            *count += 1;
            *label = format!("{given}#{count}");
        }
        counts.insert(label.clone(), 1);
    }
}

/// Finds the directories of skills that the project and the user have.
///
/// ```
/// use std::path::PathBuf;
/// use std::sync::Arc;
/// use repertoire::discovery::{Discovery, DiscoveryInput, Root, Tier, discover};
/// use repertoire::{FsProvider, Provider};
/// let found = discover(&DiscoveryInput::new("/project", PathBuf::from("/home/me")));
/// // Your own roots come after the discovered ones, or before them to win over them.
/// let mut roots: Vec<Root> = found.lasting_roots().cloned().collect();
/// roots.push(Root { label: "config:shared".into(), path: "/srv/skills".into(), tier: Tier::Configured });
/// let providers: Vec<Arc<dyn Provider>> = Discovery::of(roots)
///     .lasting_roots()
///     .map(|root| Arc::new(FsProvider::new(root.options())) as Arc<dyn Provider>)
///     .collect();
/// assert!(providers.iter().any(|provider| provider.label() == "project:.agents/skills"));
/// ```
pub fn discover(input: &DiscoveryInput) -> Discovery {
    let mut candidates = Vec::new();
    if input.project {
        candidates.extend(project_candidates(input));
    }
    if input.user {
        candidates.extend(user_candidates(input));
    }
    // Last, so that packages take no name from others. Without a repository, other projects lie below.
    let (directory, home) = (resolve(&input.working_directory), input.home.as_deref().map(resolve));
    if let Some(repository) = repository_root(&directory, home.as_deref())
        && input.project
        && home.as_ref() != Some(&directory)
    {
        let found = package_roots(&directory, &repository).into_iter();
        candidates.extend(found.map(|(label, path)| Root { label, path, tier: Tier::Project }));
    }
    Discovery::of(candidates)
}

/// Returns the state of a directory that exists.
fn look(root: &Root, seen: &mut HashMap<PathBuf, String>) -> Presence {
    // One directory under two names, as where `.claude/skills` links to `.agents/skills`, is one source.
    let Ok(resolved) = canonicalize(&root.path) else { return Presence::NotDirectory };
    match seen.get(&resolved) {
        Some(label) => Presence::SameAs(label.clone()),
        None => {
            seen.insert(resolved, root.label.clone());
            Presence::Found
        }
    }
}

fn project_candidates(input: &DiscoveryInput) -> Vec<Root> {
    let working_directory = resolve(&input.working_directory);
    let home = input.home.as_deref().map(resolve);
    let first_then_others = project_skill_directories();
    let mut candidates = Vec::new();
    for (distance, directory) in project_directories(&working_directory, home.as_deref()).iter().enumerate() {
        // Home's directories are the user's, also for someone who works there.
        if input.user && Some(*directory) == home.as_deref() {
            continue;
        }
        let has_packs = input.role_packs || directory.join(ROLE_PROMPTS).is_dir();
        let visible = visible_directories(directory, home.as_deref());
        let names = first_then_others.iter().copied().chain(has_packs.then_some(ROLE_PACKS)).chain(visible);
        for name in names {
            let label = format!("project:{}{name}", "../".repeat(distance));
            candidates.push(Root { label, path: directory.join(name), tier: Tier::Project });
        }
    }
    candidates
}

/// Returns the visible directories of `project` that clients which are there read skills from.
fn visible_directories(project: &Path, home: Option<&Path>) -> Vec<&'static str> {
    let has = |sign: &&str| home.is_some_and(|home| home.join(sign).is_dir());
    let by_sign = VISIBLE_DIRECTORIES.iter().filter(|(_, signs)| signs.iter().any(&has));
    let mut names: Vec<&str> = by_sign.map(|(name, _)| *name).collect();
    let (name, package) = VISIBLE_OF_PACKAGE;
    let names_package = || {
        let text = regular_file::read(&project.join("package.json"), MAX_PACKAGE_BYTES).unwrap_or_default();
        String::from_utf8_lossy(&text).contains(package)
    };
    if project.join(name).is_dir() && names_package() {
        names.push(name);
    }
    names
}

/// Returns the root of the repository that contains `working_directory`, with links resolved.
///
/// A repository at `home` or above it counts only if the working directory is its root.
pub fn repository_root(working_directory: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let (working_directory, home) = (resolve(working_directory), home.map(resolve));
    let root = *project_directories(&working_directory, home.as_deref()).last()?;
    is_repository(root).then(|| root.to_owned())
}

fn resolve(path: &Path) -> PathBuf {
    canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn is_repository(directory: &Path) -> bool {
    symlink_metadata(directory.join(".git")).is_ok()
}

/// Returns the directories from `working_directory` up to that of its repository.
///
/// Without a repository it is the working directory alone. Home, and what is above it, is not a project of
/// someone who works below: a repository of dot files there would otherwise own everything.
fn project_directories<'a>(working_directory: &'a Path, home: Option<&Path>) -> Vec<&'a Path> {
    let mut directories = Vec::new();
    for directory in working_directory.ancestors().take(MAX_ANCESTORS) {
        if directory != working_directory && home.is_some_and(|home| home.starts_with(directory)) {
            break;
        }
        directories.push(directory);
        if is_repository(directory) {
            return directories;
        }
    }
    directories.truncate(1);
    directories
}

/// Returns the directories of a project that clients read skills from, from its root on, in precedence order.
pub fn project_skill_directories() -> Vec<&'static str> {
    let mut seen = HashSet::new();
    let others = CLIENT_DIRECTORIES.iter().flat_map(|client| client.project.iter().copied());
    FIRST_DIRECTORIES.into_iter().chain(others).filter(|name| seen.insert(*name)).collect()
}

fn user_candidates(input: &DiscoveryInput) -> Vec<Root> {
    let (home, config) = (input.home.as_deref(), input.xdg_config.as_deref());
    let directories = UserDirectories { home, config, client_homes: &input.client_homes };
    let first = FIRST_DIRECTORIES.iter().map(|name| format!("~/{name}"));
    let others = CLIENT_DIRECTORIES.iter().flat_map(|client| client.user);
    let others = FIRST_USER_DIRECTORIES.iter().chain(others).map(|template| (*template).to_owned());
    let mut seen = HashSet::new();
    let mut candidates = Vec::new();
    for template in first.chain(others) {
        let Some(path) = directories.path(&template) else { continue };
        if seen.insert(path.clone()) {
            let label = format!("user:{}", directories.label(&template));
            candidates.push(Root { label, path, tier: Tier::User });
        }
    }
    candidates
}
