//! The clients on this machine, and the skills that each of them reads from files.
//!
//! A skill is known by its real directory. Its name may differ from the directory's; clients use either.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{canonicalize, read_dir};
use std::path::{Path, PathBuf};

use repertoire::Entry;
use repertoire::discovery::{CLIENT_DIRECTORIES, ClientDirectories, Place, Tier, project_skill_directories};

use crate::places::{Owner, Places};

/// The most entries of a directory that are looked at.
const MAX_ENTRIES: usize = 10_000;

/// The directories of clients below which they install plugins.
const PLUGINS: [(&str, &str); 3] =
    [("claude-code", "$CLAUDE/plugins"), ("codex", "$CODEX/plugins"), ("cursor", "~/.cursor/plugins")];

/// A skill in the file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillOnDisk {
    /// Its directory, links resolved.
    pub directory: PathBuf,
    /// The name that its `SKILL.md` has, if it has one.
    pub written: Option<String>,
}

impl SkillOnDisk {
    /// Returns the skill that `entry` is.
    pub fn of(entry: &Entry) -> Self {
        let written = entry.document.manifest.name.as_deref().map(str::to_owned);
        Self { directory: resolved(Path::new(entry.directory())), written }
    }
}

/// An entry of a directory by which a client reads a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRoute {
    /// Its path, in a directory of the client as the table names it.
    pub path: PathBuf,
    /// The plugin that has the skill, if the client reads it for a plugin.
    pub plugin: Option<String>,
}

impl FileRoute {
    /// Returns the directory that the entry is in.
    pub fn parent(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }
}

/// The places that clients read skills from, beside the directories of the user.
#[derive(Debug, Default)]
pub(crate) struct SearchedPlaces {
    /// The projects.
    pub projects: Vec<PathBuf>,
    /// The projects that are packages below the working directory: Claude Code alone reads them from there.
    pub packages: BTreeSet<PathBuf>,
    /// The directories of skills of plugins, with the names of the plugins.
    pub plugins: Vec<(String, PathBuf)>,
    /// Links that are about to be made, with the real directories of their skills.
    pub planned: BTreeMap<PathBuf, PathBuf>,
    /// The switches that are turned off: the client, and the skill's name or path in its configuration.
    pub switched_off: BTreeSet<(String, String)>,
}

/// A client, which may read skills from files.
#[derive(Debug)]
pub struct ClientReader {
    /// The client.
    pub client: &'static ClientDirectories,
    /// The directories that it reads and that are there, its own first, as the table names them.
    pub directories: Vec<PathBuf>,
    /// The routes to each skill, by its real directory.
    routes: BTreeMap<PathBuf, Vec<FileRoute>>,
    /// The names and paths that its own switches are turned off for.
    switched_off: BTreeSet<String>,
}

impl ClientReader {
    /// Returns the routes by which the client finds `skill`, switched off or not.
    pub fn routes(&self, skill: &SkillOnDisk) -> &[FileRoute] {
        self.routes.get(&skill.directory).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the routes by which the client reads `skill`: all routes that its own switch leaves on.
    pub fn routes_in_use<'r>(
        &'r self,
        skill: &'r SkillOnDisk,
    ) -> impl Iterator<Item = &'r FileRoute> + use<'r> {
        let is_on = |route: &&FileRoute| !self.switched_off.contains(&self.switch_key(route, skill));
        self.routes(skill).iter().filter(is_on)
    }

    /// Returns `true` if the client finds `skill`, and reads it by no route because its switch is off.
    pub fn is_switched_off(&self, skill: &SkillOnDisk) -> bool {
        !self.routes(skill).is_empty() && self.routes_in_use(skill).next().is_none()
    }

    /// Returns the name by which the client knows `skill`, which it finds by `route`: Claude Code takes the
    /// directory's, except in plugins, and others the written one.
    pub fn name_of(&self, route: &FileRoute, skill: &SkillOnDisk) -> String {
        let directory = route.path.file_name().unwrap_or_default().to_string_lossy();
        let written = skill.written.as_deref().unwrap_or(&directory);
        match &route.plugin {
            Some(plugin) => format!("{plugin}:{written}"),
            None if self.client.id == "claude-code" => directory.into_owned(),
            None => written.to_owned(),
        }
    }

    /// Returns the names by which the client knows `skill`, if it finds it.
    pub fn names_of(&self, skill: &SkillOnDisk) -> BTreeSet<String> {
        self.routes(skill).iter().map(|route| self.name_of(route, skill)).collect()
    }

    /// Returns the name or the path that the client's own switch for `skill` goes by.
    pub fn switch_key(&self, route: &FileRoute, skill: &SkillOnDisk) -> String {
        match self.client.id {
            "codex" => skill.directory.join("SKILL.md").to_string_lossy().into_owned(),
            _ => self.name_of(route, skill),
        }
    }
}

