//! Tests of protected names while a command runs: new ones end it, and files of the user stay.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use repertoire_exec::protect::names::{PROTECTED, PROTECTED_IN};
use repertoire_exec::{CleanupProblem, Job, RunEnding};

use crate::world::{World, sandboxes, stderr, stdout};

/// The timeout of a test.
const PATIENCE: Duration = Duration::from_secs(60);

fn job(world: &World, text: &str, write: &str) -> Job {
    let mut job = world.sh(text);
    job.grants.directory = Some(world.path("project"));
    job.grants.write = vec![world.path(write)];
    job
}

fn wait_for(path: &Path) {
    let since = Instant::now();
    while !path.exists() {
        assert!(since.elapsed() < PATIENCE, "{} never appeared", path.display());
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_new_protected_name_ends_the_command() {
    for (text, refused) in [
        ("echo obey > out/AGENTS.md", "out/AGENTS.md.refused"),
        ("mkdir -p out/a/b/c; echo obey > out/a/b/c/.envrc", "out/a/b/c/.envrc.refused"),
        ("mkdir -p out/x/objects out/x/refs; mv out/x out/.git", "out/.git.refused"),
        ("mkdir -p out/x; echo {} > out/x/settings.json; mv out/x out/.claude", "out/.claude.refused"),
        ("mkdir -p out/x/objects out/x/refs; echo ref: refs/heads/main > out/x/HEAD", "out/x/HEAD.refused"),
        ("mkdir out/x; echo > out/x/config.toml; mv out/x out/.cargo", "out/.cargo/config.toml.refused"),
    ] {
        for sandbox in sandboxes() {
            let world = World::new();
            let text = format!("{text}; sleep 600; echo survived");
            let outcome = sandbox.run(&job(&world, &text, "project/out")).unwrap();
            let shown = format!("{} {text} {outcome:?}", sandbox.name());
            assert_eq!(outcome.ending, RunEnding::ProtectedName, "{shown}");
            assert!(outcome.refused.contains(&world.path("project").join(refused)), "{shown}");
            assert!(outcome.cleanup_problems.is_empty(), "{shown}");
        }
    }
}

#[test]
fn each_protected_name_is_refused_by_itself() {
    let inner = PROTECTED_IN.iter().map(|(directory, name)| format!("{directory}/{name}"));
    let names: Vec<String> = PROTECTED.iter().map(|name| (*name).to_owned()).chain(inner).collect();
    for sandbox in sandboxes() {
        let next = AtomicUsize::new(0);
        let plant = || {
            while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
                let world = World::new();
                let text =
                    format!("mkdir -p \"$(dirname 'out/{name}')\"; echo obey > 'out/{name}'; sleep 600");
                let outcome = sandbox.run(&job(&world, &text, "project/out")).unwrap();
                assert_eq!(outcome.ending, RunEnding::ProtectedName, "{} {name} {outcome:?}", sandbox.name());
                let planted = world.path("project/out").join(name);
                assert!(planted.symlink_metadata().is_err(), "{} {name} {outcome:?}", sandbox.name());
            }
        };
        std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(plant))));
        let world = World::new();
        let outcome = sandbox.run(&job(&world, "echo plain > out/notes.md", "project/out")).unwrap();
        assert_eq!(outcome.ending, RunEnding::Exited(0), "{} {outcome:?}", sandbox.name());
        assert_eq!(world.read("project/out/notes.md"), "plain\n", "{}", sandbox.name());
    }
}

#[test]
fn each_protected_name_is_refused_to_another_user_too() {
    use std::os::unix::process::CommandExt as _;

    // Only root can become another user, whose sandboxes are made without its rights.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let test = "protected::each_protected_name_is_refused_by_itself";
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test]).current_dir("/").env("HOME", "/nonexistent").uid(4242).gid(4242);
    let output = command.output().unwrap();
    let shown = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.success() && shown[0].contains("1 passed"), "{}", shown.concat());
}

#[test]
fn a_command_among_many_files_is_ended_too() {
    for sandbox in sandboxes() {
        let world = World::new();
        let text = "import os, time\nfor i in range(30000): open('out/f%d' % i, 'w').close()\nopen('out/CLAUDE.md', 'w').close()\ntime.sleep(600)";
        let mut job = world.python(text);
        job.grants.directory = Some(world.path("project"));
        job.grants.write = vec![world.path("project/out")];
        let outcome = sandbox.run(&job).unwrap();
        assert_eq!(outcome.ending, RunEnding::ProtectedName, "{} {outcome:?}", sandbox.name());
        assert!(world.path("project/out/CLAUDE.md.refused").is_file(), "{}", sandbox.name());
    }
}

