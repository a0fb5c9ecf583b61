//! Cases that speak with `rep session`: one line is sent, one line is compared, and files change in between.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::Deserialize;
use serde_json::Value;

use super::{Expect, compare_json, expand, expand_json, lay_out, report, write};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    id: String,
    about: String,
    /// Options of `rep session`, beside `--config repertoire.toml` or, where there is not one,
    /// `--root skills`.
    #[serde(default)]
    args: Vec<String>,
    /// The message if no session opens, because `repertoire.toml` is the project's and not one that the user
    /// named.
    refused: Option<String>,
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    hex: BTreeMap<String, String>,
    #[serde(default)]
    links: BTreeMap<String, String>,
    #[serde(default)]
    fifos: Vec<String>,
    #[serde(default)]
    steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    /// A request.
    send: Option<Value>,
    /// A line that is sent as it is.
    line: Option<String>,
    /// Files to write before the request.
    #[serde(default)]
    write: BTreeMap<String, String>,
    /// Files and directories to remove before the request.
    #[serde(default)]
    remove: Vec<String>,
    #[serde(default)]
    expect: Vec<Expect>,
    /// Keeps the value at a pointer of the answer under a name; `"$name"` stands for it in later requests.
    #[serde(default)]
    keep: BTreeMap<String, String>,
}

/// Runs the cases of one file and reports every failure at once.
pub(crate) fn run(area: &str) {
    let path = format!("{}/../../testdata/conformance/{area}.toml", env!("CARGO_MANIFEST_DIR"));
    let cases: Cases = toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    report(cases.case.iter().map(|case| (format!("{} ({})", case.id, case.about), run_case(case))));
}

fn command(case: &Case, root: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rep"));
    command.arg("session").args(case.args.iter().map(|argument| expand(argument, root)));
    if !case.files.contains_key("repertoire.toml") {
        command.args(["--root", "skills"]);
    } else if case.refused.is_none() {
        command.args(["--config", "repertoire.toml"]);
    }
    command.current_dir(root).env_clear().env("HOME", root.join("home"));
    command
}

/// Returns the faults of a session that must not open.
fn run_refused(case: &Case, expect: &str, root: &Path) -> Vec<String> {
    let output = command(case, root).stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(2) && said.contains(expect) {
        return Vec::new();
    }
    vec![format!("ended with {} and said {said}", output.status)]
}

struct Pipe {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Pipe {
    fn start(case: &Case, root: &Path) -> Self {
        let mut child = command(case, root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, input, output: BufReader::new(output) }
    }

    fn ask(&mut self, line: &str) -> Result<Value, String> {
        writeln!(self.input, "{line}").map_err(|error| format!("{line} was not taken: {error}"))?;
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).map_err(|error| format!("the answer {answer:?} is not JSON: {error}"))
    }
}

fn run_case(case: &Case) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    std::fs::create_dir_all(root.join("skills")).unwrap();
    lay_out(&root, &case.files, &case.hex, &case.links);
    for path in &case.fifos {
        std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        assert!(Command::new("mkfifo").arg(root.join(path)).status().unwrap().success());
    }
    if let Some(expect) = &case.refused {
        return run_refused(case, expect, &root);
    }
    let mut pipe = Pipe::start(case, &root);
    let mut kept = BTreeMap::new();
    let mut reasons = Vec::new();
    for (index, step) in case.steps.iter().enumerate() {
        let failures = run_step(step, &mut pipe, &mut kept, &root);
        reasons.extend(failures.into_iter().map(|reason| format!("step {}: {reason}", index + 1)));
    }
    let Pipe { mut child, input, .. } = pipe;
    drop(input);
    let status = child.wait().unwrap();
    if !status.success() {
        reasons.push(format!("the session ended with {status}"));
    }
    reasons
}

fn run_step(step: &Step, pipe: &mut Pipe, kept: &mut BTreeMap<String, Value>, root: &Path) -> Vec<String> {
    for (path, text) in &step.write {
        write(&root.join(path), expand(text, root).as_bytes());
    }
    for path in &step.remove {
        let path = root.join(path);
        if path.is_dir() {
            std::fs::remove_dir_all(path).unwrap()
        } else {
            std::fs::remove_file(path).unwrap()
        }
    }
    let line = match (&step.send, &step.line) {
        (Some(request), None) => recalled(&expand_json(request, root), kept).to_string(),
        (None, Some(line)) => line.clone(),
        (None, None) => return Vec::new(),
        _ => return vec!["a step sends a request or a line, not both".to_owned()],
    };
    let answer = match pipe.ask(&line) {
        Ok(answer) => answer,
        Err(reason) => return vec![reason],
    };
    for (name, pointer) in &step.keep {
        kept.insert(format!("${name}"), answer.pointer(pointer).cloned().unwrap_or_default());
    }
    if step.expect.is_empty() {
        return vec!["nothing is expected of the answer".to_owned()];
    }
    step.expect
        .iter()
        .flat_map(|expect| compare_json(&recalled_expect(expect, kept), &answer, root))
        .collect()
}

/// Returns `value` with every string that names something kept replaced by it.
fn recalled(value: &Value, kept: &BTreeMap<String, Value>) -> Value {
    match value {
        Value::String(text) => kept.get(text).unwrap_or(value).clone(),
        Value::Array(items) => Value::Array(items.iter().map(|item| recalled(item, kept)).collect()),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, value)| (name.clone(), recalled(value, kept))).collect())
        }
        other => other.clone(),
    }
}

fn recalled_expect(expect: &Expect, kept: &BTreeMap<String, Value>) -> Expect {
    Expect { equals: expect.equals.as_ref().map(|equals| recalled(equals, kept)), ..expect.clone() }
}
