//! The conformance suite of sandboxes, including the one that confines nothing.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use repertoire_exec::{
    Cancel, ExceededLimit, ExecErrorKind, Job, Launcher, RunEnding, RunOutcome, Sandbox, UnconfinedSandbox,
};

use crate::machine::skipped;
use crate::world::{World, everyone, is_empty, sandboxes, stderr, stdout};

#[track_caller]
fn run(sandbox: &Arc<dyn Sandbox>, job: &Job) -> RunOutcome {
    sandbox
        .run(job)
        .unwrap_or_else(|error| panic!("{}: {error} {:?}", sandbox.name(), std::error::Error::source(&error)))
}

#[track_caller]
fn check(job: &Job, expect: &str) {
    for sandbox in everyone() {
        let outcome = run(&sandbox, job);
        let shown = format!("{} {:?} {}", sandbox.name(), outcome.ending, stderr(&outcome));
        assert_eq!(stdout(&outcome), expect, "{shown}");
        assert!(outcome.ending.is_success(), "{shown}");
    }
}

#[test]
fn programs_run() {
    let world = World::new();
    check(&world.sh("echo from sh; cat /dev/null; ls / >/dev/null 2>&1; true"), "from sh\n");
    check(&world.python("import json, subprocess, tempfile; print(subprocess.check_output(['echo', 'from', 'python'], text=True), end='')"), "from python\n");
    check(&world.python("import tempfile, os, shutil; d = tempfile.mkdtemp(); open(d + '/a', 'w').write('x'); shutil.copy(d + '/a', d + '/b'); shutil.copy2(d + '/a', d + '/c'); print(sorted(os.listdir(d)))"), "['a', 'b', 'c']\n");
    check(&world.python("import threading, concurrent.futures as f; print(sum(f.ThreadPoolExecutor(4).map(lambda x: x * x, range(10))))"), "285\n");
    check(&world.python("import asyncio\nasync def f():\n    p = await asyncio.create_subprocess_exec('echo', 'hi', stdout=-1)\n    print((await p.communicate())[0].decode(), end='')\nasyncio.run(f())"), "hi\n");
    check(&world.job(["bash", "-c", "diff <(echo a) <(echo a) && echo same"]), "same\n");
    check(
        &world.job([
            "git",
            "-c",
            "init.defaultBranch=main",
            "-c",
            "user.name=n",
            "-c",
            "user.email=e",
            "init",
            "-q",
            "repo",
        ]),
        "",
    );
}

#[test]
fn node_runs() {
    let world = World::new();
    if fs::metadata("/usr/bin/node").is_err() && fs::metadata("/usr/local/bin/node").is_err() {
        return skipped("node is not installed, so it was NOT run in the sandboxes");
    }
    check(&world.job(["node", "-e", "require('fs').writeFileSync('x', 'y'); console.log('from node', require('child_process').execSync('cat x').toString())"]), "from node y\n");
}

#[test]
fn a_script_of_the_skill_runs_and_reads_its_files() {
    let world = World::new();
    world.script("scripts/show.py", "#!/usr/bin/env python3\nimport os, sys\nroot = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))\nprint(open(root + '/data.txt').read(), sys.argv[1:])\n");
    check(&world.job(["scripts/show.py", "a b", "ü"]), "of the skill ['a b', 'ü']\n");
    world.script("scripts/show.sh", "#!/bin/sh\ncat \"$(dirname \"$0\")/../data.txt\"\n");
    check(&world.job(["./scripts/show.sh"]), "of the skill");
}

#[test]
fn input_is_read_and_is_nothing_unless_given() {
    let world = World::new();
    let mut job = world.sh("wc -c");
    check(&job, "0\n");
    job.input = Some(vec![b'x'; 3_000_000]);
    check(&job, "3000000\n");
    // A command need not read it.
    let mut job = world.sh("echo done");
    job.input = Some(vec![b'x'; 3_000_000]);
    check(&job, "done\n");
    let mut job = world.sh("cat");
    job.input = Some(b"there\nand back\0\xff".to_vec());
    for sandbox in everyone() {
        assert_eq!(run(&sandbox, &job).stdout.bytes, b"there\nand back\0\xff");
    }
}

