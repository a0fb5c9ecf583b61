//! Rules about the tools that a skill brings along.

use std::collections::BTreeMap;

use super::{Reporter, RuleId};
use crate::policy::Policy;
use crate::toolbox::{Handler, PYTHON_FILE, TOOLBOX_FILE, Toolbox};
use crate::{Diagnostic, FileEntry, SkillName};

/// More tools than this are the crowd that skills are there to avoid.
pub const MANY_TOOLS: usize = 8;
/// Fewer than this are hardly worth a load.
const FEW_TOOLS: usize = 3;

/// The facts about a skill that the rules about tools need.
#[derive(Debug, Clone, Copy)]
pub struct ToolFacts<'a> {
    /// Its `schema.json`.
    pub declared: &'a [u8],
    /// The text of its `tools.py`, where it has one.
    pub python: Option<&'a str>,
    /// Its files.
    pub files: &'a [FileEntry],
}

/// Returns the diagnostics of the tools of a skill; `is_skill` returns whether a skill has a name.
pub fn tools(facts: ToolFacts<'_>, is_skill: impl Fn(&str) -> bool, policy: &Policy) -> Vec<Diagnostic> {
    let mut reporter = Reporter::new(policy);
    let (toolbox, problems) = Toolbox::read(facts.declared);
    for problem in problems {
        reporter.report(problem.rule, problem.message).help(problem.help).in_file(TOOLBOX_FILE);
    }
    for tool in &toolbox.tools {
        if is_skill(&tool.name) {
            reporter
                .report(RuleId::ToolName, format!("the tool `{}` is called like a skill", tool.name))
                .help("give the tool another name, as in `git_status` for a skill `git`")
                .in_file(TOOLBOX_FILE);
        }
        if Handler::of(tool, facts.files, facts.python).is_none() {
            let name = &tool.name;
            reporter
                .report(RuleId::ToolHandler, format!("nothing runs the tool `{name}`"))
                .help(format!(
                    "write a function `{name}` in {PYTHON_FILE}, an executable tools/{name} or scripts/{name}, or name a `command`"
                ))
                .in_file(TOOLBOX_FILE);
        }
    }
    let count = toolbox.tools.len();
    if count > MANY_TOOLS {
        reporter
            .report(RuleId::ToolCount, format!("the skill has {count} tools, more than {MANY_TOOLS}"))
            .help("split the skill, so that an agent chooses among few")
            .in_file(TOOLBOX_FILE);
    }
    if (1..FEW_TOOLS).contains(&count) {
        reporter
            .report(
                RuleId::ToolFew,
                format!("the skill has {count} of the {FEW_TOOLS} to {MANY_TOOLS} tools that are usual"),
            )
            .in_file(TOOLBOX_FILE);
    }
    reporter.finish()
}

/// A name that tools of several skills have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedTool {
    /// The name of the tool.
    pub tool: String,
    /// The skills that have it, sorted.
    pub skills: Vec<SkillName>,
}

impl SharedTool {
    /// Returns the finding about it for the skill `of`, unless its rule is off.
    pub fn diagnostic(&self, of: &SkillName, policy: &Policy) -> Option<Diagnostic> {
        let others: Vec<&str> =
            self.skills.iter().filter(|name| *name != of).map(SkillName::as_str).collect();
        let mut reporter = Reporter::new(policy);
        reporter
            .report(RuleId::ToolDuplicate, format!("the tool `{}` is also one of {}", self.tool, others.join(", ")))
            .help("begin its name with that of the skill; where both are loaded, the skill that was loaded first has it")
            .in_file(TOOLBOX_FILE);
        reporter.finish().into_iter().next()
    }
}

/// Returns the names that tools of several skills have, sorted.
pub fn shared_tools<'a>(
    toolboxes: impl IntoIterator<Item = (&'a SkillName, &'a Toolbox)>,
) -> Vec<SharedTool> {
    let mut owners: BTreeMap<&str, Vec<&SkillName>> = BTreeMap::new();
    for (skill, toolbox) in toolboxes {
        for tool in &toolbox.tools {
            owners.entry(&tool.name).or_default().push(skill);
        }
    }
    let mut shared = Vec::new();
    for (tool, mut skills) in owners {
        skills.sort_unstable();
        skills.dedup();
        if skills.len() > 1 {
            let skills = skills.into_iter().cloned().collect();
            shared.push(SharedTool { tool: tool.to_owned(), skills });
        }
    }
    shared
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FileKind, SkillPath};

    fn check(declared: &str, python: Option<&str>) -> Vec<String> {
        let entry = |path: &str| {
            let path = SkillPath::new(path).unwrap();
            FileEntry { kind: FileKind::of(&path, "SKILL.md"), path, size: Some(1), executable: true }
        };
        let files = [entry("SKILL.md"), entry("schema.json"), entry("tools.py")];
        let facts = ToolFacts { declared: declared.as_bytes(), python, files: &files };
        let found = tools(facts, |name| name == "pdf", &Policy::default());
        found
            .into_iter()
            .map(|found| format!("{} {}: {}", found.severity, found.rule, found.message))
            .collect()
    }

    fn declared(names: &[&str]) -> (String, String) {
        let tool = |name: &&str| format!(r#"{{"name": "{name}", "description": "Does it."}}"#);
        let tools = names.iter().map(tool).collect::<Vec<_>>().join(",");
        (format!("[{tools}]"), names.iter().map(|name| format!("def {name}(): pass\n")).collect())
    }

    #[test]
    fn three_to_eight_tools_are_as_it_should_be() {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
        let check = |count: usize, expect: &[&str]| {
            let (text, python) = declared(&names[..count]);
            assert_eq!(check(&text, Some(&python)), expect, "{count}");
        };
        check(0, &[]);
        check(1, &["info tool-few: the skill has 1 of the 3 to 8 tools that are usual"]);
        check(3, &[]);
        check(8, &[]);
        check(9, &["warning tool-count: the skill has 9 tools, more than 8"]);
    }

    #[test]
    fn tools_named_like_skills_and_without_handlers_are_reported() {
        let (text, _) = declared(&["pdf", "b", "c"]);
        assert_eq!(
            check(&text, Some("def pdf(): pass\ndef b(): pass\n")),
            [
                "error tool-name: the tool `pdf` is called like a skill",
                "warning tool-handler: nothing runs the tool `c`"
            ]
        );
    }

    #[test]
    fn shared_names_are_reported_in_order() {
        let name = |name: &str| SkillName::new(name).unwrap();
        let of = |names: &[&str]| Toolbox::read(declared(names).0.as_bytes()).0;
        let (x, y, z) = ((name("x"), of(&["b", "a"])), (name("y"), of(&["a"])), (name("z"), of(&["c"])));
        let shared = shared_tools([&y, &x, &z].map(|(name, toolbox)| (name, toolbox)));
        assert_eq!(shared, [SharedTool { tool: "a".to_owned(), skills: vec![name("x"), name("y")] }]);
        let found = shared[0].diagnostic(&name("x"), &Policy::default()).unwrap();
        assert_eq!(found.message, "the tool `a` is also one of y");
    }
}
