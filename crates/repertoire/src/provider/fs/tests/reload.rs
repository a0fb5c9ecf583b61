//! Listings after the first: unchanged files are not read again, and broken ones leave the last good version.

use std::sync::Arc;

use proptest::prelude::*;
use repertoire_model::{Severity, Standing};

use super::*;
use crate::provider::{WatchPoint, WatchScope};

fn descriptions(listing: &Listing) -> Vec<&str> {
    listing.skills.iter().map(|skill| skill.document.description.split('.').next().unwrap()).collect()
}

fn edit(root: &Path, skill: &str, does: &str) {
    write(root.join(skill).join("SKILL.md"), skill_md(skill).replace("Does", does));
}

/// Makes the times of a file old enough that its stamp counts.
fn age(file: &Path) {
    let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    fs::File::options().write(true).open(file).unwrap().set_modified(long_ago).unwrap();
}

#[test]
fn skills_that_did_not_change_are_shared_with_the_listing_before() {
    let root = tempfile::tempdir().unwrap();
    for skill in ["a", "b", "c"] {
        write_skill(root.path(), skill);
    }
    let provider = provider(root.path());
    let before = list(&provider);
    edit(root.path(), "b", "DOES");
    // Neither its size nor its modification time shows the edit.
    age(&root.path().join("b/SKILL.md"));
    let after = list(&provider);
    assert_eq!(descriptions(&after), ["Does a", "DOES b", "Does c"]);
    assert!(Arc::ptr_eq(&after.skills[0], &before.skills[0]));
    assert!(Arc::ptr_eq(&after.skills[2], &before.skills[2]));
    let again = list(&provider);
    assert!(Arc::ptr_eq(&again.skills[1], &after.skills[1]));
}

#[test]
fn a_listing_under_another_policy_shares_nothing() {
    let root = tempfile::tempdir().unwrap();
    write(root.path().join("a/SKILL.md"), "---\nname: a\n---\n# A\n");
    let provider = provider(root.path());
    let standard = list(&provider);
    let strict = block_on(provider.list(&Policy::of(repertoire_model::Profile::Strict))).unwrap();
    assert_eq!(standard.skills[0].document.standing, Standing::Sound);
    assert_ne!(strict.skills[0].document.standing, Standing::Sound);
    assert_eq!(list(&provider), standard);
}

#[test]
fn a_digest_is_computed_again_only_if_a_file_changed() {
    let root = tempfile::tempdir().unwrap();
    write_skill(root.path(), "a");
    let provider = provider(root.path());
    let a = Locator::new("a");
    let digest = || block_on(provider.digest(&a)).unwrap();
    let before = digest();
    assert_eq!(digest(), before);
    write(root.path().join("a/references/x.md"), "x");
    assert_ne!(digest(), before);
    assert_eq!(digest(), block_on(provider.bundle(&a)).unwrap().digest());
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
    let capped = || {
        let mut options = FsOptions::new("test", root.path());
        options.caps.manifest_bytes = 10_000;
        FsProvider::new(options)
    };
    let policy = Policy::of(repertoire_model::Profile::Strict);
    let list = |provider: &FsProvider| block_on(provider.list(&policy)).unwrap();
    let provider = capped();
    let good = list(&provider);
    let a = Locator::new("a");
    let read = block_on(provider.get(&a, &policy)).unwrap().unwrap();
    let check = |listing: &Listing| {
        let document = &listing.skills[0].document;
        let last = document.diagnostics.last().unwrap();
        assert_eq!((last.rule, last.severity), (RuleId::LastGood, Severity::Warning));
        assert_eq!(document.description, good.skills[0].document.description);
        assert_eq!(document.standing, Standing::Sound);
        let opened = block_on(provider.open(&a, &policy)).unwrap().unwrap();
        assert_eq!(opened.skill.text, read.text);
        assert_eq!(opened.skill.document, **document);
    };
    let large = "x".repeat(10_001).into_bytes();
    for broken in BROKEN.into_iter().chain([&large[..]]) {
        write(&file, broken);
        check(&list(&provider));
        check(&list(&provider));
    }
    // A new process has no better version.
    assert_eq!(list(&capped()).skills[0].document.standing, Standing::Abort);
    // After the file is mended there are no problems left.
    write_skill(root.path(), "a");
    assert_eq!(list(&provider), good);
    // A removed skill is gone, and a new one in its place is judged on its own.
    write(&file, BROKEN[2]);
    list(&provider);
    fs::remove_file(&file).unwrap();
    assert_eq!(list(&provider).skills, []);
    write(&file, BROKEN[2]);
    assert_eq!(list(&provider).skills[0].document.standing, Standing::Abort);
    assert_eq!(block_on(provider.get(&a, &policy)).unwrap().unwrap().text.as_bytes(), BROKEN[2]);
}

#[test]
fn the_last_good_text_is_only_given_if_it_was_read() {
    let root = tempfile::tempdir().unwrap();
    write_skill(root.path(), "a");
    write_skill(root.path(), "b");
    let provider = provider(root.path());
    list(&provider);
    let (a, b) = (Locator::new("a"), Locator::new("b"));
    block_on(provider.get(&b, &Policy::default())).unwrap();
    // The version that was read is not the last good one.
    edit(root.path(), "b", "Really does");
    list(&provider);
    for skill in ["a", "b"] {
        write(root.path().join(skill).join("SKILL.md"), BROKEN[2]);
    }
    assert!(list(&provider).skills.iter().all(|skill| skill.document.standing == Standing::Sound));
    for locator in [a, b] {
        let skill = block_on(provider.get(&locator, &Policy::default())).unwrap().unwrap();
        assert_eq!((skill.document.standing, skill.text.as_bytes()), (Standing::Quarantined, BROKEN[2]));
    }
}

