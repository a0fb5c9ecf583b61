//! Listings that take over what did not change.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use repertoire_model::{Severity, Standing};

use super::*;
use crate::Registry;
use crate::provider::{Changes, Subject, WatchPoint};

fn relist(provider: &FsProvider, changes: &Changes) -> Listing {
    block_on(provider.relist(changes)).unwrap()
}

fn touched(skills: &[&str]) -> Changes {
    Changes { skills: skills.iter().copied().map(Locator::new).collect(), ..Changes::default() }
}

fn root_changed() -> Changes {
    Changes { root: true, ..Changes::default() }
}

fn descriptions(listing: &Listing) -> Vec<&str> {
    listing.skills.iter().map(|skill| skill.document.description.split('.').next().unwrap()).collect()
}

fn edit(root: &Path, skill: &str, does: &str) {
    write(root.join(skill).join("SKILL.md"), skill_md(skill).replace("Does", does));
}

#[test]
fn only_what_was_touched_is_looked_at() {
    let root = tempfile::tempdir().unwrap();
    for skill in ["a", "b", "c"] {
        write_skill(root.path(), skill);
    }
    let provider = provider(root.path());
    let before = list(&provider);
    edit(root.path(), "a", "DOES");
    edit(root.path(), "b", "DOES");
    let after = relist(&provider, &touched(&["b"]));
    assert_eq!(descriptions(&after), ["Does a", "DOES b", "Does c"], "proof that `a` was not looked at");
    assert!(Arc::ptr_eq(&after.skills[2].document, &before.skills[2].document));
    assert!(Arc::ptr_eq(&after.skills[2].path, &before.skills[2].path));
    assert_eq!(descriptions(&relist(&provider, &Changes::default())), ["Does a", "DOES b", "Does c"]);
    // A listing looks at everything, however fresh; what is the same is shared.
    let listing = list(&provider);
    assert_eq!(descriptions(&listing), ["DOES a", "DOES b", "Does c"]);
    assert!(Arc::ptr_eq(&listing.skills[1].document, &after.skills[1].document));
}

#[test]
fn skills_come_and_go() {
    let root = tempfile::tempdir().unwrap();
    write_skill(root.path(), "a");
    write_skill(root.path(), "c");
    fs::create_dir(root.path().join("empty")).unwrap();
    let provider = provider(root.path());
    list(&provider);
    edit(root.path(), "a", "DOES");
    write_skill(root.path(), "b");
    fs::remove_dir_all(root.path().join("c")).unwrap();
    let listing = relist(&provider, &root_changed());
    assert_eq!(descriptions(&listing), ["Does a", "Does b"], "`a` was not touched");
    // A skill that is named although nobody said that it came.
    write_skill(root.path(), "d");
    assert_eq!(locators(&relist(&provider, &touched(&["d"]))), ["a", "b", "d"]);
    fs::remove_file(root.path().join("d/SKILL.md")).unwrap();
    assert_eq!(locators(&relist(&provider, &touched(&["d"]))), ["a", "b"]);
    fs::remove_dir_all(root.path().join("b")).unwrap();
    assert_eq!(locators(&relist(&provider, &touched(&["b"]))), ["a"]);
    write_skill(root.path(), "empty");
    assert_eq!(locators(&relist(&provider, &touched(&["empty"]))), ["a", "empty"]);
    // Another directory under the same name.
    fs::rename(root.path().join("a"), root.path().join(".old")).unwrap();
    write(root.path().join("new/SKILL.md"), skill_md("a").replace("Does", "Will"));
    fs::rename(root.path().join("new"), root.path().join("a")).unwrap();
    assert_eq!(descriptions(&relist(&provider, &root_changed())), ["Will a", "Does empty"]);
    fs::remove_dir_all(root.path().join("a")).unwrap();
    std::os::unix::fs::symlink("empty", root.path().join("a")).unwrap();
    let listing = relist(&provider, &touched(&["a"]));
    assert_eq!(listing, list(&provider));
    assert_eq!(listing.skills[0].identity, listing.skills[1].identity);
}

