//! Tests of a library that is followed while it changes: in the end the snapshot agrees with the files.
//!
//! The tests do not depend on timing: they wait for conditions, with a deadline for broken watchers only.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests change the files of skills themselves"
)]
#![cfg(unix)]

use pollster::block_on;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use repertoire::registry::Aspect;
use repertoire::registry::watch::{FollowMethod, PollReason};
use repertoire::{
    Change, FsOptions, FsProvider, Lookup, Policy, Registry, ReloadMode, ReloadOptions, Session, Snapshot,
    Subscription, Watcher,
};
use tempfile::TempDir;

const DEADLINE: Duration = Duration::from_secs(20);

/// A library in a directory, and a registry that follows it.
struct Library {
    directory: TempDir,
    registry: Registry,
    watcher: Watcher,
    changes: Subscription,
}

fn text(name: &str, body: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: Does {name} things. Use when {name} is asked for.\n---\n{body}\n"
    )
}

fn write(root: &Path, name: &str, body: &str) {
    fs::create_dir_all(root.join(name)).unwrap();
    fs::write(root.join(name).join("SKILL.md"), text(name, body)).unwrap();
}

/// Returns `options` with a change.
fn changed<T>(mut options: T, change: impl FnOnce(&mut T)) -> T {
    change(&mut options);
    options
}

/// Options whose batches are long enough that a slow machine does not split what belongs together.
fn patient() -> ReloadOptions {
    changed(ReloadOptions::default(), |options| options.debounce = Duration::from_millis(400))
}

fn open(root: &Path, options: ReloadOptions) -> (Registry, Watcher) {
    let provider = Arc::new(FsProvider::new(FsOptions::new("test", root)));
    let registry = pollster::block_on(Registry::open(vec![provider], Policy::default())).unwrap();
    let watcher = registry.watch(options).unwrap();
    assert!(watcher.wait_ready(DEADLINE));
    (registry, watcher)
}

impl Library {
    fn session(&self) -> Session {
        block_on(repertoire::Library::from(self.registry.clone()).session()).unwrap()
    }

