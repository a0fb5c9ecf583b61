//! Measures whether a model loads the right skill: catalog formats and tool surfaces, beside each other.
//!
//! Each task is one conversation of at most two turns, or four for a file, with a server that speaks the
//! OpenAI chat protocol. Each turn has the answers to the calls before it.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use pollster::block_on;
use repertoire::session::SkillAsTool;
use repertoire::tool::OfferedTools;
use repertoire::{FsOptions, FsProvider, Library, Session, SessionOptions};
use repertoire_model::SkillName;
use repertoire_model::answer::Answer;
use repertoire_model::catalog::Format;
use repertoire_search::SkillSearch;
use serde::Deserialize;
use serde_json::{Value, json};

/// The most turns of a conversation.
const TURNS: usize = 2;
/// The most turns of a conversation about a file of a skill.
const FILE_TURNS: usize = 4;
/// The most tokens of an answer; a call is about a third of it.
const ANSWER_TOKENS: usize = 96;

/// Measures if a model loads the right skill; prints a table row for each catalog format and tool surface
#[derive(Parser)]
struct Arguments {
    /// The server: the address before `/chat/completions`
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8091/v1")]
    url: String,
    /// The name of the model
    #[arg(long, value_name = "NAME", default_value = "qwen")]
    model: String,
    /// The tasks: lines of {"task": TEXT, "skills": [NAME, …]}; none of the skills is right where the list is
    /// empty. With "file": PATH the right end is that this file of the skill is read
    #[arg(long, value_name = "FILE.jsonl", default_value = "bench/activation/tasks.jsonl")]
    tasks: PathBuf,
    /// The directory of the skills
    #[arg(long, value_name = "DIR", default_value = "skills")]
    skills: PathBuf,
    /// The catalog formats
    #[arg(long, value_name = "FORMATS", value_delimiter = ',', value_parser = Format::ALL.map(Format::as_str),
        default_values = [Format::default().as_str()])]
    formats: Vec<String>,
    /// The tool surfaces: needed, minimal, all, or names of tools with `+` between them
    #[arg(long, value_name = "SURFACES", value_delimiter = ',',
        default_values = ["needed"])]
    surfaces: Vec<String>,
    /// The answer to a call of a skill's name
    #[arg(long, value_name = "HOW", value_parser = SkillAsTool::ALL.map(SkillAsTool::as_str), default_value = "load")]
    skill_as_tool: String,
    /// Leave the call that loads a skill out of the catalog, as `catalog.usage = false` does
    #[arg(long)]
    no_usage: bool,
    /// The catalog is at the end of the description of `load_skill` and not in a system message, as clients
    /// of an MCP server get it that show no instructions
    #[arg(long)]
    described: bool,
    /// The number of repetitions of each task
    #[arg(long, value_name = "N", default_value_t = 1)]
    repetitions: usize,
}

/// A task, and the skills that are right for it.
#[derive(Deserialize)]
struct Task {
    task: String,
    skills: Vec<String>,
    file: Option<String>,
}

/// The counts of one catalog format and tool surface.
#[derive(Default)]
struct Counts {
    /// Tasks with a right skill.
    tasks: usize,
    /// The first call loads a right skill with `load_skill`.
    first: usize,
    /// The first call is one of a skill's name.
    as_function: usize,
    /// That skill is right.
    as_right_function: usize,
    /// A right skill is loaded at the end.
    loaded: usize,
    /// Tasks with a file to read.
    files: usize,
    /// Of these, tasks whose file is read.
    files_read: usize,
    /// Tasks without a right skill.
    others: usize,
    /// Of these, tasks with a call.
    needless_calls: usize,
    /// Of these, tasks at whose end a skill is loaded.
    needless_loads: usize,
    /// The tokens of all first requests.
    prompt_tokens: u64,
}

/// The server of the model.
struct ModelServer {
    url: String,
    model: String,
    /// The catalog is in the description of `load_skill`.
    is_described: bool,
}

