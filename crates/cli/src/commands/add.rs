//! `rep add`.

mod choose;
mod plan;
mod report;
mod requires;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use repertoire::change::ChangeSteps;
use repertoire::{Entry, State};
use repertoire_app::listing::losses_by_adding;
use repertoire_clients::link::{LinkKind, RecordedLink, reading_twice};
use repertoire_sources::{FetchedTree, FoundSkill, Installation, Source, fetch, find_skills, newest_version};
use serde_json::json;

use crate::change_guard::{ChangeGuard, guarded};
use crate::error::{CliError, not_written};
use crate::exit::Exit;
use crate::place_args::PlaceArgs;
use crate::ui::{Consent, Progress, Style, Ui};
use crate::wire::{Workspace, shell_word};
use plan::{Plan, SkillPresence};
use repertoire_model::RuleId;
use repertoire_model::text::{count, list};
pub(crate) use report::{described, print_skill};
use requires::SourceSkills;

/// Adds skills from a repository, a directory, an archive or a server
///
/// SOURCE is owner/repo on GitHub, perhaps with a path, #REF and @SKILL; the address of any git repository or
/// of a page of one; a path such as ./skills; an archive (zip, tar, tar.gz, .skill), here or on a server;
/// https://HOST with an index of skills, such as another rep serve; npm:PACKAGE or pypi:PACKAGE; or
/// `samples`, the sample library that this program carries, of which all are added unless some are named.
/// Skills are checked and shown before they are put in place, in .agents/skills of the project or of the
/// user, and recorded in repertoire.lock. Scripts stay unapproved. An existing skill is never overwritten.
#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// The source of the skills
    #[arg(value_name = "SOURCE")]
    source: String,
    /// Add this skill; may be given several times
    #[arg(long, short, value_name = "NAME", conflicts_with = "all")]
    skill: Vec<String>,
    /// Add all skills of the source
    #[arg(long)]
    all: bool,
    /// Only list the skills of the source
    #[arg(long, short, conflicts_with_all = ["all", "skill", "yes"])]
    list: bool,
    #[command(flatten)]
    place: PlaceArgs,
    /// The branch, tag, commit or version to take
    #[arg(long = "ref", value_name = "REF")]
    reference: Option<String>,
    /// Leave out skills that the chosen ones require and that are not here
    #[arg(long)]
    no_requires: bool,
    /// A file with the token for the server of an index
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    token_file: Option<PathBuf>,
    /// Add without asking; all skills, unless some are named
    #[arg(long, short)]
    yes: bool,
}

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, args: &AddArgs) -> Result<Exit, CliError> {
    guarded(ui, |ui, guard| fetch_and_add(ui, workspace, args, guard))
}

fn fetch_and_add(
    ui: &mut Ui,
    workspace: &Workspace,
    args: &AddArgs,
    guard: &ChangeGuard,
) -> Result<Exit, CliError> {
    let installation = workspace.installation(args.place.owner(&workspace.env))?;
    let parsed = workspace
        .source(&args.source, workspace.env.working_directory())
        .map_err(|error| with_path_hint(workspace, args, error))?;
    if parsed.source == Source::Samples && workspace.env.working_directory().join(&args.source).is_dir() {
        ui.warn(&format!(
            "`{0}` is the sample library of this program; the directory is ./{0}",
            args.source
        ))?;
    }
    let source = match &args.reference {
        Some(reference) => parsed.source.with_reference(reference)?,
        None => parsed.source,
    };
    let mut names: Vec<String> = Vec::new();
    for name in args.skill.iter().chain(&parsed.skill) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    let tree = fetched(ui, workspace, args, &source, &names)?;
    let mut found = find_skills(&tree, &workspace.settings.policy);
    for path in &tree.left_out {
        ui.message(Style::Warning, "left out:", path)?;
    }
    // Someone who names skills does not ask for the others.
    if names.is_empty() {
        report::plugins(ui, &tree)?;
    }
    if found.is_empty() {
        let error = CliError::no(format!("there are no skills at {}", args.source))
            .hint("a skill is a directory with a SKILL.md");
        return Err(match &source {
            Source::Directory(path) if is_bare_repository(path) => {
                error.hint(format!("it is a git repository: run `rep add file://{}`", path.display()))
            }
            _ => error,
        });
    }
    if args.list {
        report::list(ui, workspace, &tree, &found)?;
        return Ok(Exit::Success);
    }
    let all = args.all || args.yes || source == Source::Samples;
    if let Some(error) = choose::unknown_name(&found, &names) {
        let Some(_) = parsed.skill else { return Err(error) };
        return Err(with_reference_hint(ui, workspace, &source, &args.source, error));
    }
    // What they require may be here, or comes along.
    found.iter_mut().for_each(|skill| skill.findings.retain(|it| it.rule != RuleId::RequiresUnknown));
    let source = (tree, found);
    let (tree, found) = &source;
    let chosen = match choose::choose(ui, workspace, found, &names, all)? {
        Some(chosen) => chosen,
        None => {
            report::list(ui, workspace, tree, found)?;
            return Err(CliError::no("nothing was added, because no skill was chosen")
                .hint("name skills with `--skill NAME`, or add all of them with `--all --yes`"));
        }
    };
    let library = workspace.inspect(workspace.settings.policy.clone());
    let mut required = requires::required(&library, &[&source], &chosen);
    let others;
    if !args.no_requires && required.iter().any(|it| it.found.is_none()) {
        others = requires::other_sources(ui, workspace, &installation, tree, &required)?;
        let sources: Vec<&SourceSkills> = others.iter().chain([&source]).collect();
        required = requires::required(&library, &sources, &chosen);
    }
    let required = requires::agreed(ui, (args.yes, args.no_requires), required)?;
    let found = required.iter().filter_map(|it| it.found);
    let all: Vec<_> = chosen.iter().map(|skill| (tree, *skill)).chain(found.clone()).collect();
    let mut plan = plan::plan(&installation, &all)?;
    plan.required =
        found.zip(&required).map(|((_, skill), it)| (skill.name.clone(), it.by.clone())).collect();
    add(ui, workspace, args, &installation, tree, plan, guard)
}

