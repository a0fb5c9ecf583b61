//! Probes that exhaust resources, outlive their command, or use inherited handles: each without a sandbox
//! first, with small bounds, then in every sandbox.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use repertoire_exec::{ExceededLimit, Job, JobLimits, RunEnding, RunOutcome};

use crate::probe::{Target, processes_with};
use crate::world::{World, is_empty, sandboxes, stderr, stdout};

/// Shows that a program in Python comes through without limits and does not within them. It holds for `HOLD`
/// seconds what it took: in a sandbox longer than it takes to notice on the busiest machine.
#[track_caller]
fn check(program: &str, limit: impl Fn(&mut JobLimits), is_right: impl Fn(&RunOutcome) -> bool) {
    let program = |hold: u32| {
        let imports = "import os, sys, time, threading, mmap, resource";
        format!("{imports}\nHOLD = {hold}\n{program}\nprint('ESCAPED', flush=True)")
    };
    let said = Target::new().bare(&program(1));
    assert!(said.contains("ESCAPED"), "without a sandbox: {said}");
    for sandbox in sandboxes() {
        let target = Target::new();
        let mut job = target.job(&program(60));
        job.limits.timeout = Duration::from_secs(120);
        limit(&mut job.limits);
        let outcome = sandbox.run(&job).unwrap();
        let shown =
            format!("{} {:?} {} {}", sandbox.name(), outcome.ending, stdout(&outcome), stderr(&outcome));
        assert!(is_right(&outcome), "{shown}");
        assert!(!stdout(&outcome).contains("ESCAPED"), "{shown}");
        assert!(is_empty(&target.world.scratches()), "{shown}: the scratch directory is left");
    }
}

fn exceeded(what: ExceededLimit) -> impl Fn(&RunOutcome) -> bool {
    move |outcome| outcome.ending == RunEnding::Exceeded(what)
}

#[test]
fn a_fork_bomb_is_ended() {
    let program = "made = []\nfor number in range(200):\n    child = os.fork()\n    if child == 0:\n        time.sleep(HOLD)\n        os._exit(0)\n    made.append(child)\ntime.sleep(HOLD)\nfor child in made: os.waitpid(child, 0)";
    check(program, |limits| limits.processes = 50, exceeded(ExceededLimit::Processes));
}

#[test]
fn a_fork_bomb_whose_parents_end_is_ended() {
    let program = "def f(depth):\n    for i in range(2):\n        if os.fork() == 0:\n            if depth: f(depth - 1)\n            time.sleep(HOLD)\n            os._exit(0)\nf(5)\ntime.sleep(HOLD)";
    check(program, |limits| limits.processes = 30, exceeded(ExceededLimit::Processes));
}

#[test]
fn a_thread_bomb_is_ended() {
    let program = "made = [threading.Thread(target=time.sleep, args=(HOLD,)) for number in range(200)]\nfor thread in made: thread.start()\nfor thread in made: thread.join()";
    check(program, |limits| limits.processes = 50, exceeded(ExceededLimit::Processes));
}

#[test]
fn a_memory_bomb_is_refused() {
    let program = "kept = [bytearray(os.urandom(1 << 20)) for number in range(300)]";
    check(
        program,
        |limits| limits.memory = 128 << 20,
        |outcome| {
            outcome.ending == RunEnding::Exceeded(ExceededLimit::Memory)
                || stderr(outcome).contains("MemoryError")
        },
    );
}

#[test]
fn shared_memory_counts() {
    let program = "kept = mmap.mmap(-1, 300 << 20)\nfor place in range(0, 300 << 20, 4096): kept[place] = 1\ntime.sleep(HOLD)";
    check(program, |limits| limits.memory = 128 << 20, exceeded(ExceededLimit::Memory));
}

#[test]
fn memory_counts_after_the_first_thread_ended() {
    let program = "import ctypes, platform\ndef take():\n    kept = mmap.mmap(-1, 300 << 20)\n    for place in range(0, 300 << 20, 4096): kept[place] = 1\n    time.sleep(HOLD)\n    print('ESCAPED', flush=True)\n    os._exit(0)\nthreading.Thread(target=take).start()\nctypes.CDLL(None).syscall({'x86_64': 60, 'aarch64': 93}[platform.machine()], 0)";
    check(program, |limits| limits.memory = 128 << 20, exceeded(ExceededLimit::Memory));
}

