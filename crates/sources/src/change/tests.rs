//! Tests of changes of added skills.

use std::fs;
use std::sync::Arc;

use crate::memory_store::MemoryStore;
use repertoire::store::{Store, Versions as _};
use repertoire_model::SkillPath;
use repertoire_model::patch::FileData;

use super::*;

struct Fixture {
    _directory: tempfile::TempDir,
    installation: Installation,
    memory: Arc<MemoryStore>,
    store: LazyStore,
}

fn fixture() -> Fixture {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path().canonicalize().unwrap();
    fs::create_dir(base.join("skills")).unwrap();
    let installation = Installation {
        skills: base.join("skills"),
        lock: base.join("repertoire.lock"),
        skills_lock: Some(base.join("skills-lock.json")),
        state: base.join("state"),
        conflicts: base.join("conflicts"),
        base,
    };
    let memory = Arc::new(MemoryStore::new());
    let store = LazyStore::from(Arc::clone(&memory) as Arc<dyn Store>);
    Fixture { _directory: directory, installation, memory, store }
}

fn files(text: &str) -> SkillFiles {
    [(SkillPath::new("SKILL.md").unwrap(), FileData::new(text))].into_iter().collect()
}

fn locked(text: &str) -> LockedSkill {
    LockedSkill {
        name: SkillName::new("pdf").unwrap(),
        source: "https://github.com/o/r".to_owned(),
        reference: None,
        path: "skills/pdf".to_owned(),
        resolved: None,
        digest: bundle(&files(text)).digest(),
        files: LockedSkill::digests(&files(text)),
    }
}

/// Returns the change of the skill `pdf` from `before` to `after`, each with its text here and the one in the
/// lock.
fn change(before: Option<(&str, &str)>, after: Option<(&str, &str)>) -> Change {
    let skill = SkillChange {
        name: SkillName::new("pdf").unwrap(),
        before: before.map(|(here, _)| files(here)),
        after: after.map(|(here, _)| files(here)),
        others: Vec::new(),
        locked_before: before.map(|(_, added)| locked(added)),
        locked: after.map(|(_, added)| locked(added)),
    };
    Change { skills: vec![skill], others: ChangeSteps { command: "rep add", ..ChangeSteps::default() } }
}

impl Fixture {
    fn apply(&self, change: &Change) -> Result<Vec<String>, Error> {
        let lock = begin(&self.installation, &self.store)?;
        apply(&lock, &self.installation, &self.store, change)
    }

    fn locked(&self) -> Option<LockedSkill> {
        Lock::read(&self.installation.lock).unwrap().get("pdf").cloned()
    }

    /// Returns the origins of the versions of `pdf`, the oldest first.
    fn origins(&self) -> Vec<&'static str> {
        let identity = self.installation.skills.join("pdf").display().to_string();
        let versions = self.memory.versions(&identity).unwrap();
        versions.iter().rev().map(|version| version.origin.as_str()).collect()
    }
}

#[test]
fn a_change_of_a_skill_changes_the_lock_and_is_recorded() {
    let fixture = fixture();
    let check = |before, after: Option<(&str, &str)>, origins: &[&str]| {
        assert_eq!(fixture.apply(&change(before, after)).unwrap(), [""; 0]);
        assert_eq!(fixture.locked(), after.map(|(_, added)| locked(added)));
        assert_eq!(fixture.origins(), origins);
        assert_eq!(fixture.installation.lock.is_file(), after.is_some());
    };
    check(None, Some(("one", "one")), &["add"]);
    check(Some(("one", "one")), Some(("two", "two")), &["add", "update"]);
    // Somebody edits it, and the edits are merged.
    let skill = fixture.installation.skills.join("pdf/SKILL.md");
    fs::write(&skill, "edited").unwrap();
    check(Some(("edited", "two")), Some(("merged", "three")), &["add", "update", "edit", "update"]);
    check(Some(("merged", "three")), None, &["add", "update", "edit", "update"]);
    check(None, Some(("one", "one")), &["add", "update", "edit", "update", "add"]);
}

#[test]
fn a_skill_that_is_only_entered_in_the_lock_is_an_added_one() {
    let fixture = fixture();
    fs::create_dir(fixture.installation.skills.join("pdf")).unwrap();
    fs::write(fixture.installation.skills.join("pdf/SKILL.md"), "one").unwrap();
    let mut change = change(Some(("one", "one")), Some(("one", "one")));
    change.skills[0].locked_before = None;
    fixture.apply(&change).unwrap();
    assert_eq!(fixture.origins(), ["add"]);
    // It was added before versions were recorded.
    let other = self::fixture();
    fs::create_dir(other.installation.skills.join("pdf")).unwrap();
    fs::write(other.installation.skills.join("pdf/SKILL.md"), "one").unwrap();
    let mut lock = Lock::default();
    lock.insert(locked("one"));
    fs::write(&other.installation.lock, lock.to_text().unwrap()).unwrap();
    other.apply(&self::change(Some(("one", "one")), Some(("two", "two")))).unwrap();
    assert_eq!(other.origins(), ["add", "update"]);
}

#[test]
fn large_skills_are_added_and_not_recorded() {
    let fixture = fixture();
    let large = "x".repeat(usize::try_from(MAX_RECORDED_BYTES).unwrap() + 1);
    fixture.apply(&change(None, Some((&large, &large)))).unwrap();
    assert!(fixture.installation.skills.join("pdf/SKILL.md").is_file() && fixture.origins().is_empty());
}

#[test]
fn an_entry_that_others_changed_stops_the_change() {
    let fixture = fixture();
    fixture.apply(&change(None, Some(("one", "one")))).unwrap();
    for stale in [change(None, Some(("two", "two"))), change(Some(("one", "zero")), Some(("two", "two")))] {
        let error = fixture.apply(&stale).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Changed);
        assert_eq!(error.hints(), ["nothing was changed; run it again"]);
    }
    assert_eq!((fixture.locked(), fixture.origins()), (Some(locked("one")), vec!["add"]));
}

#[test]
fn the_lock_of_npx_skills_is_kept_in_step_where_it_is_understood() {
    let fixture = fixture();
    let path = fixture.installation.skills_lock.clone().unwrap();
    let read = || String::from_utf8(read_file(&path, 10_000).unwrap().unwrap()).unwrap();
    fixture.apply(&change(None, Some(("one", "one")))).unwrap();
    assert!(!path.is_file(), "a project without one gets none");
    fs::write(&path, r#"{"version": 1, "skills": {}}"#).unwrap();
    fixture.apply(&change(Some(("one", "one")), Some(("two", "two")))).unwrap();
    assert!(read().contains("\"pdf\""), "{}", read());
    fixture.apply(&change(Some(("two", "two")), None)).unwrap();
    assert!(!read().contains("\"pdf\""), "{}", read());
    fs::write(&path, "{").unwrap();
    let notes = fixture.apply(&change(None, Some(("one", "one")))).unwrap();
    assert!(notes.len() == 1 && notes[0].ends_with("is not understood and left alone"), "{notes:?}");
    assert_eq!(read(), "{");
}