#[test]
fn exit_statuses_and_signals_are_reported() {
    let world = World::new();
    for sandbox in everyone() {
        assert_eq!(run(&sandbox, &world.sh("exit 3")).ending, RunEnding::Exited(3), "{}", sandbox.name());
        assert_eq!(
            run(&sandbox, &world.sh("kill -SEGV $$")).ending,
            RunEnding::Signalled(11),
            "{}",
            sandbox.name()
        );
        // Neither is the other: shells report signals by such a status.
        for status in [128, 129, 137, 192, 255] {
            let ending = run(&sandbox, &world.sh(&format!("exit {status}"))).ending;
            assert_eq!(ending, RunEnding::Exited(status), "{}", sandbox.name());
        }
        let outcome = run(&sandbox, &world.sh("trap 'exit 143' TERM; kill 0"));
        assert_eq!(outcome.ending, RunEnding::Exited(143), "{}", sandbox.name());
        world.script("broken", "\u{7f}ELF is not what this is");
        let error = sandbox.run(&world.job(["./broken"])).unwrap_err();
        assert_eq!(error.kind(), ExecErrorKind::CommandFailed, "{} {error}", sandbox.name());
        let outcome = run(&sandbox, &world.sh("echo out; echo err >&2"));
        assert_eq!((stdout(&outcome).as_str(), stderr(&outcome).as_str()), ("out\n", "err\n"));
        let error = sandbox.run(&world.job(["no-such-program"])).unwrap_err();
        assert_eq!(error.kind(), ExecErrorKind::CommandNotFound);
        let error = sandbox.run(&world.job(["./data.txt"])).unwrap_err();
        assert_eq!(error.kind(), ExecErrorKind::CommandNotFound);
        let error = sandbox.run(&Job::new::<&str>([], world.path("skill"))).unwrap_err();
        assert_eq!(error.kind(), ExecErrorKind::InvalidJob);
        let error = sandbox.run(&Job::new(["true"], "relative")).unwrap_err();
        assert_eq!(error.kind(), ExecErrorKind::InvalidJob);
    }
}

#[test]
fn arguments_that_are_too_long_are_errors() {
    let world = World::new();
    for sandbox in everyone() {
        let word = "x".repeat(131_071);
        assert!(run(&sandbox, &world.job(["true", &word])).ending.is_success(), "{}", sandbox.name());
        let error = sandbox.run(&world.job(["true", &format!("{word}x")])).unwrap_err();
        assert_eq!(error.kind(), ExecErrorKind::TooLong, "{}", sandbox.name());
        let mut job = world.job(["true"]);
        job.command.extend(std::iter::repeat_n(word.into(), 60));
        let error = sandbox.run(&job).unwrap_err();
        assert_eq!(error.kind(), ExecErrorKind::TooLong, "{} {error}", sandbox.name());
        let mut job = world.job(["true"]);
        job.environment.push(("LONG".to_owned(), "x".repeat(200_000)));
        assert_eq!(sandbox.run(&job).unwrap_err().kind(), ExecErrorKind::TooLong, "{}", sandbox.name());
    }
}

#[test]
fn a_program_that_is_no_launcher_fails_at_once() {
    let world = World::new();
    for (name, text) in [
        ("ends", "#!/bin/sh\nexit 0\n"),
        ("talks", "#!/bin/sh\necho hello\nexec sleep 600\n"),
        ("listens", "#!/bin/sh\nexec cat >/dev/null\n"),
    ] {
        world.script(name, text);
        let launcher = Launcher::Path(world.path("skill").join(name));
        let mut job = world.sh("true");
        job.limits.timeout = Duration::from_secs(3600);
        let error = UnconfinedSandbox::new(launcher).run(&job).unwrap_err();
        assert_eq!(error.kind(), ExecErrorKind::Launcher, "{name}");
        assert!(error.to_string().contains("run_if_asked"), "{name} {error}");
    }
    assert!(is_empty(&world.scratches()), "scratch directories are left");
}

#[test]
fn a_command_that_takes_too_long_is_ended_with_all_it_started() {
    let world = World::new();
    for sandbox in everyone() {
        // A run that waited for them would not end.
        let mut job = world.sh("echo before; (setsid sleep 1000000 &) ; sleep 1000000");
        job.limits.timeout = Duration::from_millis(300);
        let outcome = run(&sandbox, &job);
        assert_eq!(outcome.ending, RunEnding::TimedOut, "{}", sandbox.name());
        assert_eq!(stdout(&outcome), "before\n");
    }
}