#[test]
fn the_memory_of_many_processes_counts_together() {
    let program = "made = []\nfor number in range(5):\n    child = os.fork()\n    if child == 0:\n        kept = b'x' * (50 << 20)\n        time.sleep(HOLD)\n        os._exit(0)\n    made.append(child)\nfor child in made: os.waitpid(child, 0)";
    check(program, |limits| limits.memory = 160 << 20, exceeded(ExceededLimit::Memory));
}

#[test]
fn a_disk_filler_is_ended() {
    let program = "for number in range(100):\n    with open('f%d' % number, 'wb') as file: file.write(bytes(1 << 20))\ntime.sleep(HOLD)";
    check(program, |limits| limits.disk = 20 << 20, exceeded(ExceededLimit::Disk));
}

#[test]
fn a_disk_filler_that_ends_at_once_has_exceeded_its_limit() {
    for sandbox in sandboxes() {
        let target = Target::new();
        // One call of the system: no poll comes between it and the end.
        let mut job =
            target.job("import os\nos.posix_fallocate(os.open('f', os.O_CREAT | os.O_WRONLY), 0, 40 << 20)");
        job.limits.disk = 20 << 20;
        let outcome = sandbox.run(&job).unwrap();
        assert_eq!(outcome.ending, RunEnding::Exceeded(ExceededLimit::Disk), "{}", sandbox.name());
    }
}

#[test]
fn files_without_a_name_count() {
    let program = "kept = []\nfor number in range(60):\n    file = open('f', 'wb')\n    os.remove('f')\n    file.write(bytes(1 << 20))\n    file.flush()\n    kept.append(file)\ntime.sleep(HOLD)";
    check(program, |limits| limits.disk = 20 << 20, exceeded(ExceededLimit::Disk));
}

#[test]
fn many_empty_files_count() {
    let program = "for number in range(20000): open('f%d' % number, 'w').close()\ntime.sleep(HOLD)";
    check(program, |limits| limits.disk = 20 << 20, exceeded(ExceededLimit::Disk));
}

#[test]
fn many_empty_files_are_stopped_while_they_are_made() {
    let program =
        "for number in range(140000): open('f%d' % number, 'w').close()\nprint('ESCAPED', flush=True)";
    for sandbox in sandboxes() {
        let target = Target::new();
        let mut job = target.job(program);
        job.limits.disk = 128 << 20;
        let outcome = sandbox.run(&job).unwrap();
        assert_eq!(outcome.ending, RunEnding::Exceeded(ExceededLimit::Disk), "{}", sandbox.name());
        assert!(!stdout(&outcome).contains("ESCAPED"), "{}", sandbox.name());
    }
}

#[test]
fn a_large_file_is_cut() {
    let program = "with open('f', 'wb') as file:\n    for number in range(20): file.write(bytes(1 << 20))";
    check(
        program,
        |limits| limits.file_size = 5 << 20,
        |outcome| stderr(outcome).contains("File too large") || outcome.ending == RunEnding::Signalled(25),
    );
}

#[test]
fn many_open_files_are_refused() {
    let program = "kept = [open('/dev/null') for number in range(200)]";
    check(
        program,
        |limits| limits.open_files = 64,
        |outcome| stderr(outcome).contains("Too many open files"),
    );
}

#[test]
fn a_limit_is_not_lifted() {
    let program = "_, most = resource.getrlimit(resource.RLIMIT_FSIZE)\nresource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))";
    check(program, |_| {}, |outcome| outcome.ending == RunEnding::Exited(1));
}

#[cfg(target_os = "linux")]
#[test]
fn no_core_dump_is_passed_to_the_program_that_core_pattern_names() {
    // The kernel passes one on with any limit but 1, even with 0.
    let program = "assert resource.getrlimit(resource.RLIMIT_CORE) != (1, 1)";
    check(program, |_| {}, |outcome| outcome.ending == RunEnding::Exited(1));
}

#[test]
fn a_busy_loop_is_ended() {
    let program = "end = time.process_time() + 2\nwhile time.process_time() < end: pass";
    check(
        program,
        |limits| limits.cpu = Duration::from_secs(1),
        |outcome| matches!(outcome.ending, RunEnding::Signalled(9 | 24)),
    );
}

