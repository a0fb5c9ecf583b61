//! `rep kit`.

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use repertoire::Entry;
use repertoire::change::ChangeSteps;
use repertoire::config::{KitChoice, Settings};
use repertoire_app::switch::disabled_list;
use repertoire_app::workspace::{ChangeSite, kit_choice, settings};
use repertoire_clients::Owner;
use repertoire_model::Pattern;
use repertoire_model::text::{count, nearest};
use serde::Serialize;
use serde_json::json;

use crate::complete::{kit_names, skill_names};
use crate::disabling::pattern;
use crate::env::{self, Env};
use crate::error::CliError;
use crate::exit::Exit;
use crate::globals::Globals;
use crate::ui::{Align, Style, Table, Ui};
use crate::wire::{Library, Workspace, shell_word, with_settings};

/// Shows kits, which are named choices of skills, and switches between them
///
/// A kit is a choice of skills in the configuration: `[kits.web]` with `skills`, a list of names and
/// patterns. While kits are in use, all other skills are disabled for everything that goes through `rep`: no
/// catalog, list, search or tool has them, and no MCP client is offered them. Skills that are disabled by
/// name stay so.
#[derive(Debug, Subcommand)]
#[command(disable_help_subcommand = true)]
pub(crate) enum KitAction {
    Use(UseArgs),
    New(NewArgs),
    /// Lists the kits, and shows which are in use
    List,
}

/// Uses these kits instead of the ones in use
///
/// The choice is the user's own, for the project that the working directory is in; with `--shell` it is for
/// one shell.
#[derive(Debug, Args)]
pub(crate) struct UseArgs {
    /// The kits to use
    #[arg(
        value_name = "KIT",
        required_unless_present = "none",
        value_parser = NonEmptyStringValueParser::new(),
        add = kit_names()
    )]
    kits: Vec<String>,
    /// Use no kit: all skills are back
    #[arg(long, conflicts_with = "kits")]
    none: bool,
    /// Print the command that makes the choice for a POSIX shell, to be given to `eval`
    #[arg(long)]
    shell: bool,
}

/// Makes a kit
///
/// It is written to the user's configuration file; everything else in the file stays as it is.
#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// The name of the kit
    #[arg(value_name = "KIT", value_parser = NonEmptyStringValueParser::new())]
    name: String,
    /// The skills, as NAME, as SOURCE:NAME, or as a pattern such as 'pdf-*'
    #[arg(
        value_name = "SKILL",
        required = true,
        value_parser = NonEmptyStringValueParser::new(),
        add = skill_names()
    )]
    skills: Vec<String>,
    /// Write the project's repertoire.toml, for everybody who works on it
    #[arg(long, conflicts_with = "user")]
    project: bool,
    /// Write the user's configuration file, which is the default
    #[arg(long)]
    user: bool,
}

#[derive(Serialize)]
struct KitsJson<'a> {
    project: String,
    /// The kits in use, wherever they were chosen.
    in_use: &'a [String],
    chosen_by: Option<&'a str>,
    kits: Vec<KitJson<'a>>,
}

#[derive(Serialize)]
struct KitJson<'a> {
    name: &'a str,
    skills: Vec<String>,
    /// The number of skills that it leaves enabled now.
    matched: usize,
    in_use: bool,
}

pub(crate) fn run(ui: &mut Ui, env: Env, globals: Globals, action: &KitAction) -> Result<Exit, CliError> {
    // A kit in use that is gone must not be in the way of choosing another.
    let settings = settings::load_without_kits(&env, &globals.workspace_options())?;
    if let KitAction::Use(args) = action {
        for name in &args.kits {
            expect_kit(&settings, name)?;
        }
        if args.shell {
            return shell(ui, args);
        }
        kit_choice::choose(&env, &args.kits)?;
    }
    if let KitAction::New(args) = action {
        let workspace = with_settings(ui, env, &globals, settings);
        return make(ui, &workspace, args);
    }
    let choice = kit_choice::chosen(&env)?;
    let workspace = with_settings(ui, env, &globals, settings);
    let library = workspace.inspect(workspace.settings.policy.clone());
    if ui.is_json() {
        return write_json(ui, &workspace, &library, choice.as_ref());
    }
    let KitAction::Use(args) = action else {
        return show(ui, &workspace, &library, choice.as_ref());
    };
    let project = workspace.shown(&kit_choice::project(&workspace.env).display().to_string());
    let line = if args.none {
        format!("no kit is in use in {project}")
    } else {
        let patterns = args.kits.iter().filter_map(|name| workspace.settings.kits.get(name)).flatten();
        let (matched, all) = (matched(&library, patterns), library.snapshot.active().count());
        format!("in {project} {} in use: {matched} of {}", in_words(&args.kits), count(all, "skill"))
    };
    ui.write_planned(None, &line)?;
    if let Some(choice) = choice.filter(|choice| choice.origin == env::KITS) {
        ui.warn(&format!("in this shell {} says otherwise: {}", env::KITS, choice.names.join(", ")))?;
    }
    if !args.none {
        ui.hint("`rep kit use --none` uses all skills again")?;
    }
    ui.hint("restart running sessions and servers to apply this")?;
    Ok(Exit::Success)
}

