//! Tests of transfers between real repositories, with git run outside of a sandbox.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::process::Command;

use super::*;

/// A repository of the user, and the scratch directory of one run.
struct World {
    _directory: tempfile::TempDir,
    top: std::path::PathBuf,
    scratch: Scratch,
}

fn git_in(directory: &Path, variables: &[(String, String)], arguments: &[&str]) -> String {
    #[allow(clippy::disallowed_methods, reason = "git in the place of a command")]
    let mut command = Command::new("git");
    command.args(["-c", "user.name=n", "-c", "user.email=e@x", "-c", "init.defaultBranch=main"]);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").envs(variables.iter().cloned());
    let output = command.args(arguments).current_dir(directory).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// Returns whether the installed git knows these options of `git init`.
fn is_known(init: &[&str]) -> bool {
    let directory = tempfile::tempdir().unwrap();
    #[allow(clippy::disallowed_methods, reason = "git in the place of a command")]
    let mut command = Command::new("git");
    command.args(["init", "-q"]).args(init).arg(directory.path()).output().unwrap().status.success()
}

impl World {
    fn new(init: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let top = root.join("project");
        fs::create_dir(&top).unwrap();
        let world = Self { _directory: directory, top, scratch: Scratch::create(&root).unwrap() };
        world.user(&[&["init", "-q"], init].concat());
        world.write("a.txt", "one\n");
        world.write("b.txt", "one\n");
        world.user(&["add", "."]);
        world.user(&["commit", "-qm", "first"]);
        world
    }

    /// Runs git as the user would.
    fn user(&self, arguments: &[&str]) -> String {
        git_in(&self.top, &[], arguments)
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.top.join(path), text).unwrap();
    }

    fn scratch_repository(&self) -> ScratchRepository {
        let repository = Repository::at(&self.top).unwrap();
        let program = ["/usr/local/bin/git", "/usr/bin/git"].map(Path::new);
        let program = program.into_iter().find(|path| path.is_file());
        let readable = [self.top.as_path(), repository.common.as_path()];
        ScratchRepository::make(&repository, &self.scratch, &readable, program).unwrap()
    }

    /// Runs `command` in a scratch repository and transfers its work.
    fn run(&self, command: impl FnOnce(&dyn Fn(&[&str]) -> String, &Path)) -> Vec<Aftermath> {
        let scratch = self.scratch_repository();
        let variables = scratch.variables();
        let git = |arguments: &[&str]| git_in(&self.top, &variables, arguments);
        command(&git, &scratch.directory);
        let mut sandboxed = |arguments: &[String], input: String| {
            #[allow(clippy::disallowed_methods, reason = "git in the place of the sandbox")]
            let mut child = Command::new("git")
                .args(arguments)
                .envs(scratch.variables())
                .stdin(std::process::Stdio::piped())
                .stdout(std::process::Stdio::piped())
                .spawn()?;
            std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes())?;
            let output = child.wait_with_output()?;
            let is_empty = output.status.code() == Some(1) && output.stdout.is_empty();
            if output.status.success() || is_empty {
                Ok(output.stdout)
            } else {
                Err(io::Error::other("git failed"))
            }
        };
        transfer(&scratch, "run", &GitUser::default(), &mut sandboxed)
    }
}

#[track_caller]
fn not_applied(aftermath: &[Aftermath]) -> Vec<String> {
    let [Aftermath::RepositoryNotApplied { refs, record, .. }] = aftermath else { panic!("{aftermath:?}") };
    assert_eq!(record, "refs/repertoire/run");
    refs.clone()
}

#[test]
fn a_commit_fast_forwards_the_current_branch_and_the_index() {
    for init in [&[][..], &["--object-format=sha256"], &["--ref-format=reftable"]] {
        if !is_known(init) {
            // Not by a macro, whose output is shown only for tests that fail.
            let line = format!("\nSKIPPED: this git does not know {init:?}\n");
            let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
            continue;
        }
        let world = World::new(init);
        world.write("b.txt", "staged by the user\n");
        world.user(&["add", "b.txt"]);
        let aftermath = world.run(|git, _| {
            world.write("a.txt", "two\n");
            git(&["commit", "-qm", "second", "a.txt"]);
        });
        assert!(aftermath.is_empty(), "{init:?} {aftermath:?}");
        assert_eq!(world.user(&["log", "--format=%s"]), "second\nfirst", "{init:?}");
        assert_eq!(world.user(&["status", "--porcelain"]), "M  b.txt", "{init:?}");
        assert_eq!(world.user(&["for-each-ref", "refs/repertoire"]), "", "{init:?}");
        assert!(world.user(&["reflog", "-1", "HEAD"]).contains("sandboxed command"), "{init:?}");
        world.user(&["fsck", "--strict"]);
    }
}

