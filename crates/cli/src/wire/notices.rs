//! Notices about skills that are not offered, for commands whose result agents read.

use repertoire::Snapshot;
use repertoire::provider::Problem;
use repertoire_model::Severity;

use super::context::Context;
use crate::error::CliError;
use crate::ui::Ui;

/// The most problems of directories that are reported.
const MAX_PROBLEMS: usize = 3;

/// Warns of skills that are not offered or hide others, of those that the project disables, and of `problems`, in a few lines on
/// standard error.
pub(crate) fn report(
    ui: &mut Ui,
    context: &Context,
    snapshot: &Snapshot,
    problems: &[Problem],
) -> Result<(), CliError> {
    for notice in context.disabled_by_project(snapshot) {
        ui.warn(&notice)?;
    }
    let notices = notices(snapshot, problems);
    for notice in &notices {
        ui.warn(notice)?;
    }
    if !notices.is_empty() {
        ui.hint("run `rep check` to see the details")?;
    }
    Ok(())
}

/// Returns the notices about the skills of `snapshot` and about `problems`, a line each.
pub(crate) fn notices(snapshot: &Snapshot, problems: &[Problem]) -> Vec<String> {
    let mut notices = snapshot.notices(|_| true);
    let mut problems = problems.iter().filter(|problem| problem.diagnostic.severity >= Severity::Warning);
    let shown = problems.by_ref().take(MAX_PROBLEMS);
    notices.extend(shown.map(|problem| format!("{} ({})", problem.diagnostic.message, problem.path)));
    let more = problems.count();
    if more > 0 {
        notices.push(format!("and {more} more problems of skill directories"));
    }
    notices
}
