//! A library followed by `rep watch --json`.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::change::{Change, Changes, Kind};
use crate::{print_gauge, process};

/// Between two changes, so that each is a batch of its own.
const PAUSE: Duration = Duration::from_millis(5);

pub fn measure(rep: &str, library: &Path, count: usize, seconds: usize) {
    let mut changes = Changes::new(library);
    let mut command = Command::new(rep);
    command.args(["watch", "--json", "--root"]).arg(library).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = Ended(command.spawn().expect("rep starts"));
    let process = child.0.id().to_string();
    let mut lines = BufReader::new(child.0.stdout.take().expect("stdout is piped")).lines();
    let mut line = || -> Value {
        let line = lines.next().expect("rep goes on").expect("rep writes text");
        serde_json::from_str(&line).expect("a line is JSON")
    };
    // The first line comes when it is ready.
    print_gauge("skills", line()["skills"].as_f64().expect("skills are counted"));
    let mut waits = Vec::new();
    let cpu = process::cpu_ms(&process);
    for _ in 0..count {
        let change = changes.next();
        let start = Instant::now();
        change.make();
        while !is_told(&line(), &change) {}
        waits.push(start.elapsed().as_secs_f64() * 1e3);
        std::thread::sleep(PAUSE);
    }
    let cpu = (process::cpu_ms(&process) - cpu) / waits.len() as f64;
    stopwatch::print_percentiles("visible", waits, cpu);
    print_gauge("resident MB", process::resident_mb(&process));
    print_gauge("descriptors", process::descriptors(&process));
    print_gauge("watches", process::watches(&process));
    process::print_idle(&process, seconds);
}

fn is_told(line: &Value, change: &Change) -> bool {
    let names = match change.kind {
        Kind::Body | Kind::Description => &line["changed"],
        Kind::Add => &line["added"],
        Kind::Remove => &line["removed"],
    };
    let is_it = |value: &Value| *value == *change.name || value["name"] == *change.name;
    names.as_array().is_some_and(|names| names.iter().any(is_it))
}

/// A process that ends with this value.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
