//! The runner of a library: from a call to a job in a sandbox, and from its outcome to an answer.

mod executor;
mod jobs;
mod skill_copy;
mod command;
mod outcome;
mod grants;
mod call;
mod runner;
#[cfg(test)]
mod tests;

pub use executor::{Executor, ExecutorOptions, ScriptGrants};
