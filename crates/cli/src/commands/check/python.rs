//! Findings about a `tools.py` without a `schema.json`.

use repertoire_app::workspace::left_out;
use repertoire_model::toolbox::{PYTHON_FILE, Toolbox};
use repertoire_model::validate::Reporter;
use repertoire_model::{Diagnostic, Policy, RuleId};

use super::target::CheckedSkill;
use crate::wire::Workspace;

/// Adds to the finding of the rule `tools-python`, if there is one, which functions become tools, and
/// findings about the others. Python's parser reads them in the sandbox.
pub(super) fn describe(workspace: &Workspace, checked: &mut CheckedSkill<'_>, policy: &Policy) {
    let is_python = |found: &Diagnostic| found.rule == RuleId::ToolsPython;
    let Some(index) = checked.diagnostics.iter().position(is_python) else { return };
    let found = &mut checked.diagnostics[index];
    let mut reporter = Reporter::new(policy);
    match workspace.python_tools(&checked.library.registry, checked.entry) {
        Ok((tools, _)) => {
            let toolbox = Toolbox::read(tools.schema.as_bytes()).0;
            let is_skill = |name: &&str| {
                let skills = checked.library.snapshot.named(name);
                skills.iter().any(|skill| skill.source == checked.entry.source)
            };
            let (skills, names): (Vec<&str>, Vec<&str>) = toolbox.names().partition(is_skill);
            found.message = if names.is_empty() {
                format!("{PYTHON_FILE} has no function that can be a tool")
            } else {
                format!("{}: {}", found.message, names.join(", "))
            };
            let skills = skills.into_iter().map(|name| format!("`{name}` is the name of a skill"));
            for what in left_out(&tools).into_iter().chain(skills) {
                let message = format!("a function of {PYTHON_FILE} becomes no tool: {what}");
                reporter.report(RuleId::ToolsPython, message).in_file(PYTHON_FILE);
            }
        }
        Err(error) => {
            found.message =
                format!("the functions of {PYTHON_FILE} cannot be read as tools: {}", error.message());
            found.help = None;
        }
    }
    let others = reporter.finish();
    checked.diagnostics.splice(index + 1..index + 1, others);
}
