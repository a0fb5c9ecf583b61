//! Tests of newest states and merges.

use std::sync::Arc;

use crate::memory_store::MemoryStore;
use repertoire::store::Store;
use repertoire_model::SkillName;
use repertoire_model::patch::bundle;
use repertoire_model::repair::has_conflict_markers;

use super::*;
use crate::git::tests::repository::{TestRepository, skill};

fn files(list: &[(&str, &str)]) -> SkillFiles {
    list.iter().map(|(path, text)| (SkillPath::new(path).unwrap(), FileData::new(*text))).collect()
}

#[test]
fn edits_are_kept_and_conflicts_are_marked_in_a_copy() {
    let base = files(&[("SKILL.md", "a\nb\nc\n"), ("x.md", "x\n"), ("gone.md", "g\n")]);
    let ours = files(&[("SKILL.md", "A\nb\nc\n"), ("x.md", "x\n"), ("gone.md", "g\n"), ("own.md", "o\n")]);
    let theirs = files(&[("SKILL.md", "a\nb\nC\n"), ("x.md", "y\n")]);
    let MergeOutcome::Clean(merged) = merge_edits(&base, &ours, &theirs) else { panic!() };
    assert_eq!(merged, files(&[("SKILL.md", "A\nb\nC\n"), ("x.md", "y\n"), ("own.md", "o\n")]));
    let theirs = files(&[("SKILL.md", "Z\nb\nc\n"), ("x.md", "y\n"), ("gone.md", "g\n")]);
    let MergeOutcome::Conflicts { copy, conflicts } = merge_edits(&base, &ours, &theirs) else { panic!() };
    let path = SkillPath::new("SKILL.md").unwrap();
    let conflict = |content| ConflictingFile { path: path.clone(), content };
    assert_eq!(conflicts, [conflict(ConflictContent::Both)]);
    let text = copy[&path].text().unwrap();
    assert!(has_conflict_markers(text) && text.contains("A\n") && text.contains("Z\n"), "{text}");
    assert_eq!(copy[&SkillPath::new("x.md").unwrap()].text(), Some("y\n"));
    // A file that one side removed and the other changed.
    let theirs = files(&[("x.md", "x\n"), ("gone.md", "g\n")]);
    let MergeOutcome::Conflicts { copy, conflicts } = merge_edits(&base, &ours, &theirs) else { panic!() };
    assert_eq!(conflicts, [conflict(ConflictContent::Local)]);
    assert_eq!(copy[&path].text(), Some("A\nb\nc\n"));
    let MergeOutcome::Conflicts { copy, conflicts } = merge_edits(&base, &theirs, &ours) else { panic!() };
    assert_eq!(conflicts, [conflict(ConflictContent::Source)]);
    assert_eq!(copy[&path].text(), Some("A\nb\nc\n"));
}

/// A repository with the skills `csv` and `pdf`, and the lock of a project that has them.
struct Added {
    repository: TestRepository,
    lock: Lock,
    store: LazyStore,
    scratch: tempfile::TempDir,
}

impl Added {
    fn new() -> Self {
        let (csv, pdf) = (skill("csv", "CSV.\n"), skill("pdf", &"A line of the skill.\n".repeat(9)));
        let files = [("skills/csv/SKILL.md", csv.as_str()), ("skills/pdf/SKILL.md", &pdf)];
        let store = LazyStore::from(Arc::new(MemoryStore::new()) as Arc<dyn Store>);
        let scratch = tempfile::tempdir().unwrap();
        let mut added =
            Self { repository: TestRepository::with(&files), lock: Lock::default(), store, scratch };
        let tree = fetch(&added.repository.newest(), &added.options()).unwrap();
        for found in find_skills(&tree, &Policy::default()) {
            added.lock.insert(LockedSkill {
                name: found.name,
                source: tree.source.to_locked(Path::new("/")),
                reference: None,
                resolved: tree.resolved_of(&found.path),
                path: found.path,
                digest: found.digest,
                files: LockedSkill::digests(&found.files),
            });
        }
        added
    }

    fn options(&self) -> FetchOptions {
        FetchOptions::new(self.scratch.path())
    }

    fn locked(&self, name: &str) -> LockedSkill {
        self.lock.get(name).unwrap().clone()
    }

