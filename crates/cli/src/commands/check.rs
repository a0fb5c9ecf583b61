//! `rep check`.

mod baseline;
mod changed;
mod compat;
mod confusable;
mod findings;
mod fix;
mod github;
mod plugins;
mod python;
mod report;
mod sarif;
mod selection;
mod target;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use repertoire::Entry;
use repertoire::discovery::is_plugin;
use repertoire::provider::Problem;
use repertoire_model::text::count;
use repertoire_model::{Policy, RuleId, Severity, SkillName};

use self::compat::CompatTool;
use self::findings::Findings;
use self::report::{CheckScope, Summary};
use self::selection::SelectionArgs;
use self::target::{CheckedSkill, Target, is_named};
use crate::env::Env;
use crate::error::CliError;
use crate::exit::Exit;
use crate::globals::Globals;
use crate::ui::{Progress, Ui, escape};
use crate::wire::{Library, Workspace, load, skill_directory};

/// Checks skills and shows what is wrong with them
///
/// Without an argument, every skill of the library is checked. An argument is a skill by NAME or by the path
/// of its directory or SKILL.md, or a directory of skills. A plugin.json and a marketplace.json in the
/// directory, or in the project where there is no argument, are checked with them. Exits with 0 when there is
/// nothing worse than warnings, with 1 when there is an error.
///
/// A comment in a skill suppresses a rule there: `<!-- rep-ignore: RULE: REASON -->` in the instructions, or
/// `# rep-ignore: RULE: REASON` in the frontmatter.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The skills to check, by name or path
    #[arg(value_name = "SKILL", value_hint = clap::ValueHint::AnyPath)]
    skills: Vec<PathBuf>,
    /// Repair what can be repaired safely, after showing the changes
    #[arg(long)]
    fix: bool,
    /// Write the repairs without asking
    #[arg(long, requires = "fix")]
    yes: bool,
    /// Check as strictly as clients of a published library do
    #[arg(long)]
    publish: bool,
    /// Find skills that an agent could mix up, and suggest sentences that would distinguish them; nothing
    /// else is checked
    #[arg(long)]
    confusable: bool,
    /// Check like another tool; the following words are that tool's command and paths
    ///
    /// As in `rep check --compat skills-ref validate PATH`, `... read-properties PATH` and `... to-prompt
    /// PATH...`.
    #[arg(long, value_name = "TOOL", conflicts_with_all = ["fix", "publish", "confusable"])]
    compat: Option<CompatTool>,
    /// Choose the form of the report; `json` is the same as --json
    #[arg(long, value_name = "FORMAT", conflicts_with = "compat")]
    format: Option<Format>,
    #[command(flatten)]
    selection: SelectionArgs,
}

/// A form of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// A JSON document
    Json,
    /// Annotations in a workflow of GitHub
    Github,
    /// SARIF 2.1.0, for code scanning and editors
    Sarif,
}

impl CheckArgs {
    /// Returns `true` if skills are repaired.
    pub(crate) fn fixes(&self) -> bool {
        self.fix
    }
}

pub(crate) fn run(ui: &mut Ui, env: Env, globals: Globals, args: &CheckArgs) -> Result<Exit, CliError> {
    // The reference reads no configuration.
    if let Some(CompatTool::SkillsRef) = args.compat {
        return compat::run(ui, env.working_directory(), &args.skills);
    }
    let format = args.format.unwrap_or(if globals.json { Format::Json } else { Format::Text });
    if globals.json && format != Format::Json {
        return Err(
            CliError::usage("--json and --format ask for different forms").hint("leave one of them out")
        );
    }
    if format == Format::Json {
        ui.use_json();
    }
    let workspace = &load(ui, env, &globals)?;
    let policy = workspace.settings.policy.clone();
    let policy = if args.publish { policy.for_publishing() } else { policy };
    let selection = &args.selection;
    let here = |path: &PathBuf| workspace.env.working_directory().join(path);
    let baseline_path = selection.baseline.as_ref().map(here);
    let mut targets = open(workspace, args, &policy)?;
    let (mut fixed, mut refusal) = (Vec::new(), None);
    if args.fix {
        let outcome = fix::run(ui, workspace, &targets, args.yes)?;
        refusal = outcome.refusal;
        fixed = outcome.written;
        if !fixed.is_empty() {
            targets = open(workspace, args, &policy)?;
        }
    }
    let progress = Progress::start(&workspace.env, "checking skills");
    let mut checked = Vec::new();
    let mut confusable_pairs = None;
    if args.confusable {
        // The findings of every other rule in a large library would bury the answer.
        checked.extend(targets.iter().flat_map(unchecked));
        confusable_pairs = Some(confusable::find(&targets, &mut checked, &policy));
    } else {
        for target in &targets {
            checked.extend(check_all(workspace, target));
        }
        for checked in &mut checked {
            python::describe(workspace, checked, &policy);
        }
    }
    let problems = targets.iter().flat_map(Target::problems).cloned().collect();
    let mut findings = Findings::new(workspace, checked, problems);
    selection.apply(&mut findings, &policy);
    if args.confusable {
        findings.skills.iter_mut().for_each(|checked| {
            checked.diagnostics.retain(|found| found.rule == RuleId::Confusable);
        });
    }
    drop(progress);
    if let Some(path) = baseline_path.as_ref().filter(|_| selection.write_baseline) {
        let number = baseline::write(path, &findings)?;
        writeln!(ui.err(), "wrote {} to {}", count(number, "finding"), escape(&path.to_string_lossy()))?;
        return Ok(Exit::Success);
    }
    if let Some(path) = &baseline_path {
        baseline::apply(path, &mut findings)?;
    }
    let scope = if args.confusable { CheckScope::Confusable } else { CheckScope::All };
    match format {
        Format::Json => report::write_json(ui, &findings, &fixed, confusable_pairs)?,
        Format::Sarif => ui.write_json(&sarif::log(&findings.placed(), &fix::changes(&findings)))?,
        Format::Github => {
            let annotations = github::annotations(&findings.placed());
            let (verdict, style) = report::verdict(&findings, scope);
            ui.write_untrusted(annotations.as_bytes())?;
            ui.line(style, &verdict)?;
        }
        Format::Text => {
            report::write(ui, workspace, &findings, scope)?;
            let all = targets.iter().filter(|_| args.skills.is_empty());
            for hint in all.flat_map(|target| workspace.hints_about_unlisted(&target.library)) {
                ui.hint(&hint)?;
            }
        }
    }
    let summary = Summary::of(&findings);
    let exceeded = selection.max_warnings.filter(|most| summary.warnings > *most);
    if let Some(most) = exceeded {
        ui.warn(&format!("{}, more than the {most} of --max-warnings", count(summary.warnings, "warning")))?;
    }
    match refusal {
        Some(error) => Err(error),
        None if exceeded.is_some() || summary.worst() == Some(Severity::Error) => Ok(Exit::No),
        None => Ok(Exit::Success),
    }
}

