//! Runs the black-box cases of `testdata/conformance` against the binary.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test that fails says where, and starts the program under test"
)]

#[path = "conformance/session.rs"]
mod session;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use serde::Deserialize;
use serde_json::Value;

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
    args: Vec<String>,
    #[serde(default)]
    exit: i32,
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    hex: BTreeMap<String, String>,
    #[serde(default)]
    links: BTreeMap<String, String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    expect: Vec<Expect>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    at: Option<String>,
    stream: Option<String>,
    equals: Option<Value>,
    contains: Option<String>,
    lacks: Option<String>,
    length: Option<usize>,
    rules: Option<Vec<String>>,
}

/// Runs the cases of one file and reports every failure at once.
fn run(area: &str) {
    let path = format!("{}/../../testdata/conformance/{area}.toml", env!("CARGO_MANIFEST_DIR"));
    let cases: Cases = toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    report(cases.case.iter().map(|case| (format!("{} ({})", case.id, case.about), run_case(case))));
}

/// Fails with the reasons of every case that has any.
fn report(cases: impl Iterator<Item = (String, Vec<String>)>) {
    let cases: Vec<(String, Vec<String>)> = cases.collect();
    let failed = cases.iter().filter(|(_, reasons)| !reasons.is_empty());
    let failures: Vec<String> =
        failed.map(|(case, reasons)| format!("{case}:\n  {}", reasons.join("\n  "))).collect();
    let (count, total) = (failures.len(), cases.len());
    assert!(failures.is_empty(), "{count} of {total} cases fail\n{}", failures.join("\n"));
}

/// The files of a case, by path.
type Files = BTreeMap<String, String>;

/// Writes the files of a case, and a home, below `root`.
fn lay_out(root: &Path, files: &Files, hex: &Files, links: &Files) {
    for (path, text) in files {
        write(&root.join(expand(path, root)), expand(text, root).as_bytes());
    }
    for (path, digits) in hex {
        let byte = |index: usize| u8::from_str_radix(&digits[index * 2..index * 2 + 2], 16).unwrap();
        write(&root.join(path), &(0..digits.len() / 2).map(byte).collect::<Vec<u8>>());
    }
    for (path, target) in links {
        link(&root.join(path), &expand(target, root));
    }
    std::fs::create_dir_all(root.join("home")).unwrap();
}

fn run_case(case: &Case) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    lay_out(&root, &case.files, &case.hex, &case.links);
    let output = Command::new(env!("CARGO_BIN_EXE_rep"))
        .args(case.args.iter().map(|argument| expand(argument, &root)))
        .current_dir(&root)
        .env_clear()
        .env("HOME", root.join("home"))
        .env("LC_ALL", "C")
        .envs(case.env.iter().map(|(name, value)| (name, expand(value, &root))))
        .output()
        .unwrap();
    compare(case, &output, &root)
}

fn compare(case: &Case, output: &Output, root: &Path) -> Vec<String> {
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    let mut reasons = Vec::new();
    if output.status.code() != Some(case.exit) {
        reasons.push(format!("exit {:?}, not {}\n    {stderr}", output.status.code(), case.exit));
    }
    for expect in &case.expect {
        let text = if expect.stream.as_deref() == Some("stderr") { &stderr } else { &stdout };
        let found = match &expect.at {
            None => Value::String(text.to_string()),
            Some(pointer) => match serde_json::from_str::<Value>(text) {
                Ok(json) => match json.pointer(pointer) {
                    Some(found) => found.clone(),
                    None => {
                        reasons.push(format!("there is nothing at {pointer}: {text}"));
                        continue;
                    }
                },
                Err(error) => {
                    reasons.push(format!("standard output is not JSON: {error}: {text}\n    {stderr}"));
                    continue;
                }
            },
        };
        reasons.extend(differences(expect, &found, root));
    }
    reasons
}

/// Returns in what `answer` differs from `expect`.
fn compare_json(expect: &Expect, answer: &Value, root: &Path) -> Vec<String> {
    let pointer = expect.at.as_deref().unwrap_or_default();
    match answer.pointer(pointer) {
        Some(found) => differences(expect, found, root),
        None => vec![format!("there is nothing at {pointer}: {answer}")],
    }
}

