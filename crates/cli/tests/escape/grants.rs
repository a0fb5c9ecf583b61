//! Tests of the rights that grants give, and of the rights that no grant gives.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use repertoire_exec::{CleanupProblem, ExecErrorKind, GitUser, Job, RunEnding};

use crate::probe::Target;
use crate::world::{World, sandboxes, stderr, stdout};

fn granted(world: &World, text: &str, write: &[&str]) -> Job {
    let mut job = world.sh(text);
    job.grants.directory = Some(world.path("project"));
    job.grants.write = write.iter().map(|path| world.path(path)).collect();
    job
}

#[test]
fn protected_files_stay_as_they_are_when_everything_is_granted() {
    for sandbox in sandboxes() {
        let world = World::new();
        world.write("project/docs/CLAUDE.md", "instructions");
        world.write("project/.vscode/tasks.json", "{}");
        world.write("project/tools/skills/s/SKILL.md", "skill");
        world.write("project/tools/skills/s/run.sh", "run");
        let protected = [
            "project/AGENTS.md",
            "project/.git/config",
            "project/.git/hooks/pre-commit.sample",
            "project/docs/CLAUDE.md",
            "project/.vscode/tasks.json",
            "project/tools/skills/s/SKILL.md",
            "project/tools/skills/s/run.sh",
        ];
        let before: Vec<String> = protected.iter().map(|path| world.read(path)).collect();
        let text = "for f in AGENTS.md .git/config .git/hooks/pre-commit.sample docs/CLAUDE.md .vscode/tasks.json tools/skills/s/SKILL.md tools/skills/s/run.sh; do echo evil > $f; rm -f $f; mv $f moved; ln -f src/main.rs $f; chmod 777 $f; done 2>/dev/null; echo evil > .git/hooks/pre-commit; echo fine > src/main.rs; echo new > src/new.rs; true";
        let outcome = sandbox.run(&granted(&world, text, &["project"])).unwrap();
        let after: Vec<String> =
            protected.iter().map(|path| fs::read_to_string(world.path(path)).unwrap_or_default()).collect();
        assert_eq!(after, before, "{}", sandbox.name());
        assert!(fs::metadata(world.path("project/.git/hooks/pre-commit")).is_err(), "{}", sandbox.name());
        assert_eq!(world.read("project/src/main.rs"), "fine\n", "{} {}", sandbox.name(), stderr(&outcome));
        assert_eq!(world.read("project/src/new.rs"), "new\n", "{}", sandbox.name());
    }
}

#[test]
fn new_files_with_protected_names_are_renamed() {
    for sandbox in sandboxes() {
        let world = World::new();
        let text = |path: &str| {
            format!("echo fine > src/fine.txt; mkdir -p src/s; mkdir {path} || echo evil > {path}")
        };
        for path in ["project/src/CLAUDE.md", "project/src/.claude", "project/src/s/SKILL.md"] {
            let inner = path.strip_prefix("project/").unwrap();
            let outcome = sandbox.run(&granted(&world, &text(inner), &["project/src"])).unwrap();
            assert_eq!(outcome.ending, RunEnding::ProtectedName, "{} {path}", sandbox.name());
            assert!(fs::symlink_metadata(world.path(path)).is_err(), "{} {path}", sandbox.name());
            let name = world.path(&format!("{path}.refused"));
            assert!(
                fs::symlink_metadata(&name).is_ok() && outcome.refused.contains(&name),
                "{} {path} {:?}",
                sandbox.name(),
                outcome.refused
            );
        }
        assert_eq!(world.read("project/src/fine.txt"), "fine\n");
    }
}

#[test]
fn a_directory_of_git_moved_aside_does_not_help() {
    for sandbox in sandboxes() {
        let world = World::new();
        let text = "mv .git .git2; mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit; echo evil > .git/config; true";
        sandbox.run(&granted(&world, text, &["project"])).unwrap();
        let hook = fs::read_to_string(world.path("project/.git/hooks/pre-commit")).unwrap_or_default();
        let config = fs::read_to_string(world.path("project/.git/config")).unwrap_or_default();
        assert!(!hook.contains("evil") && !config.contains("evil"), "{} {hook} {config}", sandbox.name());
    }
}

