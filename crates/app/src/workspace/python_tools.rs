//! The tools of a `tools.py` without a `schema.json`.

use repertoire::{Entry, Registry};
use repertoire_exec::{ExecErrorKind, PythonTools};
use repertoire_model::toolbox::{PYTHON_FILE, ToolProblem, Toolbox};
use repertoire_model::{Digest, LineRange, SkillPath};

use super::executor::ExecRequest;
use super::handle::Workspace;
use crate::error::Error;

impl Workspace {
    /// Returns the public functions of the skill's `tools.py`, with the digest of the file that was read.
    /// Python's parser reads it in the sandbox.
    pub fn python_tools(&self, registry: &Registry, entry: &Entry) -> Result<(PythonTools, Digest), Error> {
        let path = SkillPath::new(PYTHON_FILE).map_err(|fault| Error::no(fault.to_string()))?;
        let content = pollster::block_on(registry.read(entry, &path, LineRange::default()))?;
        let executor = self.executor(ExecRequest::default())?;
        let tools = executor.describe_python(&content.bytes).map_err(|error| match error.kind() {
            ExecErrorKind::CommandNotFound => Error::no("`python3` is not installed here"),
            _ => Error::no(error.to_string()),
        })?;
        Ok((tools, Digest::of(&content.bytes)))
    }
}

/// Returns the functions that become no tools, each with the reason.
pub fn left_out(tools: &PythonTools) -> Vec<String> {
    let (toolbox, problems) = Toolbox::read(tools.schema.as_bytes());
    let is_left_out =
        |problem: &ToolProblem| problem.tool.as_ref().is_none_or(|name| toolbox.get(name).is_none());
    let refused = problems.into_iter().filter(is_left_out).map(|problem| problem.message);
    tools.left_out.iter().map(|(name, why)| format!("`{name}`: {why}")).chain(refused).collect()
}