fn make(ui: &mut Ui, workspace: &Workspace, args: &NewArgs) -> Result<Exit, CliError> {
    let name = &args.name;
    let library = workspace.inspect(workspace.settings.policy.clone());
    let skills: Result<Vec<Pattern>, CliError> =
        args.skills.iter().map(|skill| pattern(&library, skill)).collect();
    let (skills, owner) = (skills?, Owner::user_if(!args.project));
    let site = ChangeSite::of(&workspace.env, owner)?;
    let lock = site.begin()?;
    let mut file = disabled_list(workspace, (args.project || args.user).then_some(owner))?;
    let path = file.path().display().to_string();
    if workspace.settings.kits.contains_key(name) || !file.add_kit(name, &skills) {
        return Err(
            CliError::no(format!("there is a kit `{name}` already")).hint(format!("edit `kits` in {path}"))
        );
    }
    let steps = file.step().into_iter().collect();
    let change = ChangeSteps { command: "rep kit new", steps, ..ChangeSteps::default() };
    ui.warn_all(&site.apply(&lock, &change)?)?;
    if ui.is_json() {
        let skills: Vec<String> = skills.iter().map(Pattern::to_string).collect();
        ui.write_json(&json!({"name": name, "skills": skills, "path": path}))?;
        return Ok(Exit::Success);
    }
    let skills = count(matched(&library, &skills), "skill");
    ui.write_planned(None, &format!("made the kit {name} with {skills} in {path}"))?;
    ui.hint(&format!("run `rep kit use {}` to switch to it", shell_word(name)))?;
    Ok(Exit::Success)
}

/// Prints the command that chooses the kits for a shell.
fn shell(ui: &mut Ui, args: &UseArgs) -> Result<Exit, CliError> {
    let value = (!args.none).then(|| args.kits.join(","));
    if ui.is_json() {
        return Ok(ui.answer(&json!({"variable": env::KITS, "value": value}))?);
    }
    match value {
        Some(value) => writeln!(ui.out(), "export {}={}", env::KITS, shell_word(&value))?,
        None => writeln!(ui.out(), "unset {}", env::KITS)?,
    }
    Ok(Exit::Success)
}

fn write_json(
    ui: &mut Ui,
    workspace: &Workspace,
    library: &Library,
    choice: Option<&KitChoice>,
) -> Result<Exit, CliError> {
    let in_use = choice.map(|choice| choice.names.as_slice()).unwrap_or_default();
    let kits = workspace.settings.kits.iter().map(|(name, skills)| KitJson {
        name,
        skills: skills.iter().map(Pattern::to_string).collect(),
        matched: matched(library, skills),
        in_use: in_use.contains(name),
    });
    let project = kit_choice::project(&workspace.env).display().to_string();
    let chosen_by = choice.map(|choice| choice.origin.trim_matches('`'));
    Ok(ui.answer(&KitsJson { project, in_use, chosen_by, kits: kits.collect() })?)
}

fn show(
    ui: &mut Ui,
    workspace: &Workspace,
    library: &Library,
    choice: Option<&KitChoice>,
) -> Result<Exit, CliError> {
    let kits = &workspace.settings.kits;
    if kits.is_empty() {
        writeln!(ui.err(), "no kit is configured")?;
        ui.hint("`rep kit new NAME SKILL...` makes one")?;
    } else {
        let mut table = Table::new(vec![
            ("KIT", Align::Left, Some(Style::Name)),
            ("SKILLS", Align::Right, None),
            ("IN USE", Align::Left, None),
            ("PATTERNS", Align::Elastic, Some(Style::Faint)),
        ]);
        for (name, skills) in kits {
            let chosen = choice.filter(|choice| choice.names.contains(name));
            table.cell(name.as_str());
            table.cell(matched(library, skills).to_string());
            table.cell(chosen.map_or_else(|| "-".to_owned(), |choice| format!("by {}", choice.origin)));
            table.cell(skills.iter().map(Pattern::to_string).collect::<Vec<_>>().join(", "));
        }
        table.write(ui)?;
    }
    for name in choice.iter().flat_map(|choice| &choice.names).filter(|name| !kits.contains_key(*name)) {
        ui.warn(&format!("the kit `{name}` is in use and not configured any more"))?;
        ui.hint("run `rep kit use --none`, or configure it again")?;
    }
    Ok(Exit::Success)
}

/// Returns the number of enabled skills that `patterns` match.
fn matched<'p>(library: &Library, patterns: impl IntoIterator<Item = &'p Pattern>) -> usize {
    let patterns: Vec<&Pattern> = patterns.into_iter().collect();
    let is_matched =
        |entry: &&Entry| patterns.iter().any(|it| it.matches(&entry.source, entry.name().as_str()));
    library.snapshot.active().filter(is_matched).count()
}

/// Returns `names` as the subject of a sentence, with its verb.
fn in_words(names: &[String]) -> String {
    match names {
        [name] => format!("the kit {name} is"),
        names => format!("the kits {} are", names.join(", ")),
    }
}

fn expect_kit(settings: &Settings, name: &str) -> Result<(), CliError> {
    if settings.kits.contains_key(name) {
        return Ok(());
    }
    let error = CliError::no(format!("there is no kit `{name}`"));
    Err(match nearest(name, settings.kits.keys().map(String::as_str)) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint("run `rep kit list` to see the kits"),
    })
}