#[test]
fn entries_that_are_told_by_name_are_looked_at_and_no_others() {
    let root = tempfile::tempdir().unwrap();
    for skill in ["a", "b", "c"] {
        write_skill(root.path(), skill);
    }
    let provider = provider(root.path());
    list(&provider);
    write_skill(root.path(), "new");
    write_skill(root.path(), "untold");
    edit(root.path(), "a", "DOES");
    fs::remove_dir_all(root.path().join("b")).unwrap();
    let told = named(&["b", "new", "README.md", ".git"].into());
    let listing = relist(&provider, &told);
    assert_eq!(
        descriptions(&listing),
        ["Does a", "Does c", "Does new"],
        "proof that the root was not listed"
    );
    assert_eq!(relist(&provider, &Changes::default()), listing);
    // A link may lead there by way of what came, though nobody tells of the link.
    std::os::unix::fs::symlink("later", root.path().join("link")).unwrap();
    assert_eq!(relist(&provider, &named(&["link"].into())).problems.len(), 1, "it leads nowhere");
    write_skill(root.path(), "later");
    let listing = relist(&provider, &named(&["later"].into()));
    assert_eq!((locators(&listing), listing.problems.len()), (vec!["a", "c", "later", "link", "new"], 0));
    // A name that may stand for another, or for nothing below the root, makes it a listing.
    write_skill(root.path(), "A");
    let listing = relist(&provider, &named(&["A"].into()));
    assert_eq!(locators(&listing), ["A", "a", "c", "later", "link", "new", "untold"]);
    assert_eq!(relist(&provider, &named(&["../a", ""].into())), listing);
}

#[test]
fn names_that_are_told_twice_do_not_hide_others() {
    let root = tempfile::tempdir().unwrap();
    let replaced: Vec<String> = (10..26).map(|number| format!("s{number}")).collect();
    replaced.iter().for_each(|skill| write_skill(root.path(), skill));
    let provider = provider(root.path());
    list(&provider);
    for skill in &replaced {
        fs::remove_dir_all(root.path().join(skill)).unwrap();
        write_skill(root.path(), skill);
    }
    write_skill(root.path(), "z-new");
    let names: Vec<&str> = replaced.iter().map(String::as_str).collect();
    let entries = names.iter().copied().chain(["z-new"]).map(str::to_owned).collect();
    let told = Changes { entries, ..touched(&names) };
    assert_eq!(relist(&provider, &told).skills.len(), replaced.len() + 1);
}

#[cfg(unix)]
#[test]
fn a_link_that_led_nowhere_is_followed_once_a_skill_holds_what_it_leads_to() {
    let root = tempfile::tempdir().unwrap();
    write_skill(root.path(), "a");
    std::os::unix::fs::symlink("a/inner", root.path().join("x")).unwrap();
    let provider = provider(root.path());
    assert_eq!(list(&provider).skills.len(), 1);
    write_skill(&root.path().join("a"), "inner");
    let listing = relist(&provider, &touched(&["a"]));
    assert_eq!(listing.skills.len(), 2);
    assert!(listing.problems.is_empty(), "{:?}", listing.problems);
}

#[test]
fn a_source_that_becomes_a_skill_is_looked_at_as_a_whole() {
    let root = tempfile::tempdir().unwrap();
    write_skill(root.path(), "a");
    let provider = provider(root.path());
    list(&provider);
    write(root.path().join("SKILL.md"), skill_md("whole"));
    assert_eq!(locators(&relist(&provider, &named(&["SKILL.md"].into()))), ["."]);
    fs::remove_file(root.path().join("SKILL.md")).unwrap();
    assert_eq!(locators(&relist(&provider, &named(&["SKILL.md"].into()))), ["a"]);
}

