//! `rep cost`.

use clap::Args;
use pollster::block_on;
use repertoire::Session;
use repertoire::tool::Definition;
use repertoire_model::answer::Answer;
use repertoire_model::text::count;
use repertoire_model::tokens::Tokenizer;
use serde_json::{Value, json};

use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Align, Progress, Style, Table, Ui, wrap_indented};
use crate::wire::Workspace;

/// The skills that a session loads: those of median length.
const LOADS: usize = 3;

/// Shows the tokens that loading skills on demand saves
///
/// Compares the instructions and tools of all skills in every prompt with the catalog, the tools that open
/// skills, and three loaded skills of median length.
#[derive(Debug, Args)]
pub(crate) struct CostArgs {
    /// The number of turns that the saving is multiplied by
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=1000))]
    turns: u32,
}

/// The tokens of one skill once it is loaded: its instructions and its tools.
struct SkillCost {
    tokens: usize,
    name: String,
}

/// The counted tokens.
struct Report {
    tokenizer: Tokenizer,
    turns: u32,
    catalog: usize,
    tools: usize,
    /// All skills, shortest first.
    skills: Vec<SkillCost>,
}

pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, args: &CostArgs) -> Result<Exit, CliError> {
    let mut options = workspace.session_options(None);
    // Tools of skills are counted whether or not something could run them here.
    options.running.host_runs_tools = true;
    let tokenizer = options.catalog.tokenizer;
    let library = workspace.unrecorded_library(options)?;
    let session = block_on(library.session())?;
    let _progress = Progress::start(&workspace.env, "counting tokens");
    let (catalog, tools) = (tokenizer.count(&session.catalog().text), tool_tokens(&session, tokenizer));
    let (skills, brings_tools) = costs(&session, tokenizer);
    let tools = if brings_tools {
        tools
    } else {
        let library = workspace.unrecorded_library(workspace.session_options(None))?;
        tool_tokens(&block_on(library.session())?, tokenizer)
    };
    let report = Report { tokenizer, turns: args.turns, catalog, tools, skills };
    if report.skills.is_empty() {
        return Err(CliError::no("there are no skills")
            .hint("run `rep doctor --verbose` to see where they are looked for"));
    }
    if ui.is_json() {
        ui.write_json(&report.json())?;
    } else {
        report.write(ui)?;
    }
    Ok(Exit::Success)
}

/// Returns the tokens of each skill that the session loads, shortest first, and whether one brings tools.
fn costs(session: &Session, tokenizer: Tokenizer) -> (Vec<SkillCost>, bool) {
    let (names, arguments) = (&session.options().tools.names, &session.options().tools.arguments);
    let (mut costs, mut brings_tools) = (Vec::new(), false);
    let mut tools = tool_tokens(session, tokenizer);
    for entry in session.library().snapshot().active().filter(|entry| entry.is_offered()) {
        let name = entry.name().to_string();
        let reply = block_on(session.call(&names.load, &json!({arguments.name.as_str(): name})));
        if reply.is_error() {
            continue;
        }
        brings_tools |= matches!(reply.answer(), Answer::Loaded(loaded) if !loaded.skill.tools.is_empty());
        let with_tools = tool_tokens(session, tokenizer);
        costs.push(SkillCost { tokens: tokenizer.count(reply.text()) + with_tools - tools, name });
        tools = with_tools;
    }
    costs.sort_by(|a, b| (a.tokens, &a.name).cmp(&(b.tokens, &b.name)));
    (costs, brings_tools)
}

/// Returns the tokens of the tools that a model sees.
fn tool_tokens(session: &Session, tokenizer: Tokenizer) -> usize {
    let text = |tool: &Definition| {
        json!({"name": tool.name, "description": tool.description, "input_schema": tool.input_schema})
            .to_string()
    };
    session.tools().iter().map(|tool| tokenizer.count(&text(tool))).sum()
}

impl Report {
    /// Returns the skills that the session loads.
    fn loaded(&self) -> &[SkillCost] {
        let number = LOADS.min(self.skills.len());
        let start = (self.skills.len() - number) / 2;
        &self.skills[start..start + number]
    }

    fn loads(&self) -> usize {
        self.loaded().iter().map(|skill| skill.tokens).sum()
    }

    fn upfront(&self) -> usize {
        self.skills.iter().map(|skill| skill.tokens).sum()
    }

    /// Returns the saved tokens of every turn, which is negative for the smallest libraries.
    fn saved(&self) -> i64 {
        self.upfront() as i64 - (self.catalog + self.tools + self.loads()) as i64
    }

    fn saved_percent(&self) -> i64 {
        (self.saved() * 100).checked_div(self.upfront() as i64).unwrap_or_default()
    }

    fn saved_in_turns(&self) -> i64 {
        self.saved() * i64::from(self.turns)
    }

    fn names(&self) -> Vec<&str> {
        self.loaded().iter().map(|skill| skill.name.as_str()).collect()
    }

    fn write(&self, ui: &mut Ui) -> Result<(), CliError> {
        let heading =
            format!("{}, counted with {}", count(self.skills.len(), "skill"), self.tokenizer.as_str());
        let heading = ui.paint(Style::Heading, &heading);
        writeln!(ui.out(), "{heading}\n")?;
        let mut table = Table::new(vec![("", Align::Left, None), ("TOKENS", Align::Right, None)]);
        for (label, tokens) in [
            ("everything upfront", self.upfront()),
            ("catalog", self.catalog),
            ("tools", self.tools),
            ("loaded in a session", self.loads()),
        ] {
            table.cell(label);
            table.cell(tokens.to_string());
        }
        table.write(ui)?;
        writeln!(ui.out())?;
        let saved = format!(
            "saved: {} tokens in every turn, {} %, and {} in {}",
            self.saved(),
            self.saved_percent(),
            self.saved_in_turns(),
            count(self.turns as usize, "turn")
        );
        for line in [saved, format!("loaded: {}", self.names().join(", "))] {
            let line = wrap_indented(&line, ui.width(), 0);
            writeln!(ui.out(), "{line}")?;
        }
        Ok(())
    }

    fn json(&self) -> Value {
        json!({
            "skills": self.skills.len(), "tokenizer": self.tokenizer.as_str(), "turns": self.turns,
            "upfront": self.upfront(), "catalog": self.catalog, "tools": self.tools,
            "loaded": self.names(), "loads": self.loads(), "saved": self.saved(),
            "saved_percent": self.saved_percent(), "saved_in_turns": self.saved_in_turns(),
        })
    }
}
