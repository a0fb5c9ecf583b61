//! Tests of the registry and its snapshots.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use pollster::block_on;
use repertoire_model::policy::ResourceListing;
use repertoire_model::scope::Pattern;
use repertoire_model::{
    CatalogOptions, Diagnostic, LineRange, Policy, Profile, RuleId, SkillName, SkillPath, State,
};

use super::*;
use crate::clock::Instant;
use crate::provider::fs::{FsOptions, FsProvider};
use crate::provider::memory::{MemoryProvider, SkillDefinition};
use crate::provider::{BoxFuture, FileContent, FileListing, Listing, Locator, Provider, Skill};
use crate::{Error, ErrorKind};

fn skill(name: &str) -> SkillDefinition {
    SkillDefinition::new(name, format!("Does {name}. Use when {name} is to be done."), "# Title\n")
}

fn memory(label: &str, names: &[&str]) -> Arc<dyn Provider> {
    Arc::new(MemoryProvider::new(label, names.iter().copied().map(skill).collect()))
}

fn open(providers: Vec<Arc<dyn Provider>>) -> Registry {
    block_on(Registry::open_for_inspection(providers, Policy::default()))
}

fn rules(diagnostics: &[Diagnostic]) -> Vec<RuleId> {
    diagnostics.iter().map(|diagnostic| diagnostic.rule).collect()
}

/// The operation in which a [`Failing`] provider fails.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Failure {
    List,
    Files,
    Get,
}

/// A provider that fails in one operation.
struct Failing(MemoryProvider, Failure);

impl Failing {
    fn error<T>(&self) -> BoxFuture<'_, Result<T, Error>> {
        Box::pin(async { Err(Error::new(ErrorKind::Io).because("too many open files")) })
    }
}

impl Provider for Failing {
    fn label(&self) -> &str {
        self.0.label()
    }

    fn list<'a>(&'a self, policy: &'a Policy) -> BoxFuture<'a, Result<Listing, Error>> {
        if self.1 == Failure::List { self.error() } else { self.0.list(policy) }
    }

    fn get<'a>(
        &'a self,
        locator: &'a Locator,
        policy: &'a Policy,
    ) -> BoxFuture<'a, Result<Option<Skill>, Error>> {
        if self.1 == Failure::Get { self.error() } else { self.0.get(locator, policy) }
    }

    fn files<'a>(
        &'a self,
        locator: &'a Locator,
        policy: &'a Policy,
    ) -> BoxFuture<'a, Result<FileListing, Error>> {
        if self.1 == Failure::Files { self.error() } else { self.0.files(locator, policy) }
    }

    fn read<'a>(
        &'a self,
        locator: &'a Locator,
        path: &'a SkillPath,
        lines: LineRange,
    ) -> BoxFuture<'a, Result<FileContent, Error>> {
        self.0.read(locator, path, lines)
    }
}

/// A provider whose second listing takes until it is released, and whose every listing holds another skill.
#[derive(Default)]
struct Staged {
    tells_changes: bool,
    calls: AtomicUsize,
    released: AtomicBool,
}

impl Provider for Staged {
    fn label(&self) -> &str {
        "staged"
    }

    fn list<'a>(&'a self, policy: &'a Policy) -> BoxFuture<'a, Result<Listing, Error>> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        Box::pin(async move {
            poll_fn(|_| {
                if call == 2 && !self.released.load(Ordering::Relaxed) {
                    Poll::Pending
                } else {
                    Poll::Ready(())
                }
            })
            .await;
            MemoryProvider::new("staged", vec![skill(&format!("skill-{call}"))]).list(policy).await
        })
    }

    fn tells_changes(&self) -> bool {
        self.tells_changes
    }

    fn get<'a>(&'a self, _: &'a Locator, _: &'a Policy) -> BoxFuture<'a, Result<Option<Skill>, Error>> {
        Box::pin(async { Ok(None) })
    }

    fn files<'a>(&'a self, _: &'a Locator, _: &'a Policy) -> BoxFuture<'a, Result<FileListing, Error>> {
        Box::pin(async { Err(Error::new(ErrorKind::SkillNotFound)) })
    }

    fn read<'a>(
        &'a self,
        _: &'a Locator,
        _: &'a SkillPath,
        _: LineRange,
    ) -> BoxFuture<'a, Result<FileContent, Error>> {
        Box::pin(async { Err(Error::new(ErrorKind::SkillNotFound)) })
    }
}