    fn checks(&self) -> Vec<UpdateCheck> {
        let skills: Vec<&LockedSkill> = self.lock.skills().collect();
        let (base, policy) = (Path::new("/"), Policy::default());
        check_updates(&self.lock, &skills, &self.store, base, None, &self.options(), &policy)
    }

    /// Returns the newest states of `csv` and `pdf` in words.
    fn states(&self) -> Vec<String> {
        let state = |check: UpdateCheck| match check.newest {
            Newest::Current => "current".to_owned(),
            Newest::Changed(newest) => format!("changed in {}", newest.locked.path),
            Newest::Renamed(newest) => format!("renamed to {}", newest.skill.name),
            Newest::Gone => "gone".to_owned(),
            Newest::Broken(_) => "broken".to_owned(),
            Newest::Unreachable(error) => format!("{:?}", error.kind()),
        };
        self.checks().into_iter().map(state).collect()
    }
}

#[test]
fn newest_states_follow_the_source() {
    let added = Added::new();
    assert_eq!(added.states(), ["current", "current"]);
    // A commit that is about something else.
    added.repository.commit(&[("README.md", "x")]);
    assert_eq!(added.states(), ["current", "current"]);
    added.repository.commit(&[("skills/pdf/SKILL.md", &skill("pdf", "Changed.\n"))]);
    assert_eq!(added.states(), ["current", "changed in skills/pdf"]);
    // It is followed to another directory.
    added.repository.git(&["mv", "skills/pdf", "documents"]);
    let commit = added.repository.commit(&[]);
    assert_eq!(added.states(), ["current", "changed in documents"]);
    let Newest::Changed(newest) = added.checks().remove(1).newest else { panic!() };
    assert_eq!(newest.locked.resolved, Some(commit));
    assert_eq!(newest.locked.digest, newest.skill.digest);
    added.repository.commit(&[("documents/SKILL.md", "---\nname: pdf\n---\n")]);
    added.repository.git(&["rm", "-q", "-r", "skills/csv"]);
    added.repository.commit(&[]);
    assert_eq!(added.states(), ["gone", "broken"]);
    std::fs::remove_dir_all(added.repository.path().join(".git")).unwrap();
    assert_eq!(added.states(), ["NotFound", "NotFound"]);
}

#[test]
fn renamed_skills_are_found_by_their_directory_or_their_text() {
    let added = Added::new();
    added.repository.commit(&[("skills/csv/SKILL.md", &skill("tables", "Another text.\n"))]);
    assert_eq!(added.states(), ["renamed to tables", "current"]);
    added.repository.git(&["rm", "-q", "-r", "skills/pdf"]);
    let text = skill("documents", &"A line of the skill.\n".repeat(8));
    added.repository.commit(&[("skills/documents/SKILL.md", &text)]);
    assert_eq!(added.states(), ["renamed to tables", "gone"], "its text is not known");
    locked_files(&added.locked("pdf"), Path::new("/"), None, &added.store, &added.options())
        .unwrap()
        .unwrap();
    assert_eq!(added.states(), ["renamed to tables", "renamed to documents"]);
}

#[test]
fn locked_files_come_from_the_store_or_from_the_commit_of_then() {
    let added = Added::new();
    added.repository.commit(&[("skills/pdf/SKILL.md", &skill("pdf", "Changed.\n"))]);
    let pdf = added.locked("pdf");
    let found =
        |locked: &LockedSkill| locked_files(locked, Path::new("/"), None, &added.store, &added.options());
    let files = found(&pdf).unwrap().unwrap();
    assert_eq!(bundle(&files).digest(), pdf.digest);
    std::fs::remove_dir_all(added.repository.path().join(".git")).unwrap();
    assert_eq!(found(&pdf).unwrap(), Some(files));
    assert_eq!(found(&added.locked("csv")).unwrap_err().kind(), crate::ErrorKind::NotFound);
    let away = LazyStore::new(|| Err(repertoire::Error::new(repertoire::ErrorKind::Store)));
    assert!(locked_files(&pdf, Path::new("/"), None, &away, &added.options()).is_err());
}