#[test]
fn an_output_flood_takes_neither_memory_nor_time() {
    let world = World::new();
    for sandbox in sandboxes() {
        let mut job = world.sh("yes | head -c 300000000; yes | head -c 300000000 >&2");
        job.limits.timeout = Duration::from_secs(60);
        let outcome = sandbox.run(&job).unwrap();
        assert_eq!(outcome.ending, RunEnding::Exited(0));
        for output in [outcome.stdout, outcome.stderr] {
            assert_eq!(
                (output.bytes.len() as u64 + output.dropped, output.bytes.len()),
                (300_000_000, 1 << 20)
            );
        }
        let mut job = world.sh("yes");
        job.limits.timeout = Duration::from_millis(500);
        assert_eq!(sandbox.run(&job).unwrap().ending, RunEnding::TimedOut);
    }
}

#[test]
fn a_daemon_does_not_outlive_its_command() {
    let daemon = |number: &str| {
        format!(
            "import os\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        os.closerange(0, 3)\n        os.execvp('sleep', ['sleep', '{number}'])\n    os._exit(0)\nos.wait()\nprint('started')"
        )
    };
    let number = format!("77{}.25", std::process::id());
    assert!(Target::new().bare(&daemon(&number)).contains("started"));
    let deadline = Instant::now() + Duration::from_secs(5);
    while processes_with(&number).is_empty() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    let left = processes_with(&number);
    assert!(!left.is_empty(), "without a sandbox it goes on");
    for process in left {
        rustix::process::kill_process(
            rustix::process::Pid::from_raw(process).unwrap(),
            rustix::process::Signal::KILL,
        )
        .unwrap();
    }
    for (place, sandbox) in sandboxes().iter().enumerate() {
        let number = format!("88{}.{place}5", std::process::id());
        let target = Target::new();
        let outcome = sandbox.run(&target.job(&daemon(&number))).unwrap();
        assert!(stdout(&outcome).contains("started"), "{} {}", sandbox.name(), stderr(&outcome));
        assert!(processes_with(&number).is_empty(), "{}: a daemon is left", sandbox.name());
    }
}

#[test]
fn a_command_cannot_end_its_launcher() {
    let world = World::new();
    for sandbox in sandboxes() {
        let outcome = sandbox
            .run(&world.sh("kill -9 $PPID 2>/dev/null; kill -STOP $PPID 2>/dev/null; echo still here"))
            .unwrap();
        assert_eq!(
            (stdout(&outcome).as_str(), outcome.ending),
            ("still here\n", RunEnding::Exited(0)),
            "{}",
            sandbox.name()
        );
    }
}

#[test]
fn descriptors_of_the_host_stay_with_it() {
    let world = World::new();
    let secret = fs::File::open(world.path("home/.ssh/id_ed25519")).unwrap();
    // Hosts in other languages may have it open without close-on-exec.
    rustix::io::fcntl_setfd(&secret, rustix::io::FdFlags::empty()).unwrap();
    let list = "ls /proc/self/fd >/dev/null; for n in 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do (eval \"cat <&$n\") 2>/dev/null; done; true";
    // Descriptors of other tests may be among the first few, so the number is passed.
    let number = std::os::fd::AsRawFd::as_raw_fd(&secret);
    let one = format!("{list}; (eval \"cat <&{number}\") 2>/dev/null; true");
    let output = Command::new("bash").args(["-c", &one]).stdin(Stdio::null()).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("SECRET"), "without a sandbox it is inherited");
    for sandbox in sandboxes() {
        let outcome = sandbox.run(&world.job(["bash", "-c", &one])).unwrap();
        assert_eq!(stdout(&outcome), "", "{}", sandbox.name());
        let text = "import os\nopen_ones = []\nfor n in range(3, 1000):\n    try:\n        os.fstat(n); open_ones.append(n)\n    except OSError: pass\nprint(open_ones)";
        let outcome = sandbox.run(&world.python(text)).unwrap();
        assert_eq!(stdout(&outcome), "[]\n", "{}", sandbox.name());
    }
}

#[test]
fn there_is_no_terminal() {
    let world = World::new();
    for sandbox in sandboxes() {
        let outcome = sandbox
            .run(&world.sh("(: < /dev/tty) 2>/dev/null && echo ESCAPED; tty -s && echo ESCAPED; true"))
            .unwrap();
        assert_eq!(stdout(&outcome), "", "{}", sandbox.name());
    }
}

