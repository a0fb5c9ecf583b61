//! The runner of a library: turns a call into a job in a sandbox, and its outcome into an answer.

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