#[test]
fn grants_that_no_command_may_have_are_refused() {
    let world = World::new();
    symlink(world.path("home"), world.path("project/innocent")).unwrap();
    symlink(world.path("project/.git/hooks"), world.path("project/harmless")).unwrap();
    for sandbox in sandboxes() {
        for path in [
            "home",
            "skill",
            "project/AGENTS.md",
            "project/.git/hooks",
            "project/.git/config",
            "project/innocent",
            "project/harmless",
            "project/../home",
            "other",
        ] {
            let error = sandbox.run(&granted(&world, "true", &[path])).unwrap_err();
            assert_eq!(error.kind(), ExecErrorKind::GrantRefused, "{} {path}", sandbox.name());
        }
        let error = sandbox.run(&granted(&world, "true", &["project/none"])).unwrap_err();
        assert_eq!(error.kind(), ExecErrorKind::InvalidJob);
        let mut job = world.sh("true");
        job.grants.write = vec![world.path("project/out")];
        assert_eq!(sandbox.run(&job).unwrap_err().kind(), ExecErrorKind::InvalidJob);
        job.grants.directory = Some("/".into());
        assert_eq!(sandbox.run(&job).unwrap_err().kind(), ExecErrorKind::GrantRefused);
    }
}

#[test]
fn a_granted_file_can_be_changed_and_nothing_beside_it() {
    for sandbox in sandboxes() {
        let world = World::new();
        let text = "echo new > out/old.txt; echo x > out/other.txt; echo x > src/main.rs; true";
        sandbox.run(&granted(&world, text, &["project/out/old.txt"])).unwrap();
        assert_eq!(world.read("project/out/old.txt"), "new\n", "{}", sandbox.name());
        assert!(fs::metadata(world.path("project/out/other.txt")).is_err(), "{}", sandbox.name());
        assert_eq!(world.read("project/src/main.rs"), "fn main() {}", "{}", sandbox.name());
    }
}

#[test]
fn a_granted_directory_shows_nothing_beside_it() {
    let world = World::new();
    for sandbox in sandboxes() {
        let outcome = sandbox
            .run(&granted(
                &world,
                "cat ../home/notes.txt ../other/SKILL.md; ls ../home; echo x > src/x; echo x > new; true",
                &[],
            ))
            .unwrap();
        assert_eq!(stdout(&outcome), "", "{}", sandbox.name());
        assert!(
            fs::metadata(world.path("project/src/x")).is_err()
                && fs::metadata(world.path("project/new")).is_err()
        );
    }
}

#[test]
fn a_skill_within_a_granted_directory_cannot_be_written() {
    for sandbox in sandboxes() {
        let world = World::new();
        world.write("project/mine/SKILL.md", "mine");
        world.write("project/mine/tool.sh", "tool");
        let mut job = Job::new(
            ["sh", "-c", "echo evil > mine/tool.sh; echo evil > mine/new; mv mine away; true"],
            world.path("project/mine"),
        );
        job.grants.directory = Some(world.path("project"));
        job.grants.write = vec![world.path("project")];
        sandbox.run(&job).unwrap();
        assert_eq!(world.read("project/mine/tool.sh"), "tool", "{}", sandbox.name());
        assert!(fs::metadata(world.path("project/mine/new")).is_err(), "{}", sandbox.name());
    }
}