#[test]
fn a_reload_that_finds_a_change_has_a_higher_number_and_old_snapshots_stay() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str| {
        let path = directory.path().join(name);
        std::fs::create_dir_all(&path).unwrap();
        let text = format!("---\nname: {name}\ndescription: Does {name}. Use when asked for it.\n---\n");
        std::fs::write(path.join("SKILL.md"), text).unwrap();
    };
    write("one");
    let registry = open(vec![Arc::new(FsProvider::new(FsOptions::new("test", directory.path())))]);
    let first = registry.snapshot();
    assert_eq!(first.number(), 1);
    assert!(Arc::ptr_eq(&first, &block_on(registry.reload())), "nothing changed, so nothing is published");
    write("two");
    let later = block_on(registry.reload());
    assert!(later.number() > first.number());
    assert_eq!((first.entries().len(), later.entries().len()), (1, 2));
    assert!(Arc::ptr_eq(&later, &registry.snapshot()));
}

#[test]
fn a_slow_reload_never_replaces_one_that_began_later() {
    let staged = Arc::new(Staged::default());
    let registry = open(vec![Arc::clone(&staged) as Arc<dyn Provider>]);
    let mut slow = pin!(registry.reload());
    let mut context = Context::from_waker(Waker::noop());
    assert!(slow.as_mut().poll(&mut context).is_pending());
    let later = block_on(registry.reload());
    assert!(matches!(later.find("skill-3"), Lookup::Found(_)));
    staged.released.store(true, Ordering::Relaxed);
    let Poll::Ready(newest) = slow.as_mut().poll(&mut context) else { panic!("it was released") };
    assert_eq!(newest.number(), later.number());
    assert!(matches!(registry.snapshot().find("skill-3"), Lookup::Found(_)));
}

#[test]
fn a_caller_that_blocks_does_not_wait_for_the_reload_of_a_task_of_its_thread() {
    let staged = Arc::new(Staged { tells_changes: true, ..Staged::default() });
    let registry = open(vec![Arc::clone(&staged) as Arc<dyn Provider>]);
    let mut slow = pin!(registry.newest());
    let mut context = Context::from_waker(Waker::noop());
    assert!(slow.as_mut().poll(&mut context).is_pending());
    assert!(matches!(registry.reload_if_due_blocking().find("skill-1"), Lookup::Found(_)));
    staged.released.store(true, Ordering::Relaxed);
    assert!(slow.as_mut().poll(&mut context).is_ready());
    assert!(matches!(registry.reload_if_due_blocking().find("skill-3"), Lookup::Found(_)));
}

#[test]
fn a_reload_that_took_long_is_repeated_at_once_only_in_a_small_library() {
    for (count, is_seen) in [(1, true), (600, false)] {
        let directory = tempfile::tempdir().unwrap();
        let write = |number: usize| {
            let skill = directory.path().join(format!("skill-{number}"));
            std::fs::create_dir(&skill).unwrap();
            let text = format!("---\nname: skill-{number}\ndescription: Does {number}.\n---\n");
            std::fs::write(skill.join("SKILL.md"), text).unwrap();
        };
        (0..count).for_each(write);
        let registry = open(vec![Arc::new(FsProvider::new(FsOptions::new("test", directory.path())))]);
        *registry.last_reload() = (Instant::now(), Duration::from_millis(900));
        write(count);
        let snapshot = block_on(registry.reload_if_due());
        assert_eq!(snapshot.entries().len() == count + 1, is_seen, "{count}");
    }
}

