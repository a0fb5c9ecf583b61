//! Notices about skills that are not offered, for commands whose result agents read.

use repertoire::Snapshot;
use repertoire::provider::Problem;
use repertoire_model::Severity;

/// The most problems of directories that are reported.
const MAX_PROBLEMS: usize = 3;

/// Returns the notices about the skills of `snapshot` and about `problems`, a line each.
pub fn notices(snapshot: &Snapshot, problems: &[Problem]) -> Vec<String> {
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
