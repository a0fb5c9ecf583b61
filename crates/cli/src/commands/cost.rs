//! `rep cost`.

mod chart;

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use pollster::block_on;
use repertoire::{SessionOptions, regular_file};
use repertoire_agent::AgentError;
use repertoire_agent::economics::{
    Action, ActionKind, BreakEven, Comparison, Disclosure, InputError, Outlay, PriceTable, Prices, Script,
    WholeLibrary, compare,
};
use repertoire_model::text::nearest;
use repertoire_model::tokens::Tokenizer;
use repertoire_web::dashboard::{self, Cost, CostOfWay};
use serde_json::{Value, json};

use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Align, Column, Progress, Style, Table, Ui, count, docs, escape, wrap_indented};
use crate::wire::Context;

/// The model whose prices apply where none is named.
const DEFAULT_MODEL: &str = "claude-sonnet-5";

/// The largest script or table of prices that is read, in bytes.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// Shows the tokens and the price of a session with these skills
///
/// A script is run in five ways, with real sessions and a simulated prompt cache of the model's service. Without --script, three skills of
/// median length are loaded in turns 1, 8 and 15, a file of one of them is read, and the first is unloaded in turn 22; a message of the
/// user has 100 tokens, an answer 300. The guide `cost` of the documentation tells how to read the table and write a script.
#[derive(Debug, Args)]
pub(crate) struct CostArgs {
    /// The number of turns
    #[arg(long, value_name = "N", default_value_t = 30, conflicts_with = "script")]
    turns: u32,
    /// Run the script in this JSON file
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    script: Option<PathBuf>,
    /// The model whose prices and rules of caching apply
    #[arg(long, value_name = "NAME", default_value = DEFAULT_MODEL)]
    model: String,
    /// Take prices from this JSON file
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    prices: Option<PathBuf>,
    /// Also write a chart to this file
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    svg: Option<PathBuf>,
}

/// The result, with everything that it was made from.
struct Report {
    comparison: Comparison,
    script: Script,
    prices: Prices,
    date: String,
    tokenizer: Tokenizer,
    skills: usize,
}

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, context: &Context, args: &CostArgs) -> Result<Exit, CliError> {
    let table = match &args.prices {
        Some(path) => read(path, PriceTable::parse)?,
        None => PriceTable::built_in(),
    };
    let Some(prices) = table.of(&args.model).cloned() else { return Err(unknown_model(&table, args)) };
    let script = match &args.script {
        Some(path) => read(path, Script::parse)?,
        None => Script::of_turns(args.turns).map_err(|error| CliError::usage(error.to_string()))?,
    };
    let base = context.session_options(None);
    let report = report(context, &base, script, args.script.as_deref(), prices, table.date)?;
    if let Some(path) = &args.svg {
        let chart = chart::svg(&report.heading(), &report.comparison.outlays, &report.prices);
        fs::write(path, chart).map_err(|error| CliError::io("write", path, error))?;
    }
    if ui.is_json() {
        ui.write_json(&report.json())?;
    } else {
        report.write(ui)?;
    }
    Ok(Exit::Success)
}

/// Returns the tokens and the price of the usual session of `turns` turns with the built-in prices.
pub(crate) fn measured(context: &Context, turns: u32) -> Result<Cost, CliError> {
    let table = PriceTable::built_in();
    let Some(prices) = table.of(DEFAULT_MODEL).cloned() else {
        return Err(CliError::no(format!("no prices are known for the model `{DEFAULT_MODEL}`")));
    };
    let script = Script::of_turns(turns).map_err(|error| CliError::usage(error.to_string()))?;
    let base = context.session_options(None);
    let report = report(context, &base, script, None, prices, table.date)?;
    Ok(report.cost())
}

/// Reads and parses a file of the user.
fn read<T>(path: &Path, parse: fn(&str) -> Result<T, InputError>) -> Result<T, CliError> {
    let bytes =
        regular_file::read(path, MAX_FILE_BYTES).map_err(|error| CliError::io("read", path, error))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| CliError::usage(format!("{}: it is not UTF-8", path.display())))?;
    parse(&text).map_err(|error| {
        CliError::usage(format!("{}: {error}", path.display()))
            .hint(format!("{} shows the form", docs("guides/cost")))
    })
}

fn unknown_model(table: &PriceTable, args: &CostArgs) -> CliError {
    let error = CliError::usage(format!("no prices are known for the model `{}`", args.model));
    let error = match nearest(&args.model, table.models.iter().map(|row| row.model.as_str())) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error,
    };
    match args.prices {
        Some(_) => error.hint("add a row for it to the file of --prices"),
        None => error.hint("give prices with --prices FILE"),
    }
}

