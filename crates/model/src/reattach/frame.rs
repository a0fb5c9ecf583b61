//! Wraps the skills that are put back, and recognises the wrapped text in a transcript.

use crate::answer::{self, Injection, RecognisedAnswer, Wording, guard::guard};
use crate::{Digest, SkillName};

/// The element that stands around everything that is put back; a message that starts with it is recognised.
pub const ELEMENT: &str = "skills_reattached";

/// The most elements in one text that are read; a text with more of them is read from its end.
const MAX_ELEMENTS: usize = 16;

/// Stands before the pieces. One line, because what follows is read from the next one on.
const GUIDANCE: &str = "The conversation was shortened. Skills given whole below still apply; load others again before relying on them.";

/// A skill whose instructions could be put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReattachCandidate<'a> {
    /// Its name.
    pub name: &'a SkillName,
    /// Its instructions.
    pub body: &'a str,
    /// The digest of `body`.
    pub digest: Digest,
    /// Their hard rules, as found by [`essence`](crate::essence::essence) or written by a host; may be empty.
    pub essence: &'a str,
}

pub(super) fn text(pieces: &[&str]) -> String {
    let mut text = format!("<{ELEMENT}>\n{GUIDANCE}\n");
    for piece in pieces {
        text.push_str(piece);
    }
    text.push_str(&format!("</{ELEMENT}>"));
    text
}

/// Returns the instructions in the wrapper of `load_skill`.
pub(super) fn body(candidate: &ReattachCandidate<'_>) -> String {
    let ReattachCandidate { name, body, digest, .. } = candidate;
    let digest = digest.to_stamp();
    format!("<skill name=\"{name}\" digest=\"{digest}\">\n{}\n</skill>\n", guard(body))
}

/// Returns the essence, which is not an exact copy and so is not stamped.
pub(super) fn essence(candidate: &ReattachCandidate<'_>, wording: &Wording) -> String {
    let ReattachCandidate { name, essence, .. } = candidate;
    let load = &wording.load;
    let essence = guard(essence.trim());
    format!(
        "<skill_digest name=\"{name}\">\nIts rules only; `{load}` gives the whole again.\n{essence}\n</skill_digest>\n"
    )
}

/// Returns the line that names skills that are not given at all, with the number of further ones.
pub(super) fn rest(names: &[&str], more: usize) -> String {
    let names = names.join(", ");
    let more = match more {
        0 => String::new(),
        _ if names.is_empty() => format!("{more} more"),
        _ => format!(" and {more} more"),
    };
    format!("Load again when needed: {names}{more}\n")
}

/// Returns the skills whose instructions `text` puts back whole, those of the last [`ELEMENT`] last.
///
/// Skills of one element are returned in reverse, so that the last used is the last, as in a transcript.
///
/// A host may have written something before and behind the element, or wrapped it: it is found at the start
/// of any line and behind any tag. None of the bodies in an element count if one is not what was stamped.
pub fn recognise(text: &str) -> Vec<Injection> {
    let (text, opening) = (text.trim_start(), format!("<{ELEMENT}>\n"));
    let is_opened = |place: &usize| *place == 0 || text[..*place].ends_with(['\n', '>']);
    let places = text.rmatch_indices(&opening).map(|(place, _)| place).filter(is_opened);
    let mut places: Vec<usize> = places.take(MAX_ELEMENTS).collect();
    places.reverse();
    places.into_iter().filter_map(|place| inside(&text[place + opening.len()..])).flatten().collect()
}

/// Returns the bodies behind the guidance.
fn inside(text: &str) -> Option<Vec<Injection>> {
    let (_, pieces) = text.split_once('\n')?;
    // Anything else is not a body, and an answer's other forms have no place here.
    match answer::recognise(pieces).filter(|_| pieces.starts_with("<skill "))? {
        RecognisedAnswer::Bodies(injections) => Some(injections.into_iter().rev().collect()),
        _ => None,
    }
}