#[test]
fn a_directory_that_a_lock_names_is_not_searched() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("a/b/pdf");
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join("SKILL.md"), skill("pdf", "Read it.\n")).unwrap();
    let files = files(&[("SKILL.md", &skill("pdf", "Read it.\n"))]);
    let store = LazyStore::from(Arc::new(MemoryStore::new()) as Arc<dyn Store>);
    let find = |path: &str, digest| {
        let locked = LockedSkill {
            name: SkillName::new("pdf").unwrap(),
            source: directory.path().display().to_string(),
            reference: None,
            path: path.to_owned(),
            resolved: None,
            digest,
            files: BTreeMap::new(),
        };
        locked_files(&locked, Path::new("/"), None, &store, &FetchOptions::new("scratch")).unwrap()
    };
    assert_eq!(find(".", bundle(&files).digest()), None);
    assert_eq!(find("a/b/pdf", bundle(&SkillFiles::new()).digest()), None);
    assert_eq!(find("a/b/pdf", bundle(&files).digest()), Some(files));
}

#[test]
fn the_source_of_a_locked_skill_has_its_reference() {
    let check = |source: &str, reference: Option<&str>, expect: Result<&str, &str>| {
        let locked = LockedSkill {
            source: source.to_owned(),
            reference: reference.map(str::to_owned),
            name: SkillName::new("a").unwrap(),
            path: ".".to_owned(),
            resolved: None,
            digest: bundle(&SkillFiles::new()).digest(),
            files: BTreeMap::new(),
        };
        let found = source_of(&locked, Path::new("/project"), Some(Path::new("/home/me")));
        let found = found
            .map(|source| format!("{source} {}", source.reference().unwrap_or("-")))
            .map_err(|error| error.to_string());
        match (found, expect) {
            (Ok(found), Ok(expect)) => assert_eq!(found, expect),
            (Err(found), Err(reason)) => assert!(found.contains(reason), "{found}"),
            (found, expect) => panic!("{found:?} is not {expect:?}"),
        }
    };
    check("https://github.com/o/r", None, Ok("https://github.com/o/r -"));
    check("https://github.com/o/r", Some("v1"), Ok("https://github.com/o/r v1"));
    check("../other", None, Ok("/other -"));
    check("npm:pkg", Some("1.0"), Ok("npm:pkg 1.0"));
    check("../other", Some("v1"), Err("only repositories and packages"));
    check("ftp://h/x", None, Err("not a source of skills"));
}

#[test]
fn edits_merge_file_by_file() {
    let check = |base: &[(&str, &str)],
                 ours: &[(&str, &str)],
                 theirs: &[(&str, &str)],
                 expect: Option<&[(&str, &str)]>| {
        match (merge_edits(&files(base), &files(ours), &files(theirs)), expect) {
            (MergeOutcome::Clean(merged), Some(expect)) => assert_eq!(merged, files(expect)),
            (MergeOutcome::Conflicts { .. }, None) => {}
            (outcome, expect) => panic!("{outcome:?} is not {expect:?}"),
        }
    };
    let one = [("SKILL.md", "one\n")];
    let two = [("SKILL.md", "two\n")];
    check(&one, &one, &two, Some(&two));
    check(&one, &two, &one, Some(&two));
    check(&one, &two, &two, Some(&two));
    check(&one, &two, &[("SKILL.md", "three\n")], None);
    // Without the files as they were every edit is a conflict.
    check(&[], &one, &two, None);
    check(
        &one,
        &[("SKILL.md", "one\n"), ("a", "1")],
        &[("SKILL.md", "one\n"), ("b", "2")],
        Some(&[("SKILL.md", "one\n"), ("a", "1"), ("b", "2")]),
    );
    check(&one, &[], &one, Some(&[]));
    check(&one, &[], &two, None);
}

#[test]
fn the_tools_that_a_skill_asks_for_are_read_from_its_files() {
    let check = |list: &[(&str, &str)], expect: &[&str]| assert_eq!(allowed_tools(&files(list)), expect);
    check(&[], &[]);
    check(&[("SKILL.md", "no frontmatter")], &[]);
    check(&[("skill.md", "---\nname: a\nallowed-tools: Read Bash(git:*)\n---\n")], &["Read", "Bash(git:*)"]);
    let none = capabilities(&files(&[("SKILL.md", "x")]));
    assert_eq!(none, Capabilities::of(&Toolbox::default()));
}
