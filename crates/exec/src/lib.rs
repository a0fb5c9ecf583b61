//! Runs the tools and scripts of agent skills in a sandbox.
//!
//! [`Executor`] is the [`Runner`](repertoire::Runner) of a library: it checks that a person approved the
//! skill, copies it, and runs the command as a [`Job`] in a [`Sandbox`]. [`probe`] finds the sandboxes that
//! work on this machine. All of them enforce one policy: the skill's directory can be read, one fresh scratch
//! directory can be written, the system's programs can be run, and everything else is invisible or denied:
//! the home directory, other skills, the project unless granted, the network unless granted, other processes,
//! and all environment variables but a short list.
//!
//! A *launcher*, this program run again, confines the command: `main` begins with [`launcher::run_if_asked`].
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use repertoire::Library;
//! use repertoire_exec::{Executor, launcher};
//!
//! fn main() -> ExitCode {
//!     if let Some(code) = launcher::run_if_asked() {
//!         return code;
//!     }
//!     match run() {
//!         Ok(()) => ExitCode::SUCCESS,
//!         Err(_) => ExitCode::FAILURE,
//!     }
//! }
//!
//! fn run() -> Result<(), Box<dyn std::error::Error>> {
//!     let library = Library::builder()
//!         .directory("./skills")
//!         .runner(Executor::detect("/var/lib/my-agent")?)
//!         .open();
//!     let library = pollster::block_on(library)?;
//!     let session = pollster::block_on(library.session())?;
//!     assert!(session.skill_tools().are_offered());
//!     Ok(())
//! }
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]
#![cfg_attr(not(unix), allow(dead_code, reason = "nothing runs there yet"))]

mod job;
pub mod limits;
mod outcome;
mod error;
pub mod environment;
mod workplace;
#[cfg(unix)]
mod os_text;
#[cfg(unix)]
mod verified_path;
#[cfg(not(unix))]
#[path = "verified_path_stub.rs"]
mod verified_path;
#[cfg(unix)]
mod interpreter;
#[cfg(unix)]
mod scratch;
#[cfg(unix)]
mod resolved_grants;
mod git;
pub mod protect;
pub mod launcher;
pub mod sandbox;
#[cfg(unix)]
mod journal;
#[cfg(not(unix))]
#[path = "journal_stub.rs"]
mod journal;
pub mod approval;
mod host_process;
pub mod notify;
pub mod run;

pub use approval::{Approval, Approvals, Approver};
pub use error::{ExecError, ExecErrorKind};
pub use host_process::HostProcess;
pub use job::{Cancel, GitUser, Grants, Job};
pub use journal::{InterruptedRuns, finish_interrupted_runs};
pub use launcher::Launcher;
pub use limits::JobLimits;
pub use outcome::{CleanupProblem, ExceededLimit, Output, RunEnding, RunOutcome};
pub use run::{Executor, ExecutorOptions, PythonTools, ScriptGrants};
#[cfg(unix)]
pub use sandbox::UnconfinedSandbox;
pub use sandbox::{Probe, ProbedSandbox, Sandbox, probe};