#[test]
fn links_planted_in_the_scratch_directory_lead_nowhere() {
    let world = World::new();
    for sandbox in sandboxes() {
        let text = format!(
            "ln -s {0} $HOME/home; ln -s {0}/notes.txt link; mkdir d; ln -s {0} d/inner; ln -s / d/root; rm -rf work; ln -s {0} ../planted; echo x > link; true",
            world.path("home").display()
        );
        sandbox.run(&world.sh(&text)).unwrap();
        assert_eq!(world.read("home/notes.txt"), "SECRET-NOTES", "{}", sandbox.name());
        assert_eq!(world.read("home/.ssh/id_ed25519"), "SECRET-KEY", "{}", sandbox.name());
        assert!(is_empty(&world.scratches()), "{}", sandbox.name());
    }
}

#[test]
fn shared_directories_of_the_machine_are_not_shared() {
    let world = World::new();
    for (place, sandbox) in sandboxes().iter().enumerate() {
        for directory in ["/tmp", "/var/tmp", "/dev/shm", "/run", "/usr/local/lib"] {
            let file = format!("{directory}/repertoire-escaped-{}-{place}", std::process::id());
            sandbox.run(&world.sh(&format!("echo x > {file}; mkdir {file}.d; true"))).unwrap();
            assert!(
                fs::metadata(&file).is_err() && fs::metadata(format!("{file}.d")).is_err(),
                "{} {file}",
                sandbox.name()
            );
        }
    }
}

#[test]
fn a_bomb_that_resists_is_ended() {
    let world = World::new();
    for sandbox in sandboxes() {
        // Everyone ignores what can be ignored and starts the next one.
        let mut job: Job = world.sh("trap '' TERM INT HUP; f() { (f & ); sleep 0.2; f; }; f 2>/dev/null");
        job.limits.processes = 60;
        job.limits.timeout = Duration::from_secs(10);
        let start = Instant::now();
        let outcome = sandbox.run(&job).unwrap();
        assert!(start.elapsed() < Duration::from_secs(20), "{} {:?}", sandbox.name(), outcome.ending);
        assert_eq!(outcome.ending, RunEnding::Exceeded(ExceededLimit::Processes), "{}", sandbox.name());
        assert!(is_empty(&world.scratches()), "{}", sandbox.name());
    }
}

/// Returns the launcher that a process came from.
fn launcher_of(process: i32) -> Option<i32> {
    let mut at = process;
    while at > 1 {
        let stat = fs::read_to_string(format!("/proc/{at}/stat")).ok()?;
        at = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
        if fs::read(format!("/proc/{at}/cmdline")).ok()?.starts_with(b"repertoire-launcher") {
            return Some(at);
        }
    }
    None
}

#[test]
fn no_process_outlives_its_launcher() {
    for (place, sandbox) in sandboxes().iter().enumerate() {
        let number = format!("99{}.{place}5", std::process::id());
        let target = Target::new();
        // It lays down its session, its group, its variables, its outputs and the limits that it may.
        let program = format!(
            "import os, resource, time\ntry: resource.setrlimit(15, (1, 1))\nexcept Exception: pass\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        os.closerange(0, 3)\n        os.execve('/bin/sleep', ['sleep', '{number}'], {{}})\n    os._exit(0)\nos.wait()\ntime.sleep(20)"
        );
        let mut job = target.job(&program);
        job.limits.cpu = Duration::from_secs(1);
        std::thread::scope(|scope| {
            let run = scope.spawn(|| sandbox.run(&job));
            let deadline = Instant::now() + Duration::from_secs(15);
            let launcher = loop {
                let found = processes_with(&number).into_iter().find_map(launcher_of);
                match found {
                    Some(launcher) => break launcher,
                    None if Instant::now() > deadline => panic!("{}: it did not begin", sandbox.name()),
                    None => std::thread::sleep(Duration::from_millis(5)),
                }
            };
            let limits = fs::read_to_string(format!("/proc/{launcher}/limits")).unwrap();
            let cpu = limits.lines().find(|line| line.starts_with("Max cpu time")).unwrap();
            let cpu: u64 = cpu.split_whitespace().nth(3).unwrap().parse().unwrap();
            assert!(cpu > job.limits.timeout.as_secs(), "{}: a launcher with {cpu} seconds", sandbox.name());
            let launcher = rustix::process::Pid::from_raw(launcher).unwrap();
            rustix::process::kill_process(launcher, rustix::process::Signal::KILL).unwrap();
            run.join().unwrap().unwrap_err();
        });
        assert!(processes_with(&number).is_empty(), "{}: a daemon is left", sandbox.name());
    }
}

