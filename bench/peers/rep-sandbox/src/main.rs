//! Measures the cost of starting a command: plainly, and in each available sandbox, in turn in each round.
//!
//! `rep-sandbox REP ROUNDS`: the launcher is the program `rep`, as it ships. The command does nothing.

use std::process::{Command, Stdio};
use std::time::Instant;

use repertoire_exec::{Job, Launcher, Sandbox, UnconfinedSandbox, probe};

const COMMAND: &str = "/bin/true";
/// Rounds that do not count.
const WARM_UPS: usize = 5;

fn main() {
    let mut args = std::env::args().skip(1);
    let usage = "usage: rep-sandbox REP ROUNDS";
    let launcher = Launcher::Path(args.next().expect(usage).into());
    let rounds: usize = args.next().and_then(|text| text.parse().ok()).expect(usage);
    let unconfined = UnconfinedSandbox::new(launcher.clone());
    let found = probe(&launcher);
    for row in found.rows().iter().filter(|row| row.sandbox.is_none()) {
        println!(r#"{{"missing":"{}"}}"#, row.name);
    }
    let sandboxes: Vec<&dyn Sandbox> = found.rows().iter().filter_map(|row| row.sandbox.as_deref()).chain([&unconfined as &dyn Sandbox]).collect();
    let mut samples = vec![Vec::new(); sandboxes.len() + 1];
    for round in 0..rounds + WARM_UPS {
        for turn in 0..samples.len() {
            // The order changes, so that none always follows a heavy one.
            let who = (turn + round) % samples.len();
            let start = Instant::now();
            match sandboxes.get(who) {
                None => plain(),
                Some(sandbox) => confined(*sandbox),
            }
            if round >= WARM_UPS {
                samples[who].push(format!("{:.4}", start.elapsed().as_secs_f64() * 1e3));
            }
        }
    }
    let names = sandboxes.iter().map(|sandbox| sandbox.name()).chain(["plain"]);
    for (name, samples) in names.zip(samples) {
        println!(r#"{{"operation":"{name}","wall_ms":[{}]}}"#, samples.join(","));
    }
}

/// As anybody would do it: the output is read to its end.
fn plain() {
    let output = Command::new(COMMAND).stdin(Stdio::null()).output().expect("the command runs");
    assert!(output.status.success());
}

fn confined(sandbox: &dyn Sandbox) {
    let outcome = sandbox.run(&Job::new([COMMAND], "/usr/share")).expect("the command runs");
    assert!(outcome.ending.is_success(), "{outcome:?}");
}