#[test]
fn a_directory_of_git_is_not_written_with_what_is_around_it() {
    for sandbox in sandboxes() {
        let (world, name) = (World::new(), sandbox.name());
        fs::remove_dir_all(world.path("project/.git")).unwrap();
        git(&world, "project", &["init", "-q", "-b", "main"]);
        git(&world, "project", &["init", "-q", "--bare", "src/bare"]);
        let text = "git config user.name evil; git -C src/bare config user.name evil; git -c user.name=n -c user.email=e commit -q --allow-empty -m no; \
            echo evil > .git/index; echo evil > .git/hooks/pre-push; echo evil > src/bare/hooks/pre-push; rm -rf .git src/bare; echo fine > src/main.rs; true";
        sandbox.run(&granted(&world, text, &["project"])).unwrap();
        for path in ["project/.git", "project/src/bare"] {
            assert!(!world.read(&format!("{path}/config")).contains("evil"), "{name} {path}");
            assert!(fs::symlink_metadata(world.path(path).join("hooks/pre-push")).is_err(), "{name} {path}");
        }
        assert!(fs::symlink_metadata(world.path("project/.git/index")).is_err(), "{name}");
        assert_eq!(world.read("project/src/main.rs"), "fine\n", "{name}");
    }
}

#[test]
fn a_link_that_one_command_made_is_no_way_for_the_next() {
    for sandbox in sandboxes() {
        let world = World::new();
        let text = "ln -s .. out/cache; ln -s ../.git out/git; echo made";
        let outcome = sandbox.run(&granted(&world, text, &["project/out"])).unwrap();
        assert_eq!(stdout(&outcome), "made\n", "{}", sandbox.name());
        for path in ["project/out/cache", "project/out/cache/src", "project/out/git", "project/out/git/index"]
        {
            let error = sandbox.run(&granted(&world, "true", &[path])).unwrap_err();
            assert_eq!(error.kind(), ExecErrorKind::GrantRefused, "{} {path}", sandbox.name());
        }
    }
}

#[test]
fn targets_of_links_and_settings_stay_unchanged() {
    for sandbox in sandboxes() {
        let (world, name) = (World::new(), sandbox.name());
        let kept = [
            "project/lib/x.sh",
            "project/cfg/claude.json",
            "project/settings/git",
            "project/hooks/a",
            "project/uhooks/b",
        ];
        kept.iter().for_each(|path| world.write(path, "as it was"));
        world.write("project/settings/git", "[core]\n\thooksPath = hooks\n");
        world.write("project/.git/config", "[include]\n\tpath = ../settings/git\n");
        world.write("home/.gitconfig", "[core]\n\thooksPath = uhooks\n");
        fs::create_dir(world.path("project/.claude")).unwrap();
        symlink("../../lib/x.sh", world.path("project/.git/hooks/pre-commit")).unwrap();
        symlink("../cfg/claude.json", world.path("project/.claude/settings.json")).unwrap();
        symlink("../cfg/later.json", world.path("project/.claude/later.json")).unwrap();
        let before = kept.map(|path| world.read(path));
        let text = "for f in lib/x.sh cfg/claude.json settings/git hooks/a uhooks/b; do echo evil > $f; rm -f $f; done 2>/dev/null; \
            for f in src/fine uhooks/pre-push cfg/later.json; do echo made > $f; done; true";
        let mut job = granted(&world, text, &["project"]);
        job.git = GitUser::of(&[("HOME".to_owned(), world.path("home").display().to_string())]);
        sandbox.run(&job).unwrap();
        assert_eq!(kept.map(|path| world.read(path)), before, "{name}");
        for path in ["project/cfg/later.json", "project/uhooks/pre-push"] {
            assert!(fs::symlink_metadata(world.path(path)).is_err(), "{name} {path}");
        }
        assert_eq!(world.read("project/src/fine"), "made\n", "{name}");
    }
}

#[test]
fn pipes_that_block_git_are_removed() {
    for sandbox in sandboxes() {
        let (world, name) = (World::new(), sandbox.name());
        let text = "mkfifo src/.gitignore src/.gitattributes; sleep 600";
        let outcome = sandbox.run(&granted(&world, text, &["project/src"])).unwrap();
        assert_eq!(outcome.ending, RunEnding::ProtectedName, "{name} {}", stderr(&outcome));
        for path in ["project/src/.gitignore", "project/src/.gitattributes"] {
            assert!(fs::symlink_metadata(world.path(path)).is_err(), "{name} {path}");
        }
    }
}

