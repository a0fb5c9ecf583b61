//! The command line of a tool or script.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use repertoire_model::toolbox::{Handler, Interpreter, OutputForm, SkillTool};
use repertoire_model::{Bundle, SkillPath};

use super::executor::Executor;
use repertoire::regular_file;

/// The Python program that calls a function of `tools.py`.
const DRIVER: &str = include_str!("driver.py");
/// The exit code of the driver if the function raised an exception.
pub(super) const RAISED: i32 = 70;
/// The program that runs scripts with inline dependencies.
pub(super) const UV: &str = "uv";
/// The largest script that is read to find its interpreter, in bytes; files of skills are no larger.
const MAX_SCRIPT_BYTES: u64 = 16 * 1024 * 1024;

#[derive(Debug, Clone, Copy)]
pub(super) struct SkillCopy<'a> {
    pub(super) path: &'a Path,
    pub(super) bundle: &'a Bundle,
}

impl SkillCopy<'_> {
    fn file(&self, path: &SkillPath) -> PathBuf {
        self.path.join(path.as_str())
    }

    fn named(&self, word: &str) -> Option<&SkillPath> {
        let word = word.strip_prefix("./").unwrap_or(word);
        self.bundle.files().iter().map(|file| &file.path).find(|path| path.as_str() == word)
    }

    /// Returns the command line that runs the script `path`, or `None` if its interpreter is unknown.
    pub(super) fn script(&self, executor: &Executor, path: &SkillPath) -> Option<Vec<OsString>> {
        let file = self.bundle.files().iter().find(|file| file.path == *path)?;
        let bytes = regular_file::read(&self.file(path), MAX_SCRIPT_BYTES).ok()?;
        let mut words: Vec<OsString> = match Interpreter::of(path, &bytes, file.executable)? {
            Interpreter::Itself => Vec::new(),
            Interpreter::Program(words) => words.into_iter().map(OsString::from).collect(),
            Interpreter::Uv if executor.program(UV).is_some() => {
                [UV, "run", "--quiet", "--no-project", "--script"].map(OsString::from).to_vec()
            }
            Interpreter::Uv => vec!["python3".into()],
        };
        words.push(self.file(path).into());
        Some(words)
    }

    pub(super) fn tool(
        &self,
        executor: &Executor,
        tool: &SkillTool,
        handler: &Handler,
    ) -> Option<Vec<OsString>> {
        match handler {
            Handler::Command(words) => {
                let (program, arguments) = words.split_first()?;
                let mut command = match self.named(program) {
                    Some(path) => self.script(executor, path)?,
                    None => vec![program.into()],
                };
                // The command runs in another directory, so files of the skill get absolute paths.
                let place = |word: &String| match self.named(word) {
                    Some(path) => self.file(path).into(),
                    None => OsString::from(word),
                };
                command.extend(arguments.iter().map(place));
                Some(command)
            }
            Handler::Python(path) => {
                let form = if tool.output == OutputForm::Json { "json" } else { "text" };
                let mut command: Vec<OsString> =
                    ["python3", "-I", "-B", "-c", DRIVER].map(OsString::from).to_vec();
                command.extend([self.file(path).into(), tool.name.as_str().into(), form.into()]);
                Some(command)
            }
            Handler::File(path) => self.script(executor, path),
            Handler::Host(_) => None,
        }
    }
}
