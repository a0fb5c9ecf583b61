//! Tests of changes that fail or are interrupted.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use repertoire_model::SkillPath;
use repertoire_model::patch::FileData;

use super::*;
use crate::change::done::recorded_bundles;
use crate::change::journal::named_bundles;
use crate::change::{
    ChangeSteps, FailedChange, FileStep, SkillStep, apply, done_changes, milliseconds, take_back,
};
use crate::store::{Blob, MemoryStore, Store, Versions as _, put_skill};
use crate::{ErrorKind, clock};

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

fn ended(end: RecoveryEnd) -> Option<Recovery> {
    Some(Recovery { command: "rep add".to_owned(), end })
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// A skill with its text before and after a change and with what else is in its directory.
type SkillTexts<'t> = (&'t str, Option<&'t str>, Option<&'t str>, &'t [&'t str]);

impl Fixture {
    fn skill(&self, name: &str) -> PathBuf {
        self.place.skills.join(name)
    }

    /// Returns the text of a skill and the lock.
    fn state(&self, skill: &str) -> (Option<String>, Option<String>) {
        let read = |path: PathBuf| {
            let bytes = crate::regular_file::read(&path, 1000).ok()?;
            Some(String::from_utf8(bytes).unwrap())
        };
        let skill = self.skill(skill).join("SKILL.md");
        (read(skill), read(self.lock.clone()))
    }

    fn put(&self, skill: &str, text: &str) {
        let directory = self.skill(skill);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("SKILL.md"), text).unwrap();
    }

    /// Writes the journal of a change of `a` from `before` to `after`, as a crash leaves it.
    fn interrupt(&self, before: Option<&str>, after: Option<&str>) {
        let digest = |text: Option<&str>| text.map(|text| put_skill(&*self.memory, &files(text)).unwrap());
        let (before, after) = (digest(before), digest(after));
        self.write_journal(vec![JournalSkill {
            directory: self.skill("a"),
            before,
            after,
            others: Vec::new(),
        }]);
    }

    fn write_journal(&self, skills: Vec<JournalSkill>) {
        let file = FileStep { path: self.lock.clone(), before: text("old"), after: text("new") };
        let (command, steps) = ("rep add".to_owned(), vec![PathStep::Record(file)]);
        let journal = Journal { command, skills, steps, ..Journal::default() };
        journal.write(&self.place).unwrap();
    }

    /// Damages the files of `text` in the store.
    fn forget(&self, text: &str) {
        let digest = bundle(&files(text)).digest();
        self.memory.put_blobs(&[Blob { digest, bytes: b"damaged".to_vec() }]).unwrap();
    }

    /// Carries out a change of `skills` and then takes `steps`.
    fn apply(&self, skills: &[SkillTexts<'_>], steps: Vec<PathStep>) -> Result<Option<Error>, FailedChange> {
        let skill = |&(skill, before, after, others): &SkillTexts<'_>| SkillStep {
            directory: self.skill(skill),
            before: before.map(|text| Cow::Owned(files(text))),
            after: after.map(|text| Cow::Owned(files(text))),
            others: others.iter().map(|&other| other.to_owned()).collect(),
        };
        let skills = skills.iter().map(skill).collect();
        let lock = begin(&self.place, &self.store)?;
        apply(
            &lock,
            &self.place,
            &self.store,
            &ChangeSteps { command: "rep add", skills, steps, ..ChangeSteps::default() },
        )
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
            assert_eq!(fixture.recover(), ended(RecoveryEnd::Completed));
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
    assert_eq!(fixture.recover(), ended(RecoveryEnd::Undone));
    assert_eq!(fixture.state("a"), (text("one"), text("old")));
}

#[test]
fn what_others_changed_since_stays() {
    let fixture = fixture();
    fixture.put("a", "mine");
    fs::write(&fixture.lock, "merged by hand").unwrap();
    fixture.interrupt(Some("one"), Some("two"));
    assert_eq!(fixture.recover(), ended(RecoveryEnd::Completed));
    assert_eq!(fixture.state("a"), (text("mine"), text("merged by hand")));
}

#[test]
fn a_change_that_fails_halfway_leaves_everything_as_it_was() {
    let fixture = fixture();
    fixture.put("b", "mine");
    let changes = [("a", None, Some("new"), &[][..]), ("b", None, Some("new"), &[])];
    let FailedChange { error, undo } = fixture.apply(&changes, Vec::new()).unwrap_err();
    assert!(undo.is_none());
    assert_eq!(error.kind(), ErrorKind::AlreadyThere);
    assert!(error.to_string().contains("is already there"), "{error}");
    assert_eq!((fixture.state("a"), fixture.state("b")), ((None, None), (text("mine"), None)));
    assert_eq!(fixture.recover(), None);
}

