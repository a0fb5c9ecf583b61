//! Tests of changes that fail or are interrupted.

use std::fs;
use std::path::PathBuf;

use repertoire_model::patch::FileData;
use repertoire_model::{SkillName, SkillPath};

use super::*;
use crate::ErrorKind;
use crate::change::journal::{LockKind, named_bundles};
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

fn completed(names: &[&str]) -> Option<Recovery> {
    Some(Recovery::Completed(names.iter().map(|text| name(text)).collect()))
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
        let (before, after) = (digest(before), digest(after));
        self.write_journal(vec![JournalSkill { name: name("a"), before, after, others: Vec::new() }]);
    }

    fn write_journal(&self, skills: Vec<JournalSkill>) {
        let file = JournalFile { kind: LockKind::Own, before: text("old"), after: text("new") };
        let journal = Journal { skills, files: vec![file], links: Vec::new(), is_undo: false };
        journal.write(&self.installation).unwrap();
    }

    /// Removes the files of `text` from the store.
    fn forget(&self, text: &str) {
        let name = bundle(&files(text)).digest().to_hex();
        fs::remove_file(self.directory.path().join("bundles").join(&name[..2]).join(name)).unwrap();
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
            assert_eq!(fixture.recover(), completed(&["a"]));
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
    assert_eq!(fixture.recover(), completed(&["a"]));
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
        others: Vec::new(),
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

/// Two skills, of which the change of the first was made.
fn two_skills(fixture: &Fixture) {
    fixture.put("a", "new a");
    fixture.put("b", "old b");
    fs::write(&fixture.installation.lock, "old").unwrap();
    let digest = |text: &str| Some(fixture.store.put(&files(text)).unwrap());
    let skill = |skill: &str| JournalSkill {
        name: name(skill),
        before: digest(&format!("old {skill}")),
        after: digest(&format!("new {skill}")),
        others: Vec::new(),
    };
    fixture.write_journal(vec![skill("a"), skill("b")]);
}

#[test]
fn two_skills_are_both_completed_or_both_undone() {
    let fixture = fixture();
    two_skills(&fixture);
    assert_eq!(fixture.recover(), completed(&["a", "b"]));
    assert_eq!(fixture.state("a"), (text("new a"), text("new")));
    assert_eq!(fixture.state("b").0, text("new b"));

    let fixture = self::fixture();
    two_skills(&fixture);
    fixture.forget("new b");
    assert_eq!(fixture.recover(), Some(Recovery::Undone));
    assert_eq!(fixture.state("a"), (text("old a"), text("old")));
    assert_eq!(fixture.state("b").0, text("old b"));
}

#[test]
fn a_change_that_can_be_neither_completed_nor_undone_does_not_block_the_project() {
    let fixture = fixture();
    two_skills(&fixture);
    fixture.forget("new b");
    fixture.forget("old a");
    assert_eq!(fixture.recover(), Some(Recovery::Abandoned(vec![name("a")])));
    assert_eq!(fixture.state("a"), (text("new a"), text("old")));
    assert_eq!(fixture.state("b").0, text("old b"));
}

#[test]
fn bundles_that_a_journal_names_are_known() {
    let fixture = fixture();
    two_skills(&fixture);
    let named = named_bundles(&fixture.installation.state);
    let digests = ["old a", "new a", "old b", "new b"].map(|text| bundle(&files(text)).digest());
    assert_eq!(named, digests.into_iter().collect());
}

#[cfg(unix)]
#[test]
fn a_removal_that_is_undone_restores_hidden_files_and_links() {
    use crate::change::journal::JournalLink;

    let fixture = fixture();
    fixture.put("a", "one");
    fs::write(fixture.installation.skills.join("a/.env"), "secret").unwrap();
    fixture.put("b", "mine");
    let link = fixture.installation.base.join("link");
    std::os::unix::fs::symlink("skills/a", &link).unwrap();
    let removal = |skill: &str, text: &str, others: &[&str]| SkillChange {
        name: name(skill),
        before: Some(files(text)),
        after: None,
        others: others.iter().map(|&other| other.to_owned()).collect(),
        locked_before: None,
        locked: None,
    };
    // The second skill is not as it is expected.
    let skills = vec![removal("a", "one", &[".env"]), removal("b", "other", &[])];
    let change = Change { skills, links: vec![link.clone()] };
    let error = apply(&fixture.installation, &fixture.store, &change).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Changed);
    let hidden = repertoire::regular_file::read(&fixture.installation.skills.join("a/.env"), 100).unwrap();
    assert_eq!(hidden, b"secret");
    assert_eq!(fs::read_dir(&fixture.installation.skills).unwrap().count(), 2);
    assert!(link.is_symlink());
    // Both are gone when the change fails.
    let links = vec![JournalLink { path: link.clone(), to: "skills/a".into() }];
    let before = Some(fixture.store.put(&files("one")).unwrap());
    let skill = JournalSkill { name: name("a"), before, after: None, others: vec![".env".to_owned()] };
    let mut journal = Journal { skills: vec![skill], files: Vec::new(), links, is_undo: true };
    let found = read_installed(&fixture.installation.directory(&name("a"))).unwrap();
    set(&fixture.installation, &name("a"), found.as_ref(), None).unwrap();
    remove_links(&journal.links);
    assert!(!link.is_symlink() && fixture.state("a").0.is_none());
    undo(&fixture.installation, &fixture.store, &mut journal).unwrap();
    assert!(link.is_symlink() && fixture.installation.skills.join("a/.env").is_file());
}

#[test]
fn files_that_are_made_while_a_skill_is_removed_are_kept() {
    let fixture = fixture();
    fixture.put("a", "one");
    let change = SkillChange {
        name: name("a"),
        before: Some(files("one")),
        after: None,
        others: Vec::new(),
        locked_before: None,
        locked: None,
    };
    let change = Change { skills: vec![change], links: Vec::new() };
    for made in ["notes.md", ".hidden"] {
        let path = fixture.installation.skills.join("a").join(made);
        fs::write(&path, "mine").unwrap();
        let error = apply(&fixture.installation, &fixture.store, &change).unwrap_err();
        assert!(error.to_string().contains("was changed meanwhile"), "{error}");
        assert!(path.is_file(), "{made}");
        fs::remove_file(&path).unwrap();
    }
    drop(apply(&fixture.installation, &fixture.store, &change).unwrap());
    assert_eq!(fs::read_dir(&fixture.installation.skills).unwrap().count(), 0);
}

#[test]
fn a_change_whose_links_are_not_made_yet_is_one_that_recovery_completes() {
    let fixture = fixture();
    let added = SkillChange {
        name: name("a"),
        before: None,
        after: Some(files("one")),
        others: Vec::new(),
        locked_before: None,
        locked: None,
    };
    let change = Change { skills: vec![added], links: Vec::new() };
    let applied = apply(&fixture.installation, &fixture.store, &change).unwrap();
    // While the program runs, nobody else looks at its journal.
    assert_eq!(recover(&fixture.installation, &fixture.store).unwrap(), None);
    let path = super::super::writer_lock::state_file(&fixture.installation, "json");
    let journal = repertoire::regular_file::read(&path, 10_000).unwrap();
    drop(applied);
    assert_eq!(fixture.recover(), None);
    fs::write(&path, journal).unwrap();
    assert_eq!(fixture.recover(), completed(&["a"]));
}