    fn new(options: ReloadOptions) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("skills");
        write(&root, "alpha", "# Alpha");
        write(&root, "beta", "# Beta");
        let (registry, watcher) = open(&root, options);
        let changes = registry.subscribe();
        Self { directory, registry, watcher, changes }
    }

    fn watched() -> Self {
        let library = Self::new(ReloadOptions::default());
        let state = library.watcher.state();
        assert!(matches!(state[0].following, FollowMethod::Watching(count) if count >= 3), "{state:?}");
        library
    }

    fn root(&self) -> PathBuf {
        self.directory.path().join("skills")
    }

    fn change(&mut self) -> Change {
        self.changes.next_within(DEADLINE).unwrap()
    }

    /// Waits until `is_so`, or fails.
    fn until(&self, what: &str, is_so: impl Fn(&Snapshot) -> bool) {
        let deadline = Instant::now() + DEADLINE;
        while !is_so(&self.registry.snapshot()) {
            assert!(Instant::now() < deadline, "{what}: {:?}", names(&self.registry.snapshot()));
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn until_names(&self, expect: &[&str]) {
        self.until(&format!("{expect:?}"), |snapshot| names(snapshot) == expect);
    }
}

fn names(snapshot: &Snapshot) -> Vec<String> {
    snapshot.active().map(|entry| entry.name().to_string()).collect()
}

fn description(snapshot: &Snapshot, name: &str) -> String {
    match snapshot.find(name) {
        Lookup::Found(entry) => entry.document.description.to_string(),
        _ => String::new(),
    }
}

#[test]
fn a_new_skill_is_seen() {
    let mut library = Library::watched();
    write(&library.root(), "gamma", "# Gamma");
    library.until_names(&["alpha", "beta", "gamma"]);
    let change = library.change();
    assert_eq!(change.added, ["gamma"].map(|name| repertoire::SkillName::new(name).unwrap()));
    assert!(change.is_of_catalog() && change.removed.is_empty() && change.changed.is_empty());
    // It is watched as well.
    // In one step: a file that is half written is a broken one for a moment.
    let new = library.root().with_extension("new");
    fs::write(&new, text("gamma", "# Longer than before")).unwrap();
    fs::rename(&new, library.root().join("gamma/SKILL.md")).unwrap();
    assert_eq!(library.change().changed[0].1, [Aspect::Instructions]);
}

#[test]
fn a_skill_whose_file_comes_long_after_its_directory_is_seen() {
    let library = Library::watched();
    fs::create_dir(library.root().join("gamma")).unwrap();
    write(&library.root(), "delta", "# Delta");
    library.until_names(&["alpha", "beta", "delta"]);
    fs::write(library.root().join("gamma/SKILL.md"), text("gamma", "# Gamma")).unwrap();
    library.until_names(&["alpha", "beta", "delta", "gamma"]);
}

#[test]
fn an_edit_in_place_is_seen_though_size_and_times_stay() {
    let mut library = Library::watched();
    let path = library.root().join("alpha/SKILL.md");
    let before = fs::metadata(&path).unwrap();
    let edited = text("alpha", "# Alpha").replace("Does alpha", "Eats alpha");
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    std::io::Write::write_all(&mut &file, edited.as_bytes()).unwrap();
    file.set_modified(before.modified().unwrap()).unwrap();
    drop(file);
    assert_eq!(fs::metadata(&path).unwrap().len(), before.len());
    let change = library.change();
    assert_eq!(change.changed, [(repertoire::SkillName::new("alpha").unwrap(), vec![Aspect::Description])]);
    assert!(description(&change.after, "alpha").starts_with("Eats"));
}

#[test]
fn an_edit_that_changes_no_length_and_one_that_changes_no_meaning_are_seen() {
    let mut library = Library::watched();
    let alpha = repertoire::SkillName::new("alpha").unwrap();
    let mut edit = |from: &str, to: &str| {
        let path = library.root().join("alpha/SKILL.md");
        let edited = fs::read_to_string(&path).unwrap().replace(from, to);
        fs::write(&path, edited).unwrap();
        let change = library.change();
        assert!(!change.is_of_catalog());
        change.changed
    };
    assert_eq!(edit("# Alpha", "# Aleph"), [(alpha.clone(), vec![Aspect::Instructions])]);
    assert_eq!(edit("name: alpha", "name:  alpha"), [(alpha, vec![Aspect::Frontmatter])]);
}

#[test]
fn a_file_that_is_written_or_cut_and_not_closed_is_seen() {
    let mut library = Library::watched();
    let path = library.root().join("alpha/SKILL.md");
    let size = fs::metadata(&path).unwrap().len();
    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    std::io::Write::write_all(&mut file, b"One more line.\n").unwrap();
    assert_eq!(library.change().changed[0].1, [Aspect::Instructions]);
    // As `truncate` does it, which opens and closes nothing.
    file.set_len(size - 3).unwrap();
    assert_eq!(library.change().changed[0].1, [Aspect::Instructions]);
    drop(file);
}

#[test]
fn a_file_that_is_written_aside_and_renamed_is_seen() {
    let mut library = Library::watched();
    let directory = library.root().join("alpha");
    fs::write(directory.join(".SKILL.md.swp"), text("alpha", "# Alpha, in another file")).unwrap();
    fs::rename(directory.join(".SKILL.md.swp"), directory.join("SKILL.md")).unwrap();
    assert_eq!(library.change().changed[0].1, [Aspect::Instructions]);
    // And once more: it is another file now.
    fs::write(directory.join("4913"), text("alpha", "# Alpha, once more and in another file")).unwrap();
    fs::rename(directory.join("4913"), directory.join("SKILL.md")).unwrap();
    assert_eq!(library.change().changed[0].1, [Aspect::Instructions]);
}

#[test]
fn a_renamed_skill_is_seen() {
    let library = Library::watched();
    let root = library.root();
    fs::write(root.join("alpha/SKILL.md"), text("omega", "# Omega")).unwrap();
    fs::rename(root.join("alpha"), root.join("omega")).unwrap();
    library.until_names(&["beta", "omega"]);
    let path = root.join("omega").canonicalize().unwrap();
    library.until("the new path", |snapshot| {
        matches!(snapshot.find("omega"), Lookup::Found(entry) if Path::new(&*entry.location()).starts_with(&path))
    });
    // Another skill takes its place.
    write(&root, "alpha", "# New");
    library.until_names(&["alpha", "beta", "omega"]);
    fs::write(
        root.join("omega/SKILL.md"),
        "---\nname: omega\ndescription: Does more. Use when asked.\n---\n",
    )
    .unwrap();
    library.until("the edit", |snapshot| description(snapshot, "omega").starts_with("Does more"));
}

#[test]
fn skills_deeper_down_are_followed_as_they_come() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("skills");
    write(&root.join("group"), "alpha", "# Alpha");
    let mut options = FsOptions::new("test", &root);
    options.limits.max_depth = 3;
    let provider = Arc::new(FsProvider::new(options));
    let registry = pollster::block_on(Registry::open(vec![provider], Policy::default())).unwrap();
    let watcher = registry.watch(ReloadOptions::default()).unwrap();
    assert!(watcher.wait_ready(DEADLINE));
    let changes = registry.subscribe();
    let library = Library { directory, registry, watcher, changes };
    write(&root.join("group"), "beta", "# Beta");
    library.until_names(&["alpha", "beta"]);
    // New directories are followed as well, and so are directories that are not skills yet.
    fs::create_dir_all(root.join("group/gamma")).unwrap();
    let edited = text("beta", "# Beta").replace("Does beta", "Eats beta");
    fs::write(root.join("group/beta/SKILL.md"), edited).unwrap();
    library.until("beta is edited", |snapshot| description(snapshot, "beta").starts_with("Eats"));
    fs::write(root.join("group/gamma/SKILL.md"), text("gamma", "# Gamma")).unwrap();
    library.until_names(&["alpha", "beta", "gamma"]);
}

