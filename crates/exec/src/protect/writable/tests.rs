//! Tests of writable grants.

use super::*;
use crate::GitUser;
use std::os::unix::fs::symlink;

fn never<'a>(own: &'a [PathBuf], git: &'a GitUser) -> ExcludedPaths<'a> {
    ExcludedPaths { own, git }
}

fn nobody() -> GitUser {
    GitUser { home: None, settings: Vec::new(), given: Vec::new() }
}

pub(crate) fn granted(path: &Path, root: &Path) -> Result<WritableGrant, ExecError> {
    writable(path, root, never(&[], &nobody()))
}

pub(crate) fn project() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    for file in [
        "src/a.rs",
        "src/deep/b.rs",
        "docs/AGENTS.md",
        "docs/x.md",
        ".git/hooks/x",
        ".git/config",
        ".git/index",
        "skills/s/SKILL.md",
        "skills/s/run.sh",
    ] {
        fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
        fs::write(root.join(file), "x").unwrap();
    }
    (directory, root)
}

#[track_caller]
fn check_refused(root: &Path, path: &str) {
    let error = granted(&root.join(path), root).unwrap_err();
    assert_eq!(error.kind(), ExecErrorKind::GrantRefused, "{path}");
}

#[test]
fn protected_paths_are_never_granted() {
    let (_directory, root) = project();
    for path in ["docs/AGENTS.md", ".git/hooks", ".git/config", "skills/s", "skills/s/run.sh", "/", "/etc"] {
        check_refused(&root, path);
    }
    symlink("/etc", root.join("out")).unwrap();
    check_refused(&root, "out");
    symlink(root.join(".git/hooks"), root.join("innocent")).unwrap();
    check_refused(&root, "innocent");
}

#[test]
fn protected_files_are_excepted_from_a_granted_directory() {
    let (_directory, root) = project();
    let all = granted(&root, &root).unwrap();
    let names: Vec<_> =
        all.protected.keys().map(|path| path.strip_prefix(&root).unwrap().to_owned()).collect();
    let expect = [".git", "docs/AGENTS.md", "skills/s"].map(PathBuf::from);
    assert_eq!(names, expect);
    let (whole, mut files) = all.parts();
    files.sort();
    let paths = |parts: Vec<VerifiedPath>| parts.into_iter().map(|part| part.path).collect::<Vec<_>>();
    assert_eq!(paths(whole), [root.join("src")]);
    assert_eq!(paths(files), [root.join("docs/x.md")]);
}

#[test]
fn protected_parents_of_a_granted_directory_count() {
    let (_directory, root) = project();
    fs::create_dir_all(root.join(".claude/commands")).unwrap();
    fs::create_dir_all(root.join("skills/s/scripts")).unwrap();
    fs::create_dir_all(root.join("state/copies")).unwrap();
    let own = [root.join("state")];
    for path in
        [".claude", ".claude/commands", ".git", ".git/hooks", "skills/s/scripts", "state", "state/copies"]
    {
        let path = root.join(path);
        let error = writable(&path, &path, never(&own, &nobody())).unwrap_err();
        assert_eq!(error.kind(), ExecErrorKind::GrantRefused, "{path:?}");
    }
    let all = writable(&root, &root, never(&own, &nobody())).unwrap();
    assert!(all.protected.contains_key(&root.join("state")));
    assert!(!all.protected.contains_key(&root.join("src")));
}

#[test]
fn targets_of_protected_links_and_settings_are_protected() {
    let (_directory, root) = project();
    symlink("docs/x.md", root.join("CLAUDE.md")).unwrap();
    symlink("nowhere", root.join("GEMINI.md")).unwrap();
    fs::create_dir_all(root.join("tools/hooks")).unwrap();
    fs::write(root.join("tools/more.ini"), "").unwrap();
    let config = "[core]\n\tHooksPath = \"tools/hooks\"\n[include]\n\tpath = ../tools/more.ini\n";
    fs::write(root.join(".git/config"), config).unwrap();
    let all = granted(&root, &root).unwrap();
    for path in ["docs/x.md", "CLAUDE.md", "GEMINI.md", "tools/hooks", "tools/more.ini"] {
        assert!(all.protected.contains_key(&root.join(path)), "{path}");
    }
    for path in ["tools/hooks", "tools/more.ini"] {
        check_refused(&root, path);
    }
    assert!(granted(&root.join("tools"), &root).unwrap().protected.contains_key(&root.join("tools/hooks")));
}

#[test]
fn a_git_directory_of_any_name_is_protected() {
    let (_directory, root) = project();
    for file in
        ["bare/HEAD", "bare/objects/x", "bare/refs/x", "bare/hooks/x", "bare/config", "bare/description"]
    {
        fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
        fs::write(root.join(file), "x").unwrap();
    }
    check_refused(&root, "bare");
    let all = granted(&root, &root).unwrap();
    assert!(all.protected.contains_key(&root.join("bare")));
    check_refused(&root, "bare/objects");
}

