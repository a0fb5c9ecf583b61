//! `rep check`.

mod compat;
mod confusable;
mod fix;
mod report;

use std::path::{Path, PathBuf};
use std::ptr;

use clap::Args;
use rayon::prelude::*;
use repertoire::Entry;
use repertoire_model::{Policy, Severity, State};

use self::compat::CompatTool;
use self::report::CheckedSkill;
use crate::env::Env;
use crate::error::CliError;
use crate::exit::Exit;
use crate::globals::Globals;
use crate::ui::{Progress, Ui};
use crate::wire::{Context, Library, skill_directory};
use repertoire::discovery::{Place, Root, Tier};

/// Checks skills and shows what is wrong with them
///
/// Without a path, every skill of the library is checked. A path is a skill, its SKILL.md, or a directory of
/// skills. Exits with 0 when there is nothing worse than warnings, with 1 when there is an error.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The skills to check
    #[arg(value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
    paths: Vec<PathBuf>,
    /// Repair what can be repaired safely, after showing the changes
    #[arg(long)]
    fix: bool,
    /// Write the repairs without asking
    #[arg(long, requires = "fix")]
    yes: bool,
    /// Check as strictly as clients of a published library do
    #[arg(long)]
    publish: bool,
    /// Find skills that an agent could mix up, and suggest sentences that would distinguish them; nothing else is checked
    #[arg(long)]
    confusable: bool,
    /// Check like another tool; the following words are that tool's command and paths
    ///
    /// As in `rep check --compat skills-ref validate PATH`, `... read-properties PATH` and `... to-prompt PATH...`.
    #[arg(long, value_name = "TOOL", conflicts_with_all = ["fix", "publish", "confusable"])]
    compat: Option<CompatTool>,
}

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, env: Env, globals: Globals, args: &CheckArgs) -> Result<Exit, CliError> {
    // The reference reads no configuration.
    if let Some(CompatTool::SkillsRef) = args.compat {
        return compat::run(ui, env.working_directory(), &args.paths);
    }
    let context = &Context::load(ui, env, globals)?;
    let policy = context.settings.policy.clone();
    let policy = if args.publish { policy.for_publishing() } else { policy };
    let mut libraries = open(context, args, &policy)?;
    let (mut fixed, mut is_refused) = (Vec::new(), false);
    if args.fix {
        let outcome = fix::run(ui, context, &libraries, args.yes)?;
        is_refused = outcome.is_refused;
        fixed = outcome.written;
        if !fixed.is_empty() {
            libraries = open(context, args, &policy)?;
        }
    }
    let mut checked = Vec::new();
    let progress = Progress::start(&context.env, "checking skills");
    let mut confusable_pairs = None;
    if args.confusable {
        // The findings of every other rule in a large library would bury the answer.
        checked.extend(libraries.iter().flat_map(unchecked));
        confusable_pairs = Some(confusable::find(&libraries, &mut checked, &policy));
    } else {
        for library in &libraries {
            checked.extend(check_all(library));
        }
        add_shared_tools(&libraries, &mut checked, &policy);
    }
    drop(progress);
    let worst = if ui.is_json() {
        report::write_json(ui, &libraries, &checked, &fixed, confusable_pairs)?
    } else {
        report::write(ui, context, &libraries, &checked)?
    };
    Ok(if worst == Some(Severity::Error) || is_refused { Exit::No } else { Exit::Success })
}

/// Opens the libraries to check: the whole library, or each path as one of its own.
fn open(context: &Context, args: &CheckArgs, policy: &Policy) -> Result<Vec<Library>, CliError> {
    if args.paths.is_empty() {
        return Ok(vec![context.inspect(policy.clone())]);
    }
    let mut libraries = Vec::new();
    for given in &args.paths {
        let path = context.env.working_directory().join(given);
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
        let label = format!("path:{}", given.display());
        let place = Place::of(Root { label, path: directory.to_owned(), tier: Tier::Given });
        let library = context.inspect_places(vec![place], Vec::new(), policy.clone());
        if library.snapshot.entries().is_empty() && library.problems.is_empty() {
            let error = CliError::no(format!("there is no skill at {}", given.display()));
            return Err(error.hint(match depth_of_skills(context, directory, policy) {
                Some(depth) => format!(
                    "there are skills {depth} levels below it, deeper than is looked; set scan.max_depth = {depth}, or \
                     name the directory they are in"
                ),
                None => {
                    "a skill is a directory with a SKILL.md; run `rep new NAME` to make one".to_owned()
                }
            }));
        }
        libraries.push(library);
    }
    Ok(libraries)
}

/// Returns the number of levels below `directory` at which its uppermost skills are.
fn depth_of_skills(context: &Context, directory: &Path, policy: &Policy) -> Option<usize> {
    let snapshot = context.inspect_deeply(directory, policy.clone()).snapshot();
    let depth =
        |entry: &Entry| Some(Path::new(&*entry.path).strip_prefix(directory).ok()?.components().count());
    snapshot.entries().iter().filter_map(depth).min()
}

/// Returns every skill of `library`, in order, with nothing found yet.
fn unchecked(library: &Library) -> impl Iterator<Item = CheckedSkill<'_>> {
    let checked = |entry| CheckedSkill { library, entry, diagnostics: Vec::new() };
    library.snapshot.entries().iter().map(checked)
}

/// Checks every skill of `library`, on all cores, in order.
fn check_all(library: &Library) -> Vec<CheckedSkill<'_>> {
    let check = |entry| {
        let diagnostics = pollster::block_on(library.registry.check(entry));
        CheckedSkill { library, entry, diagnostics }
    };
    library.snapshot.entries().par_iter().map(check).collect()
}

/// Adds a finding to every active skill of each library that shares the name of a tool with another.
fn add_shared_tools<'a>(libraries: &'a [Library], checked: &mut [CheckedSkill<'a>], policy: &Policy) {
    for library in libraries {
        let shared = pollster::block_on(library.registry.shared_tools());
        for checked in checked.iter_mut().filter(|checked| ptr::eq(checked.library, library)) {
            let name = checked.entry.name();
            if checked.entry.state != State::Active {
                continue;
            }
            let of_skill = shared.iter().filter(|shared| shared.skills.contains(name));
            checked.diagnostics.extend(of_skill.filter_map(|shared| shared.diagnostic(name, policy)));
        }
    }
}