#[test]
fn a_deleted_skill_is_seen_and_comes_back() {
    let mut library = Library::watched();
    fs::remove_dir_all(library.root().join("alpha")).unwrap();
    library.until_names(&["beta"]);
    assert_eq!(library.change().removed.len(), 1);
    write(&library.root(), "alpha", "# Alpha again");
    library.until_names(&["alpha", "beta"]);
    fs::remove_file(library.root().join("beta/SKILL.md")).unwrap();
    library.until_names(&["alpha"]);
    write(&library.root(), "beta", "# Beta again");
    library.until_names(&["alpha", "beta"]);
}

#[test]
fn a_root_that_comes_later_is_seen() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("a/b/skills");
    let (registry, watcher) = open(&root, ReloadOptions::default());
    let changes = registry.subscribe();
    let library = Library { directory, registry, watcher, changes };
    library.until_names(&[]);
    write(&root, "alpha", "# Alpha");
    library.until_names(&["alpha"]);
    fs::remove_dir_all(library.directory.path().join("a")).unwrap();
    library.until_names(&[]);
    write(&root, "beta", "# Beta");
    library.until_names(&["beta"]);
}

#[test]
fn a_root_that_is_replaced_by_another_is_followed() {
    let library = Library::new(patient());
    let (root, next) = (library.root(), library.directory.path().join("next"));
    write(&next, "alpha", "# Of the next release");
    fs::write(next.join("alpha/SKILL.md"), text("alpha", "").replace("Does alpha", "Eats alpha")).unwrap();
    fs::rename(&root, library.directory.path().join("last")).unwrap();
    fs::rename(&next, &root).unwrap();
    library.until_names(&["alpha"]);
    library.until("the next release", |snapshot| description(snapshot, "alpha").starts_with("Eats"));
    fs::write(root.join("alpha/SKILL.md"), text("alpha", "").replace("Does alpha", "Sees alpha")).unwrap();
    library.until("the edit", |snapshot| description(snapshot, "alpha").starts_with("Sees"));
}

