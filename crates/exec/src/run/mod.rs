//! The runner of a library: turns a call into a job in a sandbox, and its outcome into an answer.

mod executor;
mod jobs;
mod skill_copy;
mod command;
mod outcome;
mod grants;
mod python_tools;
#[cfg(unix)]
mod commit;
#[cfg(unix)]
mod host_command;
#[cfg(not(unix))]
#[path = "host_command_stub.rs"]
mod host_command;
mod call;
mod runner;
#[cfg(test)]
mod tests;

pub use executor::{Executor, ExecutorOptions, ScriptGrants};
pub use python_tools::PythonTools;
