//! Recognises answers of `load_skill`, so that a transcript alone shows which instructions it holds.
//!
//! An answer that is not certainly whole is not recognised: giving instructions twice costs tokens,
//! withholding them costs the task.

use serde_json::Value;

use super::Injection;
use super::render::guard::unguard;
use super::render::sentence::ALREADY_ACTIVE;
use crate::{Digest, SkillName};

/// The most bytes that a host may have written before an answer.
const MAX_PREFIX_BYTES: usize = 4 * 1024;

/// The most positions of a text at which an answer is searched.
const MAX_PLACES: usize = 16;

/// The beginnings of answers with instructions and of acknowledgements. JSON is recognised by its keys.
const OPENINGS: [&str; 6] =
    ["<skill ", "<skill_active ", MARKDOWN, MARKDOWN_ACKNOWLEDGED, "Loaded skill '", "Required skill '"];
const MARKDOWN: &str = "Skill loaded: ";
const MARKDOWN_ACKNOWLEDGED: &str = "Skill loaded before: ";

/// An answer of `load_skill` or `unload_skill` that was recognised by its text.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecognisedAnswer {
    /// The call failed.
    Failed,
    /// The skill was reported to be in the context already.
    Acknowledged(SkillName),
    /// The instructions of these skills stand in the text, whole: each matches the digest in its stamp.
    Bodies(Vec<Injection>),
    /// Instructions of these skills stand in the text without a stamp, so they may not be whole: a host may
    /// have trimmed them.
    Unstamped(Vec<Injection>),
    /// The skill was reported to be unloaded now, or not to have been loaded.
    Unloaded(SkillName),
}

impl RecognisedAnswer {
    /// Returns the skills whose instructions stand in the text, stamped or not.
    pub fn bodies(&self) -> &[Injection] {
        match self {
            Self::Bodies(injections) | Self::Unstamped(injections) => injections,
            Self::Failed | Self::Acknowledged(_) | Self::Unloaded(_) => &[],
        }
    }

    /// Returns the skills that were loaded, or reported to be loaded already.
    pub(crate) fn loads(&self) -> impl Iterator<Item = &SkillName> {
        let acknowledged = if let Self::Acknowledged(name) = self { Some(name) } else { None };
        self.bodies().iter().map(|body| &body.name).chain(acknowledged)
    }
}

/// Returns the answer in `text`, in any rendering; `None` if it is not an answer, incomplete or changed.
///
/// A host may have written text around it: an answer is found at the start of any of the first lines.
///
/// ```
/// use repertoire_model::answer::{RecognisedAnswer, recognise};
/// assert_eq!(recognise("Error: Unknown skill 'x'. Check the skill menu."), Some(RecognisedAnswer::Failed));
/// assert_eq!(recognise("The weather is fine."), None);
/// ```
pub fn recognise(text: &str) -> Option<RecognisedAnswer> {
    match examine(text) {
        Examination::Whole(recognised) => Some(recognised),
        Examination::Broken | Examination::Foreign => None,
    }
}

/// The result of examining a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Examination {
    Whole(RecognisedAnswer),
    /// The remains of one: it begins like one, but was cut or changed.
    Broken,
    /// Any other text.
    Foreign,
}

pub(crate) fn examine(text: &str) -> Examination {
    let text = text.trim_start();
    if let Some(recognised) = in_one_line(text) {
        return Examination::Whole(recognised);
    }
    // The first that looks like ours decides: content of a broken answer must not pass for an answer.
    let mut found = places(text).map(|place| examine_at(text, place));
    if let Some(found) = found.find(|examined| *examined != Examination::Foreign) {
        return found;
    }
    let mut lines = text.lines().filter(|_| text.len() <= MAX_PREFIX_BYTES);
    lines.find_map(in_one_line).map_or(Examination::Foreign, Examination::Whole)
}

/// Returns the skills of the first answer with stamped instructions in `text`, at the start of any line.
pub(crate) fn stamped_bodies(text: &str) -> Vec<Injection> {
    let starts = std::iter::once(0).chain(memchr::memchr_iter(b'\n', text.as_bytes()).map(|end| end + 1));
    let openings = ["<skill ", MARKDOWN, "{\"name\":"];
    let mut places =
        starts.filter(|place| openings.iter().any(|opening| text[*place..].starts_with(opening)));
    // The first that looks like ours decides, as for results of calls.
    match places.next().map(|place| examine_at(&text[place..], 0)) {
        Some(Examination::Whole(RecognisedAnswer::Bodies(bodies))) => bodies,
        _ => Vec::new(),
    }
}