/// Opens the libraries to check: the whole library, each path as its own, and the library for all names.
fn open(workspace: &Workspace, args: &CheckArgs, policy: &Policy) -> Result<Vec<Target>, CliError> {
    let (mut targets, mut names) = (Vec::new(), Vec::new());
    for given in &args.skills {
        match open_path(workspace, given, policy) {
            Ok(library) => targets.push(Target { library, names: Vec::new(), paths: None }),
            Err(error) => names.push((given.to_string_lossy().into_owned(), error)),
        }
    }
    if args.skills.is_empty() || !names.is_empty() {
        let mut library = workspace.inspect(policy.clone());
        if args.skills.is_empty() && !args.confusable {
            let here = workspace.env.places();
            library.problems.extend(plugins::problems(here.project(), policy));
        }
        let mut known = Vec::new();
        for (name, error) in names {
            let entries = library.snapshot.entries();
            if entries.iter().any(|entry| is_named(entry, &name)) {
                known.push(name);
                continue;
            }
            // The error of an unknown name suggests others.
            let is_path =
                !is_name(&name) || workspace.env.working_directory().join(&name).symlink_metadata().is_ok();
            return Err(library.find(&name).err().filter(|_| !is_path).unwrap_or(error));
        }
        targets.push(Target { library, names: known, paths: None });
    }
    if let Some(base) = &args.selection.changed {
        changed::limit(workspace, &mut targets, base)?;
    }
    Ok(targets)
}

/// Returns whether `given` is a name, alone or with its source, rather than a path.
fn is_name(given: &str) -> bool {
    SkillName::new(given.rsplit(':').next().unwrap_or_default()).is_some()
}

/// Opens the skill or the directory of skills at the path `given`.
fn open_path(workspace: &Workspace, given: &Path, policy: &Policy) -> Result<Library, CliError> {
    let path = workspace.env.working_directory().join(given);
    if let Err(error) = path.symlink_metadata() {
        return Err(CliError::usage(format!("cannot check {}", given.display())).because(error));
    }
    let directory = skill_directory(&path);
    if !directory.is_dir() {
        return Err(CliError::usage(format!(
            "{} is neither a skill nor a directory of skills",
            given.display()
        ))
        .hint("a skill is a directory with a SKILL.md"));
    }
    let places = workspace.given_places("path", skill_directory(given));
    let library = workspace.inspect_places(places, plugins::problems(directory, policy), policy.clone());
    if is_plugin(directory) {
        return Ok(library);
    }
    // Skills beyond a limit were not checked either.
    let is_beyond_limit = |problem: &Problem| problem.diagnostic.rule == RuleId::SourceLimit;
    if library.snapshot.entries().is_empty() && library.problems.iter().all(is_beyond_limit) {
        let error = CliError::no(format!("there is no skill at {}", given.display()));
        return Err(error.hint(match depth_of_skills(workspace, directory, policy) {
            Some(depth) => format!(
                "there are skills {depth} levels below it, deeper than is looked; set scan.max_depth = {depth}, or \
                 name the directory they are in"
            ),
            None => "a skill is a directory with a SKILL.md; run `rep new my-skill` to make one".to_owned(),
        }));
    }
    Ok(library)
}

/// Returns the number of levels below `directory` at which its uppermost skills are.
fn depth_of_skills(workspace: &Workspace, directory: &Path, policy: &Policy) -> Option<usize> {
    let snapshot = workspace.inspect_deeply(directory, policy.clone()).snapshot();
    let depth =
        |entry: &Entry| Some(Path::new(&*entry.path).strip_prefix(directory).ok()?.components().count());
    snapshot.entries().iter().filter_map(depth).min()
}

/// Returns every skill of `target`, in order, with nothing found yet.
fn unchecked(target: &Target) -> impl Iterator<Item = CheckedSkill<'_>> {
    target.entries().map(|entry| CheckedSkill { library: &target.library, entry, diagnostics: Vec::new() })
}

/// Returns every skill of `target`, in order, with everything found in it.
fn check_all<'t>(workspace: &Workspace, target: &'t Target) -> Vec<CheckedSkill<'t>> {
    let library = &target.library;
    let entries: Vec<&Entry> = target.entries().collect();
    let found = library.check(&entries).into_iter();
    let mut recorded = workspace.recorded_in_force(library);
    entries
        .into_iter()
        .zip(found)
        .map(|(entry, mut diagnostics)| {
            diagnostics.extend(recorded.remove(&*entry.path));
            CheckedSkill { library, entry, diagnostics }
        })
        .collect()
}