#[test]
fn new_branches_and_tags_are_applied() {
    let world = World::new(&[]);
    let aftermath = world.run(|git, _| {
        git(&["tag", "-a", "v1", "-m", "one"]);
        git(&["branch", "topic"]);
        git(&["switch", "-q", "topic"]);
        git(&["commit", "-q", "--allow-empty", "-m", "on topic"]);
    });
    assert!(aftermath.is_empty(), "{aftermath:?}");
    assert_eq!(world.user(&["log", "-1", "--format=%s", "topic"]), "on topic");
    assert_eq!(world.user(&["cat-file", "-t", "v1"]), "tag");
    assert_eq!(world.user(&["symbolic-ref", "HEAD"]), "refs/heads/main");
}

#[test]
fn the_first_commit_of_a_repository_is_transferred() {
    let world = World::new(&[]);
    fs::remove_dir_all(world.top.join(".git")).unwrap();
    world.user(&["init", "-q"]);
    let scratch = world.run(|git, _| drop(git(&["status"])));
    assert!(scratch.is_empty(), "{scratch:?}");
    fs::remove_dir_all(world.scratch.path().join("git")).unwrap();
    let aftermath = world.run(|git, _| {
        git(&["add", "a.txt"]);
        git(&["commit", "-qm", "first"]);
    });
    assert!(aftermath.is_empty(), "{aftermath:?}");
    assert_eq!(world.user(&["status", "--porcelain"]), "?? b.txt");
}