#[test]
fn a_directory_around_a_protected_file_cannot_be_renamed() {
    for sandbox in sandboxes() {
        let world = World::new();
        world.write("project/sub/deep/AGENTS.md", "rules");
        world.write("project/sub/deep/.claude/settings.json", "{}");
        let text = "import os\nfor one, other in [('sub', 'moved'), ('sub/deep', 'sub/moved'), ('sub/deep', 'out/deep')]:\n    try:\n        os.rename(one, other)\n    except OSError:\n        pass\n";
        let mut job = job(&world, "", "project");
        job.command = world.python(text).command;
        let outcome = sandbox.run(&job).unwrap();
        assert_eq!(outcome.ending, RunEnding::Exited(0), "{} {outcome:?}", sandbox.name());
        assert!(outcome.refused.is_empty(), "{} {outcome:?}", sandbox.name());
        assert_eq!(world.read("project/sub/deep/AGENTS.md"), "rules", "{}", sandbox.name());
        assert_eq!(world.read("project/sub/deep/.claude/settings.json"), "{}", "{}", sandbox.name());
    }
}

#[test]
fn a_protected_file_that_the_user_replaces_stays() {
    for sandbox in sandboxes() {
        let (world, name) = (World::new(), sandbox.name());
        world.write("project/docs/CLAUDE.md", "rules");
        let text = "touch src/ready; until [ -e src/go ]; do sleep 0.01; done; echo evil 2>/dev/null > AGENTS.md; echo done";
        let job = job(&world, text, "project");
        let outcome = std::thread::scope(|scope| {
            let run = scope.spawn(|| sandbox.run(&job));
            wait_for(&world.path("project/src/ready"));
            // As editors save a file.
            for path in ["AGENTS.md", "docs/CLAUDE.md"] {
                world.write("saved", "edited");
                fs::rename(world.path("saved"), world.path("project").join(path)).unwrap();
            }
            if name != "bubblewrap" {
                world.write("project/src/go", "");
            }
            run.join().unwrap().unwrap()
        });
        for path in ["AGENTS.md", "docs/CLAUDE.md"] {
            assert_eq!(world.read(&format!("project/{path}")), "edited", "{name} {path}");
        }
        assert!(outcome.refused.is_empty(), "{name} {outcome:?}");
        if name == "bubblewrap" {
            // The new file is not mounted read-only, so the command is ended.
            assert_eq!(outcome.ending, RunEnding::ProtectedName, "{outcome:?}");
            let replaced = CleanupProblem::ProtectedFileReplaced(world.path("project/AGENTS.md"));
            assert!(outcome.cleanup_problems.contains(&replaced), "{outcome:?}");
        } else {
            assert_eq!(stdout(&outcome), "done\n", "{name} {}", stderr(&outcome));
            assert!(outcome.cleanup_problems.is_empty(), "{name} {outcome:?}");
        }
    }
}

#[test]
fn files_that_the_user_checks_out_meanwhile_are_left_alone() {
    let git = |directory: &Path, arguments: &[&str]| {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"];
        let mut command = Command::new("git");
        let status = command.current_dir(directory).args(identity).args(arguments).status().unwrap();
        assert!(status.success(), "{arguments:?}");
    };
    for sandbox in sandboxes() {
        let (world, name) = (World::new(), sandbox.name());
        let checkout = world.path("checkout");
        world.write("checkout/src/main.rs", "");
        git(&checkout, &["init", "-q"]);
        git(&checkout, &["add", "."]);
        git(&checkout, &["commit", "-q", "-m", "first"]);
        git(&checkout, &["checkout", "-q", "-b", "rules"]);
        world.write("checkout/AGENTS.md", "rules");
        world.write("checkout/src/CLAUDE.md", "more rules");
        git(&checkout, &["add", "."]);
        git(&checkout, &["commit", "-q", "-m", "second"]);
        git(&checkout, &["checkout", "-q", "main"]);
        let mut job = world.sh("echo obey > src/CLAUDE.md.new; touch src/ready; sleep 600");
        job.grants.directory = Some(checkout.clone());
        job.grants.write = vec![checkout.clone()];
        let outcome = std::thread::scope(|scope| {
            let run = scope.spawn(|| sandbox.run(&job));
            wait_for(&checkout.join("src/ready"));
            git(&checkout, &["checkout", "-q", "rules"]);
            run.join().unwrap().unwrap()
        });
        assert_eq!(outcome.ending, RunEnding::ProtectedName, "{name} {outcome:?}");
        assert!(outcome.refused.is_empty(), "{name} {outcome:?}");
        assert_eq!(world.read("checkout/AGENTS.md"), "rules", "{name}");
        assert_eq!(world.read("checkout/src/CLAUDE.md"), "more rules", "{name}");
        assert!(
            outcome.cleanup_problems.iter().all(|one| matches!(one, CleanupProblem::CheckedOut(_))),
            "{name}"
        );
        let status =
            Command::new("git").current_dir(&checkout).args(["status", "--porcelain"]).output().unwrap();
        let status = String::from_utf8(status.stdout).unwrap();
        assert_eq!(status, "?? src/CLAUDE.md.new\n?? src/ready\n", "{name}");
    }
}
