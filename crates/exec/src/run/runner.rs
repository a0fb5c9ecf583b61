//! The executor as the runner of a library, and approvals as the runner of one whose host runs tools itself.

use std::sync::Arc;

use repertoire::BoxFuture;
use repertoire::runner::{ScriptCall, SkillCaller, ToolRun};
use repertoire::{Entry, Registry, Runner, Trust};
use repertoire_model::answer::{FaultKind, RunRefusal};
use repertoire_model::{Capabilities, Digest, SkillTool, Toolbox};
use serde_json::{Map, Value};

use super::call;
use super::executor::Executor;
use crate::approval::Approvals;

impl Runner for Executor {
    fn trust(&self, source: &str) -> Trust {
        self.options.trust.of(source)
    }

    fn python_tools(&self, entry: &Entry, python: &Digest) -> Option<String> {
        self.approvals.python_tools(entry, python)
    }

    fn missing_approval<'a>(
        &'a self,
        registry: &'a Registry,
        entry: &'a Entry,
        toolbox: &'a Toolbox,
    ) -> BoxFuture<'a, Option<RunRefusal>> {
        Box::pin(async move {
            if self.options.approver.is_some() || self.trust(&entry.source) != Trust::Ask {
                return None;
            }
            let Some(approval) = self.approvals.find(entry).ok()? else { return Some(RunRefusal::Unknown) };
            let is_same = registry.is_at(entry, &approval.digest).await.ok()?;
            let holds = is_same && approval.holds(&approval.digest, &Capabilities::of(toolbox));
            (!holds).then_some(RunRefusal::Changed)
        })
    }

    fn run_tool<'a>(
        &'a self,
        caller: SkillCaller<'a>,
        tool: &'a SkillTool,
        arguments: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<ToolRun, FaultKind>> {
        Box::pin(call::run_tool(self, caller, tool, arguments))
    }

    fn run_script<'a>(
        &'a self,
        caller: SkillCaller<'a>,
        script: ScriptCall,
    ) -> BoxFuture<'a, Result<ToolRun, FaultKind>> {
        Box::pin(call::run_script(self, caller, script))
    }

    fn end(&self) {
        self.jobs.end();
    }

    fn settled(&self) -> BoxFuture<'_, ()> {
        let jobs = Arc::clone(&self.jobs);
        Box::pin(blocking::unblock(move || jobs.wait()))
    }
}

/// Runs nothing: it only knows the tools of each approved `tools.py`. It is for sessions with
/// [`host_runs_tools`](repertoire::session::RunningOptions::host_runs_tools), which need no sandbox.
impl Runner for Approvals {
    fn trust(&self, _: &str) -> Trust {
        Trust::Ask
    }

    fn python_tools(&self, entry: &Entry, python: &Digest) -> Option<String> {
        self.find(entry).ok()??.schema_of(python).map(str::to_owned)
    }

    fn run_tool<'a>(
        &'a self,
        _: SkillCaller<'a>,
        tool: &'a SkillTool,
        _: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<ToolRun, FaultKind>> {
        Box::pin(async { Err(FaultKind::NoHandler { tool: tool.name.clone() }) })
    }

    fn run_script<'a>(
        &'a self,
        _: SkillCaller<'a>,
        script: ScriptCall,
    ) -> BoxFuture<'a, Result<ToolRun, FaultKind>> {
        Box::pin(async { Err(FaultKind::NoHandler { tool: script.path }) })
    }

    fn end(&self) {}

    fn settled(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}
