//! Tests of fetching with git, from repositories on this machine.

pub(crate) mod repository;

use self::repository::TestRepository;
use super::*;

/// Returns the commit of `source`, what was left out, and the files that were fetched, each with its text.
fn fetched(source: &GitSource) -> Result<(GitTree, BTreeMap<String, String>), Error> {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().join("tree");
    let tree = fetch(source, scratch.path(), &root, GitPrompt::Never)?;
    let (mut files, mut pending) = (BTreeMap::new(), vec![root.clone()]);
    while let Some(path) = pending.pop() {
        for child in fs::read_dir(path).unwrap().map(|child| child.unwrap().path()) {
            if child.is_dir() {
                pending.push(child);
            } else {
                let path = child.strip_prefix(&root).unwrap().display().to_string();
                let bytes = repertoire::regular_file::read(&child, MAX_FILE).unwrap();
                files.insert(path, String::from_utf8(bytes).unwrap());
            }
        }
    }
    Ok((tree, files))
}

#[test]
fn references_are_names_and_nothing_else() {
    for name in ["main", "v1.0", "feature/x", "0123456789abcdef0123456789abcdef01234567", "refs/tags/v1"] {
        assert!(is_reference(name), "{name}");
    }
    for other in ["", "--upload-pack=x", "-x", "+main", "a:b", "a b", "a..b", "HEAD^", "a\nb", "*"] {
        assert!(!is_reference(other), "{other}");
    }
}

#[test]
fn branches_tags_and_commits_are_fetched() {
    let repository = TestRepository::with(&[("SKILL.md", "one")]);
    let one = repository.git(&["rev-parse", "HEAD"]);
    repository.git(&["tag", "light"]);
    repository.git(&["tag", "-m", "with a message", "annotated"]);
    repository.git(&["branch", "old"]);
    let two = repository.commit(&[("SKILL.md", "two")]);
    let check = |reference: Option<&str>, commit: &str, text: &str| {
        let (tree, files) = fetched(&repository.source(reference, None)).unwrap();
        assert_eq!((tree.commit.as_str(), files["SKILL.md"].as_str()), (commit, text), "{reference:?}");
        assert_eq!(tree.reference.as_deref(), reference);
    };
    check(None, &two, "two");
    check(Some("main"), &two, "two");
    for reference in ["old", "light", "annotated", "refs/tags/light", &one] {
        check(Some(reference), &one, "one");
    }
}

#[test]
fn references_that_are_not_there_or_not_allowed_are_refused() {
    let repository = TestRepository::with(&[("SKILL.md", "one")]);
    let check = |reference: &str, kind: ErrorKind, reason: &str| {
        let error = fetched(&repository.source(Some(reference), None)).unwrap_err();
        assert_eq!(error.kind(), kind, "{reference}: {error}");
        assert!(error.to_string().contains(reason), "{error}");
    };
    check("next", ErrorKind::NotFound, "no such branch, tag or commit");
    check(&"1".repeat(40), ErrorKind::NotFound, "no such branch, tag or commit");
    check("--upload-pack=touch /tmp/x", ErrorKind::InvalidSource, "not a name of a branch");
    check("main:main", ErrorKind::InvalidSource, "not a name of a branch");
}

#[test]
fn only_files_of_skills_are_written() {
    let repository = TestRepository::with(&[
        ("README.md", "no skill"),
        ("src/main.rs", "no skill"),
        (MARKETPLACE_FILE, "{}"),
        ("skills/a/SKILL.md", "a"),
        ("skills/a/scripts/run.sh", "true\r\n"),
        ("skills/b/skill.md", "b"),
        ("skills/notes.md", "no skill"),
    ]);
    let (tree, files) = fetched(&repository.source(None, None)).unwrap();
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [MARKETPLACE_FILE, "skills/a/SKILL.md", "skills/a/scripts/run.sh", "skills/b/skill.md"]
    );
    assert_eq!(files["skills/a/scripts/run.sh"], "true\r\n");
    assert!(tree.left_out.is_empty() && tree.path.is_none());
    // All files belong to a skill at the top.
    repository.commit(&[("SKILL.md", "top")]);
    assert_eq!(fetched(&repository.source(None, None)).unwrap().1.len(), 8);
}