#[test]
fn another_root_under_the_same_path_is_looked_at_as_a_whole() {
    let home = tempfile::tempdir().unwrap();
    for release in ["one", "two"] {
        for skill in ["a", "b"] {
            let text = skill_md(skill).replace("Does", release);
            write(home.path().join(release).join(skill).join("SKILL.md"), text);
        }
    }
    let link = home.path().join("current");
    let provider = provider(&link);
    assert_eq!(list(&provider), Listing::default());
    std::os::unix::fs::symlink("one", &link).unwrap();
    assert_eq!(descriptions(&relist(&provider, &root_changed())), ["one a", "one b"]);
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("two", &link).unwrap();
    assert_eq!(descriptions(&relist(&provider, &touched(&["a"]))), ["two a", "two b"]);
    fs::rename(home.path().join("two"), home.path().join("three")).unwrap();
    fs::rename(home.path().join("one"), home.path().join("two")).unwrap();
    assert_eq!(descriptions(&relist(&provider, &Changes::default())), ["one a", "one b"]);
    fs::remove_dir_all(home.path().join("two")).unwrap();
    assert_eq!(relist(&provider, &root_changed()), Listing::default());
}

#[test]
fn a_root_that_is_a_skill_is_read_again_with_the_root() {
    let root = tempfile::tempdir().unwrap();
    write(root.path().join("SKILL.md"), skill_md("alone"));
    let provider = provider(root.path());
    let before = list(&provider);
    write(root.path().join("SKILL.md"), skill_md("alone").replace("Does", "DOES"));
    assert_eq!(relist(&provider, &Changes::default()), before);
    assert_eq!(descriptions(&relist(&provider, &touched(&["."]))), ["DOES alone"]);
    write(root.path().join("SKILL.md"), skill_md("alone").replace("Does", "Will"));
    assert_eq!(descriptions(&relist(&provider, &root_changed())), ["Will alone"]);
    fs::remove_file(root.path().join("SKILL.md")).unwrap();
    assert_eq!(relist(&provider, &root_changed()).skills, []);
}

#[test]
fn deeper_levels_are_taken_over_too() {
    let root = tempfile::tempdir().unwrap();
    for skill in ["top", "one/a", "one/b", "two/c"] {
        write_skill(root.path(), skill);
    }
    let mut options = FsOptions::new("test", root.path());
    options.limits.max_depth = 2;
    let provider = FsProvider::new(options);
    let before = list(&provider);
    assert_eq!(relist(&provider, &Changes::default()), before);
    write_skill(root.path(), "one/d");
    write_skill(root.path(), "two/e");
    assert_eq!(locators(&relist(&provider, &touched(&["one"]))), ["one/a", "one/b", "one/d", "top", "two/c"]);
    assert_eq!(relist(&provider, &touched(&["one", "two"])), list(&provider));
    fs::remove_dir_all(root.path().join("one/a")).unwrap();
    assert_eq!(relist(&provider, &touched(&["one/a"])), list(&provider));
    let points = provider.watch_points().unwrap();
    let is_watched = |path: &str| {
        let directory = root.path().canonicalize().unwrap().join(path);
        points.contains(&WatchPoint {
            directory: directory.into(),
            subject: Subject::Skill(Locator::new(path)),
        })
    };
    assert!(["top", "one", "one/b", "one/d", "two", "two/c"].into_iter().all(is_watched), "{points:?}");
}

#[test]
fn a_listing_under_way_makes_the_next_one_look_at_everything() {
    let root = tempfile::tempdir().unwrap();
    write_skill(root.path(), "a");
    write_skill(root.path(), "b");
    let provider = provider(root.path());
    list(&provider);
    edit(root.path(), "a", "DOES");
    let (first, changes) = (provider.list(), touched(&["b"]));
    assert_eq!(descriptions(&relist(&provider, &changes)), ["DOES a", "Does b"]);
    block_on(first).unwrap();
}

const BROKEN: [&[u8]; 5] = [
    b"",
    b"\n \n",
    b"---\nname: a\ndescr",
    b"---\n- a\n---\n# A\n",
    b"---\nname: a\ndescription: \xff\n---\n",
];

