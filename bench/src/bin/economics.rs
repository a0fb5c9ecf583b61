//! Measures the tokens and the price of a session by the way in which a model gets skills, and that nothing cached is lost.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use bench::pool::{self, Skill};
use clap::Parser;
use pollster::block_on;
use repertoire::{Library, Session, SessionOptions};
use repertoire_agent::Prices;
use repertoire_agent::economics::{
    CacheRules, Comparison, Disclosure, Script, ScriptedConversation, WholeLibrary, compare,
};
use repertoire_model::tokens::Tokenizer;
use serde_json::{Value, json};

/// Measures the tokens and the price of a session by the way in which a model gets skills
#[derive(Parser)]
struct Arguments {
    /// The sample library
    #[arg(long, value_name = "DIR", default_value = "skills")]
    skills: PathBuf,
    /// A directory that holds skills/ with real skills
    #[arg(long, value_name = "DIR")]
    pool: Option<PathBuf>,
    /// The numbers of skills that are taken from the pool
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_values_t = [50, 500, 5000])]
    sizes: Vec<usize>,
    /// The models whose prices and rules of caching apply
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',', default_values_t = ["claude-sonnet-5".to_owned(), "gpt-5".to_owned()])]
    models: Vec<String>,
}

const TOKENIZER: Tokenizer = Tokenizer::O200kBase;

const TURNS: u32 = 30;

/// The directory that libraries are made in.
const WORK: &str = "bench/work/economics";

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    claims(&arguments.skills)?;
    let sample = copy_of(&arguments.skills)?;
    measure("sample library", &sample, &arguments.models, Some(&["git", "csv-report", "file-ops"]))?;
    if let Some(pool) = &arguments.pool {
        let skills = pool::skills(&[pool])?;
        for size in &arguments.sizes {
            let directory = library_of(&skills, *size)?;
            measure("real skills", &directory, &arguments.models, None)?;
        }
    }
    fs::remove_dir_all(WORK).context("cannot remove the libraries")
}