#[test]
fn the_network_is_there_when_granted_and_the_sockets_of_programs_are_not() {
    for sandbox in sandboxes() {
        let target = Target::new();
        let run = |code: &str| {
            let program = format!("{}\nrun(lambda: {code})\n", include_str!("preamble.py"));
            let mut job = target.job(&program);
            job.grants.network = true;
            let outcome = sandbox.run(&job).unwrap();
            format!("{}{}", stdout(&outcome), stderr(&outcome))
        };
        for code in [
            "socket.create_connection(('127.0.0.1', TCP), 5) is not None",
            "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', UDP)) == 1",
            "(lambda s: (s.bind(('127.0.0.1', 0)), s.listen(), True)[-1])(socket.socket())",
            "socket.getaddrinfo('localhost', 80) != []",
        ] {
            assert!(run(code).contains("ESCAPED"), "{} {code} {}", sandbox.name(), run(code));
        }
        for code in [
            "socket.socket(socket.AF_UNIX).connect(HOME + '/agent.sock') is None",
            "socket.socket(socket.AF_UNIX).connect('\\0' + ABSTRACT) is None",
            "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', '\\0' + ABSTRACT + '-log') == 1",
            "socket.socket(16, socket.SOCK_RAW, 15) is not None",
            "socket.socket(17, socket.SOCK_RAW, 0x300) is not None",
            "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1) is not None",
            "text(SECRET)",
            "os.kill(VICTIM, 15) is None",
        ] {
            assert!(run(code).contains("DENIED"), "{} {code} {}", sandbox.name(), run(code));
        }
    }
}

#[test]
fn a_directory_that_is_obeyed_is_not_granted_as_a_directory_either() {
    let world = World::new();
    world.write("home/.claude/settings.json", "{}");
    world.write("project/skills/s/SKILL.md", "s");
    world.write("project/skills/s/scripts/run.sh", "run");
    world.write("home/state/approvals.json", "{}");
    for sandbox in sandboxes() {
        for path in ["home/.claude", "project/.git", "project/skills/s/scripts", "home/state"] {
            let mut job = world.sh(
                "echo evil > settings.json; echo evil > run.sh; mkdir -p hooks; echo evil > approvals.json",
            );
            job.protected = vec![world.path("home/state")];
            job.grants.directory = Some(world.path(path));
            job.grants.write = vec![world.path(path)];
            let error = sandbox.run(&job).unwrap_err();
            assert_eq!(error.kind(), ExecErrorKind::GrantRefused, "{} {path}", sandbox.name());
        }
    }
}

#[test]
fn protected_paths_are_excluded_from_a_grant() {
    for sandbox in sandboxes() {
        let world = World::new();
        world.write("project/config/repertoire/own.toml", "own");
        world.write("project/config/other", "other");
        let text = "echo evil > config/repertoire/own.toml; rm -rf config/repertoire; mv config gone; echo evil > config/repertoire/new; echo fine > src/fine; true";
        let mut job = granted(&world, text, &["project"]);
        job.protected = vec![world.path("project/config/repertoire"), world.path("project/later")];
        sandbox.run(&job).unwrap();
        let kept = ["project/config", "project/gone"].map(|path| world.path(path).join("repertoire"));
        let kept = kept.iter().find(|path| path.join("own.toml").is_file()).unwrap();
        assert_eq!(fs::read_to_string(kept.join("own.toml")).unwrap(), "own", "{}", sandbox.name());
        assert!(fs::metadata(kept.join("new")).is_err(), "{}", sandbox.name());
        assert_eq!(world.read("project/src/fine"), "fine\n", "{}", sandbox.name());
    }
}

