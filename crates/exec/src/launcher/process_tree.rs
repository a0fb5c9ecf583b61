//! The process tree of a command: finding, measuring and killing its processes.

#[cfg(target_os = "linux")]
mod linux;

#[cfg(target_os = "linux")]
pub(crate) use linux::{SharedSizes, children, descendants, kill_session, open_files, reserved, usage};

/// Kills the process group of a command whose launcher was killed.
#[cfg(not(target_os = "linux"))]
pub(crate) fn kill_session(_launcher: u32, process: Option<i32>) {
    use rustix::process::{Pid, Signal, kill_process_group};

    if let Some(group) = process.and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}