#[test]
fn the_last_good_version_stays_until_the_file_is_mended_or_removed() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("a/SKILL.md");
    write_skill(root.path(), "a");
    let strict = || {
        let mut options = FsOptions::new("test", root.path());
        options.policy = Policy::of(repertoire_model::Profile::Strict);
        options.caps.manifest_bytes = 10_000;
        FsProvider::new(options)
    };
    let provider = strict();
    let good = list(&provider);
    let a = Locator::new("a");
    let read = block_on(provider.get(&a)).unwrap().unwrap();
    let check = |listing: &Listing| {
        let document = &listing.skills[0].document;
        let last = document.diagnostics.last().unwrap();
        assert_eq!((last.rule, last.severity), (RuleId::LastGood, Severity::Warning));
        assert_eq!(document.description, good.skills[0].document.description);
        assert_eq!(document.standing, Standing::Sound);
        let opened = block_on(provider.open(&a)).unwrap().unwrap();
        assert_eq!(opened.skill.text, read.text);
        assert_eq!(opened.skill.document, **document);
        assert!(opened.mark.is_none());
    };
    let large = "x".repeat(10_001).into_bytes();
    for broken in BROKEN.into_iter().chain([&large[..]]) {
        write(&file, broken);
        check(&relist(&provider, &touched(&["a"])));
        check(&list(&provider));
        check(&relist(&provider, &Changes::default()));
    }
    // A process that begins now knows nothing better.
    assert_eq!(list(&strict()).skills[0].document.standing, Standing::Abort);
    // Mended, and there is nothing left to say.
    write_skill(root.path(), "a");
    assert_eq!(relist(&provider, &touched(&["a"])), good);
    // What was removed is gone, and what comes after it is judged for itself.
    write(&file, BROKEN[2]);
    list(&provider);
    fs::remove_file(&file).unwrap();
    assert_eq!(list(&provider).skills, []);
    write(&file, BROKEN[2]);
    assert_eq!(list(&provider).skills[0].document.standing, Standing::Abort);
    assert_eq!(block_on(provider.get(&a)).unwrap().unwrap().text.as_bytes(), BROKEN[2]);
}

#[test]
fn a_text_that_was_never_read_is_not_made_up() {
    let root = tempfile::tempdir().unwrap();
    write_skill(root.path(), "a");
    write_skill(root.path(), "b");
    let provider = provider(root.path());
    list(&provider);
    let (a, b) = (Locator::new("a"), Locator::new("b"));
    block_on(provider.get(&b)).unwrap();
    // The version that was read is not the last good one.
    edit(root.path(), "b", "Really does");
    list(&provider);
    for skill in ["a", "b"] {
        write(root.path().join(skill).join("SKILL.md"), BROKEN[2]);
    }
    assert!(list(&provider).skills.iter().all(|skill| skill.document.standing == Standing::Sound));
    for locator in [a, b] {
        let skill = block_on(provider.get(&locator)).unwrap().unwrap();
        assert_eq!((skill.document.standing, skill.text.as_bytes()), (Standing::Quarantined, BROKEN[2]));
    }
}