#[test]
fn a_link_put_in_the_place_of_a_grant_leads_nowhere() {
    let world = World::new();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let (place, aside) = (world.path("project/out"), world.path("project/aside"));
    std::thread::scope(|scope| {
        // As another command could that may write the project.
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                if fs::rename(&place, &aside).is_ok() {
                    symlink(world.path("home/.ssh"), &place).unwrap();
                    std::thread::yield_now();
                    fs::remove_file(&place).unwrap();
                    fs::rename(&aside, &place).unwrap();
                }
            }
        });
        for sandbox in sandboxes() {
            for _ in 0..25 {
                let text = "cat out/id_ed25519; echo evil > out/id_ed25519; true";
                // That it is refused is as good.
                let outcome = sandbox.run(&granted(&world, text, &["project/out"]));
                let said = outcome.map(|outcome| stdout(&outcome)).unwrap_or_default();
                assert!(!said.contains("SECRET"), "{} {said}", sandbox.name());
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(world.read("home/.ssh/id_ed25519"), "SECRET-KEY");
}

#[test]
fn occupied_names_nested_skills_and_replaced_links_do_not_keep_a_protected_name() {
    for sandbox in sandboxes() {
        let world = World::new();
        symlink("main.rs", world.path("project/src/GEMINI.md")).unwrap();
        symlink("nowhere", world.path("project/src/QWEN.md")).unwrap();
        let text = "mkdir -p src/d/s/.claude && cd src/d && echo evil > CLAUDE.md && : > CLAUDE.md.refused; i=1; while [ $i -lt 1000 ]; do : > CLAUDE.md.refused-$i; i=$((i+1)); done; echo evil > s/SKILL.md; echo evil > s/.claude/settings.json; mkdir shut; echo evil > shut/AGENTS.md; chmod 311 shut; cd ..; rm -f GEMINI.md; ln -s ../out/old.txt GEMINI.md; echo evil > main.rs; true";
        world.write("project/src/d/keep", "");
        let outcome = sandbox.run(&granted(&world, text, &["project"])).unwrap();
        for path in ["d/CLAUDE.md", "d/s/SKILL.md", "d/s/.claude", "d/shut/AGENTS.md"] {
            let path = world.path("project/src").join(path);
            assert!(
                fs::symlink_metadata(&path).is_err(),
                "{} {path:?} {:?}",
                sandbox.name(),
                outcome.refused
            );
        }
        let link = fs::read_link(world.path("project/src/GEMINI.md"));
        assert!(link.is_err() || link.unwrap().ends_with("main.rs"), "{}", sandbox.name());
        // The target of the link is what was read by its name.
        assert_eq!(world.read("project/src/main.rs"), "fn main() {}", "{}", sandbox.name());
    }
}

#[test]
fn links_under_protected_names_stay() {
    for sandbox in sandboxes() {
        let world = World::new();
        symlink("main.rs", world.path("project/src/GEMINI.md")).unwrap();
        symlink("main.rs", world.path("project/src/QWEN.md")).unwrap();
        let text = "cd src; rm -f GEMINI.md; mv QWEN.md moved; true";
        let outcome = sandbox.run(&granted(&world, text, &["project"])).unwrap();
        let mut left = Vec::new();
        for name in ["GEMINI.md", "QWEN.md"] {
            let path = world.path("project/src").join(name);
            assert!(
                fs::read_link(&path).is_ok_and(|to| to.ends_with("main.rs")),
                "{} {name}",
                sandbox.name()
            );
            left.push(CleanupProblem::ProtectedLinkRemoved { path, is_restored: true });
        }
        let is_told = outcome.cleanup_problems == left;
        assert!(
            outcome.cleanup_problems.is_empty() || is_told,
            "{} {:?}",
            sandbox.name(),
            outcome.cleanup_problems
        );
    }
}

fn git(world: &World, directory: &str, arguments: &[&str]) {
    let mut command = std::process::Command::new("git");
    command.args(["-c", "user.name=n", "-c", "user.email=e"]).args(arguments);
    assert!(command.current_dir(world.path(directory)).status().unwrap().success(), "{arguments:?}");
}

#[test]
fn a_repository_is_read_with_its_git_directory_elsewhere_and_never_written() {
    for sandbox in sandboxes() {
        let world = World::new();
        fs::remove_dir_all(world.path("project/.git")).unwrap();
        git(&world, "project", &["init", "-q", "-b", "main"]);
        git(&world, "project", &["commit", "-q", "--allow-empty", "-m", "first"]);
        git(&world, "project", &["worktree", "add", "-q", "../linked"]);
        world.write("linked/sub/keep", "");
        let main = world.path("project/.git").display().to_string();
        let text = format!(
            "for f in {main}/config {main}/hooks/post-commit {main}/worktrees/linked/gitdir {main}/worktrees/linked/new .git sub/y; do echo evil > $f; rm -f $f; done 2>/dev/null; \
             git -c user.name=n -c user.email=e commit -q --allow-empty -m no 2>/dev/null; cat {}/home/notes.txt {} 2>/dev/null; git log --format=%s",
            world.path("").display(),
            world.path("project/src/main.rs").display(),
        );
        let before = [tree(&world.path("project/.git")), tree(&world.path("linked"))];
        let mut job = world.sh(&text);
        job.grants.directory = Some(world.path("linked"));
        job.grants.repository = Some(world.path("linked"));
        let outcome = sandbox.run(&job).unwrap();
        let name = sandbox.name();
        assert_eq!(stdout(&outcome), "first\n", "{name} {}", stderr(&outcome));
        assert!(outcome.cleanup_problems.is_empty() && outcome.refused.is_empty(), "{name} {outcome:?}");
        assert!([tree(&world.path("project/.git")), tree(&world.path("linked"))] == before, "{name}");
        // A checkout elsewhere is not its business.
        job.grants.repository = Some(world.path("project"));
        assert_eq!(sandbox.run(&job).unwrap_err().kind(), ExecErrorKind::InvalidJob, "{name}");
        world.write("thief/.git", &format!("gitdir: {main}/worktrees/linked\n"));
        job.grants.directory = Some(world.path("thief"));
        job.grants.repository = Some(world.path("thief"));
        assert_eq!(sandbox.run(&job).unwrap_err().kind(), ExecErrorKind::Repository, "{name}");
    }
}

/// Makes `project` a repository with a commit, and returns a job that may write the checkout.
fn checkout_job(world: &World, text: &str) -> Job {
    let _ = fs::remove_dir_all(world.path("project/.git"));
    git(world, "project", &["init", "-q", "-b", "main"]);
    git(world, "project", &["add", "src"]);
    git(world, "project", &["commit", "-q", "-m", "first"]);
    let mut job = granted(world, text, &["project"]);
    job.grants.repository = Some(world.path("project"));
    job
}

#[test]
fn git_settings_and_links_are_not_left_in_a_repository() {
    // A directory that is one of git's by way of links, and another by way of `commondir`.
    let made = [
        "mkdir objects refs; ln -s refs/heads/none HEAD; cp settings config",
        "mkdir -p w st/objects st/refs; cp settings st/config; cp settings w/config.worktree; echo ../st > w/commondir; echo ref: refs/heads/main > w/HEAD",
    ];
    for (sandbox, made) in
        sandboxes().into_iter().flat_map(|sandbox| made.map(|made| (sandbox.clone(), made)))
    {
        let (world, name) = (World::new(), sandbox.name());
        let victim = world.path("victim").display().to_string();
        fs::create_dir(world.path("victims")).unwrap();
        let settings = format!("[core]\n\tfsmonitor=\"echo run >> {victim}; false\"\n");
        world.write("project/src/settings", &settings);
        // Links that git would write through come first.
        let text = format!(
            "rm -f .git/logs/HEAD; ln -s {victim} .git/logs/HEAD; ln -s {victim}s .git/refs/tags/o; ln -s {victim} .git/packed-refs; \
             mv .git/HEAD .git/H; mkfifo .git/config.worktree; echo done; cd src; {made}"
        );
        let job = checkout_job(&world, &text);
        let outcome = sandbox.run(&job).unwrap();
        assert_eq!(stdout(&outcome), "done\n", "{name} {}", stderr(&outcome));
        assert_eq!(outcome.ending, RunEnding::ProtectedName, "{name} {outcome:?}");
        for path in ["project/.git/logs/HEAD", "project/.git/refs/tags/o", "project/.git/packed-refs"] {
            assert!(fs::read_link(world.path(path)).is_err(), "{name} {path}");
        }
        fs::create_dir_all(world.path("project/src/w")).unwrap();
        for directory in ["project", "project/src", "project/src/w"] {
            let mut status = std::process::Command::new("git");
            let _ = status.arg("status").current_dir(world.path(directory)).output().unwrap();
        }
        assert!(fs::metadata(world.path("victim")).is_err(), "{name}: {}", world.read("victim"));
    }
}

/// Returns everything below `directory`: the targets of links, and the content of files.
fn tree(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut found, mut pending) = (BTreeMap::new(), vec![directory.to_owned()]);
    while let Some(path) = pending.pop() {
        let metadata = fs::symlink_metadata(&path).unwrap();
        let content = if metadata.is_dir() {
            pending.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            Vec::new()
        } else if metadata.is_symlink() {
            fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
        } else {
            fs::read(&path).unwrap()
        };
        found.insert(path, content);
    }
    found
}