fn in_one_line(text: &str) -> Option<RecognisedAnswer> {
    let is_failed =
        ["<skill_error kind=\"", "Error: ", "**Error:** "].iter().any(|start| text.starts_with(start));
    if is_failed { Some(RecognisedAnswer::Failed) } else { sentence(text) }
}

/// Returns the offsets in `text` at which an answer may begin: at the start of a line, or, if it is an
/// element, behind another tag.
fn places(text: &str) -> impl Iterator<Item = usize> {
    let prefix = &text.as_bytes()[..text.len().min(MAX_PREFIX_BYTES)];
    let behind = memchr::memchr2_iter(b'\n', b'>', prefix).map(|end| end + 1);
    let is_place = |place: &usize| {
        let is_line = *place == 0 || text.as_bytes()[place - 1] == b'\n';
        let Some(rest) = text.get(*place..) else { return false };
        let is_opened = OPENINGS.iter().any(|opening| rest.starts_with(opening));
        if is_line { is_opened || rest.starts_with('{') } else { is_opened && rest.starts_with('<') }
    };
    std::iter::once(0).chain(behind).filter(is_place).take(MAX_PLACES)
}

fn examine_at(text: &str, place: usize) -> Examination {
    let rest = &text[place..];
    if rest.starts_with('{') {
        let Some(Ok(answer)) = serde_json::Deserializer::from_str(rest).into_iter().next() else {
            let is_ours = place == 0 || rest.starts_with("{\"name\":");
            return if is_ours { Examination::Broken } else { Examination::Foreign };
        };
        return json(&answer);
    }
    let read = if rest.starts_with("<skill_active ") || rest.starts_with(MARKDOWN_ACKNOWLEDGED) {
        acknowledged(rest).map(RecognisedAnswer::Acknowledged)
    } else if rest.starts_with('<') {
        xml(rest)
    } else if rest.starts_with(MARKDOWN) {
        markdown(rest).map(RecognisedAnswer::Bodies)
    } else {
        plain(rest).map(RecognisedAnswer::Unstamped)
    };
    read.map_or(Examination::Broken, Examination::Whole)
}

fn sentence(text: &str) -> Option<RecognisedAnswer> {
    let text = text.trim_end();
    let named = |start: &str, end: &str| name(text.strip_prefix(start)?.strip_suffix(end)?);
    if let Some(name) = named("Skill '", "' is already loaded.") {
        return Some(RecognisedAnswer::Acknowledged(name));
    }
    let unloaded = [
        ("Unloaded skill '", "'."),
        ("Skill '", "' is not loaded."),
        ("Skill `", "` is unloaded: stop following its instructions."),
        ("Skill `", "` is not loaded."),
        ("Skill unloaded: ", ""),
        ("Skill not loaded: ", ""),
    ];
    unloaded.into_iter().find_map(|(start, end)| named(start, end)).map(RecognisedAnswer::Unloaded)
}

fn acknowledged(text: &str) -> Option<SkillName> {
    if let Some(rest) = text.strip_prefix("<skill_active name=\"") {
        let (name, rest) = rest.split_once('"')?;
        let (_, sentence) = rest.split_once('>')?;
        return self::name(name).filter(|_| sentence.starts_with(ALREADY_ACTIVE));
    }
    let (name, sentence) = text.strip_prefix(MARKDOWN_ACKNOWLEDGED)?.split_once('\n')?;
    self::name(name).filter(|_| sentence.starts_with(ALREADY_ACTIVE))
}

fn json(answer: &Value) -> Examination {
    let error = answer.get("error");
    if answer.get("body").is_none() {
        let is_fault =
            error.is_some_and(Value::is_string) && answer.get("kind").is_some_and(Value::is_string);
        if is_fault {
            return Examination::Whole(RecognisedAnswer::Failed);
        }
        let is_unloaded =
            error.is_some_and(Value::is_null) && answer.get("unloaded").is_some_and(Value::is_boolean);
        let name = answer.get("name").and_then(Value::as_str).and_then(name).filter(|_| is_unloaded);
        return name
            .map_or(Examination::Foreign, |name| Examination::Whole(RecognisedAnswer::Unloaded(name)));
    }
    // Every key is always present; an object without these is not ours.
    if error.is_none() || answer.get("digest").is_none() || answer.get("available_references").is_none() {
        return Examination::Foreign;
    }
    json_loaded(answer).map_or(Examination::Broken, Examination::Whole)
}

