//! Tags of processes on Linux.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, setrlimit};

/// Time limit for killing all processes of a run.
const KILL_TIME: Duration = Duration::from_secs(5);
/// The name of the limit in `/proc/PID/limits`.
const LINE: &str = "Max realtime timeout";

/// Tags this process and everything it starts.
pub(crate) fn tag_this_process(tag: u64) {
    // Fails if a lower hard limit is set already; then no process is found by the tag.
    let _ = setrlimit(Resource::Rttime, Rlimit { current: Some(tag), maximum: Some(tag) });
}

#[allow(clippy::disallowed_methods, reason = "files in /proc are not files of a skill")]
fn tagged(tag: u64) -> Vec<Pid> {
    let word = tag.to_string();
    let is_tagged = |process: &i32| {
        let limits = fs::read_to_string(format!("/proc/{process}/limits")).unwrap_or_default();
        let line = limits.lines().find_map(|line| line.strip_prefix(LINE));
        line.is_some_and(|line| line.split_whitespace().any(|own| own == word))
    };
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let processes = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    processes.filter(is_tagged).filter_map(Pid::from_raw).collect()
}

/// Kills every process with this tag.
pub(crate) fn kill_tagged(tag: u64) {
    let deadline = Instant::now() + KILL_TIME;
    while Instant::now() < deadline {
        let found = tagged(tag);
        if found.is_empty() {
            return;
        }
        for process in found {
            let _ = kill_process(process, Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::disallowed_methods, reason = "a process to be found")]
    fn tagged_processes_are_found_and_killed() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let tag = super::super::fresh();
        let process = Pid::from_raw(child.id() as i32).unwrap();
        let limit = Rlimit { current: Some(tag), maximum: Some(tag) };
        rustix::process::prlimit(Some(process), Resource::Rttime, limit).unwrap();
        assert_eq!(tagged(tag), [process]);
        assert!(tagged(super::super::fresh()).is_empty());
        // A killed process stays in `/proc` until its parent waits for it.
        let waiting = std::thread::spawn(move || child.wait().unwrap());
        kill_tagged(tag);
        assert!(!waiting.join().unwrap().success());
        assert!(tagged(tag).is_empty());
    }
}
