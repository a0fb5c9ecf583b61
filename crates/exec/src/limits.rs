//! Resource limits of a job.

use std::time::Duration;

/// Default wall-clock time of a job.
pub const TIMEOUT: Duration = Duration::from_secs(60);
/// The longest wall-clock time of a job. A longer timeout is reduced to it.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(366 * 24 * 60 * 60);
/// Default memory of a job, in bytes.
pub const MEMORY: u64 = 1 << 30;

/// Resource limits of a job.
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
            cpu: Duration::from_secs(60),
            file_size: 256 << 20,
            disk: 512 << 20,
            processes: 128,
            open_files: 256,
            output: 1 << 20,
        }
    }
}