#[test]
fn another_thread_ends_it() {
    let world = World::new();
    for sandbox in everyone() {
        let cancel = Cancel::new();
        let mut job = world.sh("sleep 1000000");
        job.cancel = Some(cancel.clone());
        let thread = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(150));
            cancel.cancel();
        });
        assert_eq!(run(&sandbox, &job).ending, RunEnding::Cancelled, "{}", sandbox.name());
        thread.join().unwrap();
    }
}

#[test]
fn output_beyond_the_limit_is_counted_and_dropped() {
    let world = World::new();
    for sandbox in everyone() {
        let mut job = world.sh("head -c 5000000 /dev/zero; head -c 300 /dev/zero >&2");
        job.limits.output = 1000;
        let outcome = run(&sandbox, &job);
        assert_eq!(
            (outcome.stdout.bytes.len(), outcome.stdout.dropped),
            (1000, 4_999_000),
            "{}",
            sandbox.name()
        );
        assert_eq!((outcome.stderr.bytes.len(), outcome.stderr.dropped), (300, 0));
        assert!(outcome.ending.is_success());
    }
}

#[test]
fn it_runs_in_its_scratch_directory_which_goes_away() {
    let world = World::new();
    check(&world.sh("echo x > here && echo y > $HOME/there && echo z > $TMPDIR/tmp && echo c > $XDG_CACHE_HOME/c && cat here; umask 0; mkdir -p a/b; touch a/b/c; chmod 0 a/b a"), "x\n");
    check(&world.sh("case $PWD in $(dirname $HOME)/*) echo inside;; esac"), "inside\n");
    assert!(is_empty(&world.scratches()), "scratch directories are left");
}

#[test]
fn deep_and_odd_scratch_directories_go_away() {
    let world = World::new();
    let text = "import os\nfor i in range(1500):\n    os.mkdir('d' * 50)\n    os.chdir('d' * 50)\nos.symlink('/', 'link')\nopen('f', 'w').write('x')\nos.mkfifo('fifo')\nprint('ok')";
    let mut job = world.python(text);
    // Directories too deep to be counted end the command, sooner or later.
    job.limits.timeout = Duration::from_secs(10);
    for sandbox in everyone() {
        run(&sandbox, &job);
    }
    assert!(is_empty(&world.scratches()), "scratch directories are left");
}

#[test]
fn commands_have_only_the_given_environment() {
    let world = World::new();
    let mut job = world.sh("env | cut -d= -f1 | sort | tr '\\n' ' '");
    job.environment.push(("GIVEN".to_owned(), "x".to_owned()));
    job.environment.push(("LD_PRELOAD".to_owned(), "/x.so".to_owned()));
    job.environment.push(("HOME".to_owned(), "/root".to_owned()));
    let names =
        "GIVEN HOME PATH PWD TEMP TMP TMPDIR XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME ";
    for sandbox in everyone() {
        let confined = if sandbox.name() == "none" { "" } else { "GIT_ATTR_NOSYSTEM GIT_CONFIG_NOSYSTEM " };
        assert_eq!(stdout(&run(&sandbox, &job)), format!("{confined}{names}"), "{}", sandbox.name());
    }
    let mut job = world.sh("case $HOME in /root) echo bad;; *) echo good;; esac; echo $GIVEN");
    job.environment.push(("GIVEN".to_owned(), "a b".to_owned()));
    job.environment.push(("HOME".to_owned(), "/root".to_owned()));
    check(&job, "good\na b\n");
    let mut job = world.sh("echo $PATH");
    job.environment = vec![("PATH".to_owned(), "/nowhere:.:relative:/usr/bin:".to_owned())];
    check(&job, "/usr/bin:/usr/local/bin:/bin\n");
}

#[test]
fn a_granted_directory_is_where_it_runs_and_can_be_read() {
    let world = World::new();
    let mut job = world.sh("pwd; cat src/main.rs; ls out");
    job.grants.directory = Some(world.path("project"));
    check(&job, &format!("{}\nfn main() {{}}old.txt\n", world.path("project").display()));
}