#[test]
fn the_git_directory_is_not_writable() {
    for sandbox in sandboxes() {
        let (world, name) = (World::new(), sandbox.name());
        let text = "for f in $(find .git); do echo evil > $f; ln -sf /etc/passwd $f; mv $f $f.x; rm -rf $f; done 2>/dev/null; \
             mkdir -p .git/rr-cache .git/remotes .git/new; echo evil > .git/MERGE_RR; mkfifo .git/pipe; mv .git other; echo done";
        let job = checkout_job(&world, text);
        let before = tree(&world.path("project/.git"));
        let outcome = sandbox.run(&job).unwrap();
        assert_eq!(stdout(&outcome), "done\n", "{name} {}", stderr(&outcome));
        let after = tree(&world.path("project/.git"));
        let changed: Vec<&PathBuf> =
            before.keys().chain(after.keys()).filter(|path| before.get(*path) != after.get(*path)).collect();
        assert!(changed.is_empty(), "{name}: {changed:?}");
    }
}

#[test]
fn settings_that_a_command_made_do_not_rename_the_checkout() {
    for sandbox in sandboxes() {
        let world = World::new();
        let text = "printf '[core]\\n\\thooksPath = .\\n' > .git/config.worktree; true";
        let job = checkout_job(&world, text);
        sandbox.run(&job).unwrap();
        assert!(world.path("project/src/main.rs").is_file(), "{}", sandbox.name());
    }
}