#[test]
fn files_are_written_with_the_skills_if_they_are_as_before() {
    let fixture = fixture();
    let file = |before: Option<&str>, after: Option<&str>| FileStep {
        path: fixture.lock.clone(),
        before: before.and_then(text),
        after: after.and_then(text),
    };
    let apply = |skill: &str, file: FileStep| {
        fixture.apply(&[(skill, None, Some("one"), &[])], vec![PathStep::Record(file)])
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
        directory: fixture.skill(skill),
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
    assert_eq!(fixture.recover(), ended(RecoveryEnd::Completed));
    assert_eq!(fixture.state("a"), (text("new a"), text("new")));
    assert_eq!(fixture.state("b").0, text("new b"));

    let fixture = self::fixture();
    two_skills(&fixture);
    fixture.forget("new b");
    assert_eq!(fixture.recover(), ended(RecoveryEnd::Undone));
    assert_eq!(fixture.state("a"), (text("old a"), text("old")));
    assert_eq!(fixture.state("b").0, text("old b"));
}

#[test]
fn a_change_that_can_be_neither_completed_nor_undone_does_not_block_the_project() {
    let fixture = fixture();
    two_skills(&fixture);
    fixture.forget("new b");
    fixture.forget("old a");
    assert_eq!(fixture.recover(), ended(RecoveryEnd::Abandoned(vec![fixture.skill("a")])));
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
    assert_eq!(begin(&fixture.place, &away).unwrap_err().kind(), ErrorKind::Store);
    assert_eq!(fixture.recover(), ended(RecoveryEnd::Completed));
    // Nothing is begun without it.
    let lock = begin(&fixture.place, &away).unwrap();
    let (before, after) = (Some(Cow::Owned(files("new a"))), Some(Cow::Owned(files("two"))));
    let skill = SkillStep { directory: fixture.skill("a"), before, after, others: Cow::Borrowed(&[]) };
    let steps = ChangeSteps { command: "rep update", skills: vec![skill], ..ChangeSteps::default() };
    let failed = apply(&lock, &fixture.place, &away, &steps).unwrap_err();
    drop(lock);
    assert_eq!(failed.error.kind(), ErrorKind::Store);
    assert_eq!((fixture.state("a"), fixture.recover()), ((text("new a"), text("new")), None));
}

#[test]
fn bundles_that_a_journal_names_are_known() {
    let fixture = fixture();
    two_skills(&fixture);
    let journals = fixture.place.journal.parent().unwrap();
    let named = named_bundles(journals).unwrap();
    let digests = ["old a", "new a", "old b", "new b"].map(|text| bundle(&files(text)).digest());
    assert_eq!(named, digests.into_iter().collect());
    // A journal of another version may name anything.
    fs::write(journals.join("newer.json"), "{}").unwrap();
    assert_eq!(named_bundles(journals), None);
}

#[test]
fn the_undo_of_an_added_skill_deletes_nothing_that_others_made() {
    // Another installer made the same skill meanwhile.
    let fixture = fixture();
    fixture.put("b", "new");
    fs::write(fixture.skill("b").join(".env"), "secret").unwrap();
    let changes = [("a", None, Some("new"), &[][..]), ("b", None, Some("new"), &[])];
    assert_eq!(fixture.apply(&changes, Vec::new()).unwrap_err().error.kind(), ErrorKind::AlreadyThere);
    assert_eq!((fixture.state("a").0, fixture.state("b").0), (None, text("new")));
    assert!(fixture.skill("b").join(".env").is_file());
    // A file was put into the skill before the undo.
    fixture.put("a", "new");
    fs::write(fixture.skill("a").join(".env"), "secret").unwrap();
    let after = Some(put_skill(&*fixture.memory, &files("new")).unwrap());
    let skill = JournalSkill { directory: fixture.skill("a"), before: None, after, others: Vec::new() };
    let command = "rep add".to_owned();
    let journal = Journal { command, skills: vec![skill], is_undo: true, ..Journal::default() };
    journal.write(&fixture.place).unwrap();
    assert_eq!(fixture.recover(), ended(RecoveryEnd::Undone));
    assert!(fixture.skill("a").join(".env").is_file());
}

#[cfg(unix)]
#[test]
fn a_removal_that_is_undone_restores_hidden_files_and_links() {
    let fixture = fixture();
    fixture.put("a", "one");
    fs::write(fixture.skill("a/.env"), "secret").unwrap();
    fixture.put("b", "mine");
    let link = fixture.place.base.join("link");
    std::os::unix::fs::symlink("skills/a", &link).unwrap();
    // The second skill is not as it is expected.
    let removals = [("a", Some("one"), None, &[".env"][..]), ("b", Some("other"), None, &[])];
    let steps = vec![PathStep::remove_link(&link, "skills/a")];
    let error = fixture.apply(&removals, steps.clone()).unwrap_err().error;
    assert_eq!(error.kind(), ErrorKind::FileChanged);
    let hidden = crate::regular_file::read(&fixture.skill("a/.env"), 100).unwrap();
    assert_eq!(hidden, b"secret");
    assert_eq!(fs::read_dir(&fixture.place.skills).unwrap().count(), 2);
    assert!(link.is_symlink());
    // Both are gone when the change fails.
    let before = Some(put_skill(&*fixture.memory, &files("one")).unwrap());
    let (directory, others) = (fixture.skill("a"), vec![".env".to_owned()]);
    let skills = vec![JournalSkill { directory, before, after: None, others }];
    let mut journal = Journal { skills, steps, is_undo: true, ..Journal::default() };
    let found = read_installed(&fixture.skill("a")).unwrap();
    set(&fixture.skill("a"), found.as_ref(), None).unwrap();
    journal.steps[0].take().unwrap();
    assert!(!link.is_symlink() && fixture.state("a").0.is_none());
    undo(&fixture.place, &fixture.store, &mut journal).unwrap();
    assert!(link.is_symlink() && fixture.skill("a/.env").is_file());
}

#[test]
fn files_that_are_made_while_a_skill_is_removed_are_kept() {
    let fixture = fixture();
    fixture.put("a", "one");
    let removal = [("a", Some("one"), None, &[][..])];
    for made in ["notes.md", ".hidden"] {
        let path = fixture.skill("a").join(made);
        fs::write(&path, "mine").unwrap();
        let error = fixture.apply(&removal, Vec::new()).unwrap_err().error;
        assert!(error.to_string().contains("was changed meanwhile"), "{error}");
        assert!(path.is_file(), "{made}");
        fs::remove_file(&path).unwrap();
    }
    fixture.apply(&removal, Vec::new()).unwrap();
    assert_eq!(fs::read_dir(&fixture.place.skills).unwrap().count(), 0);
}

#[test]
fn a_removal_whose_directory_cannot_be_kept_is_undone() {
    let fixture = fixture();
    let mut skills = Vec::new();
    for name in ["a", "b"] {
        fixture.put(name, "one");
        fs::write(fixture.skill(name).join(".env"), "mine").unwrap();
        let before = Some(put_skill(&*fixture.memory, &files("one")).unwrap());
        let (directory, others) = (fixture.skill(name), vec![".env".to_owned()]);
        skills.push(JournalSkill { directory, before, after: None, others });
    }
    let before = tree(&fixture.place.base);
    let (command, time) = ("rep add".to_owned(), milliseconds(clock::now()));
    let journal = Journal { command, time, skills, ..Journal::default() };
    journal.write(&fixture.place).unwrap();
    // The first can be moved there, and the second cannot.
    let kept = fixture.place.file(&format!("{time}.kept"));
    fs::create_dir_all(&kept).unwrap();
    fs::write(kept.join("1"), "in the way").unwrap();
    assert_eq!(fixture.recover(), ended(RecoveryEnd::Undone));
    assert_eq!(tree(&fixture.place.base), before);
    fs::remove_file(kept.join("1")).unwrap();
    journal.write(&fixture.place).unwrap();
    assert_eq!(fixture.recover(), ended(RecoveryEnd::Completed));
    assert!(kept.join("0/.env").is_file() && kept.join("1/.env").is_file());
}

#[test]
fn a_change_that_cannot_be_recorded_says_so() {
    let fixture = fixture();
    let record = fixture.place.journal.parent().unwrap().with_file_name("changes.json");
    fs::create_dir_all(&record).unwrap();
    let change = [("a", None, Some("new"), &[][..])];
    let error = fixture.apply(&change, Vec::new()).unwrap().unwrap();
    assert_eq!((error.path(), fixture.state("a").0), (Some(&*record), text("new")));
}

/// Returns steps of every kind, which move a directory and leave a link in its place.
#[cfg(unix)]
fn steps_of_every_kind(fixture: &Fixture) -> Vec<PathStep> {
    let base = &fixture.place.base;
    fs::create_dir_all(base.join("one/x")).unwrap();
    fs::write(base.join("one/x/file"), "x").unwrap();
    fs::write(base.join("settings"), "mine").unwrap();
    let file = |path: &str, before: Option<&str>, after: Option<&str>| FileStep {
        path: base.join(path),
        before: before.and_then(text),
        after: after.and_then(text),
    };
    vec![
        PathStep::Move { from: base.join("one/x"), to: base.join("two/x") },
        PathStep::make_link(base.join("one/x"), "../two/x"),
        PathStep::UserFile(file("settings", Some("mine"), Some("mine, and ours"))),
        PathStep::UserFile(file("made/settings", None, Some("ours"))),
        PathStep::Record(file("record", None, Some("{}"))),
    ]
}

/// Returns every file and link below `directory`.
fn tree(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for path in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        if let Ok(to) = fs::read_link(&path) {
            found.push((path, to.into_os_string().into_encoded_bytes()));
        } else if path.is_dir() {
            found.extend(tree(&path));
        } else {
            let bytes = crate::regular_file::read(&path, 1000).unwrap();
            found.push((path, bytes));
        }
    }
    found.sort();
    found
}

