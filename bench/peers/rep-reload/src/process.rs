//! Figures of a process, from the operating system.

use std::fs;
use std::time::{Duration, Instant};

use crate::print_gauge;

/// Returns the resident memory of a process in megabytes.
pub fn resident_mb(process: &str) -> f64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("the process is there");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("memory is told");
    let kilobytes: f64 = line.trim().trim_end_matches(" kB").parse().expect("memory is a number");
    kilobytes / 1024.0
}

/// Returns the number of open file descriptors of a process.
pub fn descriptors(process: &str) -> f64 {
    let entries = fs::read_dir(format!("/proc/{process}/fd")).expect("the process is there");
    // The directory itself is open while it is read.
    (entries.count() - usize::from(process == "self")) as f64
}

/// Returns the number of inotify watches of a process.
pub fn watches(process: &str) -> f64 {
    let entries = fs::read_dir(format!("/proc/{process}/fdinfo")).expect("the process is there").flatten();
    let texts = entries.filter_map(|entry| fs::read_to_string(entry.path()).ok());
    texts.map(|text| text.lines().filter(|line| line.starts_with("inotify wd:")).count()).sum::<usize>()
        as f64
}

/// Returns the most watches that are held, of `asked` or of what is usual: see docs/guides/hot-reload.md.
pub fn budget(asked: usize) -> f64 {
    let limit =
        fs::read_to_string("/proc/sys/fs/inotify/max_user_watches").expect("the system tells its limit");
    let limit: usize = limit.trim().parse().expect("a limit is a number");
    asked.min(limit / 2) as f64
}

/// Returns the processor time of all threads of a process in milliseconds, as fine as the scheduler counts.
pub fn cpu_ms(process: &str) -> f64 {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).expect("the process is there").flatten();
    let nanoseconds = tasks.filter_map(|task| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<f64>().ok()
    });
    nanoseconds.sum::<f64>() / 1e6
}

/// Prints how much of a core a process takes while nothing happens for that many seconds, if any.
pub fn print_idle(process: &str, seconds: usize) {
    if seconds > 0 {
        let (start, cpu) = (Instant::now(), cpu_ms(process));
        std::thread::sleep(Duration::from_secs(seconds as u64));
        let percent = (cpu_ms(process) - cpu) / (start.elapsed().as_secs_f64() * 1e3) * 100.0;
        print_gauge("idle seconds", seconds as f64);
        print_gauge("idle cpu %", percent);
    }
}
