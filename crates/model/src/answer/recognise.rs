//! Reads answers of `load_skill` back, so that a transcript alone says which instructions it holds.
//!
//! What is not surely whole is not recognised: giving instructions twice costs tokens, keeping them back costs the task.

use serde_json::Value;

use super::render::guard::unguard;
use super::render::sentence::ALREADY_ACTIVE;
use super::{FaultKind, Injection};
use crate::{Digest, SkillName};

/// What an answer of `load_skill` was, as far as its text tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recognised {
    /// The call failed.
    Failed,
    /// The skill was said to be in the context already.
    Acknowledged(SkillName),
    /// The instructions of these skills stand in the text, whole.
    Bodies(Vec<Injection>),
}

/// Returns what `text`, in any rendering, is the answer of; `None` where it is none, or not whole, or was changed.
///
/// ```
/// use repertoire_model::answer::{Recognised, recognise};
/// assert_eq!(recognise("Error: Unknown skill 'x'. Check the skill menu."), Some(Recognised::Failed));
/// assert_eq!(recognise("The weather is fine."), None);
/// ```
pub fn recognise(text: &str) -> Option<Recognised> {
    if text.starts_with("<skill_error kind=\"")
        || text.starts_with("Error: ")
        || text.starts_with("**Error:** ")
    {
        return Some(Recognised::Failed);
    }
    if let Some(name) = acknowledged(text) {
        return Some(Recognised::Acknowledged(name));
    }
    if text.starts_with('{') {
        return json(&serde_json::from_str(text).ok()?);
    }
    let bodies = if text.starts_with("<skill ") {
        xml(text)?
    } else if text.starts_with(MARKDOWN) {
        markdown(text)?
    } else {
        plain(text)?
    };
    Some(Recognised::Bodies(bodies))
}

const MARKDOWN: &str = "Skill loaded: ";

fn acknowledged(text: &str) -> Option<SkillName> {
    if let Some(rest) = text.strip_prefix("<skill_active name=\"") {
        let (name, rest) = rest.split_once('"')?;
        let (_, sentence) = rest.split_once('>')?;
        return self::name(name).filter(|_| sentence.starts_with(ALREADY_ACTIVE));
    }
    if let Some(rest) = text.strip_prefix("Skill loaded before: ") {
        let (name, sentence) = rest.split_once('\n')?;
        return self::name(name).filter(|_| sentence.starts_with(ALREADY_ACTIVE));
    }
    name(text.strip_prefix("Skill '")?.strip_suffix("' is already loaded.")?)
}

fn json(answer: &Value) -> Option<Recognised> {
    if let Some(kind) = answer.get("kind").filter(|_| answer.get("body").is_none()) {
        let is_fault =
            answer["error"].is_string() && FaultKind::WORDS.iter().chain([&"error"]).any(|word| kind == word);
        return is_fault.then_some(Recognised::Failed);
    }
    let body = answer.get("body")?.as_str()?;
    // Every key is always there; an object without these is somebody else's.
    let (error, digest) = (answer.get("error")?, answer.get("digest")?);
    answer.get("available_references")?;
    if error.is_string() {
        return Some(Recognised::Failed);
    }
    if digest.is_null() {
        let is_acknowledged = body.is_empty() && answer["note"].as_str()?.starts_with(ALREADY_ACTIVE);
        let name = name(answer.get("name")?.as_str()?)?;
        return is_acknowledged.then_some(Recognised::Acknowledged(name));
    }
    let required = match answer.get("required") {
        None => &[][..],
        Some(required) => required.as_array()?,
    };
    required.iter().chain([answer]).map(json_body).collect::<Option<_>>().map(Recognised::Bodies)
}

fn json_body(skill: &Value) -> Option<Injection> {
    let text = |key: &str| skill.get(key)?.as_str();
    injection(text("name")?, text("body")?, Some(text("digest")?))
}

/// Reads element after element; content cannot close one, and attributes hold no `>`.
fn xml(mut text: &str) -> Option<Vec<Injection>> {
    let mut bodies = Vec::new();
    while let Some(rest) = text.strip_prefix("<skill ") {
        let (attributes, rest) = rest.split_once(">\n")?;
        let (body, rest) = rest.split_once("\n</skill>")?;
        let name = attribute(attributes, "name")?;
        bodies.push(injection(name, &unguard(body), attribute(attributes, "digest"))?);
        text = rest.strip_prefix('\n').unwrap_or_default();
    }
    Some(bodies)
}

fn attribute<'a>(attributes: &'a str, key: &str) -> Option<&'a str> {
    // Values hold no quotes, so every second piece is one, and the piece before it is its key.
    let mut pieces = attributes.split('"');
    while let (Some(name), Some(value)) = (pieces.next(), pieces.next()) {
        if name.trim_start().strip_suffix('=') == Some(key) {
            return Some(value);
        }
    }
    None
}

/// Reads block after block; a comment says how many bytes each has.
fn markdown(mut text: &str) -> Option<Vec<Injection>> {
    let mut bodies = Vec::new();
    while let Some(rest) = text.strip_prefix(MARKDOWN) {
        let (title, rest) = rest.split_once('\n')?;
        let (name, _) = title.split_once(" (approx. ")?;
        let (stamp, rest) = rest.strip_prefix("<!-- skill ")?.split_once(" bytes -->\n\n")?;
        let mut words = stamp.split(' ');
        let (stamped, digest, bytes) = (words.next()?, words.next()?, words.next()?.parse().ok()?);
        let (body, rest) = rest.split_at_checked(bytes)?;
        let is_whole =
            stamped == name && words.next().is_none() && (rest.is_empty() || rest.starts_with('\n'));
        bodies.push(injection(name, body, Some(digest)).filter(|_| is_whole)?);
        text = rest.strip_prefix("\n\n").unwrap_or_default();
    }
    Some(bodies)
}

/// Reads what is required first, of known length, and the documentation, which goes on to the end.
fn plain(mut text: &str) -> Option<Vec<Injection>> {
    let mut bodies = Vec::new();
    while let Some(rest) = text.strip_prefix("Required skill '") {
        let (name, rest) = rest.split_once("' (")?;
        let (bytes, rest) = rest.split_once(" bytes):\n")?;
        let (body, rest) = rest.split_at_checked(bytes.parse().ok()?)?;
        bodies.push(injection(name, body, None)?);
        text = rest.strip_prefix("\n\n")?;
    }
    let (name, rest) = text.strip_prefix("Loaded skill '")?.split_once("' with ")?;
    let (tools, mut rest) = rest.split_once("\n\n")?;
    if !tools.contains(" tools: ") {
        return None;
    }
    while let Some(note) = rest.strip_prefix("Note: ") {
        (_, rest) = note.split_once("\n\n")?;
    }
    bodies.push(injection(name, rest.strip_prefix("Documentation:\n")?, None)?);
    Some(bodies)
}

/// Returns the skill with `body`, if it is the one that was stamped.
fn injection(name: &str, body: &str, stamped: Option<&str>) -> Option<Injection> {
    let digest = Digest::of(body.as_bytes());
    let is_stamped =
        stamped.is_none_or(|stamped| stamped == digest.to_stamp() || Digest::parse(stamped) == Some(digest));
    Some(Injection { name: self::name(name)?, digest }).filter(|_| is_stamped)
}

/// Returns the name that is written as `text` and in no other way.
fn name(text: &str) -> Option<SkillName> {
    SkillName::new(text).filter(|name| name.as_str() == text)
}
