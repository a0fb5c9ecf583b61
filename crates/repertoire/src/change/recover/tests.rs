//! Tests of changes that fail or are interrupted.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use repertoire_model::patch::FileData;
use repertoire_model::{SkillName, SkillPath};

use super::*;
use crate::ErrorKind;
use crate::change::journal::{FileStep, JournalLink, named_bundles};
use crate::change::{AppliedChange, ChangeSteps, FailedChange, SkillStep, apply};
use crate::store::{Blob, MemoryStore, Store, Versions as _, put_skill};

struct Fixture {
    _directory: tempfile::TempDir,
    place: ChangePlace,
    lock: PathBuf,
    memory: Arc<MemoryStore>,
    store: LazyStore,
}

fn fixture() -> Fixture {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path().join("project");
    fs::create_dir_all(base.join("skills")).unwrap();
    let lock = base.join("repertoire.lock");
    let journal = directory.path().join("state/project");
    let place = ChangePlace { skills: base.join("skills"), journal, base };
    let memory = Arc::new(MemoryStore::new());
    let store = LazyStore::from(Arc::clone(&memory) as Arc<dyn Store>);
    Fixture { _directory: directory, place, lock, memory, store }
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

/// A skill with its text before and after a change and with what else is in its directory.
type SkillTexts<'t> = (&'t str, Option<&'t str>, Option<&'t str>, &'t [&'t str]);

impl Fixture {
    /// Returns the text of a skill and the lock.
    fn state(&self, skill: &str) -> (Option<String>, Option<String>) {
        let read = |path: PathBuf| {
            let bytes = crate::regular_file::read(&path, 1000).ok()?;
            Some(String::from_utf8(bytes).unwrap())
        };
        let skill = self.place.directory(&name(skill)).join("SKILL.md");
        (read(skill), read(self.lock.clone()))
    }

    fn put(&self, skill: &str, text: &str) {
        let directory = self.place.directory(&name(skill));
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("SKILL.md"), text).unwrap();
    }

    /// Writes the journal of a change of `a` from `before` to `after`, as a crash leaves it.
    fn interrupt(&self, before: Option<&str>, after: Option<&str>) {
        let digest = |text: Option<&str>| text.map(|text| put_skill(&*self.memory, &files(text)).unwrap());
        let (before, after) = (digest(before), digest(after));
        self.write_journal(vec![JournalSkill { name: name("a"), before, after, others: Vec::new() }]);
    }

    fn write_journal(&self, skills: Vec<JournalSkill>) {
        let file = FileStep { path: self.lock.clone(), before: text("old"), after: text("new") };
        let journal = Journal { skills, files: vec![file], links: Vec::new(), is_undo: false };
        journal.write(&self.place).unwrap();
    }

    /// Damages the files of `text` in the store.
    fn forget(&self, text: &str) {
        let digest = bundle(&files(text)).digest();
        self.memory.put_blobs(&[Blob { digest, bytes: b"damaged".to_vec() }]).unwrap();
    }

    /// Carries out a change of `skills` and removes `links`.
    fn apply(&self, skills: &[SkillTexts<'_>], links: &[PathBuf]) -> Result<AppliedChange, FailedChange> {
        type Owned = (SkillName, Option<SkillFiles>, Option<SkillFiles>, Vec<String>);
        let owned = |&(skill, before, after, others): &SkillTexts<'_>| -> Owned {
            let others = others.iter().map(|&other| other.to_owned()).collect();
            (name(skill), before.map(files), after.map(files), others)
        };
        let owned: Vec<Owned> = skills.iter().map(owned).collect();
        let steps = owned.iter().map(|(name, before, after, others)| SkillStep {
            name,
            before: before.as_ref(),
            after: after.as_ref(),
            others,
        });
        let skills = steps.collect();
        let lock = WriterLock::acquire(&self.place)?;
        apply(lock, &self.place, &self.store, &ChangeSteps { skills, links, files: Vec::new() })
    }

    fn recover(&self) -> Option<Recovery> {
        let recovery = recover(&self.place, &self.store).unwrap();
        assert_eq!(recover(&self.place, &self.store).unwrap(), None);
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
            fs::write(&fixture.lock, lock).unwrap();
            fixture.interrupt(before, after);
            fs::create_dir(fixture.place.skills.join(".rep-staging-1-0-a")).unwrap();
            assert_eq!(fixture.recover(), completed(&["a"]));
            assert_eq!(fixture.state("a"), (after.map(str::to_owned), text("new")), "{before:?} {after:?}");
            let left = fs::read_dir(&fixture.place.skills).unwrap().count();
            assert_eq!(left, usize::from(after.is_some()));
        }
    }
}

