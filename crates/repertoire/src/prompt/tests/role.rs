//! Tests of the source of a role's prompt, and of its caching.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use pollster::block_on;
use repertoire_model::Digest;
use repertoire_model::scope::Pattern;
use tempfile::TempDir;

use crate::event::Via;
use crate::prompt::*;
use crate::*;

const SKILL: &str =
    "---\nname: backend\ndescription: Builds servers. Use when the API changes.\n---\nTest first.\n";

/// A project with skills in `skills` and roles in `roles`.
struct Project(TempDir);

impl Project {
    fn new(files: &[(&str, &[u8])]) -> Self {
        let project = Self(TempDir::new().unwrap());
        files.iter().for_each(|(path, bytes)| project.write(path, bytes));
        project
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    /// Writes a file whose modification time is always the same.
    fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000)).unwrap();
    }

    fn resolver(&self, options: RoleOptions) -> RoleResolver {
        let provider: Arc<dyn Provider> =
            Arc::new(FsProvider::new(FsOptions::new("skills", self.path("skills"))));
        let registry = block_on(Registry::open(vec![provider], Policy::default())).unwrap();
        let directories = vec![self.path("templates/roles"), self.path("roles")];
        RoleResolver::new(registry, directories, options)
    }
}

fn text(resolver: &RoleResolver, role: &str) -> String {
    block_on(resolver.resolve(role)).unwrap().text
}

#[test]
fn b23_prompt_files_include_files_of_their_directory() {
    let project = Project::new(&[
        ("outside.md", b"secret"),
        (
            "roles/qa/system_prompt.md",
            b"A {% include \"parts/rules.md\" %} {{ role }}{# {% include 'no' %} #}\n",
        ),
        ("roles/qa/parts/rules.md", b"[{%- include 'end.md' -%}\n ]\n"),
        ("roles/qa/end.md", b"{{ role|upper }}\n"),
        ("roles/loop/system_prompt.md", b"{% include 'system_prompt.md' %}"),
        ("roles/out/system_prompt.md", b"{% include '../../outside.md' %}"),
        ("roles/gone/system_prompt.md", b"{% include 'x.md' %}"),
    ]);
    let resolver = project.resolver(RoleOptions::default());
    assert_eq!(text(&resolver, "qa"), "A [QA] qa");
    project.write("roles/qa/end.md", b"changed");
    assert_eq!(text(&resolver, "qa"), "A [changed] qa");
    for (role, why) in
        [("loop", "more than 64 files"), ("out", "not included"), ("gone", "`x.md` is not included")]
    {
        let error = block_on(resolver.resolve(role)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidTemplate);
        assert!(error.chain().contains(why), "{}", error.chain());
    }
}

#[test]
fn a_skill_pack_comes_before_a_file_and_a_file_before_the_stub() {
    let project = Project::new(&[
        ("skills/backend/SKILL.md", SKILL.as_bytes()),
        ("roles/backend/system_prompt.md", b"Old backend."),
        ("roles/qa/system_prompt.md", b"You test for {{ team }} as {{ role }}.\n"),
        ("templates/roles/docs/system_prompt.md", b"First."),
        ("roles/docs/system_prompt.md", b"Second."),
        ("templates/roles/empty/task_prompt.md", b"x"),
        ("roles/empty/system_prompt.md", b"Here."),
    ]);
    let variables = [("team".to_owned(), "payments".to_owned())].into();
    let resolver = project.resolver(RoleOptions { variables, ..RoleOptions::default() });
    let pack = block_on(resolver.resolve("backend")).unwrap();
    assert_eq!(pack.origin, RoleOrigin::SkillPack);
    assert!(pack.text.contains("<name>backend</name>"), "{}", pack.text);
    assert!(pack.text.ends_with("\nTest first.\n\n</skill>"), "{}", pack.text);
    let bound = &pack.bound[0];
    assert_eq!((bound.name.as_str(), bound.digest), ("backend", Digest::of(b"Test first.\n")));
    assert_eq!((bound.via, bound.bytes, pack.bound.len()), (Via::Role, 12, 1));
    let legacy = block_on(resolver.resolve("qa")).unwrap();
    assert_eq!(legacy.text, "You test for payments as qa.");
    assert_eq!(legacy.origin, RoleOrigin::Legacy(project.path("roles/qa/system_prompt.md")));
    assert_eq!(text(&resolver, "docs"), "First.");
    assert_eq!(text(&resolver, "empty"), "Here.");
    let stub = block_on(resolver.resolve("visionary")).unwrap();
    assert_eq!((stub.text.as_str(), stub.origin), ("You are a visionary specialist.", RoleOrigin::Stub));
    assert!(stub.bound.is_empty());
}

#[test]
fn a_hint_instead_of_the_instructions() {
    let project = Project::new(&[("skills/backend/SKILL.md", SKILL.as_bytes())]);
    let resolver = project.resolver(RoleOptions { binding: RoleBinding::Hint, ..RoleOptions::default() });
    let prompt = block_on(resolver.resolve("backend")).unwrap();
    assert!(
        prompt.text.starts_with("Role: backend. Call load_skill with the name backend.\n\n"),
        "{}",
        prompt.text
    );
    assert!(!prompt.text.contains("Test first."));
    assert!(prompt.bound.is_empty());
}

