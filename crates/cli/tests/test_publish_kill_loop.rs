//! Kills `rep publish --to well-known` at random moments: what a web server finds is the old publication or
//! the new one, all of it.
//!
//! `REPERTOIRE_TEST_KILLS` sets the number of kills.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use repertoire_model::Digest;
use serde_json::Value;

use crate::sandbox::{Sandbox, skill};

/// The number of kills without the variable.
const KILLS: u64 = 40;

/// The number of skills: most of the time goes to writing them.
const SKILLS: usize = 12;

const PUBLISH: [&str; 5] = ["publish", "source", "--to", "well-known", "site"];
const SITE: &str = "site/.well-known/agent-skills";

#[test]
fn kill_loop_of_publications() {
    let kills = std::env::var("REPERTOIRE_TEST_KILLS").ok().and_then(|kills| kills.parse().ok());
    let (sandbox, mut random, mut killed) = (Sandbox::new(), 0x5eed_u64, 0);
    write_skills(&sandbox, 0);
    let start = Instant::now();
    assert_eq!(sandbox.run(&PUBLISH).code, 0);
    let longest = start.elapsed().as_micros() as u64;
    for round in 1.. {
        if killed >= kills.unwrap_or(KILLS) {
            break;
        }
        let before = published(&sandbox);
        write_skills(&sandbox, round);
        let mut command = sandbox.command(&PUBLISH);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        thread::sleep(Duration::from_micros(random % longest));
        child.kill().unwrap();
        let status = child.wait().unwrap();
        killed += u64::from(status.signal() == Some(9));
        let after = published(&sandbox);
        let expect = sources(&sandbox);
        assert!(after == before || after == expect, "round {round}: half a publication: {after:?}");
        assert!(!status.success() || after == expect, "round {round}: it was acknowledged");
        let mut named = names(&sandbox);
        let run = sandbox.run(&PUBLISH);
        assert_eq!(run.code, 0, "round {round}: {}", run.stderr);
        assert_eq!(published(&sandbox), expect);
        named.extend(names(&sandbox));
        let directory = fs::read_dir(sandbox.project().join(SITE)).unwrap();
        let found = directory.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert_eq!(found.collect::<BTreeSet<_>>(), named, "round {round}: a leftover");
    }
}

/// Writes skills that say which round they are of, all of one file.
fn write_skills(sandbox: &Sandbox, round: u64) {
    for number in 0..SKILLS {
        let name = format!("s{number}");
        let text = skill(&name, &format!("# {name}\n\nOf round {round}.\n"));
        sandbox.write(&format!("source/{name}/SKILL.md"), text);
    }
}

/// Returns the digests of the skills that are to be published, by name.
fn sources(sandbox: &Sandbox) -> BTreeMap<String, String> {
    let digest = |name: &String| Digest::of(sandbox.read(&format!("source/{name}/SKILL.md")).as_bytes());
    let names = (0..SKILLS).map(|number| format!("s{number}"));
    names.map(|name| (name.clone(), digest(&name).to_string())).collect()
}

fn index(sandbox: &Sandbox) -> Vec<Value> {
    let index: Value = serde_json::from_str(&sandbox.read(&format!("{SITE}/index.json"))).unwrap();
    index["skills"].as_array().unwrap().clone()
}

/// Returns the digests of the skills of the index, each of which its file has, by name.
fn published(sandbox: &Sandbox) -> BTreeMap<String, String> {
    let skill = |entry: &Value| {
        let [name, url, digest] =
            ["name", "url", "digest"].map(|key| entry[key].as_str().unwrap().to_owned());
        let file = sandbox.read(&format!("{SITE}/{url}"));
        assert_eq!(Digest::of(file.as_bytes()).to_string(), digest, "{name}");
        (name, digest)
    };
    index(sandbox).iter().map(skill).collect()
}

/// Returns the name of the index and the names of the files in it.
fn names(sandbox: &Sandbox) -> BTreeSet<String> {
    let urls = index(sandbox).into_iter().map(|entry| entry["url"].as_str().unwrap().to_owned());
    urls.chain(["index.json".to_owned()]).collect()
}