fn report(
    context: &Context,
    base: &SessionOptions,
    script: Script,
    file: Option<&Path>,
    prices: Prices,
    date: String,
) -> Result<Report, CliError> {
    let mut libraries = Vec::new();
    for way in Disclosure::ALL {
        libraries.push((way, context.unrecorded_library(way.options(base))?));
    }
    let _progress = Progress::start(&context.env, "counting tokens");
    let tokenizer = base.catalog.tokenizer;
    let whole = block_on(WholeLibrary::load(&libraries[0].1)).map_err(failed)?;
    let skills = whole.names().count();
    if skills == 0 {
        return Err(
            CliError::no("there are no skills").hint("run `rep doctor` to see where they are looked for")
        );
    }
    let script = match file {
        Some(file) => {
            expect_skills(&script, &whole, file)?;
            script
        }
        None => block_on(whole.usual_script(script, tokenizer)),
    };
    let comparison = block_on(compare(&libraries, &whole, &script, &prices, tokenizer)).map_err(failed)?;
    let failure = comparison.outlays.iter().find_map(|outlay| outlay.measurement.failure.as_deref());
    if let (Some(file), Some(failure)) = (file, failure) {
        return Err(CliError::no(format!("{}: a call fails: {failure}", file.display())));
    }
    Ok(Report { comparison, script, prices, date, tokenizer, skills })
}

fn failed(error: AgentError) -> CliError {
    match error {
        AgentError::Session(error) => error.into(),
        error => CliError::no(error.to_string()),
    }
}

/// Fails if the script names a skill that is not there.
fn expect_skills(script: &Script, whole: &WholeLibrary, file: &Path) -> Result<(), CliError> {
    let unknown = script.actions.iter().map(|action| action.skill.as_str());
    let Some(unknown) = unknown.into_iter().find(|skill| !whole.names().any(|name| name == *skill)) else {
        return Ok(());
    };
    let error = CliError::no(format!("{}: there is no skill `{unknown}`", file.display()));
    Err(match nearest(unknown, whole.names()) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint("run `rep list` to see the skills"),
    })
}

impl Report {
    /// Returns the names of the skills that are loaded.
    fn loaded(&self) -> Vec<&str> {
        let loads = self.script.actions.iter().filter(|action| action.action == ActionKind::Load);
        loads.map(|action| action.skill.as_str()).collect()
    }

    /// Returns the report for the dashboard.
    fn cost(&self) -> Cost {
        let way = |outlay: &Outlay| CostOfWay {
            way: outlay.disclosure.as_str().to_owned(),
            explanation: explanation(outlay.disclosure).to_owned(),
            prefix_tokens: outlay.measurement.prefix_tokens,
            prefix_changes: outlay.measurement.prefix_changes,
            cache_read: outlay.measurement.usage.cache_read,
            cache_write: outlay.measurement.usage.cache_write,
            input: outlay.measurement.usage.input,
            output: outlay.measurement.usage.output,
            cost: outlay.cost,
            parts: chart::parts(&self.prices, outlay),
        };
        Cost {
            model: self.prices.model.clone(),
            prices_of: self.date.clone(),
            turns: self.script.turns,
            skills: self.skills,
            loaded: self.loaded().into_iter().map(str::to_owned).collect(),
            ways: self.comparison.outlays.iter().map(way).collect(),
            break_even: self.comparison.break_even.as_ref().map(|found| dashboard::BreakEven {
                skill: found.skill.clone(),
                sessions_of_100: found.sessions_of_100(),
                sentence: sentence(found),
            }),
        }
    }

    /// Returns the price of the default way.
    fn stable(&self) -> f64 {
        let outlays = self.comparison.outlays.iter();
        outlays.filter(|outlay| outlay.disclosure == Disclosure::Stable).map(|outlay| outlay.cost).sum()
    }

    fn heading(&self) -> String {
        let Self { skills, script, prices, date, .. } = self;
        let (skills, turns) = (count(*skills, "skill"), count(script.turns as usize, "turn"));
        format!("{skills}, {turns}, {}, prices of {date}", prices.model)
    }

    fn write(&self, ui: &mut Ui) -> Result<(), CliError> {
        let heading = ui.paint(Style::Heading, &escape(&self.heading()));
        writeln!(ui.out(), "{heading}")?;
        let loaded = self.loaded();
        if !loaded.is_empty() {
            write_wrapped(ui, &format!("loaded: {}", loaded.join(", ")))?;
        }
        writeln!(ui.out())?;
        let column = |heading, align| Column { heading, align, style: None };
        let mut columns = vec![column("WAY", Align::Left)];
        let numbers = ["PREFIX", "CHANGES", "CACHED", "WRITTEN", "UNCACHED", "OUTPUT", "USD", "RATIO"];
        columns.extend(numbers.map(|heading| column(heading, Align::Right)));
        let mut table = Table::new(columns);
        for Outlay { disclosure, measurement, cost, .. } in &self.comparison.outlays {
            let usage = &measurement.usage;
            table.cell(disclosure.as_str());
            let counts = [
                measurement.prefix_tokens,
                measurement.prefix_changes,
                usage.cache_read,
                usage.cache_write,
                usage.input,
                usage.output,
            ];
            for number in counts {
                table.cell(number.to_string());
            }
            table.cell(format!("{cost:.4}"));
            let stable = self.stable();
            table.cell(if stable > 0.0 { format!("{:.2}", cost / stable) } else { "-".to_owned() });
        }
        table.write(ui)?;
        writeln!(ui.out())?;
        if let Some(break_even) = &self.comparison.break_even {
            write_wrapped(ui, &sentence(break_even))?;
        }
        write_wrapped(
            ui,
            "PREFIX: tokens of tools and system prompt at first; CHANGES: how often they differ from the request before;",
        )?;
        let tokenizer = self.tokenizer.name();
        write_wrapped(
            ui,
            &format!("RATIO: price compared with `stable`. Tokens are counted with {tokenizer}."),
        )?;
        Ok(())
    }