/// The answer of the model: its message, the first call in it, and the tokens of the request.
struct ModelAnswer {
    message: Value,
    call: Option<(String, Value)>,
    prompt_tokens: u64,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let tasks = tasks(&arguments.tasks)?;
    let server = ModelServer {
        url: format!("{}/chat/completions", arguments.url.trim_end_matches('/')),
        model: arguments.model.clone(),
        is_described: arguments.described,
    };
    println!("{}", Counts::heads());
    for surface in &arguments.surfaces {
        for format in &arguments.formats {
            let library = library(&arguments, format, surface)?;
            let mut counts = Counts::default();
            for task in std::iter::repeat_n(&tasks, arguments.repetitions).flatten() {
                let session = block_on(library.session())?;
                let told = converse(&server, &session, task, &mut counts)
                    .with_context(|| format!("the task {:?} with the format {format}", task.task))?;
                eprintln!("{format}, {surface}: {}: {told}", task.task);
            }
            println!("{}", counts.row(format, surface));
        }
    }
    Ok(())
}

#[allow(clippy::disallowed_methods, reason = "the file of tasks is no skill's")]
fn tasks(file: &Path) -> Result<Vec<Task>> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let tasks = text.lines().enumerate().map(|(index, line)| {
        serde_json::from_str(line).with_context(|| format!("line {} of {}", index + 1, file.display()))
    });
    tasks.collect()
}

fn library(arguments: &Arguments, format: &str, surface: &str) -> Result<Library> {
    let mut options = SessionOptions::default();
    options.catalog.format = Format::parse(format).unwrap_or_default();
    options.catalog.usage = !arguments.no_usage;
    options.tools.offered = match surface {
        "minimal" => OfferedTools::Minimal,
        "needed" => OfferedTools::Needed(None),
        "all" => OfferedTools::All,
        tools => OfferedTools::Only(tools.split('+').map(str::to_owned).collect()),
    };
    options.tools.skill_as_tool = SkillAsTool::parse(&arguments.skill_as_tool).unwrap_or_default();
    let provider = FsProvider::new(FsOptions::new("skills", &arguments.skills));
    let library = Library::builder().provider(provider).searcher(SkillSearch::default());
    let library = block_on(library.session_options(options).open())?;
    if library.registry().snapshot().entries().is_empty() {
        bail!("there are no skills in {}", arguments.skills.display());
    }
    Ok(library)
}

/// Puts the task to the model, counts what it does, and returns its calls in words.
fn converse(server: &ModelServer, session: &Session, task: &Task, counts: &mut Counts) -> Result<String> {
    let mut messages = vec![json!({"role": "user", "content": task.task})];
    if !server.is_described {
        messages.insert(0, json!({"role": "system", "content": &*session.catalog().text}));
    }
    let is_right = |name: &SkillName| task.skills.iter().any(|skill| skill == name.as_str());
    let (mut calls, mut loaded): (Vec<String>, Vec<SkillName>) = Default::default();
    let mut is_read = false;
    for turn in 0..if task.file.is_some() { FILE_TURNS } else { TURNS } {
        let ModelAnswer { message, call, prompt_tokens } = server.answer(session, &messages)?;
        if turn == 0 {
            counts.prompt_tokens += prompt_tokens;
        }
        let Some((tool, arguments)) = call else { break };
        let reply = block_on(session.call(&tool, &arguments));
        loaded.extend(reply.injections().into_iter().map(|injection| injection.name));
        if turn == 0 && !task.skills.is_empty() {
            let function = skill_called(session, &tool);
            let is_load = tool == session.options().tools.names.load;
            counts.first += usize::from(is_load && loaded.iter().any(is_right));
            counts.as_function += usize::from(function.is_some());
            counts.as_right_function += usize::from(function.as_ref().is_some_and(is_right));
        }
        calls.push(format!("{tool} {arguments}"));
        is_read |= matches!((reply.answer(), &task.file), (Answer::File(file), Some(path)) if file.path.as_str() == path);
        if is_read || task.file.is_none() && loaded.iter().any(is_right) {
            break;
        }
        let id = message["tool_calls"][0]["id"].clone();
        messages.push(message);
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": reply.text()}));
    }
    if task.skills.is_empty() {
        counts.others += 1;
        counts.needless_calls += usize::from(!calls.is_empty());
        counts.needless_loads += usize::from(!loaded.is_empty());
    } else {
        counts.tasks += 1;
        counts.loaded += usize::from(loaded.iter().any(is_right));
        counts.files += usize::from(task.file.is_some());
        counts.files_read += usize::from(is_read);
    }
    let loaded: Vec<&str> = loaded.iter().map(SkillName::as_str).collect();
    Ok(format!("calls [{}], loaded [{}]", calls.join("; "), loaded.join(" ")))
}