#[test]
fn rewritten_branches_moved_tags_remotes_and_stashes_are_recorded_and_not_applied() {
    let world = World::new(&[]);
    world.user(&["tag", "v1"]);
    world.user(&["branch", "other"]);
    world.user(&["branch", "gone"]);
    world.user(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    let before = world.user(&["for-each-ref"]);
    let aftermath = world.run(|git, _| {
        git(&["commit", "-q", "--amend", "-m", "rewritten"]);
        git(&["tag", "-f", "v1"]);
        git(&["branch", "-f", "other"]);
        git(&["branch", "-D", "gone"]);
        git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
        world.write("a.txt", "work of the user\n");
        git(&["stash", "-q"]);
    });
    assert_eq!(
        not_applied(&aftermath),
        [
            "refs/heads/gone (deletions are not transferred)",
            "refs/heads/main (not a fast-forward)",
            "refs/heads/other (it is not the current branch)",
            "refs/remotes/origin/main (only branches and tags are transferred)",
            "refs/stash (only branches and tags are transferred)",
            "refs/tags/v1 (the tag exists already)",
        ]
    );
    assert_eq!(world.user(&["for-each-ref", "refs/heads", "refs/remotes", "refs/tags"]), before);
    assert_eq!(world.user(&["stash", "list"]), "");
    // No work is lost: the stash is recorded.
    assert_eq!(world.user(&["show", "refs/repertoire/run/stash:a.txt"]), "work of the user");
    assert_eq!(world.user(&["log", "-1", "--format=%s", "refs/repertoire/run/heads/main"]), "rewritten");
}

#[test]
fn a_commit_of_files_that_agents_or_shells_obey_is_applied_only_as_the_user_has_them() {
    for hook in [".husky/post-commit", "tools/hooks/post-commit"] {
        let world = World::new(&[]);
        world.user(&["config", "core.hooksPath", "tools/hooks"]);
        let aftermath = world.run(|git, _| {
            world.write("a.txt", "two\n");
            let blob = git(&["hash-object", "-w", "b.txt"]);
            git(&["update-index", "--add", "--cacheinfo", &format!("100755,{blob},{hook}")]);
            git(&["add", "a.txt"]);
            git(&["commit", "-qm", "notes"]);
        });
        let refused = format!("refs/heads/main (it changes {hook}, which agents, shells or git obey)");
        assert_eq!(not_applied(&aftermath), [refused]);
        assert_eq!(world.user(&["log", "--format=%s"]), "first");
    }
    let world = World::new(&[]);
    world.write("AGENTS.md", "The user's own.\n");
    let aftermath = world.run(|git, _| {
        git(&["add", "AGENTS.md"]);
        git(&["commit", "-qm", "agents"]);
    });
    assert!(aftermath.is_empty(), "{aftermath:?}");
    assert_eq!(world.user(&["log", "--format=%s"]), "agents\nfirst");
}

/// Returns the refusal of a fast-forward that changes the obeyed file `path`.
fn obeyed(path: &str) -> [String; 1] {
    [format!("refs/heads/main (it changes {path}, which agents, shells or git obey)")]
}

#[test]
fn a_commit_of_an_obeyed_link_or_mode_is_applied_only_as_the_user_has_it() {
    let world = World::new(&[]);
    world.write("AGENTS.md", "Rules.\n");
    symlink("AGENTS.md", world.top.join("CLAUDE.md")).unwrap();
    let aftermath = world.run(|git, _| {
        git(&["add", "AGENTS.md", "CLAUDE.md"]);
        git(&["commit", "-qm", "agents"]);
    });
    assert!(aftermath.is_empty(), "{aftermath:?}");
    for change in [&["update-index", "--chmod=+x", "AGENTS.md"][..], &["rm", "-q", "--cached", "AGENTS.md"]] {
        let world = World::new(&[]);
        world.write("AGENTS.md", "Rules.\n");
        world.user(&["add", "AGENTS.md"]);
        world.user(&["commit", "-qm", "agents"]);
        let aftermath = world.run(|git, _| {
            git(change);
            git(&["commit", "-qm", "changed in the index alone"]);
        });
        assert_eq!(not_applied(&aftermath), obeyed("AGENTS.md"));
    }
}

#[test]
fn pipes_and_replaced_directories_do_not_pass_for_files_of_the_user() {
    let world = World::new(&[]);
    fs::create_dir(world.top.join("sub")).unwrap();
    let pipe = world.top.join("sub/HEAD");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
        .unwrap();
    let aftermath = world.run(|git, _| {
        let blob = git(&["hash-object", "-w", "b.txt"]);
        git(&["update-index", "--add", "--cacheinfo", &format!("100644,{blob},sub/HEAD")]);
        git(&["commit", "-qm", "pipe"]);
    });
    assert_eq!(not_applied(&aftermath), obeyed("sub/HEAD"));
    let world = World::new(&[]);
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("AGENTS.md"), "obey\n").unwrap();
    let aftermath = world.run(|git, _| {
        fs::create_dir(world.top.join("notes")).unwrap();
        world.write("notes/AGENTS.md", "obey\n");
        git(&["add", "notes/AGENTS.md"]);
        git(&["commit", "-qm", "notes"]);
        fs::remove_dir_all(world.top.join("notes")).unwrap();
        symlink(elsewhere.path(), world.top.join("notes")).unwrap();
    });
    assert_eq!(not_applied(&aftermath), obeyed("notes/AGENTS.md"));
}

#[test]
fn names_that_are_no_text_and_settings_elsewhere_are_obeyed_as_well() {
    let world = World::new(&[]);
    let aftermath = world.run(|git, _| {
        fs::create_dir_all(world.top.join(".claude/commands")).unwrap();
        let name = OsStr::from_bytes(b".claude/commands/x\xff.md");
        fs::write(world.top.join(name), "obey\n").unwrap();
        git(&["add", ".claude"]);
        git(&["commit", "-qm", "command"]);
        fs::remove_dir_all(world.top.join(".claude")).unwrap();
    });
    assert_eq!(not_applied(&aftermath), obeyed(".claude/commands/x\u{fffd}.md"));
    let world = World::new(&[]);
    world.user(&["config", "include.path", "../shared.ini"]);
    let aftermath = world.run(|git, _| {
        let blob = git(&["hash-object", "-w", "b.txt"]);
        git(&["update-index", "--add", "--cacheinfo", &format!("100644,{blob},shared.ini")]);
        git(&["commit", "-qm", "settings"]);
    });
    assert_eq!(not_applied(&aftermath), obeyed("shared.ini"));
}

