//! The frontmatter, cut and read the reference's way.

use super::error::{Crash, Error};
use super::python;
use super::value::Value;
use super::yaml::{self, Refusal};

const FENCE: &str = "---";

/// The fields of the frontmatter, in the order of the source.
pub(super) struct Frontmatter {
    fields: Vec<(String, Value)>,
}

impl Frontmatter {
    /// Returns the field called `name`.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.fields.iter().find(|(field, _)| field == name).map(|(_, value)| value)
    }

    /// Returns the names of all fields.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|(field, _)| field.as_str())
    }
}

/// Returns the text of a `SKILL.md` as Python reads it: strict UTF-8, every line break a `\n`, a byte order mark
/// kept.
///
/// ```
/// use repertoire_model::compat::skills_ref::decode;
/// assert_eq!(decode(b"---\r\nname: a\r\n").unwrap(), "---\nname: a\n");
/// assert_eq!(
///     decode(b"\xff").unwrap_err().last_line(),
///     "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
/// );
/// ```
pub fn decode(bytes: &[u8]) -> Result<String, Crash> {
    match python::decode_utf8(bytes) {
        Ok(text) => Ok(python::universal_newlines(text)),
        Err(problem) => Err(Crash::new(format!("UnicodeDecodeError: {problem}"))),
    }
}

/// Returns the frontmatter of a `SKILL.md`.
///
/// It reaches from the first `---` to the second one wherever that stands, even inside a word.
pub(super) fn parse(content: &str) -> Result<Frontmatter, Error> {
    let Some(rest) = content.strip_prefix(FENCE) else {
        return Err(Error::Skill("SKILL.md must start with YAML frontmatter (---)".to_owned()));
    };
    let Some((text, _body)) = rest.split_once(FENCE) else {
        return Err(Error::Skill("SKILL.md frontmatter not properly closed with ---".to_owned()));
    };
    let value = yaml::load(text).map_err(|refusal| match refusal {
        Refusal::Yaml(message) => Error::Skill(format!("Invalid YAML in frontmatter: {message}")),
        Refusal::Crash(crash) => Error::Crash(crash),
    })?;
    let Some(Value::Map(mut fields)) = value else {
        return Err(Error::Skill("SKILL.md frontmatter must be a YAML mapping".to_owned()));
    };
    for (name, value) in &mut fields {
        if name == "metadata"
            && let Value::Map(pairs) = value
        {
            for (_, value) in pairs {
                *value = Value::Text(python::str_value(value));
            }
        }
    }
    Ok(Frontmatter { fields })
}