/// Fetches the source; an error says if a directory may be meant.
fn fetched(
    ui: &Ui,
    workspace: &Workspace,
    args: &AddArgs,
    source: &Source,
    names: &[String],
) -> Result<FetchedTree, CliError> {
    let mut options = workspace.fetch_options(ui.git_prompt(), args.token_file.as_deref())?;
    options.wanted = names.to_vec();
    let _progress = Progress::start(&workspace.env, "fetching");
    fetch(source, &options).map_err(|error| with_path_hint(workspace, args, CliError::from(error)))
}

/// Returns `error` with a hint if the source, which was not taken for a path, is the path of something here.
fn with_path_hint(workspace: &Workspace, args: &AddArgs, error: CliError) -> CliError {
    let text = &args.source;
    let is_marked = text.is_empty() || text.starts_with(['.', '/', '~']);
    if !is_marked && workspace.env.working_directory().join(text).try_exists().unwrap_or(false) {
        error.hint(format!("the directory is ./{text}"))
    } else {
        error
    }
}

/// Returns `error` about the unknown skill behind `@` in `text`; a hint if it is a branch or tag of `source`.
fn with_reference_hint(
    ui: &Ui,
    workspace: &Workspace,
    source: &Source,
    text: &str,
    error: CliError,
) -> CliError {
    let Some((repository, name)) = text.rsplit_once('@') else { return error };
    let Ok(options) = workspace.fetch_options(ui.git_prompt(), None) else { return error };
    let version = source.clone().with_reference(name).and_then(|it| newest_version(&it, &options));
    if matches!(version, Ok(Some(_))) {
        let source = shell_word(&format!("{repository}#{name}"));
        error.hint(format!("it has a branch or tag of this name: `rep add {source}`"))
    } else {
        error
    }
}

/// Returns `true` if `directory` is a git repository without a work tree.
fn is_bare_repository(directory: &Path) -> bool {
    directory.join("HEAD").is_file() && directory.join("objects").is_dir()
}