#[test]
fn a_directory_is_fetched_alone() {
    let repository = TestRepository::with(&[("skills/a/SKILL.md", "a"), ("skills/b/SKILL.md", "b")]);
    let check = |path: &str, expect: &[&str]| {
        let (tree, files) = fetched(&repository.source(None, Some(path))).unwrap();
        assert_eq!(files.keys().collect::<Vec<_>>(), expect, "{path}");
        assert_eq!(tree.path.as_deref(), Some(path));
    };
    check("skills", &["skills/a/SKILL.md", "skills/b/SKILL.md"]);
    check("skills/b", &["skills/b/SKILL.md"]);
    // A path is a name and no pattern.
    for path in ["skills/c", "skills/*", ":(glob)**"] {
        let error = fetched(&repository.source(None, Some(path))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{path}: {error}");
        assert!(error.to_string().ends_with(&format!("has no skills below {path}")), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn executable_files_stay_so_and_links_and_submodules_are_left_out() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let repository = TestRepository::with(&[("SKILL.md", "a"), ("run.sh", "true")]);
    symlink("/etc/passwd", repository.path().join("link")).unwrap();
    fs::set_permissions(repository.path().join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let commit = repository.git(&["rev-parse", "HEAD"]);
    repository.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{commit},module")]);
    repository.git(&["add", "link", "run.sh"]);
    repository.git(&["commit", "-q", "-m", "links"]);
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().join("tree");
    let tree = fetch(&repository.source(None, None), scratch.path(), &root, GitPrompt::Never).unwrap();
    assert_eq!(tree.left_out, ["`link` is a symbolic link", "`module` is a submodule"]);
    let mode = |name: &str| root.join(name).metadata().unwrap().permissions().mode() & 0o100;
    assert_eq!((mode("run.sh"), mode("SKILL.md")), (0o100, 0));
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_cannot_be_written_are_left_out_and_large_files_are_refused() {
    let repository = TestRepository::with(&[("SKILL.md", "a"), ("Skill.md", "b"), ("CON", "c")]);
    let (tree, files) = fetched(&repository.source(None, None)).unwrap();
    assert_eq!((files.len(), tree.left_out.len()), (1, 2), "{:?}", tree.left_out);
    let large = "x".repeat(usize::try_from(MAX_FILE).unwrap() + 1);
    repository.commit(&[("large.txt", &large)]);
    let error = fetched(&repository.source(None, None)).unwrap_err();
    assert!(error.kind() == ErrorKind::Refused && error.to_string().contains("large.txt"), "{error}");
}

#[test]
fn nothing_that_a_repository_configures_is_run() {
    let repository = TestRepository::with(&[
        ("SKILL.md", "a"),
        (".gitattributes", "* filter=evil diff=evil\n"),
        (".lfsconfig", "[lfs]\nurl = https://a.example\n"),
    ]);
    let marker = repository.path().join("ran");
    for key in ["filter.evil.smudge", "diff.evil.textconv", "uploadpack.packObjectsHook"] {
        repository.git(&["config", key, &format!("touch {}", marker.display())]);
    }
    assert_eq!(fetched(&repository.source(None, None)).unwrap().1["SKILL.md"], "a");
    assert!(!marker.is_file());
}

#[test]
fn a_page_is_divided_into_the_longest_branch_and_a_directory() {
    let repository = TestRepository::with(&[("skills/a/SKILL.md", "a")]);
    repository.git(&["branch", "feature/x"]);
    repository.git(&["branch", "feature/y"]);
    repository.git(&["tag", "v1"]);
    let git = Git { directory: PathBuf::new(), url: repository.url(), prompt: GitPrompt::Never };
    let check = |tree: &str, reference: &str, path: Option<&str>| {
        let expect = (Some(reference.to_owned()), path.map(str::to_owned));
        assert_eq!(git.split(tree).unwrap(), expect, "{tree}");
    };
    check("main", "main", None);
    check("main/skills/a", "main", Some("skills/a"));
    check("feature/x", "feature/x", None);
    check("feature/x/skills", "feature/x", Some("skills"));
    check("v1/skills", "v1", Some("skills"));
    // A commit, or a branch that is gone.
    check("0123456/skills/a", "0123456", Some("skills/a"));
    let source = GitSource { tree: Some("feature/y/skills/a".to_owned()), ..repository.source(None, None) };
    let (tree, files) = fetched(&source).unwrap();
    assert_eq!((tree.reference.as_deref(), tree.path.as_deref()), (Some("feature/y"), Some("skills/a")));
    assert_eq!(files.len(), 1);
}

#[test]
fn the_newest_commit_is_known_without_fetching_it() {
    let repository = TestRepository::with(&[("SKILL.md", "one")]);
    let one = repository.git(&["rev-parse", "HEAD"]);
    repository.git(&["tag", "-m", "with a message", "annotated"]);
    repository.git(&["branch", "old"]);
    let two = repository.commit(&[("SKILL.md", "two")]);
    let scratch = tempfile::tempdir().unwrap();
    let check = |reference: Option<&str>, expect: Option<&String>| {
        let found = newest_commit(&repository.url(), reference, scratch.path(), GitPrompt::Never).unwrap();
        assert_eq!(found.as_ref(), expect, "{reference:?}");
    };
    check(None, Some(&two));
    check(Some("main"), Some(&two));
    check(Some("old"), Some(&one));
    check(Some("annotated"), Some(&one));
    check(Some("refs/heads/old"), Some(&one));
    check(Some("gone"), None);
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
    let gone = newest_commit("file:///no/such/repository", None, scratch.path(), GitPrompt::Never);
    assert_eq!(gone.unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn messages_of_git_become_kinds_of_errors() {
    let git = Git { directory: PathBuf::new(), url: "https://h/r".to_owned(), prompt: GitPrompt::Never };
    let check = |message: &str, kind: ErrorKind, hint: Option<&str>| {
        let error = git.failure(message);
        assert_eq!(error.kind(), kind, "{message}");
        assert_eq!(error.hints().first().map(String::as_str), hint, "{message}");
    };
    let full = "0123456789abcdef0123456789abcdef01234567";
    check(
        "fatal: couldn't find remote ref abc",
        ErrorKind::NotFound,
        Some("a commit has to be written in full"),
    );
    check(&format!("fatal: remote error: upload-pack: not our ref {full}"), ErrorKind::NotFound, None);
    let private = "if it is private, check that `git ls-remote` can read it";
    check("remote: Repository not found.", ErrorKind::NotFound, Some(private));
    check("fatal: '/x' does not appear to be a git repository", ErrorKind::NotFound, Some(private));
    let right = "check that `git ls-remote` can read it";
    check("fatal: could not read Username for 'https://h'", ErrorKind::NotFound, Some(right));
    check("git@h: Permission denied (publickey).", ErrorKind::NotFound, Some(right));
    check("fatal: unable to access 'https://h/': Could not resolve host", ErrorKind::Git, None);
    check("", ErrorKind::Git, None);
}

#[test]
fn the_telling_line_of_a_message_is_found() {
    for (message, expect) in [
        ("", "git gives no reason"),
        ("\n  \n", "git gives no reason"),
        ("warning: x\nfatal: y\nerror: z\n", "fatal: y"),
        ("Cloning…\nlast words\n\n", "last words"),
        ("fatal: \u{1b}[31mred\u{7}", "fatal: [31mred"),
    ] {
        assert_eq!(telling_line(message), expect, "{message:?}");
    }
    assert_eq!(telling_line(&"x".repeat(1000)).len(), 300);
}