#[test]
fn a_link_to_a_root_that_leads_elsewhere_is_seen() {
    let directory = tempfile::tempdir().unwrap();
    let (one, two, link) =
        (directory.path().join("one"), directory.path().join("two"), directory.path().join("current"));
    write(&one, "alpha", "# Alpha");
    write(&two, "beta", "# Beta");
    symlink(&one, &link).unwrap();
    let (registry, watcher) = open(&link, ReloadOptions::default());
    let changes = registry.subscribe();
    let library = Library { directory, registry, watcher, changes };
    library.until_names(&["alpha"]);
    // As deployments do it: a new link is renamed over the old one.
    symlink(&two, library.directory.path().join("next")).unwrap();
    fs::rename(library.directory.path().join("next"), &link).unwrap();
    library.until_names(&["beta"]);
    write(&two, "gamma", "# Gamma");
    library.until_names(&["beta", "gamma"]);
}

#[test]
fn a_linked_skill_is_followed_where_it_lies() {
    let library = Library::watched();
    let elsewhere = library.directory.path().join("elsewhere");
    write(&elsewhere, "gamma", "# Gamma");
    symlink(elsewhere.join("gamma"), library.root().join("gamma")).unwrap();
    library.until_names(&["alpha", "beta", "gamma"]);
    fs::write(
        elsewhere.join("gamma/SKILL.md"),
        "---\nname: gamma\ndescription: Does more. Use when asked.\n---\n",
    )
    .unwrap();
    library.until("the edit", |snapshot| description(snapshot, "gamma").starts_with("Does more"));
    fs::remove_file(library.root().join("gamma")).unwrap();
    library.until_names(&["alpha", "beta"]);
}

#[test]
fn another_file_of_a_skill_changes_its_digest_and_no_snapshot() {
    let library = Library::watched();
    let before = library.registry.snapshot();
    let Lookup::Found(entry) = before.find("alpha") else { panic!("alpha is there") };
    let digest = pollster::block_on(library.registry.digest(entry)).unwrap();
    fs::create_dir(library.root().join("alpha/references")).unwrap();
    fs::write(library.root().join("alpha/references/more.md"), "more").unwrap();
    let newest = pollster::block_on(library.registry.newest());
    assert!(Arc::ptr_eq(&before, &newest), "nothing that a snapshot holds has changed");
    assert_ne!(pollster::block_on(library.registry.digest(entry)).unwrap(), digest);
}

#[test]
fn a_checkout_of_many_skills_is_one_change() {
    const MANY: usize = 5_000;
    // No batch is open for longer than two seconds, so what takes longer may be more than one.
    const ONE_BATCH: Duration = Duration::from_millis(1_500);
    let mut library = Library::new(patient());
    let number = library.registry.snapshot().number();
    // They are made ready elsewhere, so that a slow disk does not make two batches of them.
    let ready = library.directory.path().join("ready");
    let name = |index: usize| format!("skill-{index:04}");
    (0..MANY).for_each(|index| write(&ready, &name(index), "# One of many"));
    let started = Instant::now();
    for index in 0..MANY {
        fs::rename(ready.join(name(index)), library.root().join(name(index))).unwrap();
    }
    fs::remove_dir_all(library.root().join("alpha")).unwrap();
    if started.elapsed() < ONE_BATCH {
        let change = library.change();
        assert_eq!((change.added.len(), change.removed.len()), (MANY, 1));
        assert_eq!(change.before.number(), number);
    }
    library.until("all of them", |snapshot| snapshot.active().count() == MANY + 1);
    while library.changes.next_within(Duration::from_millis(600)).is_some() {}
    // All of them are replaced, as another branch would.
    let old = library.directory.path().join("old");
    fs::create_dir(&old).unwrap();
    (0..MANY).for_each(|index| write(&ready, &name(index), "# Of another branch"));
    let started = Instant::now();
    for index in 0..MANY {
        fs::rename(library.root().join(name(index)), old.join(name(index))).unwrap();
        fs::rename(ready.join(name(index)), library.root().join(name(index))).unwrap();
    }
    if started.elapsed() < ONE_BATCH {
        let change = library.change();
        assert_eq!((change.added.len(), change.removed.len(), change.changed.len()), (0, 0, MANY));
        assert!(library.changes.next_within(Duration::from_millis(600)).is_none());
    }
    let state = library.watcher.state();
    assert!(matches!(state[0].following, FollowMethod::Watching(count) if count >= MANY), "{state:?}");
}

