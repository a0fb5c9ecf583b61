//! Failures of the store: skills are served all the same, errors are clear, and everything recovers without
//! help.

use std::fs::{self, File, Permissions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::git_repository::{Repository, empty_project};
use crate::machine::skipped;
use crate::postgres_server::Server;
use crate::sandbox::{Run, Sandbox, skill};
use crate::test_publish_command::wait_until;
use crate::test_serve_command::Serving;

const LOAD: [&str; 3] = ["call", "load_skill", r#"{"name": "alpha"}"#];
const MANIFEST: &str = ".agents/skills/alpha/SKILL.md";
const DIFF: &str = "--- a/SKILL.md\n+++ b/SKILL.md\n@@ -7 +7 @@\n-Do alpha.\n+Do alpha carefully.\n";

/// The user that a command runs as if root runs the tests, whom no permission stops.
const NOBODY: u32 = 65_534;

/// Expects that a call gives the skill and says that its event is lost, because of `why`.
fn expect_degraded(run: &Run, why: &str) {
    assert!(run.code == 0 && run.stdout.contains("Do alpha."), "{}{}", run.stdout, run.stderr);
    let is_told = run.stderr.contains("events are not recorded for now, skills are served all the same");
    assert!(is_told && run.stderr.contains(why), "{}", run.stderr);
}

/// Expects that a command which needs the store fails for a reason that says what to do.
fn expect_refused(run: &Run, why: &str) {
    assert!(run.code != 0 && run.stderr.contains(why), "{}: {}{}", run.code, run.stdout, run.stderr);
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
}

fn state(sandbox: &Sandbox) -> PathBuf {
    sandbox.home().join(".local/state/repertoire")
}

#[test]
fn a_file_in_place_of_the_state_directory() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("../home/.local/state/repertoire", "in the way\n");
    expect_degraded(&sandbox.run(&LOAD), "repertoire.db");
    sandbox.write("change.diff", DIFF);
    for command in [
        &["history", "alpha"][..],
        &["proposal", "list"],
        &["proposal", "new", "alpha", "--diff", "change.diff", "--why", "w"],
        &["history", "alpha", "--restore", "1", "--yes"],
    ] {
        expect_refused(&sandbox.run(command), "repertoire.db");
    }
    let served = Serving::start(&sandbox, &[]);
    assert!(served.get("/.well-known/agent-skills/alpha/SKILL.md", "").contains("Do alpha."));
    fs::remove_file(state(&sandbox)).unwrap();
    assert_eq!(sandbox.run(&LOAD).stderr, "");
    assert!(!sandbox.events().is_empty());
}

#[test]
fn a_state_directory_that_may_not_be_written() {
    let sandbox = Sandbox::with_skills();
    assert_eq!(sandbox.run(&["history", "alpha"]).code, 0);
    sandbox.write(MANIFEST, skill("alpha", "# Alpha\n\nDo alpha. Do it twice.\n"));
    assert_eq!(sandbox.run(&["history", "alpha"]).code, 0);
    let is_root = Path::new("/proc/self").metadata().unwrap().uid() == 0;
    let limited = |arguments: &[&str]| {
        let mut command = sandbox.command(arguments);
        if is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    };
    for directory in [
        sandbox.home().parent().unwrap(),
        &sandbox.home().join(".local"),
        &sandbox.home().join(".local/state"),
    ] {
        fs::set_permissions(directory, Permissions::from_mode(0o755)).unwrap();
    }
    for entry in state(&sandbox).read_dir().unwrap() {
        fs::set_permissions(entry.unwrap().path(), Permissions::from_mode(0o444)).unwrap();
    }
    fs::set_permissions(state(&sandbox), Permissions::from_mode(0o555)).unwrap();
    if limited(&["--version"]).output().is_err() {
        return skipped("another user cannot start the program under test");
    }
    expect_degraded(&sandbox.finish(limited(&LOAD)), "must be writable");
    expect_refused(
        &sandbox.finish(limited(&["history", "alpha", "--restore", "1", "--yes"])),
        "must be writable",
    );
    let doctor = sandbox.finish(limited(&["doctor", "--verbose"])).stdout;
    assert!(doctor.contains("warn  store") && doctor.contains("is not writable"), "{doctor}");
    fs::set_permissions(state(&sandbox), Permissions::from_mode(0o755)).unwrap();
}

/// Starts a session that loads a skill `calls` times, one call after the other.
fn session(sandbox: &Sandbox, calls: usize) -> thread::JoinHandle<()> {
    let mut command = sandbox.command(&["session"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    thread::spawn(move || {
        let (mut input, mut output) =
            (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut line = String::new();
        for _ in 0..calls {
            let call = json!({"op": "call", "tool": "load_skill", "arguments": {"name": "alpha"}});
            writeln!(input, "{call}").unwrap();
            line.clear();
            output.read_line(&mut line).unwrap();
            let answer: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(answer["ok"], true, "{answer}");
        }
        drop(input);
        assert!(child.wait().unwrap().success());
    })
}

#[test]
fn processes_that_write_one_file_at_once_lose_nothing() {
    let sandbox = Sandbox::with_skills();
    let sessions: Vec<_> = (0..4).map(|_| session(&sandbox, 50)).collect();
    // Versions are written meanwhile.
    for round in 0..5 {
        sandbox.write(MANIFEST, skill("alpha", &format!("# Alpha\n\nRound {round}.\n")));
        assert_eq!(sandbox.run(&["history", "alpha"]).code, 0);
    }
    sessions.into_iter().for_each(|session| session.join().unwrap());
    assert_eq!(sandbox.events().len(), 200);
    let versions = sandbox.json(&["history", "alpha", "--json"])["versions"].as_array().unwrap().len();
    assert!(versions >= 5, "{versions}");
}

#[test]
fn skills_are_not_changed_without_a_store_to_undo_it() {
    let (repository, sandbox) = (Repository::with_skills(), empty_project());
    sandbox.json(&["add", &repository.url(), "--all", "--yes", "--json"]);
    let pdf = ".agents/skills/pdf/SKILL.md";
    let (before, file) = (sandbox.read(pdf), state(&sandbox).join("repertoire.db"));
    let whole = fs::read(&file).unwrap();
    fs::write(&file, [0x5a; 100_000]).unwrap();
    let _ = ["db-wal", "db-shm"].map(|extension| fs::remove_file(file.with_extension(extension)));
    repository.edit("skills/pdf/SKILL.md", "Third.", "Third, from the source.");
    repository.commit();
    for command in [&["remove", "pdf", "--yes"][..], &["update", "--yes"]] {
        expect_refused(&sandbox.run(command), "and a new one is made");
        assert_eq!(sandbox.read(pdf), before);
    }
    assert!(sandbox.run(&["update", "--dry-run"]).stdout.contains("+Third, from the source."));
    fs::write(&file, whole).unwrap();
    assert_eq!(sandbox.run(&["remove", "pdf", "--yes"]).code, 0);
}

#[test]
fn a_damaged_database() {
    let sandbox = Sandbox::with_skills();
    assert_eq!(sandbox.run(&LOAD).code, 0);
    let file = state(&sandbox).join("repertoire.db");
    for damage in [&b"no database at all, but long enough to be taken for one"[..], &[0x5a; 100_000]] {
        fs::write(&file, damage).unwrap();
        // What was written last is still in the log.
        let _ = ["db-wal", "db-shm"].map(|extension| fs::remove_file(file.with_extension(extension)));
        expect_degraded(&sandbox.run(&LOAD), "move it away");
        for command in [&["events"][..], &["stats"], &["history", "alpha"], &["proposal", "list"]] {
            expect_refused(&sandbox.run(command), "and a new one is made");
        }
        let doctor = sandbox.run(&["doctor", "--verbose"]);
        assert!(doctor.stdout.contains("move it away"), "{}", doctor.stdout);
        let served = Serving::start(&sandbox, &[]);
        assert!(served.get("/.well-known/agent-skills/alpha/SKILL.md", "").contains("Do alpha."));
    }
    fs::rename(&file, file.with_extension("damaged")).unwrap();
    assert_eq!(sandbox.run(&LOAD).stderr, "");
    assert_eq!(sandbox.events().len(), 1);
}

#[test]
fn damaged_pages_are_found() {
    let sandbox = Sandbox::with_skills();
    assert_eq!(sandbox.run(&LOAD).code, 0);
    let file = state(&sandbox).join("repertoire.db");
    assert!(sandbox.run(&["doctor", "--verbose"]).stdout.contains("ok    store"));
    let mut bytes = fs::read(&file).unwrap();
    let last = bytes.len() - 4096;
    bytes[last..].fill(0x5a);
    fs::write(&file, bytes).unwrap();
    let doctor = sandbox.run(&["doctor", "--verbose"]).stdout;
    assert!(doctor.contains("the file is damaged") && !doctor.contains("ok    store"), "{doctor}");
    assert!(!doctor.contains("\\n"), "{doctor}");
    for command in [&["events"][..], &["stats"], &["history", "alpha"], &["proposal", "list"]] {
        expect_refused(&sandbox.run(command), "the file is damaged");
    }
}

#[test]
fn a_server_ends_although_another_program_keeps_the_skills_locked() {
    let sandbox = Sandbox::with_skills();
    let directory = fs::File::open(sandbox.project().join(".agents/skills")).unwrap();
    directory.lock().unwrap();
    let run = sandbox.run(&["serve", "--stdio"]);
    assert_eq!((run.code, &*run.stderr), (0, ""));
}

/// Changes `from` to `to` wherever it is in the file.
fn damage(file: &Path, from: &[u8], to: &[u8]) {
    let mut bytes = fs::read(file).unwrap();
    let places: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(from)).collect();
    assert!(!places.is_empty() && from.len() == to.len());
    places.into_iter().for_each(|at| bytes[at..at + to.len()].copy_from_slice(to));
    fs::write(file, bytes).unwrap();
}

#[test]
fn a_damaged_blob_is_never_written_to_disk() {
    let sandbox = Sandbox::with_skills();
    assert_eq!(sandbox.run(&["history", "alpha"]).code, 0);
    let text = skill("alpha", "# Alpha\n\nDo it twice.\n");
    sandbox.write(MANIFEST, &text);
    assert_eq!(sandbox.run(&["history", "alpha"]).code, 0);
    damage(&state(&sandbox).join("repertoire.db"), b"Do alpha.", b"rm -rf ~;");
    expect_refused(
        &sandbox.run(&["history", "alpha", "--restore", "1", "--yes"]),
        "stored content is damaged",
    );
    expect_refused(&sandbox.run(&["history", "alpha", "--diff", "1", "2"]), "stored content is damaged");
    assert_eq!(sandbox.read(MANIFEST), text, "nothing was written");
    assert_eq!(sandbox.json(&["history", "alpha", "--json"])["versions"].as_array().unwrap().len(), 2);
    // A broken file is not replaced by a damaged version either.
    fs::remove_file(sandbox.project().join(MANIFEST)).unwrap();
    damage(&state(&sandbox).join("repertoire.db"), b"Do it twice.", b"rm -rf ~/x/y");
    sandbox.write(MANIFEST, "---\nname: alpha\n");
    let called = sandbox.run(&LOAD);
    assert!(called.code == 1 && !called.stdout.contains("rm -rf"), "{}", called.stdout);
    assert_eq!(sandbox.run(&["call", "load_skill", r#"{"name": "beta"}"#]).code, 0);
    // The content is stored again where it is recorded again.
    sandbox.write(MANIFEST, &text);
    assert_eq!(sandbox.run(&["history", "alpha"]).code, 0);
    assert!(sandbox.run(&LOAD).stdout.contains("Do it twice."));
}

/// A small file system in memory.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts one, or returns `None`, loudly, where that is not allowed.
    fn mount(path: PathBuf) -> Option<Self> {
        fs::create_dir_all(&path).unwrap();
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(&path);
        let mounted = command.stderr(Stdio::null()).status();
        if mounted.is_ok_and(|status| status.success()) {
            return Some(Self(path));
        }
        skipped("no file system can be mounted, so a full disk is NOT tested");
        None
    }

    /// Fills it up to the last byte.
    fn fill(&self) -> PathBuf {
        let path = self.0.join("filler");
        let mut file = File::create(&path).unwrap();
        for size in [4096, 1] {
            while file.write_all(&vec![0; size]).is_ok() {}
        }
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk() {
    let mut sandbox = Sandbox::with_skills();
    let Some(disk) = SmallDisk::mount(sandbox.home().join("small")) else { return };
    sandbox.set("REPERTOIRE_STATE_DIR", disk.0.to_str().unwrap());
    assert_eq!(sandbox.run(&["history", "alpha"]).code, 0);
    let filler = disk.fill();
    expect_degraded(&sandbox.run(&LOAD), "disk");
    sandbox.write("change.diff", DIFF);
    let propose = ["proposal", "new", "alpha", "--diff", "change.diff", "--why", "w"];
    expect_refused(&sandbox.run(&propose), "disk");
    let served = Serving::start(&sandbox, &[]);
    assert!(served.get("/.well-known/agent-skills/alpha/SKILL.md", "").contains("Do alpha."));
    fs::remove_file(filler).unwrap();
    assert_eq!(sandbox.run(&LOAD).stderr, "");
    assert_eq!(sandbox.run(&propose).code, 0);
    // The server records again, too.
    served.get("/.well-known/agent-skills/beta/SKILL.md", "");
    wait_until("the download is recorded", || {
        sandbox.events().iter().any(|event| event["via"] == "download" && event["skill"] == "beta")
    });
}

#[test]
fn postgres_is_killed_and_restarted_under_load() {
    let Some(server) = Server::start() else { return };
    let url = server.database();
    let sandbox = Sandbox::with_skills();
    let publish = || sandbox.run(&["publish", ".agents/skills", "--to", &url]);
    assert_eq!(publish().code, 0);
    let replica = Serving::start(&sandbox, &["--store", &url]);
    let (is_over, requests) = (AtomicBool::new(false), AtomicUsize::new(0));
    let load = || {
        while !is_over.load(Ordering::Relaxed) {
            let text = replica.get("/.well-known/agent-skills/alpha/SKILL.md", "");
            assert!(text.contains("Do alpha."), "{text}");
            requests.fetch_add(1, Ordering::Relaxed);
        }
    };
    let more_requests = |number: usize| {
        let before = requests.load(Ordering::Relaxed);
        wait_until("skills are served", || requests.load(Ordering::Relaxed) >= before + number);
    };
    thread::scope(|scope| {
        (0..3).for_each(|_| drop(scope.spawn(load)));
        more_requests(20);
        for round in 0..3 {
            server.kill_hard();
            more_requests(20);
            expect_refused(&publish(), "the store is not available");
            server.resume_after_kill();
            let name = format!("gamma-{round}");
            sandbox.write(&format!(".agents/skills/{name}/SKILL.md"), skill(&name, "# Gamma\n"));
            wait_until("the database is back", || publish().code == 0);
            let index = "/.well-known/agent-skills/index.json";
            wait_until("the replica has the change", || replica.get(index, "").contains(&name));
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let mut sandbox = sandbox;
    sandbox.set("REPERTOIRE_STORE_URL", &url);
    wait_until("events are recorded again", || {
        // A queue that is still full of those of the load may drop the first ones.
        replica.get("/.well-known/agent-skills/beta/SKILL.md", "");
        sandbox.events().iter().any(|event| event["via"] == "download" && event["skill"] == "beta")
    });
}

/// Calls a tool over MCP without a session, and returns the answer.
fn call(serving: &Serving, secret: &str, tool: &str, arguments: &Value) -> String {
    let client = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    });
    let params = json!({"name": tool, "arguments": arguments, "_meta": client});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let mut stream = TcpStream::connect(&serving.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAuthorization: Bearer {secret}\r\n\
         Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n\
         Content-Length: {}\r\n\r\n{body}",
        serving.address,
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn requests_are_answered_while_postgres_says_nothing() {
    let Some(server) = Server::start() else { return };
    let mut sandbox = Sandbox::with_skills();
    sandbox.set("REPERTOIRE_STORE_URL", &server.database());
    assert_eq!(sandbox.run(&["publish", ".agents/skills"]).code, 0);
    let token = |name: &str| {
        let created = sandbox.json(&["team", "token", "create", "--name", name, "--json"]);
        created["token"].as_str().unwrap().to_owned()
    };
    let ann = token("ann");
    let replica = Serving::start(&sandbox, &["--channel", "stable", "--require-token"]);
    let open = Serving::start(&sandbox, &["--channel", "stable"]);
    let bearer = |secret: &str| format!("Authorization: Bearer {secret}\r\n");
    let get = |path: &str, secret: &str| replica.get(path, &bearer(secret));
    let ask_all = || {
        let load = call(&replica, &ann, "load_skill", &json!({"name": "alpha"}));
        assert!(load.contains("Do alpha."), "{load}");
        let load = call(&replica, &ann, "load_skill", &json!({"name": "alfa"}));
        assert!(load.contains("isError") && load.contains("alpha"), "{load}");
        let search = call(&replica, &ann, "search_skills", &json!({"query": "alpha"}));
        assert!(search.starts_with("HTTP/1.1 200") && search.contains("alpha"), "{search}");
        for path in [
            "/",
            "/skills",
            "/skills/alpha",
            "/api/v1/skills",
            "/api/v1/overview",
            "/api/v1/search?q=alpha",
            "/.well-known/agent-skills/index.json",
            "/.well-known/agent-skills/alpha/SKILL.md",
            "/metrics",
        ] {
            let answer = get(path, &ann);
            assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
            let answer = open.get(path, "");
            assert!(answer.starts_with("HTTP/1.1 200"), "{path} without a token: {answer}");
        }
        assert!(replica.get("/readyz", "").starts_with("HTTP/1.1 200"));
    };
    ask_all();
    assert!(get("/api/v1/events", &ann).starts_with("HTTP/1.1 200"));
    let (is_over, rounds) = (AtomicBool::new(false), AtomicUsize::new(0));
    let more_rounds = |number: usize| {
        let before = rounds.load(Ordering::Relaxed);
        wait_until("requests are answered", || rounds.load(Ordering::Relaxed) >= before + number);
    };
    let paused = thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    ask_all();
                    rounds.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        more_rounds(3);
        let paused = server.pause();
        more_rounds(9);
        for path in ["/", "/api/v1/skills", "/.well-known/agent-skills/index.json"] {
            let answer = get(path, "rep_0123456789abcdef0123456789abcdef");
            assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("retry-after"), "{answer}");
        }
        let events = get("/api/v1/events", &ann);
        assert!(events.starts_with("HTTP/1.1 503") && events.contains("store_unavailable"), "{events}");
        let ready = replica.get("/readyz", "");
        assert!(ready.contains("\"store\":\"away\""), "{ready}");
        is_over.store(true, Ordering::Relaxed);
        paused
        // Here every request that began is answered, while the database is still stopped.
    });
    drop(paused);
    let bob = token("bob");
    wait_until("the store is back", || get("/api/v1/events", &bob).starts_with("HTTP/1.1 200"));
    ask_all();
    wait_until("events are recorded again", || {
        get("/.well-known/agent-skills/beta/SKILL.md", &bob);
        sandbox.events().iter().any(|event| event["via"] == "download" && event["principal"] == "bob")
    });
}