fn json_loaded(answer: &Value) -> Option<RecognisedAnswer> {
    if answer["error"].is_string() {
        return Some(RecognisedAnswer::Failed);
    }
    if answer["digest"].is_null() {
        let is_acknowledged =
            answer["body"].as_str()?.is_empty() && answer["note"].as_str()?.starts_with(ALREADY_ACTIVE);
        let name = name(answer.get("name")?.as_str()?)?;
        return is_acknowledged.then_some(RecognisedAnswer::Acknowledged(name));
    }
    let required = match answer.get("required") {
        None => &[][..],
        Some(required) => required.as_array()?,
    };
    required.iter().chain([answer]).map(json_body).collect::<Option<_>>().map(RecognisedAnswer::Bodies)
}

fn json_body(skill: &Value) -> Option<Injection> {
    let text = |key: &str| skill.get(key)?.as_str();
    injection(text("name")?, text("body")?, Some(text("digest")?))
}

/// Reads element after element; content cannot close one, and attributes hold no `>`.
fn xml(mut text: &str) -> Option<RecognisedAnswer> {
    let mut bodies = Vec::new();
    let mut is_stamped = true;
    while let Some(rest) = text.strip_prefix("<skill ") {
        let (attributes, rest) = rest.split_once(">\n")?;
        let (body, rest) = rest.split_once("\n</skill>")?;
        let (name, digest) = (attribute(attributes, "name")?, attribute(attributes, "digest"));
        bodies.push(injection(name, &unguard(body), digest)?);
        is_stamped &= digest.is_some();
        text = rest.strip_prefix('\n').unwrap_or_default();
    }
    Some(if is_stamped { RecognisedAnswer::Bodies(bodies) } else { RecognisedAnswer::Unstamped(bodies) })
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

/// Reads block after block; a comment holds the byte length of each. Earlier versions wrote no fences.
fn markdown<'a>(mut text: &'a str) -> Option<Vec<Injection>> {
    let mut bodies = Vec::new();
    while let Some(rest) = text.strip_prefix(MARKDOWN) {
        let (title, rest) = rest.split_once('\n')?;
        let (name, _) = title.split_once(" (approx. ")?;
        let rest = match rest.strip_prefix("Source: ") {
            Some(source) => source.split_once('\n')?.1,
            None => rest,
        };
        let (stamp, rest) = rest.strip_prefix("<!-- skill ")?.split_once(" bytes -->\n\n")?;
        let mut words = stamp.split(' ');
        let (stamped, digest, bytes) = (words.next()?, words.next()?, words.next()?.parse().ok()?);
        if stamped != name || words.next().is_some() {
            return None;
        }
        let read = |(body, rest): (&str, &'a str)| Some((injection(name, body, Some(digest))?, rest));
        // A body without fences may begin like a fence; the digest tells the two forms apart.
        let fenced = between_fences(rest, bytes).and_then(read);
        let (injection, rest) = fenced.or_else(|| read(rest.split_at_checked(bytes)?))?;
        if !rest.is_empty() && !rest.starts_with('\n') {
            return None;
        }
        bodies.push(injection);
        text = rest.strip_prefix("\n\n").unwrap_or_default();
    }
    Some(bodies)
}

/// Returns the text of this length between fences at the start of `text`, and what follows.
fn between_fences(text: &str, bytes: usize) -> Option<(&str, &str)> {
    let (fence, rest) = text.split_once('\n')?;
    let (body, rest) = rest.split_at_checked(bytes)?;
    let line_end = if body.is_empty() || body.ends_with('\n') { "" } else { "\n" };
    let is_fence = fence.len() >= 3 && fence.bytes().all(|byte| byte == b'`');
    let rest = rest.strip_prefix(line_end)?.strip_prefix(fence)?;
    is_fence.then_some((body, rest))
}

/// Reads the required skills first, of known length, and the documentation, which goes on to the end.
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
    while let Some(line) = rest.strip_prefix("Note: ").or_else(|| rest.strip_prefix("Tool: ")) {
        (_, rest) = line.split_once("\n\n")?;
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