#[test]
fn a_provider_that_fails_is_a_problem_and_others_load() {
    let failing = Failing(MemoryProvider::new("failing", vec![skill("lost")]), Failure::List);
    let registry = open(vec![Arc::new(failing), memory("sound", &["kept"])]);
    let snapshot = registry.snapshot();
    let names: Vec<&str> = snapshot.active().map(|entry| entry.name().as_str()).collect();
    assert_eq!(names, ["kept"]);
    let [problem] = snapshot.problems() else { panic!("{:?}", snapshot.problems()) };
    assert_eq!(problem.diagnostic.rule, RuleId::SourceBroken);
    assert!(problem.diagnostic.message.contains("`failing`"), "{problem:?}");
    assert!(problem.diagnostic.message.contains("too many open files"), "{problem:?}");
    assert_eq!(snapshot.unlisted_sources().collect::<Vec<_>>(), ["failing"]);
}

#[test]
fn a_directory_reached_twice_is_one_skill_with_two_routes() {
    let root = tempfile::tempdir().unwrap();
    crate::testing::write_library(root.path()).unwrap();
    let fs =
        |label: &str| -> Arc<dyn Provider> { Arc::new(FsProvider::new(FsOptions::new(label, root.path()))) };
    let snapshot = open(vec![fs("first"), fs("second")]).snapshot();
    assert_eq!(snapshot.entries().len(), crate::testing::library().len());
    for entry in snapshot.entries() {
        assert_eq!((&*entry.source, entry.state), ("first", State::Active));
        let also: Vec<(&str, &str)> = entry.also.iter().map(|route| (&*route.source, &*route.path)).collect();
        assert_eq!(also, [("second", &*entry.path)]);
    }
}

#[test]
fn a_policy_that_refuses_says_which_skill_and_why() {
    let providers = || vec![memory("a", &["twin"]), memory("b", &["twin", "single"])];
    assert!(open(providers()).snapshot().accepted().is_ok());
    let strict = Policy::of(Profile::Strict);
    let error = block_on(Registry::open(providers(), strict.clone())).err().unwrap();
    assert_eq!((error.kind(), error.subject()), (ErrorKind::Refused, Some("twin")));
    assert_eq!(rules(error.diagnostics()), [RuleId::DuplicateName]);
    assert!(std::error::Error::source(&error).is_none());
    let snapshot = block_on(Registry::open_for_inspection(providers(), strict)).snapshot();
    let refusals: Vec<String> = snapshot.refusals().map(|(entry, _)| entry.qualified_name()).collect();
    assert_eq!(refusals, ["b:twin"]);
    assert_eq!(snapshot.accepted().unwrap_err().kind(), ErrorKind::Refused);
}

#[test]
fn b11_b20_c6_strict_refuses_a_library_and_names_the_first_skills_that_break_the_rules() {
    let root = tempfile::tempdir().unwrap();
    let write = |name: &str, fields: &str| {
        let text = format!(
            "---\nname: {name}\ndescription: Does it. Use when it is to be done.\n{fields}---\nDo.\n"
        );
        std::fs::create_dir_all(root.path().join(name)).unwrap();
        std::fs::write(root.path().join(name).join("SKILL.md"), text).unwrap();
    };
    let fs =
        || -> Vec<Arc<dyn Provider>> { vec![Arc::new(FsProvider::new(FsOptions::new("test", root.path())))] };
    let strict = || block_on(Registry::open(fs(), Policy::of(Profile::Strict)));
    write("sound", "");
    assert!(strict().is_ok());
    (0..7).for_each(|number| write(&format!("typo-{number}"), "descripton: x\n"));
    let error = strict().err().unwrap();
    assert_eq!((error.kind(), error.subject()), (ErrorKind::Refused, Some("typo-0")));
    let text = error.chain();
    assert!(text.contains("typo-0/SKILL.md") || text.contains("typo-0)"), "{text}");
    assert!(
        text.contains("also typo-1 (") && text.contains("typo-4 (") && text.contains("and 2 more"),
        "{text}"
    );
    assert!(text.contains("descripton") && !text.contains("typo-5"), "{text}");
    assert!(block_on(Registry::open(fs(), Policy::default())).is_ok());
}