/// Returns the skill whose name was called as the function `tool`.
fn skill_called(session: &Session, tool: &str) -> Option<SkillName> {
    let snapshot = session.registry().snapshot();
    SkillName::slug(tool).filter(|name| snapshot.held_as(name.as_str(), |_| true).is_some())
}

impl ModelServer {
    /// Returns the model's answer to `messages`.
    fn answer(&self, session: &Session, messages: &[Value]) -> Result<ModelAnswer> {
        let definitions = session.tools();
        let load = &session.options().tools.names.load;
        let tools = definitions.iter().map(|tool| {
            let (name, mut description) = (&tool.name, tool.description.clone());
            if self.is_described && name == load {
                description = format!("{description}\n\n{}", session.catalog().text);
            }
            let function = json!({"name": name, "description": description, "parameters": tool.input_schema});
            json!({"type": "function", "function": function})
        });
        let request = json!({
            "model": self.model,
            "messages": messages,
            "tools": tools.collect::<Value>(),
            "tool_choice": "auto",
            "temperature": 0,
            "max_tokens": ANSWER_TOKENS,
        });
        let sent = ureq::post(&self.url).content_type("application/json").send(request.to_string());
        // A call that is cut off at the most tokens cannot be parsed by the server, and is none.
        if matches!(sent, Err(ureq::Error::StatusCode(500))) {
            let message = json!({"role": "assistant", "content": ""});
            return Ok(ModelAnswer { message, call: None, prompt_tokens: 0 });
        }
        let text = sent.with_context(|| format!("cannot ask {}", self.url))?.body_mut().read_to_string()?;
        let answer: Value = serde_json::from_str(&text).context("the answer is not JSON")?;
        let message = answer["choices"][0]["message"].clone();
        let function = &message["tool_calls"][0]["function"];
        let call = function["name"].as_str().map(|name| (name.to_owned(), function["arguments"].clone()));
        let prompt_tokens = answer["usage"]["prompt_tokens"].as_u64().unwrap_or_default();
        Ok(ModelAnswer { message, call, prompt_tokens })
    }
}

impl Counts {
    fn heads() -> String {
        let columns = [
            "catalog",
            "tools",
            "`load_skill` called rightly first",
            "skill's name called as a function (right skill)",
            "right skill loaded within two turns",
            "file read within four turns",
            "needless calls",
            "needless loads",
            "prompt tokens",
        ];
        format!("| {} |\n|{}", columns.join(" | "), "---|".repeat(columns.len()))
    }

    fn row(&self, format: &str, surface: &str) -> String {
        let Self { tasks, files, others, .. } = self;
        let tokens = self.prompt_tokens / (tasks + others).max(1) as u64;
        format!(
            "| {format} | {surface} | {} of {tasks} | {} ({}) | {} of {tasks} | {} of {files} | {} of {others} | {} of {others} | {tokens} |",
            self.first,
            self.as_function,
            self.as_right_function,
            self.loaded,
            self.files_read,
            self.needless_calls,
            self.needless_loads,
        )
    }
}