#[test]
fn output_is_kept_if_the_cleanup_fails() {
    for sandbox in sandboxes() {
        let world = World::new();
        let text = "import os\nprint('said', flush=True)\nos.chdir('out')\nfor i in range(30):\n    os.mkdir('d' * 200)\n    os.chdir('d' * 200)\n";
        let mut job = world.python(text);
        job.grants.directory = Some(world.path("project"));
        job.grants.write = vec![world.path("project/out")];
        let outcome = sandbox.run(&job).unwrap();
        assert_eq!(stdout(&outcome), "said\n", "{} {}", sandbox.name(), stderr(&outcome));
        assert!(
            matches!(outcome.cleanup_problems.as_slice(), [CleanupProblem::NotSwept(_)]),
            "{} {outcome:?}",
            sandbox.name()
        );
        assert!(
            std::process::Command::new("rm")
                .arg("-rf")
                .arg(world.path("project/out"))
                .status()
                .unwrap()
                .success()
        );
    }
}

#[test]
fn git_leaves_out_the_files_of_the_system() {
    for sandbox in sandboxes() {
        let world = World::new();
        // A file that is there and may not be read, as `/etc/gitconfig` is.
        world.write("home/gitconfig", "[note]\n\ttext = SECRET\n");
        let mut job = world.sh("git init -q . && git config --list && git status --short && git check-attr -a x; echo \"$? $GIT_ATTR_NOSYSTEM\"");
        let system = world.path("home/gitconfig").display().to_string();
        job.environment.push(("GIT_CONFIG_SYSTEM".to_owned(), system));
        let outcome = sandbox.run(&job).unwrap();
        let (said, name) = (stdout(&outcome), sandbox.name());
        assert!(said.ends_with("\n0 1\n") && !said.contains("SECRET"), "{name}: {said} {}", stderr(&outcome));
        assert_eq!(stderr(&outcome), "", "{name}");
    }
}