#[test]
fn a_build_inside_a_skill_keeps_nothing_waiting() {
    let library = Library::watched();
    let directory = library.root().join("alpha");
    let (stop, is_over) = std::sync::mpsc::channel::<()>();
    let before = library.registry.snapshot();
    let build = std::thread::spawn(move || {
        let mut number = 0;
        while is_over.try_recv().is_err() {
            number += 1;
            let path = directory.join(format!("{}.o", number % 50));
            fs::write(&path, number.to_string()).unwrap();
            fs::create_dir_all(directory.join("target/debug")).unwrap();
            fs::write(directory.join("target/debug/out"), "x").unwrap();
            std::thread::sleep(Duration::from_millis(1));
            if number % 7 == 0 {
                fs::remove_file(path).unwrap();
                fs::remove_dir_all(directory.join("target")).unwrap();
            }
        }
    });
    assert!(Arc::ptr_eq(&before, &pollster::block_on(library.registry.newest())));
    write(&library.root(), "gamma", "# Gamma");
    library.until_names(&["alpha", "beta", "gamma"]);
    fs::write(
        library.root().join("alpha/SKILL.md"),
        "---\nname: alpha\ndescription: Does more. Use when asked.\n---\n",
    )
    .unwrap();
    library.until("the edit", |snapshot| description(snapshot, "alpha").starts_with("Does more"));
    stop.send(()).unwrap();
    build.join().unwrap();
}

#[test]
fn polling_sees_changes() {
    let options =
        changed(ReloadOptions::of(ReloadMode::Poll), |options| options.poll = Duration::from_millis(20));
    let library = Library::new(options);
    assert_eq!(library.watcher.state()[0].following, FollowMethod::Polling(PollReason::Chosen));
    write(&library.root(), "gamma", "# Gamma");
    library.until_names(&["alpha", "beta", "gamma"]);
    fs::write(
        library.root().join("alpha/SKILL.md"),
        "---\nname: alpha\ndescription: Does more. Use when asked.\n---\n",
    )
    .unwrap();
    library.until("the edit", |snapshot| description(snapshot, "alpha").starts_with("Does more"));
    fs::remove_dir_all(library.root().join("beta")).unwrap();
    library.until_names(&["alpha", "gamma"]);
    assert!(library.watcher.problems().is_empty(), "who asks for polling gets no complaint about it");
}

#[test]
fn a_library_over_the_watch_budget_is_polled_and_reported() {
    let options = changed(ReloadOptions::default(), |options| {
        options.max_watches = 2;
        options.poll = Duration::from_millis(20);
    });
    let library = Library::new(options);
    let state = library.watcher.state();
    let FollowMethod::Polling(PollReason::Budget { needed, budget: 2 }) = &state[0].following else {
        panic!("{state:?}")
    };
    assert!(*needed >= 3);
    let problems = library.watcher.problems();
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].diagnostic.rule, repertoire::model::RuleId::WatchLimited);
    assert!(problems[0].diagnostic.message.contains("polled, not watched"), "{problems:?}");
    write(&library.root(), "gamma", "# Gamma");
    library.until_names(&["alpha", "beta", "gamma"]);
}

#[test]
fn a_small_source_is_watched_though_a_large_one_has_no_room() {
    let directory = tempfile::tempdir().unwrap();
    let (large, small) = (directory.path().join("large"), directory.path().join("small"));
    (0..20).for_each(|index| write(&large, &format!("skill-{index:02}"), "# One of many"));
    write(&small, "alpha", "# Alpha");
    let provider = |label: &str, root: &Path| -> Arc<dyn repertoire::Provider> {
        Arc::new(FsProvider::new(FsOptions::new(label, root)))
    };
    let providers = vec![provider("large", &large), provider("small", &small)];
    let registry = pollster::block_on(Registry::open(providers, Policy::default())).unwrap();
    let watcher =
        registry.watch(changed(ReloadOptions::default(), |options| options.max_watches = 10)).unwrap();
    assert!(watcher.wait_ready(DEADLINE));
    let state = watcher.state();
    assert!(matches!(state[0].following, FollowMethod::Polling(PollReason::Budget { .. })), "{state:?}");
    assert!(matches!(state[1].following, FollowMethod::Watching(_)), "{state:?}");
}