#[test]
fn a_change_whose_files_are_lost_is_undone() {
    let fixture = fixture();
    fixture.put("a", "one");
    fs::write(&fixture.lock, "old").unwrap();
    fixture.interrupt(Some("one"), Some("two"));
    fixture.forget("one");
    fixture.forget("two");
    assert_eq!(fixture.recover(), Some(Recovery::Undone));
    assert_eq!(fixture.state("a"), (text("one"), text("old")));
}

#[test]
fn what_others_changed_since_stays() {
    let fixture = fixture();
    fixture.put("a", "mine");
    fs::write(&fixture.lock, "merged by hand").unwrap();
    fixture.interrupt(Some("one"), Some("two"));
    assert_eq!(fixture.recover(), completed(&["a"]));
    assert_eq!(fixture.state("a"), (text("mine"), text("merged by hand")));
}

#[test]
fn a_change_that_fails_halfway_leaves_everything_as_it_was() {
    let fixture = fixture();
    fixture.put("b", "mine");
    let changes = [("a", None, Some("new"), &[][..]), ("b", None, Some("new"), &[])];
    let FailedChange { error, undo } = fixture.apply(&changes, &[]).unwrap_err();
    assert!(undo.is_none());
    assert_eq!(error.kind(), ErrorKind::AlreadyThere);
    assert!(error.to_string().contains("is already there"), "{error}");
    assert_eq!((fixture.state("a"), fixture.state("b")), ((None, None), (text("mine"), None)));
    assert_eq!(fixture.recover(), None);
}

#[test]
fn files_are_written_with_the_skills_if_they_are_as_before() {
    let fixture = fixture();
    let one = files("one");
    let file = |before: Option<&str>, after: Option<&str>| FileStep {
        path: fixture.lock.clone(),
        before: before.and_then(text),
        after: after.and_then(text),
    };
    let apply = |skill: &str, file: FileStep| {
        let skill = name(skill);
        let skills = vec![SkillStep { name: &skill, before: None, after: Some(&one), others: &[] }];
        let lock = WriterLock::acquire(&fixture.place).unwrap();
        let steps = ChangeSteps { skills, links: &[], files: vec![file] };
        apply(lock, &fixture.place, &fixture.store, &steps).map(drop)
    };
    apply("a", file(None, Some("new"))).unwrap();
    assert_eq!(fixture.state("a"), (text("one"), text("new")));
    let error = apply("b", file(Some("old"), Some("newer"))).unwrap_err().error;
    assert_eq!((error.kind(), error.path()), (ErrorKind::FileChanged, Some(&*fixture.lock)));
    assert_eq!(fixture.state("b"), (None, text("new")));
    apply("b", file(Some("new"), None)).unwrap();
    assert_eq!(fixture.state("b"), (text("one"), None));
}

