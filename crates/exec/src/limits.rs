//! Resource limits of a job.

use std::time::Duration;

/// The usual wall-clock time of a job.
pub const TIMEOUT: Duration = Duration::from_secs(60);
/// The longest wall-clock time of a job; more is taken for this.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(366 * 24 * 60 * 60);
/// The usual memory of a job, in bytes.
pub const MEMORY: u64 = 1 << 30;
/// The usual processor time of each of its processes.
pub const CPU: Duration = Duration::from_secs(60);
/// The usual size of a file that it writes, in bytes.
pub const FILE_SIZE: u64 = 256 << 20;
/// The usual size of all that it writes to its scratch directory, in bytes.
pub const DISK: u64 = 512 << 20;
/// The usual number of its processes and threads.
pub const PROCESSES: u64 = 128;
/// The usual number of open files of each of its processes.
pub const OPEN_FILES: u64 = 256;
/// Default size of standard output and of standard error that is kept, in bytes.
pub const OUTPUT: usize = 1 << 20;

/// Resource limits of a job. The default has the constants of this module.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Limits {
    /// The wall-clock time after which everything it started is ended.
    pub timeout: Duration,
    /// Bytes of memory, for each process and for all of them together.
    pub memory: u64,
    /// Processor time of each process.
    pub cpu: Duration,
    /// Bytes of each file that it writes.
    pub file_size: u64,
    /// Bytes of everything it writes to its scratch directory.
    pub disk: u64,
    /// Processes and threads at a time.
    pub processes: u64,
    /// Open files of each process.
    pub open_files: u64,
    /// Bytes that are kept of each of its two outputs. More is read and dropped.
    pub output: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout: TIMEOUT,
            memory: MEMORY,
            cpu: CPU,
            file_size: FILE_SIZE,
            disk: DISK,
            processes: PROCESSES,
            open_files: OPEN_FILES,
            output: OUTPUT,
        }
    }
}