#[test]
fn the_skill_that_is_the_role_has_its_files_and_is_no_example_of_one_to_load() {
    let project = Project::new(&[("skills/backend/SKILL.md", SKILL.as_bytes())]);
    let resolver = project.resolver(RoleOptions::default());
    assert!(!text(&resolver, "backend").contains("For example"));
    assert_eq!(resolver.renders(), 1);
    // Another file makes another prompt, even with the same snapshot.
    project.write("skills/backend/scripts/run.py", b"print()\n");
    let prompt = text(&resolver, "backend");
    assert!(prompt.contains("scripts/run.py"), "{prompt}");
    assert_eq!(resolver.renders(), 2);
    project.write("skills/other/SKILL.md", SKILL.replace("backend", "other").as_bytes());
    block_on(resolver.registry.reload());
    assert!(text(&resolver, "backend").contains("{\"name\": \"other\"}"));
}

#[test]
fn only_names_are_roles() {
    let project =
        Project::new(&[("roles/qa/system_prompt.md", b"x"), ("secret/system_prompt.md", b"secret")]);
    let resolver = project.resolver(RoleOptions::default());
    for role in ["", " ", "..", "../secret", "/etc", "a/b", "qa/../qa", "a\0b", "a:b", "-x"] {
        let error = block_on(resolver.resolve(role)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRole, "{role:?}");
    }
    let error = block_on(resolver.resolve(&"x/".repeat(100_000))).unwrap_err();
    assert!(error.to_string().len() < 200, "{error}");
}

#[test]
fn an_agent_has_no_role_that_it_does_not_see() {
    let project = Project::new(&[("skills/backend/SKILL.md", SKILL.as_bytes())]);
    let resolver = project.resolver(RoleOptions::default());
    let mut agent = Agent::new("writer");
    assert_eq!(block_on(resolver.resolve_for(&agent, "backend")).unwrap().origin, RoleOrigin::SkillPack);
    agent.scope.deny = vec![Pattern::new("back*").unwrap()];
    assert_eq!(block_on(resolver.resolve_for(&agent, "backend")).unwrap().origin, RoleOrigin::Stub);
}

#[test]
fn unchanged_prompts_are_cached_and_edits_are_seen() {
    let project =
        Project::new(&[("skills/backend/SKILL.md", SKILL.as_bytes()), ("roles/qa/system_prompt.md", b"one")]);
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&calls);
    let renderer = move |template: &str, _: &BTreeMap<String, String>| {
        counter.fetch_add(1, Ordering::Relaxed);
        Ok(format!("<{template}>"))
    };
    let resolver = {
        let prompt = BindingOptions { renderer: Arc::new(renderer), ..BindingOptions::default() };
        project.resolver(RoleOptions { prompt, ..RoleOptions::default() })
    };
    for _ in 0..3 {
        assert_eq!(text(&resolver, "qa"), "<one>");
        assert!(text(&resolver, "backend").contains("Test first."));
    }
    assert_eq!((calls.load(Ordering::Relaxed), resolver.renders()), (1, 2));
    // The same size and the same time, and below the directory of skills, whose own times do not change.
    project.write("roles/qa/system_prompt.md", b"two");
    project.write("skills/backend/SKILL.md", SKILL.replace("first", "later").as_bytes());
    assert_eq!(text(&resolver, "qa"), "<two>");
    assert!(text(&resolver, "backend").contains("Test later."));
    project.write("skills/backend/SKILL.md", SKILL.replace("servers", "clients").as_bytes());
    let edited = text(&resolver, "backend");
    assert!(edited.contains("Builds clients.") && edited.contains("Test first."), "{edited}");
    fs::remove_dir_all(project.path("skills/backend")).unwrap();
    assert_eq!(text(&resolver, "backend"), "You are a backend specialist.");
}

#[test]
fn a_prompt_that_is_there_and_cannot_be_had_is_an_error() {
    let large = vec![b'x'; 300 * 1024];
    let project = Project::new(&[
        (
            "skills/load_skill/SKILL.md",
            b"---\nname: load_skill\ndescription: Is called like a tool.\n---\nx\n",
        ),
        ("roles/latin/system_prompt.md", b"\xfcber"),
        ("roles/large/system_prompt.md", &large),
        ("roles/loop/system_prompt.md", b"{% include 'x' %}"),
        ("roles/folder/system_prompt.md/x", b"x"),
        ("roles/file", b"x"),
        ("outside/system_prompt.md", b"secret"),
    ]);
    let resolver = project.resolver(RoleOptions::default());
    let check = |role: &str, kind: ErrorKind, path: &str| {
        let error = block_on(resolver.resolve(role)).unwrap_err();
        assert_eq!(
            (error.kind(), error.path()),
            (kind, Some(project.path(path).as_path())),
            "{role}: {error}"
        );
    };
    check("latin", ErrorKind::InvalidTemplate, "roles/latin/system_prompt.md");
    check("large", ErrorKind::TooLarge, "roles/large/system_prompt.md");
    check("loop", ErrorKind::InvalidTemplate, "roles/loop/system_prompt.md");
    check("folder", ErrorKind::IsDirectory, "roles/folder/system_prompt.md");
    check("load_skill", ErrorKind::InvalidSkill, "skills/load_skill");
    assert_eq!(text(&resolver, "file"), "You are a file specialist.");
    #[cfg(unix)]
    {
        let link = |target: &Path, link: &str| {
            let link = project.path(link);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(target, link).unwrap();
        };
        link(&project.path("outside"), "roles/linked");
        link(&project.path("outside/system_prompt.md"), "roles/linked-file/system_prompt.md");
        check("linked", ErrorKind::Forbidden, "roles/linked");
        check("linked-file", ErrorKind::Forbidden, "roles/linked-file/system_prompt.md");
    }
}