#[test]
fn paths_through_symbolic_links_are_refused() {
    let (_directory, root) = project();
    fs::create_dir_all(root.join("out/plain/deep")).unwrap();
    symlink("..", root.join("out/cache")).unwrap();
    symlink("../.git", root.join("out/git")).unwrap();
    symlink("plain", root.join("out/same")).unwrap();
    for path in [
        "out/cache",
        "out/cache/src",
        "out/git",
        "out/git/index",
        "out/same",
        "out/same/deep",
        "out/same/../../src",
    ] {
        check_refused(&root, path);
    }
    for path in ["out", "out/plain/deep", "out/../src", "./out/."] {
        granted(&root.join(path), &root).unwrap();
    }
    // The path to the granted directory itself may contain links.
    let (_other, elsewhere) = project();
    symlink(&root, elsewhere.join("link")).unwrap();
    granted(&elsewhere.join("link/out/plain"), &root).unwrap();
    granted(&elsewhere.join("link"), &root).unwrap();
}

#[test]
fn nothing_in_a_git_directory_is_granted() {
    let (_directory, root) = project();
    for path in [".git/objects/pack", "out/objects", "out/refs"] {
        fs::create_dir_all(root.join(path)).unwrap();
    }
    fs::write(root.join("out/HEAD"), "x").unwrap();
    for path in [".git/index", ".git/objects", ".git/objects/pack", "out/objects"] {
        check_refused(&root, path);
    }
}

#[test]
fn targets_of_links_in_protected_directories_are_protected() {
    let (_directory, root) = project();
    for path in ["scripts/impl", "cfg", ".claude", "lib/shared"] {
        fs::create_dir_all(root.join(path)).unwrap();
    }
    for path in ["scripts/x.sh", "scripts/impl/y.sh", "cfg/claude.json", "lib/shared/z.sh"] {
        fs::write(root.join(path), "x").unwrap();
    }
    symlink("../../scripts/x.sh", root.join(".git/hooks/pre-commit")).unwrap();
    // Through another link, and through a directory with links in it.
    symlink("../../scripts/second", root.join(".git/hooks/post-commit")).unwrap();
    symlink("impl/y.sh", root.join("scripts/second")).unwrap();
    symlink("../cfg/claude.json", root.join(".claude/settings.json")).unwrap();
    symlink("../cfg/later.json", root.join(".claude/settings.local.json")).unwrap();
    symlink("../../lib/shared", root.join("skills/s/shared")).unwrap();
    // A link to a parent protects nothing.
    symlink("..", root.join(".claude/project")).unwrap();
    let all = granted(&root, &root).unwrap();
    for path in ["scripts/x.sh", "scripts/second", "scripts/impl/y.sh", "cfg/claude.json", "lib/shared"] {
        assert!(all.protected.contains_key(&root.join(path)), "{path} {:?}", all.protected.keys());
    }
    assert!(!all.protected.contains_key(&root.join("src")));
    assert!(all.also_protected.contains(&root.join("cfg/later.json")));
    // The links lie outside of the granted directory.
    assert!(
        granted(&root.join("scripts"), &root).unwrap().protected.contains_key(&root.join("scripts/x.sh"))
    );
    check_refused(&root, "cfg/claude.json");
}

#[test]
fn paths_in_the_users_git_settings_are_protected() {
    let (_directory, root) = project();
    let (_other, home) = project();
    for path in ["ghooks", "gh", "tools/hooks", "src/sub/ghooks"] {
        fs::create_dir_all(root.join(path)).unwrap();
    }
    fs::write(root.join("src/sub/.git"), "gitdir: nowhere").unwrap();
    fs::write(home.join("own"), "[core]\n\thooksPath = ghooks\n[include]\n\tpath = ~/more\n").unwrap();
    fs::write(home.join("more"), "[core]\n\tattributesFile = ~/proj/gh\n").unwrap();
    symlink(&root, home.join("proj")).unwrap();
    fs::write(root.join(".git/config"), "[include]\n\tpath = ../settings\n").unwrap();
    fs::write(root.join("settings"), "[core]\n\thooksPath = tools/hooks\n").unwrap();
    let user = GitUser { home: Some(home.clone()), settings: vec![home.join("own")], given: Vec::new() };
    let all = writable(&root, &root, never(&[], &user)).unwrap();
    for path in ["ghooks", "gh", "settings", "tools/hooks", "src/sub/ghooks"] {
        assert!(all.protected.contains_key(&root.join(path)), "{path} {:?}", all.protected.keys());
    }
    let error = writable(&root.join("gh"), &root, never(&[], &user)).unwrap_err();
    assert_eq!(error.kind(), ExecErrorKind::GrantRefused);
}