/// Shows what would be added, asks, and adds it.
fn add(
    ui: &mut Ui,
    workspace: &Workspace,
    args: &AddArgs,
    installation: &Installation,
    tree: &FetchedTree,
    mut plan: Plan<'_>,
    guard: &ChangeGuard,
) -> Result<Exit, CliError> {
    let mut change = std::mem::take(&mut plan.change);
    let new: Vec<&FoundSkill> = plan.of(SkillPresence::New).collect();
    if !ui.is_json() {
        for skill in &new {
            print_skill(ui, workspace, skill)?;
            if let Some(by) = plan.required.get(&skill.name) {
                writeln!(ui.out(), "  required by {by}")?;
            }
        }
        for skill in plan.of(SkillPresence::Right) {
            let is_recorded = change.skills.iter().any(|change| change.name == skill.name);
            let note =
                if is_recorded { "; repertoire.lock has its version and ref from there now" } else { "" };
            let line = format!("{} is there already, as it is in the source{note}", skill.name);
            writeln!(ui.out(), "{}", crate::ui::escape(&line))?;
        }
    }
    warn_about_others(ui, workspace, installation, &new)?;
    let consent = match new.len() {
        0 => Consent::Given,
        number => ui.consent(&format!("add {}?", count(number, "skill")), args.yes)?,
    };
    let is_added = consent == Consent::Given;
    let mut made: Vec<RecordedLink> = Vec::new();
    let mut exit = Exit::Success;
    if is_added {
        guard.begin();
        let lock = workspace.begin(installation)?;
        // Skills that are there already may lack links.
        let linked = plan.skills.iter().map(|(skill, _)| (&skill.name, Some(&skill.files)));
        let added = workspace.added_links(args.place.owner(&workspace.env), LinkKind::Link, linked, &[])?;
        made = added.links;
        change.others = ChangeSteps { command: "rep add", ..added.change };
        if !added.notes.is_empty() {
            exit = Exit::No;
        }
        ui.warn_all(workspace.apply(&lock, installation, &change)?.iter().chain(&added.notes))?;
    }
    let links: Vec<&str> = made.iter().map(|link| &*link.path).collect();
    if ui.is_json() {
        let skills = plan.skills.iter().map(|(skill, presence)| {
            let mut value = described(workspace, skill);
            let state = match presence {
                SkillPresence::New if is_added => "added",
                SkillPresence::New => "planned",
                SkillPresence::Right => "right",
            };
            value["state"] = state.into();
            value["required_by"] = plan.required.get(&skill.name).map(ToString::to_string).into();
            value["directory"] = installation.directory(&skill.name).display().to_string().into();
            value
        });
        let document = json!({
            "source": tree.source.to_locked(&installation.base),
            "ref": tree.source.reference(),
            "resolved": tree.resolved,
            "left_out": tree.left_out,
            "plugins": report::plugins_json(tree),
            "skills": skills.collect::<Vec<_>>(),
            "links": links,
        });
        ui.write_json(&document)?;
    } else if is_added {
        report::added(ui, workspace, installation, &new, &links)?;
    }
    warn_about_links(ui, workspace, &made)?;
    if is_added {
        warn_about_disabled(ui, workspace, installation, &plan)?;
    }
    if !is_added {
        return Err(not_written(consent, format!("{} would be added", count(new.len(), "skill"))));
    }
    Ok(exit)
}

/// Warns about clients that read the links which were `made` for others, and so the skills twice.
fn warn_about_links(ui: &mut Ui, workspace: &Workspace, made: &[RecordedLink]) -> Result<(), CliError> {
    if made.is_empty() {
        return Ok(());
    }
    let names = made.iter().filter_map(|link| link.path.rsplit('/').next()).map(str::to_owned).collect();
    let twice = reading_twice(workspace.open()?.opened(), &workspace.env.places(), &names);
    if !twice.is_empty() {
        let clients: BTreeSet<&str> =
            made.iter().flat_map(|link| &link.clients).map(String::as_str).collect();
        let clients = clients.into_iter().collect::<Vec<_>>().join(" ");
        let (read, offer) = if twice.len() == 1 { ("reads", "offers") } else { ("read", "offer") };
        ui.warn(&format!("{} {read} these links too, and {offer} the skills twice", list(&twice)))?;
        ui.hint(&format!(
            "take them back by their number in `rep undo --list`, then run `rep connect {clients}`"
        ))?;
    }
    Ok(())
}

/// Warns about skills that agents do not see, because they are disabled here.
fn warn_about_disabled(
    ui: &mut Ui,
    workspace: &Workspace,
    installation: &Installation,
    plan: &Plan<'_>,
) -> Result<(), CliError> {
    if workspace.settings.disabled.is_empty() && workspace.settings.kits_in_use.is_none() {
        return Ok(());
    }
    let library = workspace.inspect(workspace.settings.policy.clone());
    for (skill, _) in &plan.skills {
        let directory = installation.directory(&skill.name);
        let is_disabled =
            |entry: &&Entry| entry.state == State::Disabled && Path::new(&*entry.path) == directory;
        if let Some(entry) = library.snapshot.entries().iter().find(is_disabled) {
            ui.warn(&format!("{} is disabled by {}", skill.name, workspace.disabled_where(entry)))?;
            for step in workspace.enabling_steps(entry) {
                ui.hint(&step)?;
            }
        }
    }
    Ok(())
}

/// Warns about clients whose listing has no room for the new skills, and about skills of the same names in
/// other places, because agents see only one of each name.
fn warn_about_others(
    ui: &mut Ui,
    workspace: &Workspace,
    installation: &Installation,
    new: &[&FoundSkill],
) -> Result<(), CliError> {
    if new.is_empty() {
        return Ok(());
    }
    let library = workspace.inspect(workspace.settings.policy.clone());
    let added: Vec<(&str, &str)> = new.iter().map(|it| (it.name.as_str(), &*it.description)).collect();
    ui.warn_all(&losses_by_adding(
        workspace,
        &library,
        installation.base == workspace.env.home().unwrap_or_default(),
        &added,
    ))?;
    for skill in new {
        let directory = installation.directory(&skill.name);
        if let Some(entry) = library.namesakes(&skill.name, &directory).next() {
            let (name, path) = (&skill.name, workspace.shown(&entry.path));
            ui.warn(&format!("there is another `{name}` at {path}; agents will see one of them"))?;
        }
    }
    Ok(())
}
