//! Shows the plan, asks, and makes the links.

use std::fs;
use std::io;
use std::path::Path;

use super::args::LinkArgs;
use super::plan::{LinkPlan, LinkStep, Occupancy};
use super::record::{Record, RecordedLink};
use super::report::{self, LinkLine, LinkState, Notes, Warning};
use super::{copy, paths};
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Consent, Style, Ui};
use crate::wire::Library;

/// Shows `plan`, and carries it out if that is wanted.
pub(super) fn run(
    ui: &mut Ui,
    library: &Library,
    args: &LinkArgs,
    base: &Path,
    mut plan: LinkPlan<'_>,
    notes: &Notes,
) -> Result<Exit, CliError> {
    let is_free = |step: &&LinkStep<'_>| matches!(step.occupancy, Occupancy::Free);
    let free = plan.steps.iter().filter(is_free).count();
    for step in plan.steps.iter().filter(is_free) {
        let path = paths::shown(base, &step.path);
        let line = if args.copy {
            format!("+ {path} (a copy of {})", paths::shown(base, &paths::of(step.entry)))
        } else {
            format!("+ {path} -> {}", step.to.display())
        };
        ui.write_planned(Some(Style::Added), &line)?;
    }
    for Warning { message, hint } in &notes.warnings {
        ui.warn(message)?;
        ui.hint(hint)?;
    }
    let consent = match free {
        0 => Consent::Given,
        _ if args.print => Consent::Refused,
        1 => ui.consent("make it?", args.yes)?,
        _ => ui.consent(&format!("make these {free}?"), args.yes)?,
    };
    let steps: Vec<&LinkStep<'_>> = match consent {
        Consent::Given => plan.steps.iter().filter(is_free).collect(),
        _ => Vec::new(),
    };
    // Links that others made are not recorded.
    for step in plan.steps.iter().filter(|step| matches!(step.occupancy, Occupancy::Right)) {
        if let Some(made) = plan.record.find(base, &step.path).cloned() {
            plan.record.add(RecordedLink { clients: LinkLine::of(base, step).clients, ..made });
        }
    }
    let (made, failure) = make_recorded(library, args, base, &mut plan.record, &steps)?;
    let mut made = made.into_iter();
    let mut lines = Vec::new();
    for step in &plan.steps {
        let mut line = LinkLine::of(base, step);
        if is_free(&step)
            && let Some(made) = made.next()
        {
            line.state = if made.to.is_some() { LinkState::Linked } else { LinkState::Copied };
        }
        lines.push(line);
    }
    let is_silent = args.print || consent != Consent::Given;
    let saved = if is_silent { Ok(()) } else { plan.record.save(base) };
    report::write(ui, args, base, &lines, notes, plan.reached)?;
    if let Some(error) = failure {
        return Err(error);
    }
    saved?;
    if consent != Consent::Given && !args.print {
        let what = format!("{free} would be made");
        return Err(CliError::not_written(consent, &what, "`--yes` makes them without asking"));
    }
    let is_taken = plan.steps.iter().any(|step| matches!(step.occupancy, Occupancy::Taken(_)));
    let is_refused = notes.skipped.iter().any(|skipped| skipped.is_refusal);
    Ok(if is_taken || is_refused { Exit::No } else { Exit::Success })
}

/// Makes the links of `steps`. They are recorded first, so that neither a failure nor a crash leaves links that cannot be undone.
/// Returns those that were made, in this order, and the error that ended it.
pub(super) fn make_recorded(
    library: &Library,
    args: &LinkArgs,
    base: &Path,
    record: &mut Record,
    steps: &[&LinkStep<'_>],
) -> Result<(Vec<RecordedLink>, Option<CliError>), CliError> {
    let (mut made, mut failure) = (Vec::new(), None);
    if steps.is_empty() {
        return Ok((made, failure));
    }
    for step in steps.iter().filter(|_| !args.copy) {
        record.add(recorded(base, step, Some(step.to.to_string_lossy().into_owned()), None));
    }
    record.save(base)?;
    for step in steps {
        if failure.is_none() {
            match make(library, args, base, step) {
                Ok(link) => {
                    record.add(link.clone());
                    made.push(link);
                    continue;
                }
                Err(error) => failure = Some(error),
            }
        }
        record.forget(base, &step.path);
    }
    record.save(base)?;
    Ok((made, failure))
}

fn recorded(base: &Path, step: &LinkStep<'_>, to: Option<String>, digest: Option<String>) -> RecordedLink {
    let clients = step.clients.iter().map(|client| (*client).to_owned()).collect();
    RecordedLink { path: paths::shown(base, &step.path), to, digest, clients }
}

/// Makes the link of `step`, or a copy where that is wanted or no link can be made.
fn make(
    library: &Library,
    args: &LinkArgs,
    base: &Path,
    step: &LinkStep<'_>,
) -> Result<RecordedLink, CliError> {
    let path = &step.path;
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(|error| CliError::io("make", parent, error))?;
    }
    let made = |to: Option<String>, digest: Option<String>| recorded(base, step, to, digest);
    if !args.copy {
        match make_link(&step.to, path) {
            Ok(()) => return Ok(made(Some(step.to.to_string_lossy().into_owned()), None)),
            Err(error) if is_impossible(&error) => {}
            Err(error) => return Err(CliError::io("make", path, error)),
        }
    }
    Ok(made(None, Some(copy::copy(library, step.entry, path)?)))
}

/// Makes the link at `path` that says `to`.
#[cfg(unix)]
pub(crate) fn make_link(to: &Path, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(to, path)
}

/// Makes the link at `path` that says `to`.
#[cfg(windows)]
pub(crate) fn make_link(to: &Path, path: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_dir(to, path)
}

/// Fails, because this system has no links.
#[cfg(not(any(unix, windows)))]
pub(crate) fn make_link(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns whether the system or the file system has no links, or none for this user. 1314 is how Windows says that.
fn is_impossible(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied)
        || (cfg!(windows) && error.raw_os_error() == Some(1314))
}