/// Returns a copy of a library that may be changed.
fn copy_of(skills: &Path) -> Result<PathBuf> {
    let directory = fresh("sample")?;
    copy(skills, &directory)?;
    Ok(directory)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot list {}", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Returns a library of `size` skills of the pool, spread evenly over its paths, each with a name of its own.
fn library_of(skills: &[Skill], size: usize) -> Result<PathBuf> {
    let directory = fresh(&size.to_string())?;
    let mut names = BTreeSet::new();
    let step = (skills.len() / size.max(1)).max(1);
    let spread = (0..step).flat_map(|first| skills.iter().skip(first).step_by(step));
    let is_new = |skill: &&Skill| names.insert(skill.document.name.to_string());
    for skill in spread.filter(|skill| !skill.document.description.is_empty()).filter(is_new).take(size) {
        let name = skill.document.name.as_str();
        let text = format!(
            "---\nname: {name}\ndescription: {}\n---\n{}",
            Value::from(&*skill.document.description),
            skill.body
        );
        fs::create_dir_all(directory.join(name))?;
        fs::write(directory.join(name).join("SKILL.md"), text)?;
    }
    Ok(directory)
}

fn fresh(name: &str) -> Result<PathBuf> {
    let directory = Path::new(WORK).join(name);
    if directory.try_exists()? {
        fs::remove_dir_all(&directory)?;
    }
    fs::create_dir_all(&directory)?;
    Ok(directory)
}

fn open(directory: &Path, way: Disclosure) -> Result<Library> {
    let options = way.options(&SessionOptions::default());
    Ok(block_on(Library::builder().directory(directory).session_options(options).open())?)
}

/// Prints the tokens that a menu, a loaded skill and the tools of skills have: the claims H8, H9, H15 and H16.
fn claims(directory: &Path) -> Result<()> {
    let session = block_on(open(directory, Disclosure::Marked)?.session())?;
    let menu = TOKENIZER.count(&session.catalog().text);
    let names: Vec<String> =
        session.library().snapshot().active().map(|entry| entry.name().to_string()).collect();
    let before = tools(&session);
    let (mut bodies, mut with_tools) = (Vec::new(), 0);
    for name in &names {
        let count = session.tools().len();
        let reply = block_on(session.call("load_skill", &json!({"name": name})));
        ensure!(!reply.is_error(), "{name} cannot be loaded: {}", reply.text());
        bodies.push(TOKENIZER.count(reply.text()));
        with_tools += usize::from(session.tools().len() > count);
    }
    let after = tools(&session);
    let (number, schemas) = (after.0 - before.0, after.1 - before.1);
    bodies.sort_unstable();
    println!("sample library: {} skills, {with_tools} of them with {number} tools", names.len());
    println!();
    println!("| measured                     | tokens |");
    println!("| ---------------------------- | ------ |");
    let rows = [
        ("menu", menu),
        ("entry of the menu, mean", menu / names.len().max(1)),
        ("loaded skill, median", bodies[bodies.len() / 2]),
        ("loaded skill, longest", bodies[bodies.len() - 1]),
        ("all skills", bodies.iter().sum()),
        ("schema of a tool, mean", schemas / number.max(1)),
        ("all schemas", schemas),
    ];
    for (what, tokens) in rows {
        println!("| {what:<28} | {tokens:>6} |");
    }
    println!();
    Ok(())
}

/// Returns the number of tools that a model sees, and of the tokens of their definitions.
fn tools(session: &Session) -> (usize, usize) {
    let tools = session.tools();
    let text = |tool: &repertoire::tool::Definition| {
        json!({"name": tool.name, "description": tool.description, "input_schema": tool.input_schema})
            .to_string()
    };
    (tools.len(), tools.iter().map(|tool| TOKENIZER.count(&text(tool))).sum())
}

/// Prints the price of a session in every way, and fails if a change in mid-conversation changes the cached prefix.
fn measure(what: &str, directory: &Path, models: &[String], loaded: Option<&[&str]>) -> Result<()> {
    let mut libraries = Vec::new();
    for way in Disclosure::ALL {
        libraries.push((way, open(directory, way)?));
    }
    let whole = block_on(WholeLibrary::load(&libraries[0].1))?;
    let script = Script::of_turns(TURNS)?;
    let script = match loaded {
        Some(names) => {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            script.with_usual_actions(&names, None)
        }
        None => block_on(whole.usual_script(script, TOKENIZER)),
    };
    for model in models {
        let prices = Prices::of(model).with_context(|| format!("no prices are known for {model}"))?;
        let comparison = block_on(compare(&libraries, &whole, &script, &prices, TOKENIZER))?;
        println!("{what}: {} skills, {TURNS} turns, {model}", whole.names().count());
        println!();
        print(&comparison)?;
    }
    let first = script.first_loaded().context("nothing is loaded")?;
    let requests = keeps_prefix(directory, first)?;
    println!(
        "tools and system prompt were the same bytes in {requests} requests, over loads, unloads, edits, a new skill and reloads"
    );
    println!();
    Ok(())
}

fn print(comparison: &Comparison) -> Result<()> {
    let stable = comparison.outlays.iter().find(|outlay| outlay.disclosure == Disclosure::Stable);
    let stable = stable.context("`stable` was not measured")?;
    println!(
        "| way     |  prefix | changes | all input |   cached | written | uncached |     USD | tokens saved by `stable` | USD saved |"
    );
    println!(
        "| ------- | ------- | ------- | --------- | -------- | ------- | -------- | ------- | ------------------------ | --------- |"
    );
    for outlay in &comparison.outlays {
        let (measurement, usage) = (&outlay.measurement, &outlay.measurement.usage);
        ensure!(measurement.failure.is_none(), "a call fails: {:?}", measurement.failure);
        let saved = usage.whole_input() as i64 - stable.measurement.usage.whole_input() as i64;
        println!(
            "| {:<7} | {:>7} | {:>7} | {:>9} | {:>8} | {:>7} | {:>8} | {:>7.4} | {saved:>24} | {:>7.0} % |",
            outlay.disclosure.as_str(),
            measurement.prefix_tokens,
            measurement.prefix_changes,
            usage.whole_input(),
            usage.cache_read,
            usage.cache_write,
            usage.input,
            outlay.cost,
            (100.0 * (1.0 - stable.cost / outlay.cost)).round() + 0.0,
        );
    }
    println!();
    if let Some(found) = &comparison.break_even {
        match found.sessions_of_100() {
            Some(sessions) => {
                println!("binding `{}` pays if more than {sessions:.0} of 100 sessions use it", found.skill)
            }
            None => println!("binding `{}` never pays", found.skill),
        }
        println!();
    }
    Ok(())
}

/// Loads, unloads, edits, adds and reloads skills in a conversation, and returns the number of its requests.
#[allow(clippy::disallowed_methods, reason = "the benchmark edits the file")]
fn keeps_prefix(directory: &Path, skill: &str) -> Result<u64> {
    let library = open(directory, Disclosure::Stable)?;
    let rules = CacheRules::Breakpoints { minimum: 1024 };
    let mut conversation = ScriptedConversation::new(block_on(library.session())?, rules, TOKENIZER);
    let call = |tool: &str, name: &str| (tool.to_owned(), json!({"name": name}));
    let manifest = directory.join(skill).join("SKILL.md");
    let text = fs::read_to_string(&manifest)?;
    let added = directory.join("zz-added");
    for turn in 0..6 {
        let calls = match turn {
            0 | 3 => vec![call("load_skill", skill)],
            1 => vec![call("unload_skill", skill), call("load_skill", skill)],
            4 => vec![call("load_skill", "zz-added")],
            _ => Vec::new(),
        };
        block_on(conversation.turn("Go on.", &calls, "Done."))?;
        match turn {
            1 => fs::write(&manifest, format!("{text}\nAnd be careful.\n"))?,
            2 => fs::write(&manifest, text.replacen("description: ", "description: Also ", 1))?,
            3 => {
                fs::create_dir_all(&added)?;
                fs::write(
                    added.join("SKILL.md"),
                    "---\nname: zz-added\ndescription: Is new. Use when asked.\n---\nBe new.\n",
                )?;
            }
            _ => continue,
        }
        block_on(library.reload());
    }
    fs::write(&manifest, text)?;
    fs::remove_dir_all(&added)?;
    let measurement = conversation.measurement();
    ensure!(measurement.failure.is_none(), "a call fails: {:?}", measurement.failure);
    ensure!(measurement.prefix_changes == 0, "tools or system prompt changed");
    let requests = measurement.usage.requests;
    ensure!(
        measurement.usage.cache_read >= (requests - 1) * measurement.prefix_tokens,
        "tools and system prompt were not read from the cache"
    );
    Ok(requests)
}
