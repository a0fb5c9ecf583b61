//! Tools of a `tools.py` without a `schema.json`: Python's own parser reads them from the text.

use std::fs;
use std::time::Duration;

use repertoire::tool::quoted;
use serde_json::Value;

use super::executor::Executor;
use crate::{ExecError, ExecErrorKind, Job, RunEnding, environment};

/// The Python program that writes the tools of a module as a `schema.json`, without running the module.
const DESCRIBE: &str = include_str!("describe.py");
/// The time that it may take.
const TIMEOUT: Duration = Duration::from_secs(20);
/// The directory that stands for a skill in the sandbox, in the state directory; it is empty.
const DIRECTORY: &str = "parse";

/// The public functions of a `tools.py`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PythonTools {
    /// The functions that can be tools, as the text of a `schema.json`.
    pub schema: String,
    /// The others by name, each with the reason why it cannot be one.
    pub left_out: Vec<(String, String)>,
}

impl PythonTools {
    /// Parses the output of the program that describes a module.
    fn parse(output: &[u8]) -> serde_json::Result<Self> {
        let described: Value = serde_json::from_slice(output)?;
        let left_out = described["left_out"].as_object().into_iter().flatten();
        let reason = |why: &Value| why.as_str().unwrap_or_default().to_owned();
        Ok(Self {
            schema: format!("{}\n", serde_json::to_string_pretty(&described["tools"])?),
            left_out: left_out.map(|(name, why)| (quoted(name), reason(why))).collect(),
        })
    }
}

impl Executor {
    /// Returns the public functions of `module`, the text of a `tools.py`.
    ///
    /// Their signatures, annotations and docstrings are read by Python's module `ast` in the sandbox, from
    /// standard input and without any grant; nothing of the module is run.
    ///
    /// Fails with [`ExecErrorKind::CommandNotFound`] if there is no `python3`, and with
    /// [`ExecErrorKind::Python`] if the text cannot be parsed. It blocks.
    pub fn describe_python(&self, module: &[u8]) -> Result<PythonTools, ExecError> {
        let directory = self.options.state.join(DIRECTORY);
        let failed = |detail: String| ExecError::new(ExecErrorKind::Python).saying(detail);
        fs::create_dir_all(&directory).map_err(|error| failed(error.to_string()))?;
        let mut job = Job::new(["python3", "-I", "-B", "-c", DESCRIBE], directory);
        job.input = Some(module.to_vec());
        job.environment = environment::allowed(self.options.variables.iter().cloned(), &[]);
        job.workplaces = self.workplaces();
        job.limits = self.options.limits.clone();
        job.limits.timeout = TIMEOUT;
        let outcome = self.sandbox.run(&job)?;
        let errors = String::from_utf8_lossy(&outcome.stderr.bytes).into_owned();
        match outcome.ending {
            RunEnding::Exited(0) if outcome.stdout.dropped == 0 => {
                PythonTools::parse(&outcome.stdout.bytes).map_err(|error| failed(error.to_string()))
            }
            RunEnding::Exited(0) => Err(failed("its functions are too many to describe".to_owned())),
            // The last line of a Python program that fails says why.
            RunEnding::Exited(_) => Err(failed(quoted(errors.trim_end().lines().last().unwrap_or_default()))),
            _ => Err(failed("parsing it took too much time or memory".to_owned())),
        }
    }
}