    fn json(&self) -> Value {
        let ways: Vec<Value> = self.comparison.outlays.iter().map(way_json).collect();
        let actions: Vec<Value> = self.script.actions.iter().map(action_json).collect();
        let break_even = self.comparison.break_even.as_ref().map(|found| {
            json!({
                "skill": found.skill, "without": rounded(found.without), "bound": rounded(found.bound),
                "loaded": rounded(found.loaded), "sessions_of_100": found.sessions_of_100().map(rounded),
            })
        });
        json!({
            "skills": self.skills, "model": self.prices.model, "provider": self.prices.provider.as_str(),
            "prices_of": self.date, "tokenizer": self.tokenizer.name(), "turns": self.script.turns,
            "user_tokens": self.script.user_tokens, "assistant_tokens": self.script.assistant_tokens,
            "actions": actions, "ways": ways, "break_even": break_even,
        })
    }
}

/// Writes a line of results, wrapped to the terminal.
fn write_wrapped(ui: &mut Ui, line: &str) -> Result<(), CliError> {
    let line = wrap_indented(&escape(line), ui.width(), 0);
    writeln!(ui.out(), "{line}")?;
    Ok(())
}

/// Returns the way of disclosing skills in words.
fn explanation(disclosure: Disclosure) -> &'static str {
    match disclosure {
        Disclosure::Upfront => "All instructions and tools are in the prompt from the start.",
        Disclosure::Marked => {
            "A menu in the prompt marks the loaded skills, so the prompt changes with each load."
        }
        Disclosure::Stable => {
            "Catalog and tools never change; skills are loaded into the conversation. The default."
        }
        Disclosure::Append => {
            "The catalog never changes; tools of loaded skills are added behind the others."
        }
        Disclosure::Dynamic => "The catalog never changes; tools of skills come and go with them.",
        _ => "",
    }
}

fn way_json(outlay: &Outlay) -> Value {
    let measurement = &outlay.measurement;
    let usage = &measurement.usage;
    json!({
        "way": outlay.disclosure.as_str(), "requests": usage.requests, "prefix_tokens": measurement.prefix_tokens,
        "prefix_changes": measurement.prefix_changes, "cache_read": usage.cache_read,
        "cache_write": usage.cache_write, "input": usage.input, "output": usage.output,
        "cost": rounded(outlay.cost),
    })
}

fn action_json(action: &Action) -> Value {
    let kind = match action.action {
        ActionKind::Load => "load",
        ActionKind::Read => "read",
        ActionKind::Unload => "unload",
    };
    let mut json = json!({"turn": action.turn, "action": kind, "skill": action.skill});
    if let Some(path) = &action.path {
        json["path"] = path.as_str().into();
    }
    json
}

/// Returns the number with six decimals, so that the output does not depend on the order of additions.
fn rounded(number: f64) -> f64 {
    (number * 1e6).round() / 1e6
}

fn sentence(break_even: &BreakEven) -> String {
    let BreakEven { skill, bound, loaded, .. } = break_even;
    let prices = format!("{bound:.4} USD bound, {loaded:.4} USD loaded in turn 1");
    match break_even.sessions_of_100() {
        Some(sessions) => format!(
            "Binding `{skill}` to the prompt pays if more than {sessions:.0} of 100 sessions use it ({prices})."
        ),
        None => format!("Binding `{skill}` to the prompt never pays ({prices})."),
    }
}

#[cfg(test)]
mod tests {
    use repertoire::Profile;
    use repertoire::config::Settings;

    use super::*;

    #[test]
    fn the_way_marked_has_the_menu_and_the_answers_of_the_profile_harness() {
        let shape = |options: &SessionOptions| {
            let catalog = (options.catalog.format, options.show_loaded, options.include_frontmatter);
            (catalog, options.render, options.reload, options.exposure, options.hidden_arguments.clone())
        };
        let harness = Settings::of(Profile::Harness).session;
        assert_eq!(shape(&Disclosure::Marked.options(&SessionOptions::default())), shape(&harness));
    }
}