fn differences(expect: &Expect, found: &Value, root: &Path) -> Vec<String> {
    let mut reasons = Vec::new();
    let Expect { at: _, stream: _, equals, contains, lacks, length, rules } = expect;
    if equals.is_none() && contains.is_none() && lacks.is_none() && length.is_none() && rules.is_none() {
        reasons.push(format!("an expectation about {:?} demands nothing", expect.at));
    }
    if rules.is_some() && !found.is_array() {
        reasons.push(format!("{:?} is not a list of diagnostics; found {found}", expect.at));
    }
    let mut differs = |how: String| {
        reasons.push(format!("{} {how}; found {found}", expect.at.as_deref().unwrap_or("the output")));
    };
    let text = found.as_str().map_or_else(|| found.to_string(), str::to_owned);
    if let Some(equals) = expect.equals.as_ref().map(|equals| expand_json(equals, root))
        && *found != equals
    {
        differs(format!("is not {equals}"));
    }
    if let Some(contains) = expect.contains.as_ref().map(|contains| expand(contains, root))
        && !text.contains(&contains)
    {
        differs(format!("does not hold {contains:?}"));
    }
    if let Some(lacks) = expect.lacks.as_ref().map(|lacks| expand(lacks, root))
        && text.contains(&lacks)
    {
        differs(format!("holds {lacks:?}"));
    }
    if let Some(length) = expect.length
        && found.as_array().map(Vec::len) != Some(length)
    {
        differs(format!("has not {length} items"));
    }
    if let Some(rules) = &expect.rules {
        let diagnostics = found.as_array().into_iter().flatten();
        let mut ids: Vec<&str> = diagnostics.filter_map(|diagnostic| diagnostic["rule"].as_str()).collect();
        ids.sort_unstable();
        if ids != *rules {
            differs(format!("has the rules {ids:?}, not {rules:?}"));
        }
    }
    reasons
}

/// Replaces `{root}` by the directory of the case and `{text*count}` by that text repeated.
fn expand(text: &str, root: &Path) -> String {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        expanded.push_str(before);
        let inner = after.split_once('}').map(|(inner, _)| inner);
        let repeated = inner.and_then(|inner| inner.rsplit_once('*')).and_then(|(unit, count)| {
            let count: usize = count.parse().ok()?;
            Some(unit.repeat(count))
        });
        match (inner, repeated) {
            (Some("root"), _) => expanded.push_str(&root.to_string_lossy()),
            (_, Some(repeated)) => expanded.push_str(&repeated),
            _ => {
                expanded.push('{');
                rest = after;
                continue;
            }
        }
        rest = &after[inner.map_or(0, str::len) + 1..];
    }
    expanded + rest
}

fn expand_json(value: &Value, root: &Path) -> Value {
    match value {
        Value::String(text) => Value::String(expand(text, root)),
        Value::Array(items) => Value::Array(items.iter().map(|item| expand_json(item, root)).collect()),
        Value::Object(fields) => Value::Object(
            fields.iter().map(|(name, value)| (name.clone(), expand_json(value, root))).collect(),
        ),
        other => other.clone(),
    }
}

fn write(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

#[cfg(unix)]
fn link(path: &Path, target: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(target, path).unwrap();
}

#[cfg(not(unix))]
fn link(_: &Path, _: &str) {
    panic!("cases with links need a Unix file system");
}

#[cfg(unix)]
#[test]
fn an_expectation_that_proves_nothing_fails() {
    use std::os::unix::process::ExitStatusExt as _;

    let check = |expect: &str, is_met: bool| {
        let text = format!("id = \"x\"\nabout = \"x\"\nargs = []\nexpect = [{{ {expect} }}]\n");
        let case: Case = toml::from_str(&text).unwrap();
        let stdout = br#"{"list": [], "null": null, "text": "t"}"#.to_vec();
        let output = Output { status: std::process::ExitStatus::from_raw(0), stdout, stderr: Vec::new() };
        let reasons = compare(&case, &output, Path::new("/"));
        assert_eq!(reasons.is_empty(), is_met, "{expect}: {reasons:?}");
    };
    check("at = \"/list\", rules = []", true);
    check("at = \"/text\", lacks = \"x\"", true);
    check("at = \"/nope\", rules = []", false);
    check("at = \"/nope\", lacks = \"x\"", false);
    check("at = \"/text\", rules = []", false);
    check("at = \"/null\", rules = []", false);
    check("at = \"/list\"", false);
    check("stream = \"stderr\"", false);
}

#[test]
fn format() {
    run("format");
}

#[test]
fn discovery() {
    run("discovery");
}

#[test]
fn catalog() {
    run("catalog");
}

#[test]
fn resources() {
    run("resources");
}

#[test]
fn roles() {
    run("roles");
}

#[test]
fn command_line() {
    run("command_line");
}

#[test]
fn sessions() {
    session::run("sessions");
}

#[test]
fn documents() {
    session::run("documents");
}
