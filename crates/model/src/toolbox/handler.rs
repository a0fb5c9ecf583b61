//! Handlers: the files and commands that run tools.

use super::declared::SkillTool;
use super::interpreter::EXTENSIONS;
use super::needs::HostCommand;
use crate::{FileEntry, SkillPath};

/// The directories in which a file of a tool's name runs it.
const DIRECTORIES: [&str; 2] = ["tools", "scripts"];

/// The file or command that runs a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Handler {
    /// The command that its author names; words that are files of the skill stand for these.
    Command(Vec<String>),
    /// The function of the tool's name in `tools.py`.
    Python(SkillPath),
    /// A file of the tool's name, which reads the arguments as JSON and writes the result.
    File(SkillPath),
    /// A command outside of the sandbox.
    Host(HostCommand),
}

impl Handler {
    /// Returns the handler of `tool` of a skill with `files`, of which `tools.py` has the text `python`.
    ///
    /// ```
    /// use repertoire_model::toolbox::{Handler, SkillTool};
    /// use repertoire_model::{FileEntry, FileKind, SkillPath};
    /// let path = SkillPath::new("scripts/greet.sh").unwrap();
    /// let file = FileEntry { path: path.clone(), size: Some(1), kind: FileKind::Script, executable: false };
    /// assert_eq!(Handler::of(&SkillTool::new("greet"), &[file], None), Some(Handler::File(path)));
    /// ```
    pub fn of(tool: &SkillTool, files: &[FileEntry], python: Option<&str>) -> Option<Self> {
        if let Some(command) = tool.needs.host {
            return Some(Self::Host(command));
        }
        let find = |path: &str| files.iter().find(|file| file.path.as_str() == path);
        if let Some(command) = &tool.command {
            let program = command.first()?;
            // A program that looks like a file must be one; a bare word is a program of the system.
            let file = program.strip_prefix("./").unwrap_or(program);
            let is_there = !program.contains('/') || find(file).is_some();
            return is_there.then(|| Self::Command(command.clone()));
        }
        if let Some(file) = find(PYTHON_FILE).filter(|_| python.is_some_and(|text| defines(text, &tool.name)))
        {
            return Some(Self::Python(file.path.clone()));
        }
        let name = &tool.name;
        for directory in DIRECTORIES {
            if let Some(file) = find(&format!("{directory}/{name}")).filter(|file| file.executable) {
                return Some(Self::File(file.path.clone()));
            }
            // A file with a known extension need not be executable.
            let with_ending = EXTENSIONS.iter().map(|(ending, _)| format!("{directory}/{name}.{ending}"));
            if let Some(file) = with_ending.into_iter().find_map(|path| find(&path)) {
                return Some(Self::File(file.path.clone()));
            }
        }
        None
    }
}

/// The file of Python functions that run tools.
pub const PYTHON_FILE: &str = "tools.py";

/// Returns whether the text of a Python module gives a function the name `name` at its top level.
///
/// It looks for a definition, an assignment or an import; nothing is run.
pub(super) fn defines(module: &str, name: &str) -> bool {
    module.lines().any(|line| {
        let line = line.strip_prefix("async ").map_or(line, str::trim_start);
        if let Some(rest) = line.strip_prefix("def ") {
            return word(rest.trim_start()) == name;
        }
        if line.starts_with("from ") || line.starts_with("import ") {
            return line.split(|c: char| !is_part(c)).any(|part| part == name);
        }
        let is_assigned = |rest: &str| rest.trim_start().starts_with(['=', ':']);
        word(line) == name && line.strip_prefix(name).is_some_and(is_assigned)
    })
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the name that `text` begins with.
fn word(text: &str) -> &str {
    text.split(|c: char| !is_part(c)).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FileKind;
    use crate::toolbox::Needs;

    fn check(tool: &SkillTool, files: &[(&str, bool)], python: Option<&str>, expect: Option<&str>) {
        let entry = |(path, executable): &(&str, bool)| {
            let path = SkillPath::new(path).unwrap();
            let kind = FileKind::of(&path, "SKILL.md");
            FileEntry { path, size: Some(1), kind, executable: *executable }
        };
        let files: Vec<FileEntry> = files.iter().map(entry).collect();
        let found = Handler::of(tool, &files, python).map(|handler| match handler {
            Handler::Command(words) => words.join(" "),
            Handler::Python(path) => format!("python {path}"),
            Handler::File(path) => path.to_string(),
            Handler::Host(command) => format!("host {}", command.as_str()),
        });
        assert_eq!(found.as_deref(), expect);
    }

    #[test]
    fn the_order_is_host_then_command_then_python_then_file() {
        let tool = SkillTool::new("go");
        let with_command = |words: &[&str]| SkillTool {
            command: Some(words.iter().map(|word| (*word).to_owned()).collect()),
            ..tool.clone()
        };
        let all = [("tools.py", false), ("tools/go", true), ("scripts/go", true), ("scripts/x.sh", false)];
        let python = Some("def go(): pass");
        check(&with_command(&["scripts/x.sh", "-v"]), &all, python, Some("scripts/x.sh -v"));
        check(&with_command(&["jq", "."]), &all, python, Some("jq ."));
        check(&with_command(&["scripts/gone.sh"]), &all, python, None);
        check(&with_command(&["/bin/sh"]), &all, python, None);
        check(&tool, &all, python, Some("python tools.py"));
        check(&tool, &all, Some("def other(): pass"), Some("tools/go"));
        check(&tool, &[("tools/go", false), ("scripts/go", true)], None, Some("scripts/go"));
        check(&tool, &[("scripts/go.rb", false)], None, Some("scripts/go.rb"));
        check(&tool, &[("tools.py", false)], None, None);
        check(&tool, &[("go.sh", true)], None, None);
        let needs = Needs { host: Some(HostCommand::GitPush), ..Needs::default() };
        check(&SkillTool { needs, ..tool }, &all, python, Some("host git push"));
    }

    #[test]
    fn definitions_assignments_and_imports_count() {
        let check = |module: &str, expect: bool| assert_eq!(defines(module, "go"), expect, "{module}");
        check("def go():\n", true);
        check("import x\n\nasync def go(a):\n", true);
        check("go = partial(f)\n", true);
        check("go: Callable = f\n", true);
        check("from .impl import stop, go\n", true);
        check("def going():\n", false);
        check("    def go(self):\n", false);
        check("go()\n", false);
        check("# def go\n", false);
        check("", false);
    }
}
