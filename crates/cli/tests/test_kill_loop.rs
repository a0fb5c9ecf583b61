//! Kills `rep` at random moments while it writes: nothing that it acknowledged is lost, no skill is torn, and
//! the next command goes on.
//!
//! Together the loops kill 200 processes. `cargo test -p repertoire-cli --test runner -- --ignored kill_loop`
//! is the long run of 500.

use std::collections::HashSet;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use repertoire::store::{EventQuery, ProposalState, Store, Version, skill_files};
use repertoire_model::patch;
use serde_json::Value;

use crate::postgres_server::{Server, connect};
use crate::sandbox::{Sandbox, skill};

const DIRECTORY: &str = ".agents/skills/alpha";
const MANIFEST: &str = ".agents/skills/alpha/SKILL.md";
const LOAD: [&str; 3] = ["call", "load_skill", r#"{"name": "alpha"}"#];
const PUBLISH: [&str; 2] = ["publish", ".agents/skills"];
const CHANNEL: &str = "stable";

/// The rounds after which every version is read again; in between only the newest ones are.
const FULL_CHECK: u64 = 25;

#[test]
fn kill_loop() {
    KillLoop::in_sqlite(0x5eed).run(120);
}

#[test]
fn kill_loop_of_clients_of_postgres() {
    let Some(server) = Server::start() else { return };
    KillLoop::in_postgres(0x5eed, &server).run(80);
}

#[test]
#[ignore = "it takes minutes"]
fn kill_loop_of_500() {
    KillLoop::in_sqlite(0xfeed).run(300);
    let Some(server) = Server::start() else { return };
    KillLoop::in_postgres(0xfeed, &server).run(200);
}

struct KillLoop {
    sandbox: Sandbox,
    store: Arc<dyn Store>,
    /// A connection to the server, if the store is on one.
    server: Option<postgres::Client>,
    /// The state of the random number generator.
    random: u64,
    /// The longest delays before a kill.
    longest: [Duration; 5],
    killed: u64,
    acknowledged_calls: usize,
}

impl KillLoop {
    fn in_sqlite(seed: u64) -> Self {
        let sandbox = Sandbox::with_skills();
        let database = sandbox.home().join(".local/state/repertoire/repertoire.db");
        Self::new(seed, sandbox, &database.display().to_string(), None)
    }

    fn in_postgres(seed: u64, server: &Server) -> Self {
        let mut sandbox = Sandbox::with_skills();
        let database = server.database();
        sandbox.set("REPERTOIRE_STORE_URL", &database);
        Self::new(seed, sandbox, &database, Some(connect(&database)))
    }

    fn new(seed: u64, sandbox: Sandbox, store: &str, server: Option<postgres::Client>) -> Self {
        sandbox.json(&["history", "alpha", "--json"]);
        let store = repertoire_store::open(store, &repertoire::certificates::Certificates::none()).unwrap();
        let longest = [Duration::ZERO; 5];
        Self { sandbox, store, server, random: seed, longest, killed: 0, acknowledged_calls: 0 }
    }

    fn run(mut self, kills: u64) {
        // The first rounds kill nothing: they measure how long the commands take.
        for round in 0.. {
            if self.killed >= kills {
                break;
            }
            match round % 5 {
                0 => self.approve(round),
                1 => self.roll_back(),
                2 => self.record(round),
                3 => self.publish(round),
                _ => self.call(),
            }
            let versions = self.versions();
            let checked = if round % FULL_CHECK == 0 { versions.len() } else { 3 };
            self.expect_sound(&versions, checked);
        }
        let versions = self.versions();
        self.expect_sound(&versions, versions.len());
    }

    /// Returns a number below `limit`.
    fn below(&mut self, limit: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % limit.max(1)
    }

    /// Returns the process numbers of the server's connections.
    fn connections(&mut self) -> HashSet<i32> {
        let query = "SELECT pid FROM pg_stat_activity WHERE datname = current_database()";
        let rows = self.server.iter_mut().flat_map(|server| server.query(query, &[]).unwrap());
        rows.map(|row| row.get(0)).collect()
    }

    /// Starts a command and kills it; returns `true` if it reported success before.
    fn is_acknowledged(&mut self, kind: usize, arguments: &[&str]) -> bool {
        let connections = self.connections();
        let mut command = self.sandbox.command(arguments);
        let start = Instant::now();
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        if self.longest[kind] == Duration::ZERO {
            assert!(child.wait().unwrap().success(), "{arguments:?}");
            self.longest[kind] = start.elapsed();
            return true;
        }
        let delay = self.below(self.longest[kind].as_micros() as u64);
        thread::sleep(Duration::from_micros(delay));
        child.kill().unwrap();
        let status = child.wait().unwrap();
        // The server carries out what it received before it notices that nobody waits for it.
        while !self.connections().is_subset(&connections) {
            thread::sleep(Duration::from_millis(1));
        }
        self.killed += u64::from(status.signal() == Some(9));
        assert!(status.success() || status.signal() == Some(9), "{arguments:?}: {status}");
        status.success()
    }

    fn identity(&self) -> String {
        self.sandbox.project().join(DIRECTORY).display().to_string()
    }

    fn versions(&self) -> Vec<Version> {
        self.store.versions(&self.identity()).unwrap()
    }

    /// Returns the `SKILL.md` of a version.
    fn manifest(&self, version: &Version) -> String {
        let files = skill_files(&*self.store, &version.digest).unwrap();
        let manifest = files.iter().find(|(path, _)| path.as_str() == "SKILL.md").unwrap();
        String::from_utf8(manifest.1.bytes.clone()).unwrap()
    }

    /// Expects that versions have the content of their digests, and that nothing but the skills is listed.
    fn expect_sound(&self, versions: &[Version], checked: usize) {
        for version in versions.iter().take(checked) {
            let files = skill_files(&*self.store, &version.digest).unwrap();
            assert_eq!(patch::bundle(&files).digest(), version.digest);
        }
        let numbers: Vec<u64> = versions.iter().map(|version| version.number).collect();
        assert!(numbers.iter().copied().eq((1..=numbers.len() as u64).rev()), "{numbers:?}");
        let listed = self.sandbox.json(&["list", "--all", "--json"]);
        let names: Vec<&Value> =
            listed["skills"].as_array().unwrap().iter().map(|skill| &skill["name"]).collect();
        assert_eq!(names, ["alpha", "beta"]);
        assert_eq!(self.sandbox.read(".agents/skills/alpha/references/guide.md"), "one\ntwo\nthree\n");
    }

    /// An approval: before it the old text, after it the new one, and an interrupted one is completed by the
    /// next command.
    fn approve(&mut self, round: u64) {
        let before = self.sandbox.read(MANIFEST);
        let old = before.lines().last().unwrap();
        let new = format!("Approved in round {round}.");
        let after = before.replace(old, &new);
        self.sandbox
            .write("change.diff", format!("--- a/SKILL.md\n+++ b/SKILL.md\n@@ -7 +7 @@\n-{old}\n+{new}\n"));
        let proposal =
            self.sandbox.json(&["proposal", "new", "alpha", "--diff", "change.diff", "--why", "w", "--json"]);
        let id = proposal["id"].as_u64().unwrap();
        let is_acknowledged = self.is_acknowledged(0, &["proposal", "approve", &id.to_string(), "--yes"]);
        let text = self.sandbox.read(MANIFEST);
        assert!(text == before || text == after, "torn: {text}");
        let state = self.store.proposal(id).unwrap().unwrap().state;
        assert!(!is_acknowledged || (text == after && state == ProposalState::Applied), "{state}");
        self.sandbox.json(&["proposal", "list", "--json"]);
        let decided = self.store.proposal(id).unwrap().unwrap().state;
        if state == ProposalState::Pending {
            assert_eq!((decided, self.sandbox.read(MANIFEST)), (ProposalState::Pending, before));
            self.sandbox.json(&["proposal", "approve", &id.to_string(), "--yes", "--json"]);
        }
        let state = self.store.proposal(id).unwrap().unwrap().state;
        assert_eq!((state, self.sandbox.read(MANIFEST)), (ProposalState::Applied, after.clone()));
        assert_eq!(self.manifest(&self.versions()[0]), after);
    }

    fn roll_back(&mut self) {
        let before = self.sandbox.read(MANIFEST);
        let versions = self.versions();
        let index = self.below(versions.len() as u64) as usize;
        let (number, after) = (versions[index].number.to_string(), self.manifest(&versions[index]));
        let is_acknowledged = self.is_acknowledged(1, &["history", "alpha", "--restore", &number, "--yes"]);
        let text = self.sandbox.read(MANIFEST);
        assert!(text == before || text == after, "torn: {text}");
        assert!(!is_acknowledged || (text == after && self.manifest(&self.versions()[0]) == after));
        self.sandbox.json(&["history", "alpha", "--json"]);
        assert_eq!(self.manifest(&self.versions()[0]), text);
    }

    fn record(&mut self, round: u64) {
        let text = skill("alpha", &format!("# Alpha\n\nEdited in round {round}.\n"));
        self.sandbox.write(MANIFEST, &text);
        let is_acknowledged = self.is_acknowledged(2, &["history", "alpha"]);
        assert!(!is_acknowledged || self.manifest(&self.versions()[0]) == text);
        self.sandbox.json(&["history", "alpha", "--json"]);
        assert_eq!((self.manifest(&self.versions()[0]), self.sandbox.read(MANIFEST)), (text.clone(), text));
    }

    /// A release: the channel has all of it or nothing, and what it has can be read.
    fn publish(&mut self, round: u64) {
        for name in ["alpha", "beta"] {
            let text = skill(name, &format!("# {name}\n\nPublished in round {round}.\n"));
            self.sandbox.write(&format!(".agents/skills/{name}/SKILL.md"), text);
        }
        let before = self.store.released(CHANNEL).unwrap();
        let is_acknowledged = self.is_acknowledged(4, &PUBLISH);
        let released = self.store.released(CHANNEL).unwrap();
        let is_published = released != before;
        assert!(is_published || !is_acknowledged);
        let of_round = format!("Published in round {round}.");
        for skill in &released {
            let files = skill_files(&*self.store, &skill.digest).unwrap();
            assert_eq!(patch::bundle(&files).digest(), skill.digest);
            let manifest = files.iter().find(|(path, _)| path.as_str() == "SKILL.md").unwrap();
            let is_new = String::from_utf8_lossy(&manifest.1.bytes).contains(&of_round);
            assert_eq!(is_new, is_published, "half a release: {released:?}");
        }
        self.sandbox.json(&[&PUBLISH[..], &["--json"]].concat());
        assert_eq!(self.store.released(CHANNEL).unwrap().len(), 2);
        // The edits are recorded, so that the rounds that follow find no others.
        self.sandbox.json(&["history", "alpha", "--json"]);
    }

    fn call(&mut self) {
        self.acknowledged_calls += usize::from(self.is_acknowledged(3, &LOAD));
        let mut query = EventQuery::default();
        query.skill = Some("alpha".to_owned());
        query.limit = 100_000;
        let recorded = self.store.events(&query).unwrap().len();
        assert!(recorded >= self.acknowledged_calls, "{recorded} of {}", self.acknowledged_calls);
    }
}
