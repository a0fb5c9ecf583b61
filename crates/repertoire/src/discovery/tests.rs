//! Tests of the places that are searched for skills.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use repertoire_model::{Policy, RuleId};

use super::*;

struct Layout(tempfile::TempDir);

impl Layout {
    fn new(directories: &[&str]) -> Self {
        let layout = Self(tempfile::tempdir().unwrap());
        for directory in directories {
            fs::create_dir_all(layout.path(directory)).unwrap();
        }
        layout
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(relative)
    }

    fn input(&self, working_directory: &str) -> DiscoveryInput {
        DiscoveryInput {
            working_directory: self.path(working_directory),
            home: Some(self.path("home")),
            xdg_config: None,
            client_homes: BTreeMap::new(),
            project: true,
            user: true,
            role_packs: false,
        }
    }

    fn labels(&self, working_directory: &str) -> Vec<String> {
        labels(&discover(&self.input(working_directory)))
    }
}

fn labels(discovery: &Discovery) -> Vec<String> {
    discovery.roots.iter().map(|root| root.label.clone()).collect()
}

#[test]
fn b22_role_packs_beside_role_prompts_are_found() {
    let layout = Layout::new(&["a/templates/roles", "a/templates/skills", "b/templates/skills"]);
    assert_eq!(layout.labels("a"), ["project:templates/skills"]);
    assert_eq!(layout.labels("b"), [""; 0]);
    let input = DiscoveryInput { role_packs: true, ..layout.input("b") };
    assert_eq!(labels(&discover(&input)), ["project:templates/skills"]);
}