#[test]
fn newest_has_all_earlier_writes() {
    // The batch would stay open for a minute; `newest` does not wait for it.
    let library =
        Library::new(changed(ReloadOptions::default(), |options| options.debounce = Duration::from_secs(60)));
    for index in 0..20 {
        write(&library.root(), &format!("skill-{index:02}"), "# Fresh");
        let newest = pollster::block_on(library.registry.newest());
        assert!(matches!(newest.find(&format!("skill-{index:02}")), Lookup::Found(_)), "{index}");
    }
    let session = library.session();
    assert_eq!(block_on(session.delta()).text, "");
    write(&library.root(), "gamma", "# Gamma");
    assert!(block_on(session.delta()).text.contains("gamma"));
    write(&library.root(), "delta", "# Delta");
    let reply = block_on(session.call("load_skill", &serde_json::json!({"name": "delta"})));
    assert!(!reply.is_error(), "{}", reply.text());
}

#[test]
fn a_skill_that_lies_somewhere_else_is_found_there_at_once() {
    let library =
        Library::new(changed(ReloadOptions::default(), |options| options.debounce = Duration::from_secs(60)));
    let (root, session) = (library.root(), library.session());
    fs::write(root.join("alpha/notes.md"), "Notes of alpha.").unwrap();
    let file = || {
        block_on(session.call("read_skill_file", &serde_json::json!({"skill": "alpha", "path": "notes.md"})))
    };
    let skill = || block_on(session.call("load_skill", &serde_json::json!({"name": "alpha", "force": true})));
    assert!(file().text().contains("Notes of alpha."));
    fs::rename(root.join("alpha"), root.join("elsewhere")).unwrap();
    assert!(file().text().contains("Notes of alpha."), "{}", file().text());
    fs::rename(root.join("elsewhere"), root.join("yet-elsewhere")).unwrap();
    assert!(skill().text().contains("# Alpha"), "{}", skill().text());
    fs::remove_dir_all(root.join("yet-elsewhere")).unwrap();
    assert!(file().is_error() && skill().is_error());
}

#[test]
fn concurrent_calls_of_newest_see_their_own_writes() {
    let library = Library::watched();
    let root = library.root();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (registry, root) = (&library.registry, &root);
            scope.spawn(move || {
                for number in 0..40 {
                    let name = format!("skill-{thread}-{number}");
                    write(root, &name, "# New");
                    let newest = pollster::block_on(registry.newest());
                    assert!(matches!(newest.find(&name), Lookup::Found(_)), "{name}");
                }
            });
        }
    });
    // It ends at once, even with a pending request.
    drop(library);
}

#[test]
fn a_lazy_library_is_looked_at_on_use_and_not_within_the_cooldown() {
    let library = Library::new(changed(ReloadOptions::of(ReloadMode::Lazy), |options| {
        options.cooldown = Duration::from_secs(3_600)
    }));
    let session = library.session();
    write(&library.root(), "gamma", "# Gamma");
    let call = || block_on(session.call("load_skill", &serde_json::json!({"name": "gamma"})));
    assert!(call().is_error(), "the cooldown is not over");
    assert_eq!(block_on(session.delta()).text, "");
    let _watcher = library
        .registry
        .watch(changed(ReloadOptions::of(ReloadMode::Lazy), |options| options.cooldown = Duration::ZERO))
        .unwrap();
    assert_eq!(names(&library.registry.snapshot()), ["alpha", "beta"], "nobody used it yet");
    block_on(session.call("load_skill", &serde_json::json!({"name": "alpha"})));
    assert_eq!(names(&library.registry.snapshot()), ["alpha", "beta", "gamma"]);
    assert!(!call().is_error());
}