#[test]
fn b11_c6_strict_refuses_a_library_because_of_a_file_beside_skill_md() {
    for (file, content) in [("schema.json", "{"), ("a:b", ""), ("CON.txt", "")] {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("sound");
        std::fs::create_dir_all(&directory).unwrap();
        let text = "---\nname: sound\ndescription: Does it. Use when it is to be done.\n---\nDo.\n";
        std::fs::write(directory.join("SKILL.md"), text).unwrap();
        let open = |policy: Policy| {
            let provider = Arc::new(FsProvider::new(FsOptions::new("user:test", root.path())));
            block_on(Registry::open(vec![provider], policy))
        };
        assert!(open(Policy::of(Profile::Strict)).is_ok());
        std::fs::write(directory.join(file), content).unwrap();
        let error = open(Policy::of(Profile::Strict)).err().unwrap();
        assert_eq!((error.kind(), error.subject()), (ErrorKind::Refused, Some("sound")));
        assert!(open(Policy::default()).is_ok());
        let mut tolerant = Policy::of(Profile::Strict);
        tolerant.tolerated_sources = vec!["user".to_owned()];
        assert!(open(tolerant).is_ok());
    }
}

#[test]
fn x42_c4_notices_name_broken_doubled_and_hiding_skills() {
    let providers = vec![
        memory("project:x", &["alpha", "load_skill"]),
        memory("project:y", &["alpha"]),
        memory("user:x", &["alpha", "beta", "beta"]),
    ];
    let snapshot = open(providers).snapshot();
    assert_eq!(
        snapshot.notices(|_| true),
        [
            "1 skill is not offered because it is broken: load_skill",
            "1 skill is not offered because another one of its source has its name: beta",
            "1 skill hides another of the same name: alpha (project:x instead of user:x)",
        ]
    );
    let of_user = snapshot.notices(|entry| &*entry.source == "user:x");
    assert_eq!(of_user, ["1 skill is not offered because another one of its source has its name: beta"]);
    let many: Vec<String> = (0..9).map(|number| format!("skill-{number}")).collect();
    let many: Vec<&str> = many.iter().flat_map(|name| [name.as_str(); 2]).collect();
    let notices = open(vec![memory("a", &many)]).snapshot().notices(|_| true);
    let expect = "9 skills are not offered because others of their source have their names: \
                  skill-0, skill-1, skill-2, skill-3, skill-4 and 4 more";
    assert_eq!(notices, [expect]);
    assert!(
        open(vec![memory("a", &["alpha"]), memory("b", &["beta"])]).snapshot().notices(|_| true).is_empty()
    );
}

#[test]
fn y93_skills_above_the_soft_limit_are_reported_to_people() {
    let provider = || -> Arc<dyn Provider> {
        let skill = |name: &str, bytes: usize| {
            SkillDefinition::new(
                name,
                "Does things well. Use when things are asked for.",
                "word\n".repeat(bytes / 5),
            )
        };
        Arc::new(MemoryProvider::new("a", vec![skill("large", 32_005), skill("small", 32_000)]))
    };
    let snapshot = open(vec![provider()]).snapshot();
    let notices = snapshot.notices(|_| true);
    assert_eq!(notices.len(), 1);
    assert!(notices[0].starts_with("1 skill has more instructions than the 8,000 tokens"), "{notices:?}");
    assert!(notices[0].ends_with(": large"), "{notices:?}");
    assert!(snapshot.notices_for_models(|_| true, |_| true).is_empty());
    let mut policy = Policy::default();
    policy.rule_severities = [(RuleId::BodyOversize, None)].into();
    let quiet = block_on(Registry::open(vec![provider()], policy)).unwrap();
    assert!(quiet.snapshot().notices(|_| true).is_empty());
}

#[test]
fn x42_c4_a_different_skill_of_the_same_name_and_tier_is_reported_to_people() {
    let provider = |label: &str, body: &str| -> Arc<dyn Provider> {
        let skill = SkillDefinition::new("dup", "Does things well. Use when things are asked for.", body);
        Arc::new(MemoryProvider::new(label, vec![skill]))
    };
    let notices = |second: &str| {
        let snapshot = open(vec![provider("project:x", "One.\n"), provider("project:y", second)]).snapshot();
        assert!(snapshot.notices_for_models(|_| true, |_| true).is_empty());
        snapshot.notices(|_| true)
    };
    assert_eq!(
        notices("Two.\n"),
        ["1 skill hides another of the same name: dup (project:x instead of project:y)"]
    );
    assert_eq!(notices("One.\n"), [""; 0], "a copy is not a surprise");
}

