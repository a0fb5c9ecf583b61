//! The trait by which sessions run tools and scripts of skills. The crate `repertoire-exec` implements it;
//! this one starts no process.

use std::fmt;
use std::sync::Arc;

use repertoire_model::answer::{FaultKind, RunRefusal, ToolResult};
use repertoire_model::words;
use repertoire_model::{Digest, SkillTool, Toolbox};
use serde_json::{Map, Value};

use crate::future::BoxFuture;
use crate::registry::{Entry, Registry};

/// Runs tools and scripts of skills. A library with a runner offers its models to call them.
pub trait Runner: Send + Sync + fmt::Debug {
    /// Returns the trust in the source with this label.
    fn trust(&self, source: &str) -> Trust;

    /// Returns the tools of the `tools.py` with the digest `python` as the text of a `schema.json`, if they
    /// were read from it when a person approved the skill. It is for skills without a `schema.json`.
    fn python_tools(&self, _entry: &Entry, _python: &Digest) -> Option<String> {
        None
    }

    /// Returns why the tools of `toolbox`, of this skill, wait for an approval that no call can ask for.
    fn missing_approval<'a>(
        &'a self,
        _registry: &'a Registry,
        _entry: &'a Entry,
        _toolbox: &'a Toolbox,
    ) -> BoxFuture<'a, Option<RunRefusal>> {
        Box::pin(async { None })
    }

    /// Runs a tool that a skill declares. Fails if it is not approved, has no handler, or could not be run.
    fn run_tool<'a>(
        &'a self,
        caller: SkillCaller<'a>,
        tool: &'a SkillTool,
        arguments: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<ToolRun, FaultKind>>;

    /// Runs a script of a skill. Fails as [`Runner::run_tool`] does.
    fn run_script<'a>(
        &'a self,
        caller: SkillCaller<'a>,
        script: ScriptCall,
    ) -> BoxFuture<'a, Result<ToolRun, FaultKind>>;

    /// Cancels everything that runs, and runs nothing more. [`Runner::settled`] waits for the end of it.
    fn end(&self);

    /// Waits until nothing is left of the runs that were cancelled: by [`Runner::end`], or because the future
    /// of a call was dropped.
    fn settled(&self) -> BoxFuture<'_, ()>;
}

impl<R: Runner + ?Sized> Runner for Arc<R> {
    fn trust(&self, source: &str) -> Trust {
        (**self).trust(source)
    }

    fn python_tools(&self, entry: &Entry, python: &Digest) -> Option<String> {
        (**self).python_tools(entry, python)
    }

    fn missing_approval<'a>(
        &'a self,
        registry: &'a Registry,
        entry: &'a Entry,
        toolbox: &'a Toolbox,
    ) -> BoxFuture<'a, Option<RunRefusal>> {
        (**self).missing_approval(registry, entry, toolbox)
    }

    fn run_tool<'a>(
        &'a self,
        caller: SkillCaller<'a>,
        tool: &'a SkillTool,
        arguments: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<ToolRun, FaultKind>> {
        (**self).run_tool(caller, tool, arguments)
    }

    fn run_script<'a>(
        &'a self,
        caller: SkillCaller<'a>,
        script: ScriptCall,
    ) -> BoxFuture<'a, Result<ToolRun, FaultKind>> {
        (**self).run_script(caller, script)
    }

    fn end(&self) {
        (**self).end();
    }

    fn settled(&self) -> BoxFuture<'_, ()> {
        (**self).settled()
    }
}

words! {
    /// The trust in a source: whether its skills may run something. Everything runs confined.
    #[derive(Default)]
    Trust {
        /// They run what they bring along.
        Trusted "trusted",
        /// They do once a person approved them; the default.
        #[default]
        Ask "ask",
        /// They never do.
        Never "never",
    }
}

/// The skill of a call, and the session's wishes for the answer.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct SkillCaller<'a> {
    /// The registry through which the skill's files are read.
    pub registry: &'a Registry,
    /// The skill.
    pub entry: &'a Entry,
    /// The name by which the model calls the skill.
    pub address: &'a str,
    /// True if the error of a tool is answered without the rest of its output, as in the profile `harness`.
    pub is_terse: bool,
}

/// A call of a script.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScriptCall {
    /// Its path in the skill.
    pub path: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its standard input.
    pub stdin: Option<String>,
}

/// The outcome of a call.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolRun {
    /// The answer for the model.
    pub result: ToolResult,
    /// The name of the sandbox it ran in; `None` for a handler of the host.
    pub sandbox: Option<&'static str>,
    /// The exit code, if the command ended by itself.
    pub exit_code: Option<i32>,
    /// The digest of the files that ran.
    pub digest: Option<Digest>,
}

impl ToolRun {
    /// Returns the outcome of a call that ran in no sandbox.
    pub fn new(result: ToolResult) -> Self {
        Self { result, sandbox: None, exit_code: None, digest: None }
    }
}