#[test]
fn a_library_that_is_not_followed_stays_as_it_was() {
    let library = Library::new(ReloadOptions::of(ReloadMode::Off));
    assert_eq!(library.watcher.state()[0].following, FollowMethod::Not);
    let session = library.session();
    write(&library.root(), "gamma", "# Gamma");
    let call = || block_on(session.call("load_skill", &serde_json::json!({"name": "gamma"})));
    assert!(call().is_error());
    assert_eq!(block_on(session.delta()).text, "");
    assert_eq!(session.catalog().snapshot, 1);
    let refreshed = block_on(session.refresh());
    assert!(refreshed.snapshot == 2 && refreshed.text.contains("gamma"), "a refresh is explicit");
    write(&library.root(), "delta", "# Delta");
    assert_eq!(block_on(session.delta()).text, "");
    drop(library.watcher);
    assert!(block_on(session.delta()).text.contains("delta"), "without a watcher it is looked at");
}

#[test]
fn a_dropped_watcher_leaks_no_descriptors() {
    let descriptors = || fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    let watches = || {
        let entries = fs::read_dir("/proc/self/fdinfo").into_iter().flatten().flatten();
        let texts = entries.filter_map(|entry| fs::read_to_string(entry.path()).ok());
        texts
            .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
            .filter(|line| line.starts_with("inotify wd:"))
            .count()
    };
    let directory = tempfile::tempdir().unwrap();
    (0..40).for_each(|index| write(directory.path(), &format!("skill-{index:02}"), "# One of many"));
    let (registry, watcher) = open(directory.path(), ReloadOptions::default());
    if cfg!(target_os = "linux") {
        assert!(watches() >= 41, "{}", watches());
    }
    drop(watcher);
    // Tests run at the same time, so only a leak that grows is one.
    let before = descriptors();
    for _ in 0..200 {
        drop(registry.watch(ReloadOptions::default()).unwrap());
    }
    assert!(descriptors() < before + 200, "{} after {before}", descriptors());
}

#[test]
fn the_clock_of_the_files_does_not_matter() {
    let library = Library::watched();
    let path = library.root().join("alpha/SKILL.md");
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    fs::write(&path, "---\nname: alpha\ndescription: Is of old. Use when asked.\n---\n").unwrap();
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
    library.until("the edit", |snapshot| description(snapshot, "alpha").starts_with("Is of old"));
}

#[test]
fn a_half_written_file_leaves_the_last_good_version() {
    let mut library = Library::watched();
    let path = library.root().join("alpha/SKILL.md");
    fs::write(&path, "---\nname: alpha\ndescription: Does al").unwrap();
    let change = library.change();
    assert_eq!(change.changed[0].1, [Aspect::Diagnostics], "{change:?}");
    assert_eq!(names(&change.after), ["alpha", "beta"]);
    assert!(description(&change.after, "alpha").starts_with("Does alpha things"));
    let Lookup::Found(entry) = change.after.find("alpha") else { panic!("alpha is there") };
    assert!(entry.diagnostics().any(|found| found.rule == repertoire::model::RuleId::LastGood));
    fs::write(&path, text("alpha", "# Whole again")).unwrap();
    library.until("the whole file", |snapshot| {
        matches!(snapshot.find("alpha"), Lookup::Found(entry) if entry.diagnostics().next().is_none())
    });
}

/// Instructions that are missing for a moment must not be given as empty ones.
#[test]
fn an_emptied_file_that_was_never_opened_is_not_given_as_no_instructions() {
    let library = Library::watched();
    let path = library.root().join("alpha/SKILL.md");
    let session = library.session();
    let load = || block_on(session.call("load_skill", &serde_json::json!({"name": "alpha", "force": true})));
    fs::write(&path, "").unwrap();
    assert!(load().is_error(), "{}", load().text());
    pollster::block_on(library.registry.newest());
    assert!(load().is_error(), "{}", load().text());
    fs::write(&path, text("alpha", "# Alpha is back")).unwrap();
    assert!(load().text().contains("# Alpha is back"), "{}", load().text());
    // Of one that was opened there is something to put in its place.
    fs::write(&path, "").unwrap();
    assert!(load().text().contains("# Alpha is back"), "{}", load().text());
}