#[test]
fn skills_are_found_by_every_way_of_naming_them() {
    let providers = vec![
        memory("project:x", &["alpha", "task-force", "taskforce"]),
        memory("user:x", &["alpha", "beta", "beta", "edit", "Edit"]),
    ];
    let snapshot = open(providers).snapshot();
    let found = |query: &str| match snapshot.find(query) {
        Lookup::Found(entry) => format!("{} {}", entry.qualified_name(), entry.state.as_str()),
        Lookup::Quarantined(entry) | Lookup::Disabled(entry) => format!("({})", entry.qualified_name()),
        Lookup::Unknown(near) => {
            near.into_iter().map(SkillName::as_str).map(|name| format!("{name}?")).collect::<String>()
        }
    };
    assert_eq!(found("alpha"), "project:x:alpha active");
    assert_eq!(found("project:x:alpha"), "project:x:alpha active");
    assert_eq!(found("user:x:alpha"), "user:x:alpha shadowed");
    assert_eq!(found("Task Force"), "project:x:task-force active");
    assert_eq!(found("user:x:beta"), "user:x:beta active");
    assert_eq!(found("alhpa"), "alpha?");
    assert_eq!(found("xlpha"), "alpha?");
    assert_eq!(found("other:alpha"), "alpha?");
    assert_eq!(found(&"q".repeat(100_000)), "");
    assert_eq!(found(":"), "");
}

#[test]
fn an_exact_name_in_quarantine_wins_over_another_spelling() {
    // `load_skill` is the name of a tool and so quarantined; `load-skill` is a name like any other.
    let providers = vec![memory("a", &["load_skill", "load-skill"])];
    let snapshot = open(providers).snapshot();
    let states: Vec<(&str, State)> =
        snapshot.entries().iter().map(|entry| (entry.name().as_str(), entry.state)).collect();
    assert_eq!(states, [("load-skill", State::Active), ("load_skill", State::Quarantined)]);
    assert!(matches!(snapshot.find("load_skill"), Lookup::Quarantined(_)));
    assert!(matches!(snapshot.find("a:load_skill"), Lookup::Quarantined(_)));
    assert!(
        matches!(snapshot.find("Load Skill"), Lookup::Found(entry) if entry.name().as_str() == "load-skill")
    );
}

#[test]
fn near_names_are_found_among_very_many() {
    let mut names: Vec<String> = (0..3_000).map(|number| format!("common-{number:04}")).collect();
    names.push("deployment".to_owned());
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let snapshot = open(vec![memory("a", &names)]).snapshot();
    let Lookup::Unknown(near) = snapshot.find("deploymnet") else { panic!("there is no such skill") };
    assert_eq!(near.into_iter().map(SkillName::as_str).collect::<Vec<_>>(), ["deployment"]);
    let Lookup::Unknown(near) = snapshot.find("common-99999") else { panic!("there is no such skill") };
    assert_eq!(near.len(), 10);
}

#[test]
fn the_catalog_leaves_out_skills_kept_for_people() {
    let mut hidden = skill("hidden");
    hidden.manifest.disable_model_invocation = true;
    let provider: Arc<dyn Provider> = Arc::new(MemoryProvider::new("a", vec![skill("shown"), hidden]));
    let snapshot = open(vec![provider]).snapshot();
    assert_eq!(snapshot.active().count(), 2);
    let catalog = snapshot.catalog(&CatalogOptions::default()).unwrap();
    assert!(catalog.text.contains("<name>shown</name>"), "{}", catalog.text);
    assert!(!catalog.text.contains("hidden"), "{}", catalog.text);
}

#[test]
fn a_skill_that_cannot_be_read_is_a_finding_beside_others() {
    for failure in [Failure::Files, Failure::Get] {
        let definition = SkillDefinition::new("a", "Short.", "# Title\n");
        let registry = open(vec![Arc::new(Failing(MemoryProvider::new("f", vec![definition]), failure))]);
        let snapshot = registry.snapshot();
        let found = block_on(registry.check(&snapshot.entries()[0]));
        assert!(found.len() > 1, "{found:?}");
        let unreadable = found.iter().find(|found| found.rule == RuleId::FileUnreadable).unwrap();
        assert!(unreadable.message.contains("too many open files"), "{unreadable:?}");
        assert!(unreadable.help.is_some());
    }
}

