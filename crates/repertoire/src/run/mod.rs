//! Running what skills bring along: from a call to a job in a sandbox, and from its outcome to an answer.

mod executor;
mod jobs;
mod handler;
mod workshop;
mod command;
mod outcome;
mod tools;
mod grants;
mod call;
#[cfg(test)]
mod tests;

pub use call::ScriptCall;
pub(crate) use call::{Ran, run_script, run_tool};
pub use executor::{Executor, ExecutorOptions, ScriptGrants};
pub(crate) use handler::HostHandler;
pub use handler::{HandlerError, SkillHandler};
pub(crate) use tools::Exposed;
