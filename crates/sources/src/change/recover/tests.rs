//! Tests of changes that fail or are interrupted.

use std::fs;

use repertoire_model::patch::FileData;
use repertoire_model::{SkillName, SkillPath};

use super::*;
use crate::change::journal::LockKind;
use crate::{Change, SkillChange, apply};

struct Fixture {
    directory: tempfile::TempDir,
    installation: Installation,
    store: BundleStore,
}

fn fixture() -> Fixture {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path().join("project");
    fs::create_dir_all(base.join("skills")).unwrap();
    let installation = Installation {
        skills: base.join("skills"),
        lock: base.join("repertoire.lock"),
        skills_lock: None,
        state: directory.path().join("state"),
        conflicts: base.join("conflicts"),
        base,
    };
    let store = BundleStore::new(directory.path().join("bundles"));
    Fixture { directory, installation, store }
}

fn files(text: &str) -> SkillFiles {
    [(SkillPath::new("SKILL.md").unwrap(), FileData::new(text))].into_iter().collect()
}

fn name(text: &str) -> SkillName {
    SkillName::new(text).unwrap()
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

impl Fixture {
    /// Returns the text of a skill and the lock.
    fn state(&self, skill: &str) -> (Option<String>, Option<String>) {
        let read = |path: PathBuf| {
            let bytes = repertoire::regular_file::read(&path, 1000).ok()?;
            Some(String::from_utf8(bytes).unwrap())
        };
        let skill = self.installation.directory(&name(skill)).join("SKILL.md");
        (read(skill), read(self.installation.lock.clone()))
    }

    fn put(&self, skill: &str, text: &str) {
        let directory = self.installation.directory(&name(skill));
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("SKILL.md"), text).unwrap();
    }

    /// Writes the journal of a change of `a` from `before` to `after`, as a crash leaves it.
    fn interrupt(&self, before: Option<&str>, after: Option<&str>) {
        let digest = |text: Option<&str>| text.map(|text| self.store.put(&files(text)).unwrap());
        let skill = JournalSkill { name: name("a"), before: digest(before), after: digest(after) };
        let file = JournalFile { kind: LockKind::Own, before: text("old"), after: text("new") };
        let journal = Journal { skills: vec![skill], files: vec![file], links: Vec::new() };
        journal.write(&self.installation).unwrap();
    }

    fn recover(&self) -> Option<Recovery> {
        let recovery = recover(&self.installation, &self.store).unwrap();
        assert_eq!(recover(&self.installation, &self.store).unwrap(), None);
        recovery
    }
}

#[test]
fn an_interrupted_change_is_completed_wherever_it_stopped() {
    for (before, after) in [(None, Some("two")), (Some("one"), Some("two")), (Some("one"), None)] {
        for (skill, lock) in [(before, "old"), (after, "old"), (after, "new")] {
            let fixture = fixture();
            if let Some(skill) = skill {
                fixture.put("a", skill);
            }
            fs::write(&fixture.installation.lock, lock).unwrap();
            fixture.interrupt(before, after);
            fs::create_dir(fixture.installation.skills.join(".rep-staging-1-0-a")).unwrap();
            assert_eq!(fixture.recover(), Some(Recovery::Completed));
            assert_eq!(fixture.state("a"), (after.map(str::to_owned), text("new")), "{before:?} {after:?}");
            let left = fs::read_dir(&fixture.installation.skills).unwrap().count();
            assert_eq!(left, usize::from(after.is_some()));
        }
    }
}

#[test]
fn a_change_whose_files_are_lost_is_undone() {
    let fixture = fixture();
    fixture.put("a", "one");
    fs::write(&fixture.installation.lock, "old").unwrap();
    fixture.interrupt(Some("one"), Some("two"));
    fs::remove_dir_all(fixture.directory.path().join("bundles")).unwrap();
    assert_eq!(fixture.recover(), Some(Recovery::Undone));
    assert_eq!(fixture.state("a"), (text("one"), text("old")));
}

#[test]
fn what_others_changed_since_stays() {
    let fixture = fixture();
    fixture.put("a", "mine");
    fs::write(&fixture.installation.lock, "merged by hand").unwrap();
    fixture.interrupt(Some("one"), Some("two"));
    assert_eq!(fixture.recover(), Some(Recovery::Completed));
    assert_eq!(fixture.state("a"), (text("mine"), text("merged by hand")));
}

#[test]
fn a_change_that_fails_halfway_leaves_everything_as_it_was() {
    let fixture = fixture();
    fixture.put("b", "mine");
    let change = |skill: &str| SkillChange {
        name: name(skill),
        before: None,
        after: Some(files("new")),
        locked_before: None,
        locked: None,
    };
    let change = Change { skills: vec![change("a"), change("b")], links: Vec::new() };
    let error = apply(&fixture.installation, &fixture.store, &change).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Changed);
    assert!(error.to_string().contains("is already there"), "{error}");
    assert_eq!((fixture.state("a"), fixture.state("b")), ((None, None), (text("mine"), None)));
    assert_eq!(fixture.recover(), None);
}