#[test]
fn links_are_checked_in_references_of_reasonable_size() {
    let long = format!("[b](b.md)\n{}", "x".repeat(300 * 1024));
    let definition = skill("a")
        .with_resource("references/a.md", "[b](b.md)")
        .with_resource("references/b.md", "the end")
        .with_resource("references/long.md", long.into_bytes());
    let registry = open(vec![Arc::new(MemoryProvider::new("m", vec![definition]))]);
    let found = block_on(registry.check(&registry.snapshot().entries()[0]));
    let files: Vec<Option<&str>> = found
        .iter()
        .filter(|found| found.rule == RuleId::LinkDepth)
        .map(|found| found.file.as_deref())
        .collect();
    assert_eq!(files, [Some("references/a.md")]);
}

#[test]
#[cfg(target_os = "linux")]
fn every_fault_is_found_once() {
    let root = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let manifest = "---\nname: a\ndescription: Does a. Use when a is to be done.\n---\n# A\n";
    write("a/SKILL.md", manifest);
    write("a/guide.md", "");
    write("a/Guide.md", "");
    for number in 0..600 {
        write(&format!("a/assets/{number}"), "");
    }
    let check = |files: usize| {
        let mut options = FsOptions::new("test", root.path());
        options.caps.files = files;
        let registry = open(vec![Arc::new(FsProvider::new(options))]);
        rules(&block_on(registry.check(&registry.snapshot().entries()[0])))
    };
    assert_eq!(check(2_000), [RuleId::FileCollision, RuleId::FileCount]);
    assert_eq!(check(550), [RuleId::FileCount]);
}

#[test]
fn resource_listing_decides_which_files_are_reported() {
    let mut definition = skill("a")
        .with_resource("references/a.md", "a")
        .with_resource("references/b.md", "b")
        .with_resource("scripts/run.sh", "true");
    definition.manifest.references = vec!["b.md".to_owned(), "references/c.md".to_owned()];
    let resources = |listing, max_listed| {
        let mut policy = Policy::default();
        (policy.resource_listing, policy.max_listed) = (listing, max_listed);
        let provider: Arc<dyn Provider> = Arc::new(MemoryProvider::new("m", vec![definition.clone()]));
        let registry = block_on(Registry::open_for_inspection(vec![provider], policy));
        block_on(registry.resources(&registry.snapshot().entries()[0])).unwrap()
    };
    let walked = resources(ResourceListing::Walk, 100);
    assert_eq!(walked.references, ["a.md", "b.md"]);
    assert_eq!((walked.scripts, walked.assets), (vec!["run.sh".to_owned()], vec![]));
    assert_eq!(resources(ResourceListing::Declared, 100).references, ["b.md", "c.md"]);
    assert_eq!(resources(ResourceListing::Both, 100).references, ["a.md", "b.md", "c.md"]);
    assert_eq!(resources(ResourceListing::Walk, 1).references, ["a.md"]);
}

#[test]
fn disabled_skills_are_changed_while_a_registry_is_in_use() {
    let registry = open(vec![memory("one", &["a", "b"]), memory("two", &["a"])]);
    let states = |snapshot: &Snapshot| -> Vec<(String, State)> {
        snapshot.entries().iter().map(|entry| (entry.qualified_name(), entry.state)).collect()
    };
    let before = states(&registry.snapshot());
    let pattern = Pattern::new("one:a").unwrap();
    let after = states(&block_on(registry.set_disabled(vec![pattern])));
    let state = |name: &str, state| (name.to_owned(), state);
    assert_eq!(
        after,
        [state("two:a", State::Active), state("one:a", State::Disabled), state("one:b", State::Active)]
    );
    assert_eq!(states(&block_on(registry.reload())), after, "a reload keeps them");
    assert_eq!(states(&block_on(registry.set_disabled(Vec::new()))), before);
}
