//! The words and wrappers of what is put back, and how they are read again.

use super::Candidate;
use crate::answer::{self, Injection, Recognised, Wording, guard::guard};

/// The element that stands around everything that is put back; a message that starts with it is recognised.
pub const ELEMENT: &str = "skills_reattached";

/// Stands before the pieces. One line, because what follows is read from the next one on.
const GUIDANCE: &str = "The conversation was shortened. Of the skills that were active, those given whole here are still in \
                        force; load the others again before you rely on them.";

/// Returns the whole text of `pieces`.
pub(super) fn text(pieces: &[&str]) -> String {
    let mut text = format!("<{ELEMENT}>\n{GUIDANCE}\n");
    for piece in pieces {
        text.push_str(piece);
    }
    text.push_str(&format!("</{ELEMENT}>"));
    text
}

/// Returns the instructions in the wrapper of `load_skill`.
pub(super) fn body(candidate: &Candidate<'_>) -> String {
    let Candidate { name, body, digest, .. } = candidate;
    let digest = digest.to_stamp();
    format!("<skill name=\"{name}\" digest=\"{digest}\">\n{}\n</skill>\n", guard(body))
}

/// Returns the essence, which is no exact copy and so is not stamped.
pub(super) fn essence(candidate: &Candidate<'_>, wording: &Wording) -> String {
    let Candidate { name, essence, .. } = candidate;
    let load = &wording.load;
    let essence = guard(essence.trim());
    format!(
        "<skill_digest name=\"{name}\">\nIts rules only; `{load}` gives the whole again.\n{essence}\n</skill_digest>\n"
    )
}

/// Returns the line that says that there was such a skill.
pub(super) fn pointer(candidate: &Candidate<'_>, wording: &Wording) -> String {
    format!("- {}: load again with `{}`\n", candidate.name, wording.load)
}

/// Returns the line that owns up to skills that are not even named.
pub(super) fn omitted(count: usize) -> String {
    format!("(more that were active: {count})\n")
}

/// Returns the skills whose instructions `text` puts back whole; none where it does not start with [`ELEMENT`], or where a
/// body is not the one that was stamped.
pub fn recognise(text: &str) -> Vec<Injection> {
    let inside = || {
        let rest = text.trim_start().strip_prefix('<')?.strip_prefix(ELEMENT)?.strip_prefix(">\n")?;
        let (_, pieces) = rest.split_once('\n')?;
        // Anything else is no body, and an answer's other forms have no place here.
        answer::recognise(pieces).filter(|_| pieces.starts_with("<skill "))
    };
    match inside() {
        Some(Recognised::Bodies(injections)) => injections,
        _ => Vec::new(),
    }
}
