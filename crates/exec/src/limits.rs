//! Resource limits of a job.

use std::time::Duration;

/// Default wall-clock time of a job.
pub const TIMEOUT: Duration = Duration::from_secs(60);
/// The longest wall-clock time of a job. A longer timeout is reduced to it.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(366 * 24 * 60 * 60);
/// Default memory of a job, in bytes.
pub const MEMORY: u64 = 1 << 30;
/// Default processor time of each process of a job.
pub const CPU: Duration = Duration::from_secs(60);
/// Default size of each file that a job writes, in bytes.
pub const FILE_SIZE: u64 = 256 << 20;
/// Default size of the scratch directory of a job, in bytes.
pub const DISK: u64 = 512 << 20;
/// Default number of processes and threads of a job.
pub const PROCESSES: u64 = 128;
/// Default number of open files of each process of a job.
pub const OPEN_FILES: u64 = 256;
/// Default size of standard output and of standard error that is kept, in bytes.
pub const OUTPUT: usize = 1 << 20;

/// Resource limits of a job. The default has the constants of this module.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct JobLimits {
    /// The wall-clock time after which all processes of the job are killed.
    pub timeout: Duration,
    /// Bytes of memory, of each process and of all processes together.
    pub memory: u64,
    /// Processor time of each process.
    pub cpu: Duration,
    /// Bytes of each file that is written.
    pub file_size: u64,
    /// Bytes of the scratch directory.
    pub disk: u64,
    /// Processes and threads that run at the same time.
    pub processes: u64,
    /// Open files of each process.
    pub open_files: u64,
    /// Bytes that are kept of standard output and of standard error. Further output is dropped.
    pub output: usize,
}

impl Default for JobLimits {
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