/// Returns the clients of which there is a sign on this machine, and those called `also`, with the skills
/// that they find in `searched` and for the user.
pub(crate) fn readers(places: &Places, searched: &SearchedPlaces, also: &[&str]) -> Vec<ClientReader> {
    let mut planned: Listing = BTreeMap::new();
    for (link, skill) in &searched.planned {
        let parent = resolved(link.parent().unwrap_or(link));
        planned.entry(parent).or_default().push((link.clone(), skill.clone()));
    }
    let mut listed = BTreeMap::new();
    let is_meant = |client: &&ClientDirectories| also.contains(&client.id) || places.has_sign_of(client);
    let clients = CLIENT_DIRECTORIES.iter().filter(is_meant);
    clients.map(|client| reader(places, searched, client, &planned, &mut listed)).collect()
}

/// The entries of directories that lead to skills, each with the real directory of the skill.
type Listing = BTreeMap<PathBuf, Vec<(PathBuf, PathBuf)>>;

fn reader(
    places: &Places,
    searched: &SearchedPlaces,
    client: &'static ClientDirectories,
    planned: &Listing,
    listed: &mut Listing,
) -> ClientReader {
    let own_switches = searched.switched_off.iter().filter(|(id, _)| id == client.id);
    let switched_off = own_switches.map(|(_, key)| key.clone()).collect();
    let (directories, routes) = (Vec::new(), BTreeMap::new());
    let mut reader = ClientReader { client, directories, routes, switched_off };
    let is_read = |path: &&PathBuf| client.id == "claude-code" || !searched.packages.contains(*path);
    let projects = searched.projects.iter().filter(is_read);
    let of_projects = projects.flat_map(|project| client.project.iter().map(|name| project.join(name)));
    let directories = of_projects.chain(places.directories(client, Owner::User)).map(|path| (None, path));
    let plugins = searched.plugins.iter().filter(|(_, path)| has_installed(places, client.id, path));
    let plugins = plugins.map(|(name, path)| (Some(name.clone()), path.clone()));
    let mut seen = BTreeSet::new();
    for (plugin, directory) in directories.chain(plugins) {
        let real = resolved(&directory);
        let planned = planned.get(&real);
        // One directory under two names is read once.
        if !(planned.is_some() || real.is_dir()) || !seen.insert(real.clone()) {
            continue;
        }
        let listed = listed.entry(real).or_insert_with_key(|real| skills_in(real));
        for (path, skill) in listed.iter().chain(planned.into_iter().flatten()) {
            let path = directory.join(path.file_name().unwrap_or_default());
            reader.routes.entry(skill.clone()).or_default().push(FileRoute { path, plugin: plugin.clone() });
        }
        reader.directories.push(directory);
    }
    reader
}

/// Returns `true` if the plugin at `path` is one that the client `id` has installed.
fn has_installed(places: &Places, id: &str, path: &Path) -> bool {
    let own = PLUGINS.iter().find(|(client, _)| *client == id);
    own.and_then(|(_, template)| places.path(Owner::User, template)).is_some_and(|own| path.starts_with(own))
}

/// Returns the entries of `directory` that hold or lead to a `SKILL.md`, each with its real directory.
pub(crate) fn skills_in(directory: &Path) -> Vec<(PathBuf, PathBuf)> {
    let entries = read_dir(directory).into_iter().flatten().flatten().take(MAX_ENTRIES);
    let paths = entries.map(|entry| entry.path()).filter(|path| path.join("SKILL.md").is_file());
    let mut skills: Vec<_> = paths.map(|path| (path.clone(), resolved(&path))).collect();
    skills.sort();
    skills
}

/// Returns the projects that `places` belong to, each with its directories of skills. A directory of skills
/// that is not named as clients name theirs belongs to the directory around it.
pub fn projects(places: &[Place]) -> BTreeMap<PathBuf, Vec<PathBuf>> {
    let names = project_skill_directories();
    let mut projects: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
    for Place { root, .. } in places.iter().filter(|place| place.root.tier != Tier::User) {
        let name = names.iter().find(|name| root.path.ends_with(name));
        let levels = name.map_or(1, |name| Path::new(name).components().count());
        if let Some(directory) = root.path.ancestors().nth(levels) {
            projects.entry(directory.to_owned()).or_default().push(root.path.clone());
        }
    }
    projects
}