#[cfg(unix)]
#[test]
fn steps_are_completed_wherever_they_stopped_and_taken_back_if_one_fails() {
    let model = fixture();
    let number = steps_of_every_kind(&model).len();
    for taken in 0..=number {
        let fixture = fixture();
        let steps = steps_of_every_kind(&fixture);
        let before = tree(&fixture.place.base);
        let mut failing = steps.clone();
        failing.insert(taken, PathStep::Move { from: fixture.skill("none"), to: fixture.skill("other") });
        assert!(fixture.apply(&[], failing).unwrap_err().undo.is_none());
        assert_eq!(tree(&fixture.place.base), before, "{taken}");

        let command = "rep add".to_owned();
        let journal = Journal { command, steps: steps.clone(), ..Journal::default() };
        journal.write(&fixture.place).unwrap();
        steps[..taken].iter().try_for_each(PathStep::take).unwrap();
        assert_eq!(fixture.recover(), ended(RecoveryEnd::Completed));
        let read = |path: &str| crate::regular_file::read(&fixture.place.base.join(path), 100).unwrap();
        assert_eq!((read("one/x/file"), read("settings")), (b"x".to_vec(), b"mine, and ours".to_vec()));
        assert_eq!((read("made/settings"), read("record")), (b"ours".to_vec(), b"{}".to_vec()));
        assert!(fixture.place.base.join("one/x").is_symlink());
    }
}