#[test]
fn what_is_broken_is_not_kept_for_the_next_process() {
    let (root, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_skill(root.path(), "a");
    let provider = || {
        let mut options = FsOptions::new("test", root.path());
        options.cache = Some(cache.path().to_owned());
        FsProvider::new(options)
    };
    let running = provider();
    list(&running);
    write(root.path().join("a/SKILL.md"), BROKEN[2]);
    std::thread::sleep(std::time::Duration::from_millis(2_100));
    assert_eq!(list(&running).skills[0].document.standing, Standing::Sound);
    block_on(running.save());
    assert_eq!(list(&provider()).skills[0].document.standing, Standing::Quarantined);
}

#[test]
fn changes_show_in_the_root_above_it_and_in_its_skills() {
    let home = tempfile::tempdir().unwrap();
    let base = home.path().canonicalize().unwrap();
    let point = |directory: &str, subject| WatchPoint { directory: base.join(directory).into(), subject };
    let skill = |name: &str| Subject::Skill(Locator::new(name));
    let provider = provider(&home.path().join("current/skills"));
    list(&provider);
    assert_eq!(
        provider.watch_points().unwrap(),
        [WatchPoint { directory: base.as_path().into(), subject: Subject::Above }]
    );
    write_skill(&base, "releases/1/skills/b");
    write_skill(&base, "elsewhere/linked");
    fs::create_dir(base.join("releases/1/skills/empty")).unwrap();
    std::os::unix::fs::symlink(base.join("elsewhere/linked"), base.join("releases/1/skills/a")).unwrap();
    std::os::unix::fs::symlink("nowhere", base.join("releases/1/skills/dangling")).unwrap();
    std::os::unix::fs::symlink("releases/1", base.join("current")).unwrap();
    list(&provider);
    assert_eq!(
        provider.watch_points().unwrap(),
        [
            WatchPoint { directory: base.as_path().into(), subject: Subject::Above },
            point("releases/1/skills", Subject::Root),
            point("elsewhere/linked", skill("a")),
            point("releases/1/skills/b", skill("b")),
            point("releases/1/skills/empty", skill("empty")),
        ]
    );
}

/// Something that happens to a library.
#[derive(Debug, Clone)]
enum Step {
    Write(usize, usize),
    Break(usize, usize),
    Remove(usize),
    RemoveFile(usize),
    Empty(usize),
    Rename(usize, usize),
    Link(usize, usize),
    Respell(usize),
}

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

impl Step {
    /// Does it, and returns the names of the root's entries that it touched.
    fn take(&self, root: &Path) -> Vec<&'static str> {
        let path = |index: usize| root.join(NAMES[index]);
        let clear = |index: usize| {
            let path = path(index);
            match fs::symlink_metadata(&path) {
                Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path).unwrap(),
                Ok(_) => fs::remove_file(path).unwrap(),
                Err(_) => {}
            }
        };
        // Nothing is written through a link, because that would touch what it leads to.
        let own = |index: usize| {
            if fs::symlink_metadata(path(index)).is_ok_and(|metadata| metadata.is_symlink()) {
                clear(index);
            }
        };
        match *self {
            Self::Write(index, version) => {
                own(index);
                let does = ["Does", "Dose", "Really does"][version];
                edit(root, NAMES[index], does);
                vec![NAMES[index]]
            }
            Self::Break(index, how) => {
                own(index);
                write(path(index).join("SKILL.md"), BROKEN[how]);
                vec![NAMES[index]]
            }
            Self::Remove(index) => {
                clear(index);
                vec![NAMES[index]]
            }
            Self::RemoveFile(index) => {
                own(index);
                let _ = fs::remove_file(path(index).join("SKILL.md"));
                vec![NAMES[index]]
            }
            Self::Empty(index) => {
                clear(index);
                fs::create_dir(path(index)).unwrap();
                vec![NAMES[index]]
            }
            Self::Rename(from, to) => {
                if from != to && fs::symlink_metadata(path(from)).is_ok() {
                    clear(to);
                    fs::rename(path(from), path(to)).unwrap();
                }
                vec![NAMES[from], NAMES[to]]
            }
            Self::Link(from, to) => {
                clear(from);
                std::os::unix::fs::symlink(NAMES[to], path(from)).unwrap();
                vec![NAMES[from]]
            }
            Self::Respell(index) => {
                own(index);
                let _ = fs::rename(path(index).join("SKILL.md"), path(index).join("skill.md"));
                vec![NAMES[index]]
            }
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    let at = || 0..NAMES.len();
    prop_oneof![
        4 => (at(), 0..3usize).prop_map(|(index, version)| Step::Write(index, version)),
        2 => (at(), 0..BROKEN.len()).prop_map(|(index, how)| Step::Break(index, how)),
        1 => at().prop_map(Step::Remove),
        1 => at().prop_map(Step::RemoveFile),
        1 => at().prop_map(Step::Empty),
        2 => (at(), at()).prop_map(|(from, to)| Step::Rename(from, to)),
        1 => (at(), at()).prop_map(|(from, to)| Step::Link(from, to)),
        1 => at().prop_map(Step::Respell),
    ]
}

/// Returns what a watcher would tell: the entries that were touched, and the links that lead to them.
fn told(root: &Path, names: &BTreeSet<&str>) -> Changes {
    let target = |name: &str| fs::canonicalize(root.join(name)).ok();
    let touched: Vec<PathBuf> = names.iter().filter_map(|name| target(name)).collect();
    let is_touched =
        |name: &&&str| names.contains(**name) || target(name).is_none_or(|target| touched.contains(&target));
    let skills = NAMES.iter().filter(is_touched).map(|name| Locator::new(*name)).collect();
    Changes { root: true, skills, ..Changes::default() }
}

/// Returns what a watcher would tell that knows which entries of the root are meant.
fn named(names: &BTreeSet<&str>) -> Changes {
    Changes { entries: names.iter().map(|name| (*name).to_owned()).collect(), ..Changes::default() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_listing_of_what_changed_is_the_listing_of_everything(
        rounds in prop::collection::vec(prop::collection::vec(step(), 1..4), 1..8),
        max_depth in 1..3usize,
        max_directories in prop::sample::select(vec![2, 100, 100, 100]),
        max_entries in prop::sample::select(vec![4, 1_000, 1_000, 1_000]),
    ) {
        let root = tempfile::tempdir().unwrap();
        let new = || {
            let mut options = FsOptions::new("test", root.path());
            options.limits = ScanLimits { max_depth, max_directories, max_entries, ..options.limits };
            FsProvider::new(options)
        };
        let (whole, partial, pointed) = (new(), new(), new());
        prop_assert_eq!(list(&whole), list(&partial));
        prop_assert_eq!(list(&whole), list(&pointed));
        let open = || block_on(Registry::open_for_inspection(vec![Arc::new(new())], Policy::default()));
        let (reloaded, changed, amended) = (open(), open(), open());
        for steps in rounds {
            let names = steps.iter().flat_map(|step| step.take(root.path())).collect();
            let listing = list(&whole);
            let changes = told(root.path(), &names);
            prop_assert_eq!(&relist(&partial, &changes), &listing, "{:?}", steps);
            let snapshot = block_on(reloaded.reload());
            prop_assert!(block_on(changed.reload_changed(&[(0, changes)])).is_same_as(&snapshot));
            prop_assert_eq!(&relist(&pointed, &named(&names)), &listing, "{:?}", steps);
            prop_assert!(block_on(amended.reload_changed(&[(0, named(&names))])).is_same_as(&snapshot));
            prop_assert_eq!(&relist(&pointed, &Changes::default()), &listing);
            // Nothing changed since.
            prop_assert_eq!(block_on(reloaded.reload()).number(), snapshot.number());
            prop_assert_eq!(&relist(&partial, &Changes::default()), &listing);
            prop_assert_eq!(&relist(&partial, &root_changed()), &listing);
            prop_assert_eq!(&list(&whole), &listing);
            // What stands in a file that is not broken is what a process that begins now would find.
            let fresh = list(&new());
            for (kept, fresh) in listing.skills.iter().zip(&fresh.skills) {
                prop_assert_eq!(&kept.locator, &fresh.locator);
                if kept.document.diagnostics.iter().all(|found| found.rule != RuleId::LastGood) {
                    prop_assert_eq!(&kept.document, &fresh.document);
                }
            }
            prop_assert_eq!(&listing.problems, &fresh.problems);
            prop_assert_eq!(listing.skills.len(), fresh.skills.len());
        }
    }
}
