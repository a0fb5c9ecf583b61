//! Resource limits of a job.

use std::time::Duration;

/// Default wall-clock time of a job.
pub const TIMEOUT: Duration = Duration::from_secs(60);
/// The longest wall-clock time of a job. A longer timeout is reduced to it.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(366 * 24 * 60 * 60);
/// Default memory of a job, in bytes.
pub const MEMORY: u64 = 1 << 30;

repertoire_model::options! {
    /// Resource limits of a job.
    #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
    #[non_exhaustive]
    pub struct JobLimits {
        /// The wall-clock time after which all processes of the job are killed.
        pub timeout: Duration = TIMEOUT,
        /// Bytes of memory, of each process and of all processes together.
        pub memory: u64 = MEMORY,
        /// Processor time of each process.
        pub cpu: Duration = Duration::from_secs(60),
        /// Bytes of each file that is written.
        pub file_size: u64 = 256 << 20,
        /// Bytes of the scratch directory.
        pub disk: u64 = 512 << 20,
        /// Processes and threads that run at the same time.
        pub processes: u64 = 128,
        /// Open files of each process.
        pub open_files: u64 = 256,
        /// Bytes that are kept of standard output and of standard error. Further output is dropped.
        pub output: usize = 1 << 20,
    }
}