#[test]
fn watch_points_are_the_root_the_way_to_it_and_its_skills() {
    let home = tempfile::tempdir().unwrap();
    let base = home.path().canonicalize().unwrap();
    let point = |directory: &str, scope| WatchPoint { directory: base.join(directory), scope };
    let above = WatchPoint { directory: base.clone(), scope: WatchScope::Path };
    let provider = provider(&home.path().join("current/skills"));
    list(&provider);
    assert_eq!(provider.watch_points().as_deref(), Some(std::slice::from_ref(&above)));
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
            above,
            point("elsewhere/linked", WatchScope::Manifest),
            point("releases/1/skills/b", WatchScope::Manifest),
            point("releases/1/skills/empty", WatchScope::Entries),
            point("releases/1/skills", WatchScope::Entries),
        ]
    );
}

#[test]
fn directories_that_hold_skills_further_down_are_watched_for_their_entries() {
    let root = tempfile::tempdir().unwrap();
    write_skill(root.path(), "group/a");
    let mut options = FsOptions::new("test", root.path());
    options.limits.max_depth = 2;
    let provider = FsProvider::new(options);
    list(&provider);
    let base = root.path().canonicalize().unwrap();
    let scope = |relative: &str| {
        let points = provider.watch_points().unwrap();
        points.into_iter().find(|point| point.directory == base.join(relative)).map(|point| point.scope)
    };
    assert_eq!(scope("group"), Some(WatchScope::Entries));
    assert_eq!(scope("group/a"), Some(WatchScope::Manifest));
}

/// A change to a library.
#[derive(Debug, Clone)]
enum Step {
    Write(usize, usize),
    Remove(usize),
    RemoveFile(usize),
    Empty(usize),
    Rename(usize, usize),
    Link(usize, usize),
    Respell(usize),
}

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

impl Step {
    /// Makes the change.
    fn take(&self, root: &Path) {
        let path = |index: usize| root.join(NAMES[index]);
        let clear = |index: usize| {
            let path = path(index);
            match fs::symlink_metadata(&path) {
                Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path).unwrap(),
                Ok(_) => fs::remove_file(path).unwrap(),
                Err(_) => {}
            }
        };
        // Nothing is written through a link, because that would change its target.
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
            }
            Self::Remove(index) => {
                clear(index);
            }
            Self::RemoveFile(index) => {
                own(index);
                let _ = fs::remove_file(path(index).join("SKILL.md"));
            }
            Self::Empty(index) => {
                clear(index);
                fs::create_dir(path(index)).unwrap();
            }
            Self::Rename(from, to) => {
                if from != to && fs::symlink_metadata(path(from)).is_ok() {
                    clear(to);
                    fs::rename(path(from), path(to)).unwrap();
                }
            }
            Self::Link(from, to) => {
                clear(from);
                std::os::unix::fs::symlink(NAMES[to], path(from)).unwrap();
            }
            Self::Respell(index) => {
                own(index);
                let _ = fs::rename(path(index).join("SKILL.md"), path(index).join("skill.md"));
            }
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    let name = || 0..NAMES.len();
    prop_oneof![
        (name(), 0..3usize).prop_map(|(index, version)| Step::Write(index, version)),
        name().prop_map(Step::Remove),
        name().prop_map(Step::RemoveFile),
        name().prop_map(Step::Empty),
        (name(), name()).prop_map(|(from, to)| Step::Rename(from, to)),
        (name(), name()).prop_map(|(from, to)| Step::Link(from, to)),
        name().prop_map(Step::Respell),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_listing_with_a_memo_is_that_of_a_new_provider(steps in prop::collection::vec(step(), 1..12)) {
        let root = tempfile::tempdir().unwrap();
        let following = provider(root.path());
        for step in steps {
            step.take(root.path());
            prop_assert_eq!(list(&following), list(&provider(root.path())), "{:?}", step);
        }
    }
}

#[test]
fn a_recorded_version_is_in_force_for_a_skill_that_was_never_read_before() {
    let root = tempfile::tempdir().unwrap();
    let resolved = fs::canonicalize(root.path()).unwrap();
    for skill in ["a", "b", "c"] {
        write(root.path().join(skill).join("SKILL.md"), "---\nname: a\n");
    }
    let past = crate::provider::fs::PastVersions::new(move |directory| {
        let manifest =
            |text: String| crate::provider::fs::PastManifest { file_name: "SKILL.md".to_owned(), text };
        if Path::new(directory) == resolved.join("a") {
            return vec![manifest("---\nbroken, too\n".to_owned()), manifest(skill_md("a"))];
        }
        if Path::new(directory) == resolved.join("b") {
            vec![manifest("---\n".to_owned())]
        } else {
            Vec::new()
        }
    });
    let mut options = FsOptions::new("test", root.path());
    options.past = Some(past);
    let provider = FsProvider::new(options);
    let listing = list(&provider);
    let standings: Vec<bool> =
        listing.skills.iter().map(|skill| skill.document.standing == Standing::Sound).collect();
    assert_eq!(standings, [true, false, false]);
    let found = listing.skills[0].document.diagnostics.last().unwrap();
    assert!(found.message.contains("the last good version is in force"), "{}", found.message);
    let skill = block_on(provider.get(&Locator::new("a"), &Policy::default())).unwrap().unwrap();
    assert_eq!(skill.text, skill_md("a"));
    write_skill(root.path(), "a");
    assert!(list(&provider).skills[0].document.diagnostics.is_empty());
}