#[test]
fn the_project_reaches_from_here_to_the_repository() {
    let layout = Layout::new(&[
        "home/code/.agents/skills",
        "home/code/repo/.git",
        "home/code/repo/.agents/skills",
        "home/code/repo/.claude/skills",
        "home/code/repo/sub/dir/.agents/skills",
        "home/code/loose/.agents/skills",
        "home/.claude/skills",
        "home/.config/opencode/skills",
    ]);
    let user = ["user:.claude/skills", "user:.config/opencode/skills"];
    let with_user = |project: &[&'static str]| [project, &user].concat();
    assert_eq!(
        layout.labels("home/code/repo/sub/dir"),
        with_user(&[
            "project:.agents/skills",
            "project:../../.agents/skills",
            "project:../../.claude/skills"
        ])
    );
    let with_package =
        |project: &[&'static str]| [with_user(project), vec!["project:sub/dir/.agents/skills"]].concat();
    assert_eq!(
        layout.labels("home/code/repo"),
        with_package(&["project:.agents/skills", "project:.claude/skills"])
    );
    // Without a repository only the working directory counts.
    assert_eq!(layout.labels("home/code/loose"), with_user(&["project:.agents/skills"]));
    assert_eq!(
        layout.labels("home/code/repo/sub"),
        with_package(&["project:../.agents/skills", "project:../.claude/skills"])
    );
    assert_eq!(layout.labels("no/such/place"), user);
}

#[test]
fn a_worktree_has_a_git_file() {
    let layout = Layout::new(&["repo/.agents/skills", "repo/sub"]);
    fs::write(layout.path("repo/.git"), "gitdir: elsewhere").unwrap();
    assert_eq!(layout.labels("repo/sub"), ["project:../.agents/skills"]);
}

#[test]
fn home_is_the_users_and_no_project() {
    let layout = Layout::new(&[
        "home/.git",
        "home/.agents/skills",
        "home/sub/.agents/skills",
        ".git",
        ".agents/skills",
    ]);
    assert_eq!(layout.labels("home/sub"), ["project:.agents/skills", "user:.agents/skills"]);
    assert_eq!(layout.labels("home"), ["user:.agents/skills"]);
    let mut input = layout.input("home");
    input.user = false;
    assert_eq!(labels(&discover(&input)), ["project:.agents/skills"]);
    input.project = false;
    assert_eq!(discover(&input), Discovery::default());
}

#[test]
fn visible_directories_of_a_project_are_read_where_their_client_is_there() {
    let layout = Layout::new(&["repo/.git", "repo/skills", "repo/data/skills", "repo/agent/skills", "home"]);
    assert_eq!(layout.labels("repo"), [""; 0]);
    for sign in ["home/.clawdbot", "home/.astrbot"] {
        fs::create_dir(layout.path(sign)).unwrap();
    }
    fs::write(layout.path("repo/package.json"), r#"{"dependencies": {"eve": "1"}}"#).unwrap();
    assert_eq!(layout.labels("repo"), ["project:skills", "project:data/skills", "project:agent/skills"]);
}

#[test]
fn every_place_is_listed_with_its_presence() {
    let layout = Layout::new(&["repo/.git", "repo/.agents/skills", "repo/.claude", "config/agents/skills"]);
    fs::write(layout.path("repo/.claude/skills"), "").unwrap();
    #[cfg(unix)]
    {
        fs::create_dir(layout.path("repo/.codex")).unwrap();
        std::os::unix::fs::symlink("../.agents/skills", layout.path("repo/.codex/skills")).unwrap();
    }
    let mut input = layout.input("repo");
    input.xdg_config = Some(layout.path("config"));
    let discovery = discover(&input);
    assert_eq!(labels(&discovery), ["project:.agents/skills", "user:.config/agents/skills"]);
    let presence = |label: &str| {
        discovery.places.iter().find(|place| place.root.label == label).unwrap().presence.clone()
    };
    assert_eq!(presence("project:.agents/skills"), Presence::Found);
    assert_eq!(presence("project:.claude/skills"), Presence::NotDirectory);
    assert_eq!(presence("project:.gemini/skills"), Presence::Missing);
    #[cfg(unix)]
    assert_eq!(presence("project:.codex/skills"), Presence::SameAs("project:.agents/skills".to_owned()));
    let mut all: Vec<&str> = discovery.places.iter().map(|place| place.root.label.as_str()).collect();
    all.sort_unstable();
    let count = all.len();
    all.dedup();
    assert_eq!(all.len(), count, "labels are unique");
}

#[test]
fn every_directory_of_the_table_of_clients_is_discovered() {
    let layout = Layout::new(&["home", "repo/.git"]);
    let mut input = layout.input("repo");
    for home in CLIENT_HOMES {
        input.client_homes.insert(home.variable.to_owned(), layout.path("moved").join(home.usual));
    }
    let client_homes = input.client_homes.clone();
    let directories =
        UserDirectories { home: input.home.as_deref(), config: None, client_homes: &client_homes };
    let mut expected: Vec<PathBuf> = Vec::new();
    for client in CLIENT_DIRECTORIES {
        expected.extend(client.project.iter().map(|name| layout.path("repo").join(name)));
        expected.extend(client.user.iter().map(|template| directories.path(template).unwrap()));
    }
    for path in &expected {
        fs::create_dir_all(path).unwrap();
    }
    let discovery = discover(&input);
    for path in expected {
        assert!(discovery.roots.iter().any(|root| root.path == path), "{}", path.display());
    }
    let moved = discovery.roots.iter().find(|root| root.label == "user:$CODEX_HOME/skills");
    assert_eq!(moved.unwrap().path, layout.path("moved/.codex/skills"));
    // A directory that a variable names in its usual place is one place.
    let mut input = layout.input("repo");
    input.client_homes.insert("CODEX_HOME".to_owned(), layout.path("home/.codex"));
    let labels = labels(&discover(&input));
    assert!(!labels.iter().any(|label| label.contains("CODEX_HOME")), "{labels:?}");
}

#[test]
fn directories_of_more_clients_come_after_those_that_were_always_read() {
    let layout = Layout::new(&["repo/.git", "home"]);
    let discovery = discover(&layout.input("repo"));
    let first = |tier: Tier, count: usize| -> Vec<String> {
        let places = discovery.places.iter().filter(|place| place.root.tier == tier);
        places.take(count).map(|place| place.root.label.clone()).collect()
    };
    assert_eq!(
        first(Tier::Project, 9).join(" "),
        "project:.agents/skills project:.claude/skills project:.cursor/skills project:.codex/skills \
         project:.github/skills project:.opencode/skills project:.gemini/skills project:.goose/skills \
         project:.windsurf/skills"
    );
    assert_eq!(
        first(Tier::User, 14)[7..].join(" "),
        "user:.goose/skills user:.copilot/skills user:.codeium/windsurf/skills user:.openclaw/skills \
         user:.config/agents/skills user:.config/opencode/skills user:.config/goose/skills"
    );
}

#[test]
fn packs_of_every_shape_are_found_and_broken_ones_named() {
    let layout = Layout::new(&[
        "packs/with-skills/skills/a",
        "packs/with-skills/other",
        "packs/flat/b",
        "packs/single",
        "packs/empty",
        "packs/grouped/skills/team/tools/d",
        "packs/.hidden/c",
        "packs/empty-skills/skills",
    ]);
    for file in [
        "with-skills/skills/a/SKILL.md",
        "flat/b/skill.md",
        "single/SKILL.md",
        "grouped/skills/team/tools/d/SKILL.md",
        ".hidden/c/SKILL.md",
    ] {
        fs::write(layout.path("packs").join(file), "# Skill\n").unwrap();
    }
    fs::write(layout.path("packs/file"), "").unwrap();
    let (roots, problems) = packs(&layout.path("packs"), &Policy::default());
    let found: Vec<(&str, PathBuf)> =
        roots.iter().map(|root| (root.label.as_str(), root.path.clone())).collect();
    assert_eq!(
        found,
        [
            ("pack:flat", layout.path("packs/flat")),
            ("pack:grouped", layout.path("packs/grouped/skills")),
            ("pack:single", layout.path("packs/single")),
            ("pack:with-skills", layout.path("packs/with-skills/skills")),
        ]
    );
    assert!(roots.iter().all(|root| root.tier == Tier::Pack));
    assert_eq!(problems.len(), 2, "a file beside packs is not a pack");
    for (problem, name) in problems.iter().zip(["empty", "empty-skills"]) {
        assert_eq!(problem.diagnostic.rule, RuleId::SourceBroken);
        assert!(problem.diagnostic.message.contains(&format!("`{name}`")), "{problem:?}");
    }
    assert_eq!(packs(&layout.path("missing"), &Policy::default()), (Vec::new(), Vec::new()));
    assert_eq!(packs(&layout.path("packs/file"), &Policy::default()).1.len(), 1);
}

#[test]
fn the_files_of_a_pack_are_readable() {
    use crate::provider::fs::{FsOptions, FsProvider};
    use crate::provider::{Locator, Provider};
    let layout = Layout::new(&["packs/p/skills/a/references"]);
    fs::write(layout.path("packs/p/skills/a/SKILL.md"), "# A\n").unwrap();
    fs::write(layout.path("packs/p/skills/a/references/x.md"), "x\n").unwrap();
    let (roots, _) = packs(&layout.path("packs"), &Policy::default());
    let provider = FsProvider::new(FsOptions::new(roots[0].label.as_str(), roots[0].path.as_path()));
    let path = repertoire_model::SkillPath::new("references/x.md").unwrap();
    let locator = Locator::new("a");
    let read = provider.read(&locator, &path, repertoire_model::LineRange::default());
    assert_eq!(pollster::block_on(read).unwrap().bytes, b"x\n");
}

#[test]
fn equal_labels_are_made_distinct() {
    let mut labels = ["a", "a", "a#2", "b", "a", "a#2"].map(str::to_owned);
    distinct(&mut labels);
    assert_eq!(labels[..4], ["a", "a#2", "a#2#2", "b"]);
    let unique: std::collections::BTreeSet<&String> = labels.iter().collect();
    assert_eq!(unique.len(), labels.len(), "{labels:?}");
}

#[test]
fn roots_that_are_missing_still_become_providers() {
    use crate::Registry;
    use crate::provider::Provider;
    use crate::provider::fs::FsProvider;
    let layout = Layout::new(&["here", "packs"]);
    let root =
        |path: &str| Root { label: "same".to_owned(), path: layout.path(path), tier: Tier::Configured };
    fs::write(layout.path("file"), "").unwrap();
    let discovery = Discovery::of(vec![root("here"), root("later"), root("here"), root("file")]);
    assert_eq!(labels(&discovery), ["same"]);
    let lasting: Vec<&str> = discovery.lasting_roots().map(|root| root.label.as_str()).collect();
    assert_eq!(lasting, ["same", "same#2"]);
    let provider = |root: &Root| -> std::sync::Arc<dyn Provider> {
        std::sync::Arc::new(FsProvider::new(root.options()))
    };
    let providers = discovery.lasting_roots().map(provider).collect();
    let registry = pollster::block_on(Registry::open_for_inspection(providers, Policy::default()));
    assert!(registry.snapshot().entries().is_empty());
    fs::create_dir_all(layout.path("later/a")).unwrap();
    fs::write(layout.path("later/a/SKILL.md"), "# A\n").unwrap();
    let snapshot = pollster::block_on(registry.reload());
    assert_eq!(snapshot.entries()[0].qualified_name(), "same#2:a");
}

#[test]
fn skills_of_packages_below_the_working_directory_come_last() {
    let layout = Layout::new(&[
        "home/.claude/skills",
        "home/.git",
        "home/repo/.git",
        "home/repo/.claude/skills",
        "home/repo/packages/web/.claude/skills",
        "home/repo/packages/web/.agents/skills",
        "home/repo/a/b/c/.agents/skills",
        "home/repo/a/b/c/d/.agents/skills",
        "home/repo/node_modules/x/.claude/skills",
        "home/repo/build/.claude/skills",
        "home/repo/.hidden/.claude/skills",
        "home/repo/clone/.git",
        "home/repo/clone/.claude/skills",
        "home/plain/app/.claude/skills",
    ]);
    let (web, deep) = ("project:packages/web", "project:a/b/c/.agents/skills");
    let of_web = [format!("{web}/.agents/skills"), format!("{web}/.claude/skills")];
    let root = ["project:.claude/skills", "user:.claude/skills", &of_web[0], &of_web[1], deep];
    assert_eq!(layout.labels("home/repo"), root);
    assert_eq!(
        layout.labels("home/repo/a/b"),
        ["project:../../.claude/skills", "user:.claude/skills", deep, "project:a/b/c/d/.agents/skills"]
    );
    assert_eq!(layout.labels("home/plain"), ["user:.claude/skills"]);
    assert_eq!(layout.labels("home"), ["user:.claude/skills"]);
    let packages = root.map(crate::registry::package_of);
    assert_eq!(packages, [None, None, Some("packages/web"), Some("packages/web"), Some("a/b/c")]);
    assert_eq!(crate::registry::package_of("project:../../.claude/skills"), None);
}