#[test]
fn mapped_files_without_a_name_count() {
    let program = "kept = []\nfor number in range(60):\n    file = open('f', 'w+b')\n    os.remove('f')\n    file.write(bytes(1 << 20))\n    file.flush()\n    kept.append(mmap.mmap(file.fileno(), 1 << 20, access=mmap.ACCESS_READ))\n    file.close()\ntime.sleep(HOLD)";
    check(program, |limits| limits.disk = 20 << 20, exceeded(ExceededLimit::Disk));
}

#[test]
fn shared_memory_counts_when_nobody_has_it_in_its_page_tables() {
    let program = "kept = mmap.mmap(-1, 300 << 20)\nfor place in range(0, 300 << 20, 1 << 20): kept[place:place + (1 << 20)] = bytes(1 << 20)\nkept.madvise(mmap.MADV_DONTNEED)\ntime.sleep(HOLD)";
    check(program, |limits| limits.memory = 128 << 20, exceeded(ExceededLimit::Memory));
    let program = "kept = []\nfor number in range(10):\n    piece = mmap.mmap(-1, 30 << 20)\n    kept.append(piece)\n    child = os.fork()\n    if child == 0:\n        piece.write(bytes(30 << 20))\n        os._exit(0)\n    os.waitpid(child, 0)\ntime.sleep(HOLD)";
    check(program, |limits| limits.memory = 128 << 20, exceeded(ExceededLimit::Memory));
}

#[test]
fn page_tables_count() {
    let program = "flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000\nkept = mmap.mmap(-1, 100 << 30, flags=flags, prot=mmap.PROT_READ)\nkept.madvise(15)\nfor place in range(0, 100 << 30, 2 << 20): kept[place]\ntime.sleep(HOLD)";
    check(program, |limits| limits.memory = 128 << 20, exceeded(ExceededLimit::Memory));
}

#[test]
fn sockets_count() {
    let program = "import socket\nkept = []\nfor number in range(110):\n    pair = socket.socketpair()\n    kept.append(pair)\n    pair[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)\n    pair[0].setblocking(False)\n    try:\n        while True: pair[0].send(bytes(1 << 16))\n    except BlockingIOError: pass\ntime.sleep(HOLD)";
    check(program, |limits| limits.memory = 50 << 20, exceeded(ExceededLimit::Memory));
}

#[test]
fn files_without_a_name_count_if_only_a_page_is_mapped() {
    let program = "kept = []\nfor number in range(60):\n    file = open('f', 'w+b')\n    os.remove('f')\n    file.write(bytes(1 << 20))\n    file.flush()\n    kept.append(mmap.mmap(file.fileno(), 4096, access=mmap.ACCESS_READ))\n    file.close()\ntime.sleep(HOLD)";
    // Python keeps a duplicate of the descriptor, unlike a program in C.
    let program = program.replace("    file.close()", "    file.close()\n    os.closerange(3, 200)");
    check(&program, |limits| limits.disk = 20 << 20, exceeded(ExceededLimit::Disk));
}

#[test]
fn open_files_are_not_sent_to_nowhere() {
    let program = "import socket\none, other = socket.socketpair()\nfor number in range(60):\n    file = open('f', 'wb')\n    os.remove('f')\n    file.write(bytes(1 << 20))\n    file.flush()\n    socket.send_fds(one, [b'x'], [file.fileno()])\n    file.close()\ntime.sleep(HOLD)";
    check(
        program,
        |limits| limits.disk = 20 << 20,
        |outcome| stderr(outcome).contains("PermissionError: [Errno 1]"),
    );
}

#[test]
fn a_process_that_hides_its_open_files_is_ended() {
    let program = "import ctypes\nctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\nkept = []\nfor number in range(60):\n    file = open('f', 'wb')\n    os.remove('f')\n    file.write(bytes(1 << 20))\n    file.flush()\n    kept.append(file)\ntime.sleep(HOLD)";
    check(program, |limits| limits.disk = 20 << 20, exceeded(ExceededLimit::Disk));
}

#[test]
fn a_timeout_of_any_length_is_none_too_long() {
    let world = World::new();
    for sandbox in sandboxes() {
        let mut job = world.sh("echo done");
        job.limits.timeout = Duration::MAX;
        assert_eq!(stdout(&sandbox.run(&job).unwrap()), "done\n", "{}", sandbox.name());
    }
}
