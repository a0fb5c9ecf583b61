//! What every process of a run carries and none can lay down: a limit that means nothing to it, with a number that no other run has.
//!
//! The launcher ends all that came of a command. Should it be ended itself, the host finds by this what is left, wherever it went and whatever it made of its names, its session and its variables.

use std::hash::{BuildHasher, Hasher};

/// The least number; far more than any program means by this limit, which is a time.
const LEAST: u64 = 1 << 61;

/// Returns a number that nobody knows beforehand.
pub(crate) fn random() -> u64 {
    // The keys of this are the system's random numbers.
    std::hash::RandomState::new().build_hasher().finish()
}

/// Returns a mark for a run.
pub(crate) fn fresh() -> u64 {
    LEAST | (random() >> 4)
}

#[cfg(target_os = "linux")]
pub(crate) use linux::{kill_marked, put_on};

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::time::{Duration, Instant};

    use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, setrlimit};

    /// How long it is insisted that nothing is left.
    const END: Duration = Duration::from_secs(5);
    /// How the limit is called where limits are listed.
    const LINE: &str = "Max realtime timeout";

    /// Puts a mark upon this process and everything it starts.
    pub(crate) fn put_on(mark: u64) {
        // Where somebody set a lower limit already there is no mark, and then nothing is found by it.
        let _ = setrlimit(Resource::Rttime, Rlimit { current: Some(mark), maximum: Some(mark) });
    }

    #[allow(clippy::disallowed_methods, reason = "what the kernel tells of a process is no file of a skill")]
    fn marked(mark: u64) -> Vec<Pid> {
        let word = mark.to_string();
        let is_marked = |process: &i32| {
            let limits = fs::read_to_string(format!("/proc/{process}/limits")).unwrap_or_default();
            let line = limits.lines().find_map(|line| line.strip_prefix(LINE));
            line.is_some_and(|line| line.split_whitespace().any(|own| own == word))
        };
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        let processes = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        processes.filter(is_marked).filter_map(Pid::from_raw).collect()
    }

    /// Ends every process that carries the mark.
    pub(crate) fn kill_marked(mark: u64) {
        let deadline = Instant::now() + END;
        while Instant::now() < deadline {
            let found = marked(mark);
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
        fn a_mark_is_found_and_ended() {
            let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
            let mark = super::super::fresh();
            let process = Pid::from_raw(child.id() as i32).unwrap();
            let limit = Rlimit { current: Some(mark), maximum: Some(mark) };
            rustix::process::prlimit(Some(process), Resource::Rttime, limit).unwrap();
            assert_eq!(marked(mark), [process]);
            assert!(marked(super::super::fresh()).is_empty());
            // It is gone for good once somebody waits for it.
            let waiting = std::thread::spawn(move || child.wait().unwrap());
            kill_marked(mark);
            assert!(!waiting.join().unwrap().success());
            assert!(marked(mark).is_empty());
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn put_on(_mark: u64) {}

#[cfg(not(target_os = "linux"))]
pub(crate) fn kill_marked(_mark: u64) {}