#[test]
fn new_names_that_stand_for_something_else_are_recorded_and_not_applied() {
    let world = World::new(&[]);
    world.user(&["branch", "feature"]);
    world.user(&["tag", "v1"]);
    world.user(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    let names = [
        "refs/heads/HEAD",
        "refs/heads/origin/later",
        "refs/heads/v1",
        "refs/tags/HEAD",
        "refs/tags/feature",
        "refs/tags/heads/feature",
        "refs/tags/main",
        "refs/tags/origin/main",
    ];
    let aftermath = world.run(|git, _| {
        names.iter().for_each(|name| drop(git(&["update-ref", name, "HEAD"])));
        git(&["update-ref", "refs/tags/v2", "HEAD"]);
        git(&["update-ref", "refs/heads/fix/HEADER", "HEAD"]);
    });
    assert_eq!(not_applied(&aftermath), names.map(|name| format!("{name} ({AMBIGUOUS})")));
    assert_eq!(world.user(&["tag"]), "v1\nv2");
    assert!(world.user(&["branch"]).contains("fix/HEADER"));
}

#[test]
fn commits_on_a_detached_head_are_recorded() {
    let world = World::new(&[]);
    world.user(&["checkout", "-q", "--detach"]);
    let head = world.user(&["rev-parse", "HEAD"]);
    let aftermath = world.run(|git, _| drop(git(&["commit", "-q", "--allow-empty", "-m", "loose"])));
    assert_eq!(not_applied(&aftermath), ["HEAD (HEAD is not moved)"]);
    assert_eq!(world.user(&["rev-parse", "HEAD"]), head);
    assert_eq!(world.user(&["log", "-1", "--format=%s", "refs/repertoire/run/HEAD"]), "loose");
}

#[test]
fn a_commit_of_a_file_that_is_staged_differently_is_recorded_and_not_applied() {
    let world = World::new(&[]);
    world.write("a.txt", "staged\n");
    world.user(&["add", "a.txt"]);
    let aftermath = world.run(|git, _| {
        world.write("a.txt", "committed\n");
        git(&["commit", "-qm", "second", "a.txt"]);
    });
    assert_eq!(not_applied(&aftermath), ["refs/heads/main (files that it commits are staged differently)"]);
    assert_eq!(world.user(&["show", ":a.txt"]), "staged");
    assert_eq!(world.user(&["show", "HEAD:a.txt"]), "one");
    assert_eq!(world.user(&["show", "refs/repertoire/run/heads/main:a.txt"]), "committed");
}

#[test]
fn a_branch_that_somebody_else_moved_meanwhile_is_left_alone() {
    let world = World::new(&[]);
    let aftermath = world.run(|git, _| {
        git(&["commit", "-q", "--allow-empty", "-m", "of the command"]);
        world.user(&["commit", "-q", "--allow-empty", "-m", "of the user"]);
    });
    assert_eq!(not_applied(&aftermath).len(), 1);
    assert_eq!(world.user(&["log", "-1", "--format=%s"]), "of the user");
    assert_eq!(world.user(&["log", "-1", "--format=%s", "refs/repertoire/run/heads/main"]), "of the command");
}

#[test]
fn state_and_index_flags_of_the_command_stay_in_its_repository() {
    let world = World::new(&[]);
    let aftermath = world.run(|git, directory| {
        let head = git(&["rev-parse", "HEAD"]);
        for name in ["MERGE_AUTOSTASH", "MERGE_HEAD", "CHERRY_PICK_HEAD", "ORIG_HEAD"] {
            fs::write(directory.join(name), format!("{head}\n")).unwrap();
        }
        fs::remove_file(directory.join("MERGE_HEAD")).unwrap();
        fs::remove_file(directory.join("CHERRY_PICK_HEAD")).unwrap();
        world.write("b.txt", "hidden\n");
        git(&["update-index", "--assume-unchanged", "b.txt"]);
        git(&["commit", "-q", "--allow-empty", "-m", "second"]);
        git(&["update-index", "--skip-worktree", "a.txt"]);
    });
    assert!(aftermath.is_empty(), "{aftermath:?}");
    assert_eq!(world.user(&["status", "--porcelain"]), " M b.txt");
    for name in ["MERGE_AUTOSTASH", "ORIG_HEAD"] {
        assert!(!world.top.join(".git").join(name).try_exists().unwrap(), "{name}");
    }
}

#[test]
fn programs_that_either_repository_names_do_not_run_on_the_host() {
    let world = World::new(&[]);
    let victim = world.top.with_file_name("victim");
    let script = format!("#!/bin/sh\necho run >> {}\n", victim.display());
    for name in ["reference-transaction", "post-index-change"] {
        let path = world.top.join(".git/hooks").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &script).unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let hook = world.top.join(".git/hooks/post-index-change").display().to_string();
    world.user(&["config", "core.fsmonitor", &hook]);
    let scratch = world.scratch_repository();
    let head = world.user(&["-c", "core.fsmonitor=false", "rev-parse", "HEAD"]);
    let variables = scratch.variables();
    let quiet = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"];
    let git = |arguments: &[&str]| git_in(&world.top, &variables, &[&quiet[..], arguments].concat());
    git(&["commit", "-q", "--allow-empty", "-m", "second"]);
    let _ = fs::remove_file(&victim);
    let mut sandboxed = |arguments: &[String], _: String| {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        match arguments[0] {
            "show-ref" => Ok(git(&["show-ref", "--head"]).into_bytes()),
            _ => {
                #[allow(clippy::disallowed_methods, reason = "git in the place of the sandbox")]
                let output = Command::new("sh")
                    .args(["-c", "git rev-parse HEAD | git -c core.hooksPath=/dev/null pack-objects -q --revs --non-empty \"$GIT_DIR/transfer\""])
                    .envs(variables.iter().cloned())
                    .output()?;
                Ok(output.stdout)
            }
        }
    };
    let aftermath = transfer(&scratch, "run", &GitUser::default(), &mut sandboxed);
    assert!(aftermath.is_empty(), "{aftermath:?}");
    assert!(!victim.try_exists().unwrap());
    assert_ne!(world.user(&["-c", "core.fsmonitor=false", "rev-parse", "HEAD"]), head);
}

#[test]
fn a_damaged_or_forged_repository_transfers_nothing() {
    let world = World::new(&[]);
    let head = world.user(&["rev-parse", "HEAD"]);
    let forged: [&[u8]; 4] = [
        b"nonsense",
        b"0123456789012345678901234567890123456789 refs/heads/x y",
        b"0123456789012345678901234567890123456789 refs/heads/new",
        b"\xff",
    ];
    for listing in forged {
        let scratch = world.scratch_repository();
        let mut sandboxed = |arguments: &[String], _: String| match arguments[0].as_str() {
            "show-ref" => Ok(listing.to_vec()),
            // The pack is a symbolic link to another file.
            _ => {
                let name = "1".repeat(40);
                let _ = std::os::unix::fs::symlink(
                    "/etc/passwd",
                    scratch.directory.join(format!("transfer-{name}.pack")),
                );
                Ok(name.into_bytes())
            }
        };
        let aftermath = transfer(&scratch, "run", &GitUser::default(), &mut sandboxed);
        assert!(matches!(aftermath.as_slice(), [Aftermath::RepositoryNotWritten(..)]), "{aftermath:?}");
        fs::remove_dir_all(&scratch.directory).unwrap();
    }
    assert_eq!(world.user(&["rev-parse", "HEAD"]), head);
    assert_eq!(world.user(&["for-each-ref", "--format=%(refname)"]), "refs/heads/main");
}

#[test]
fn an_unfinished_merge_refuses_a_scratch_repository() {
    let world = World::new(&[]);
    let head = world.user(&["rev-parse", "HEAD"]);
    fs::write(world.top.join(".git/MERGE_HEAD"), format!("{head}\n")).unwrap();
    let repository = Repository::at(&world.top).unwrap();
    let error =
        ScratchRepository::make(&repository, &world.scratch, &[], Some(Path::new("git"))).unwrap_err();
    assert!(error.to_string().contains("MERGE_HEAD"), "{error}");
}