#[test]
fn granted_paths_can_be_written() {
    let world = World::new();
    for sandbox in sandboxes() {
        let mut job = world.sh("echo new > out/new.txt && echo more >> out/old.txt && mkdir out/d && mv out/new.txt out/d/ && rm out/old.txt && ls -R out | tr '\\n' ' '; echo x > src/y");
        job.grants.directory = Some(world.path("project"));
        job.grants.write = vec![world.path("project/out")];
        let outcome = run(&sandbox, &job);
        assert_eq!(stdout(&outcome), "out: d  out/d: new.txt ", "{} {}", sandbox.name(), stderr(&outcome));
        assert!(!outcome.ending.is_success() && fs::metadata(world.path("project/src/y")).is_err());
        fs::remove_dir_all(world.path("project/out")).unwrap();
        world.write("project/out/old.txt", "old");
    }
}

#[test]
fn commands_over_a_limit_are_ended() {
    let world = World::new();
    for sandbox in everyone() {
        let name = sandbox.name();
        let mut job = world.python("import os, time\nfor i in range(40):\n    if os.fork() == 0:\n        time.sleep(20)\n        os._exit(0)\ntime.sleep(20)");
        job.limits.processes = 20;
        assert_eq!(run(&sandbox, &job).ending, RunEnding::Exceeded(ExceededLimit::Processes), "{name}");
        let mut job = world.python("import os, time\nfor i in range(4):\n    if os.fork() == 0:\n        b = b'x' * (60 << 20)\n        time.sleep(20)\n        os._exit(0)\ntime.sleep(20)");
        job.limits.memory = 128 << 20;
        assert_eq!(run(&sandbox, &job).ending, RunEnding::Exceeded(ExceededLimit::Memory), "{name}");
        let mut job = world.python("try:\n    b = bytearray(1 << 30)\n    print('got it')\nexcept MemoryError:\n    print('refused')");
        job.limits.memory = 256 << 20;
        assert_eq!(stdout(&run(&sandbox, &job)), "refused\n", "{name}");
        let mut job = world
            .sh("i=0; while [ $i -lt 100 ]; do head -c 1000000 /dev/zero > f$i; i=$((i+1)); done; sleep 20");
        job.limits.disk = 10 << 20;
        assert_eq!(run(&sandbox, &job).ending, RunEnding::Exceeded(ExceededLimit::Disk), "{name}");
        let mut job = world.sh("head -c 3000000 /dev/zero > f; wc -c < f");
        job.limits.file_size = 1 << 20;
        assert_eq!(stdout(&run(&sandbox, &job)), "1048576\n", "{name}");
        let mut job = world.python("f = []\ntry:\n    for i in range(100): f.append(open('/dev/null'))\nexcept OSError as e:\n    print(e.errno)");
        job.limits.open_files = 32;
        assert_eq!(stdout(&run(&sandbox, &job)), "24\n", "{name}");
        let mut job = world.sh("while :; do :; done");
        job.limits.cpu = Duration::from_secs(1);
        job.limits.timeout = Duration::from_secs(20);
        let ending = run(&sandbox, &job).ending;
        assert!(matches!(ending, RunEnding::Signalled(9 | 24)), "{name} {ending:?}");
    }
}

#[test]
fn a_small_command_needs_little_memory() {
    let world = World::new();
    let mut job = world.sh("sleep 0.2; echo done");
    job.limits.memory = 16 << 20;
    job.limits.processes = 8;
    check(&job, "done\n");
}

#[test]
fn fifty_run_at_once() {
    let world = World::new();
    for sandbox in everyone() {
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..50)
                .map(|number| {
                    let job = world.sh(&format!("echo {number} > mine; sleep 0.1; cat mine"));
                    let sandbox = sandbox.clone();
                    scope.spawn(move || (number, run(&sandbox, &job)))
                })
                .collect();
            for thread in threads {
                let (number, outcome) = thread.join().unwrap();
                assert_eq!(
                    stdout(&outcome),
                    format!("{number}\n"),
                    "{} {}",
                    sandbox.name(),
                    stderr(&outcome)
                );
            }
        });
    }
    assert!(is_empty(&world.scratches()), "scratch directories are left");
}
