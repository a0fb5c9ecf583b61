//! The executor as the runner of a library.

use std::sync::Arc;

use repertoire::BoxFuture;
use repertoire::runner::{ScriptCall, SkillCaller, ToolRun};
use repertoire::{Entry, Runner, Trust};
use repertoire_model::answer::FaultKind;
use repertoire_model::{Digest, SkillTool};
use serde_json::{Map, Value};

use super::call;
use super::executor::Executor;

impl Runner for Executor {
    fn trust(&self, source: &str) -> Trust {
        self.options.trust.of(source)
    }

    fn python_tools(&self, entry: &Entry, python: &Digest) -> Option<String> {
        let approval = self.approvals.find(entry).ok()??;
        approval.schema_of(python).map(str::to_owned)
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
