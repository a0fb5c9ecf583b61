//! The element that a skill's instructions stand in when they are part of a prompt.

use std::fmt::Write as _;

use repertoire_model::Digest;

use crate::provider::Skill;

/// Returns the instructions of `skill` in an element that they cannot close.
pub(crate) fn element(skill: &Skill) -> String {
    let (body, document) = (skill.body(), &skill.document);
    let mut text = format!("<skill name=\"{}\"", document.name);
    if let Some(version) = &document.manifest.version {
        let _ = write!(text, " version=\"{}\"", attribute(version));
    }
    let _ = write!(
        text,
        " digest=\"{}\">\n{}\n</skill>",
        Digest::of(body.as_bytes()),
        guarded(body.trim_matches('\n'))
    );
    text
}

fn attribute(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;").replace(['\n', '\r'], " ")
}

/// Returns `body` with the mark that would close its element written as text.
fn guarded(body: &str) -> String {
    const CLOSE: &str = "</skill";
    let mut text = String::with_capacity(body.len());
    for (index, c) in body.char_indices() {
        let closes = body.get(index..index + CLOSE.len()).is_some_and(|at| at.eq_ignore_ascii_case(CLOSE));
        if closes { text.push_str("&lt;") } else { text.push(c) }
    }
    text
}