/// Two skills, of which the change of the first was made.
fn two_skills(fixture: &Fixture) {
    fixture.put("a", "new a");
    fixture.put("b", "old b");
    fs::write(&fixture.lock, "old").unwrap();
    let digest = |text: &str| Some(put_skill(&*fixture.memory, &files(text)).unwrap());
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
fn an_interrupted_change_waits_for_a_store_that_is_away() {
    let fixture = fixture();
    two_skills(&fixture);
    let away = LazyStore::new(|| Err(Error::new(ErrorKind::Store)));
    assert_eq!(recover(&fixture.place, &away).unwrap_err().kind(), ErrorKind::Store);
    assert_eq!(fixture.state("a"), (text("new a"), text("old")));
    assert_eq!(fixture.recover(), completed(&["a", "b"]));
    // Nothing is begun without it.
    let (skill, one, two) = (name("a"), files("new a"), files("two"));
    let skills = vec![SkillStep { name: &skill, before: Some(&one), after: Some(&two), others: &[] }];
    let lock = WriterLock::acquire(&fixture.place).unwrap();
    let steps = ChangeSteps { skills, links: &[], files: Vec::new() };
    let failed = apply(lock, &fixture.place, &away, &steps).unwrap_err();
    assert_eq!(failed.error.kind(), ErrorKind::Store);
    assert_eq!((fixture.state("a"), fixture.recover()), ((text("new a"), text("new")), None));
}

#[test]
fn bundles_that_a_journal_names_are_known() {
    let fixture = fixture();
    two_skills(&fixture);
    let named = named_bundles(fixture.place.journal.parent().unwrap());
    let digests = ["old a", "new a", "old b", "new b"].map(|text| bundle(&files(text)).digest());
    assert_eq!(named, digests.into_iter().collect());
}

#[cfg(unix)]
#[test]
fn a_removal_that_is_undone_restores_hidden_files_and_links() {
    let fixture = fixture();
    fixture.put("a", "one");
    fs::write(fixture.place.skills.join("a/.env"), "secret").unwrap();
    fixture.put("b", "mine");
    let link = fixture.place.base.join("link");
    std::os::unix::fs::symlink("skills/a", &link).unwrap();
    // The second skill is not as it is expected.
    let removals = [("a", Some("one"), None, &[".env"][..]), ("b", Some("other"), None, &[])];
    let error = fixture.apply(&removals, std::slice::from_ref(&link)).unwrap_err().error;
    assert_eq!(error.kind(), ErrorKind::FileChanged);
    let hidden = crate::regular_file::read(&fixture.place.skills.join("a/.env"), 100).unwrap();
    assert_eq!(hidden, b"secret");
    assert_eq!(fs::read_dir(&fixture.place.skills).unwrap().count(), 2);
    assert!(link.is_symlink());
    // Both are gone when the change fails.
    let links = vec![JournalLink { path: link.clone(), to: "skills/a".into() }];
    let before = Some(put_skill(&*fixture.memory, &files("one")).unwrap());
    let skill = JournalSkill { name: name("a"), before, after: None, others: vec![".env".to_owned()] };
    let mut journal = Journal { skills: vec![skill], files: Vec::new(), links, is_undo: true };
    let found = read_installed(&fixture.place.directory(&name("a"))).unwrap();
    set(&fixture.place, &name("a"), found.as_ref(), None).unwrap();
    remove_links(&journal.links);
    assert!(!link.is_symlink() && fixture.state("a").0.is_none());
    undo(&fixture.place, &fixture.store, &mut journal).unwrap();
    assert!(link.is_symlink() && fixture.place.skills.join("a/.env").is_file());
}

#[test]
fn files_that_are_made_while_a_skill_is_removed_are_kept() {
    let fixture = fixture();
    fixture.put("a", "one");
    let removal = [("a", Some("one"), None, &[][..])];
    for made in ["notes.md", ".hidden"] {
        let path = fixture.place.skills.join("a").join(made);
        fs::write(&path, "mine").unwrap();
        let error = fixture.apply(&removal, &[]).unwrap_err().error;
        assert!(error.to_string().contains("was changed meanwhile"), "{error}");
        assert!(path.is_file(), "{made}");
        fs::remove_file(&path).unwrap();
    }
    drop(fixture.apply(&removal, &[]).unwrap());
    assert_eq!(fs::read_dir(&fixture.place.skills).unwrap().count(), 0);
}

#[test]
fn a_change_whose_links_are_not_made_yet_is_one_that_recovery_completes() {
    let fixture = fixture();
    let applied = fixture.apply(&[("a", None, Some("one"), &[])], &[]).unwrap();
    // While the program runs, nobody else looks at its journal.
    assert_eq!(recover(&fixture.place, &fixture.store).unwrap(), None);
    let path = fixture.place.file(ENDING);
    let journal = crate::regular_file::read(&path, 10_000).unwrap();
    drop(applied);
    assert_eq!(fixture.recover(), None);
    fs::write(&path, journal).unwrap();
    assert_eq!(fixture.recover(), completed(&["a"]));
}