fn resolved(path: &Path) -> PathBuf {
    canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{create_dir_all, write};
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::places::Environment;

    /// A home directory with skills that are named otherwise than their directories.
    struct Home(tempfile::TempDir);

    impl Home {
        fn new() -> Self {
            let home = Self(tempfile::tempdir().unwrap());
            for sign in [".cursor", ".codex", ".config/opencode"] {
                create_dir_all(home.path().join(sign)).unwrap();
            }
            for skill in [
                ".claude/skills/brainstorming",
                ".claude/skills/copy",
                ".agents/skills/copy",
                ".agents/skills/linear",
                ".claude/plugins/cache/m/superpowers/1/skills/sdd",
            ] {
                create_dir_all(home.path().join(skill)).unwrap();
                write(home.path().join(skill).join("SKILL.md"), "x").unwrap();
            }
            symlink("../../.agents/skills/linear", home.path().join(".claude/skills/issues")).unwrap();
            home
        }

        fn path(&self) -> PathBuf {
            self.0.path().canonicalize().unwrap()
        }

        fn searched(&self) -> SearchedPlaces {
            let plugin = self.path().join(".claude/plugins/cache/m/superpowers/1/skills");
            SearchedPlaces { plugins: vec![("superpowers".to_owned(), plugin)], ..SearchedPlaces::default() }
        }

        /// Returns a line for each client that finds the skill: its names and paths, and `off` if it is.
        fn found(&self, searched: &SearchedPlaces, directory: &str, written: &str) -> String {
            let places = Places::new(Environment { home: Some(self.path()), ..Environment::new("") });
            let (directory, written) = (self.path().join(directory), Some(written.to_owned()));
            let skill = SkillOnDisk { directory, written };
            let mut lines = String::new();
            for reader in readers(&places, searched, &[]).iter().filter(|it| !it.routes(&skill).is_empty()) {
                let off = if reader.is_switched_off(&skill) { " off" } else { "" };
                let route = |route: &FileRoute| {
                    let path = route.path.strip_prefix(self.path()).unwrap().display();
                    format!(" {} ({path})", reader.name_of(route, &skill))
                };
                let routes: String = reader.routes(&skill).iter().map(route).collect();
                lines.push_str(&format!("{}:{off}{routes}\n", reader.client.id));
            }
            lines
        }
    }

    #[test]
    fn clients_find_a_skill_by_its_real_directory_and_name_it_in_their_own_way() {
        let (home, mut text) = (Home::new(), String::new());
        for (directory, written) in [
            (".claude/skills/brainstorming", "Brainstorming Ideas"),
            (".agents/skills/linear", "Linear"),
            (".claude/plugins/cache/m/superpowers/1/skills/sdd", "subagent-driven"),
            (".claude/skills/copy", "copy"),
            (".agents/skills/copy", "copy"),
            (".agents/skills/brainstorming", "Brainstorming Ideas"),
        ] {
            text.push_str(&format!("{directory}\n{}", home.found(&home.searched(), directory, written)));
        }
        insta::assert_snapshot!(text, @r#"
        .claude/skills/brainstorming
        claude-code: brainstorming (.claude/skills/brainstorming)
        cursor: Brainstorming Ideas (.claude/skills/brainstorming)
        opencode: Brainstorming Ideas (.claude/skills/brainstorming)
        .agents/skills/linear
        claude-code: issues (.claude/skills/issues)
        cursor: Linear (.agents/skills/linear) Linear (.claude/skills/issues)
        codex: Linear (.agents/skills/linear)
        opencode: Linear (.agents/skills/linear) Linear (.claude/skills/issues)
        .claude/plugins/cache/m/superpowers/1/skills/sdd
        claude-code: superpowers:subagent-driven (.claude/plugins/cache/m/superpowers/1/skills/sdd)
        .claude/skills/copy
        claude-code: copy (.claude/skills/copy)
        cursor: copy (.claude/skills/copy)
        opencode: copy (.claude/skills/copy)
        .agents/skills/copy
        cursor: copy (.agents/skills/copy)
        codex: copy (.agents/skills/copy)
        opencode: copy (.agents/skills/copy)
        .agents/skills/brainstorming
        "#);
    }

    #[test]
    fn a_switch_counts_for_the_skill_that_the_client_knows_by_it() {
        let home = Home::new();
        let linear = home.path().join(".agents/skills/linear/SKILL.md").display().to_string();
        let switches = [("claude-code", "issues"), ("opencode", "copy"), ("codex", linear.as_str())];
        let switched_off = switches.map(|(client, key)| (client.to_owned(), key.to_owned())).into();
        let searched = SearchedPlaces { switched_off, ..home.searched() };
        insta::assert_snapshot!(home.found(&searched, ".agents/skills/linear", "Linear"), @r#"
        claude-code: off issues (.claude/skills/issues)
        cursor: Linear (.agents/skills/linear) Linear (.claude/skills/issues)
        codex: off Linear (.agents/skills/linear)
        opencode: Linear (.agents/skills/linear) Linear (.claude/skills/issues)
        "#);
    }

    #[test]
    fn a_planned_link_is_found_where_its_directory_is_not_there_yet() {
        let home = Home::new();
        let link = home.path().join(".cursor/skills/linear");
        let planned = BTreeMap::from([(link, home.path().join(".agents/skills/linear"))]);
        let searched = SearchedPlaces { planned, ..home.searched() };
        let found = home.found(&searched, ".agents/skills/linear", "Linear");
        assert!(found.contains("Linear (.cursor/skills/linear)"), "{found}");
    }
}