#[cfg(unix)]
#[test]
fn a_recorded_change_can_be_taken_back() {
    use std::os::unix::fs::PermissionsExt as _;

    let fixture = fixture();
    fixture.put("a", "one");
    fixture.put("b", "one");
    fs::write(fixture.skill("b").join(".env"), "mine").unwrap();
    let steps = steps_of_every_kind(&fixture);
    let before = tree(&fixture.place.base);
    let skills: [SkillTexts<'_>; 3] = [
        ("a", Some("one"), Some("two"), &[]),
        ("b", Some("one"), None, &[".env"]),
        ("c", None, Some("new"), &[]),
    ];
    fixture.apply(&skills, steps).unwrap();
    assert_ne!(tree(&fixture.place.base), before);
    let journals = fixture.place.journal.parent().unwrap();
    let record = journals.with_file_name("changes.json");
    for path in [journals, &record] {
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o077, 0, "{}", path.display());
    }
    assert!(!fixture.place.file(ENDING).try_exists().unwrap());
    assert_eq!(recorded_bundles(journals).unwrap().len(), 3);
    // What it needs is never collected.
    let tomorrow = std::time::SystemTime::now() + std::time::Duration::from_secs(24 * 60 * 60);
    fixture.memory.collect_garbage(&recorded_bundles(journals).unwrap(), tomorrow).unwrap();
    let done = done_changes(&fixture.place).unwrap();
    let back = take_back(&fixture.place, &fixture.store, &done[0]).unwrap();
    assert_eq!(back.changed, []);
    let lock = begin(&fixture.place, &fixture.store).unwrap();
    apply(&lock, &fixture.place, &fixture.store, &back.change).unwrap();
    assert_eq!(tree(&fixture.place.base), before);
    assert!(done[0].is_back());
    assert_eq!(done_changes(&fixture.place).unwrap()[0].undoes, Some(done[0].time));
}
