//! What `read-properties` reads.

use super::error::{Crash, Error};
use super::frontmatter;
use super::python;
use super::value::Value;

/// The properties of a skill. They are read, not validated: any name and any shape of the optional fields will do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Properties {
    /// The name, without whitespace around it.
    pub name: String,
    /// The description, without whitespace around it.
    pub description: String,
    /// The licence.
    pub license: Option<Value>,
    /// The compatibility note.
    pub compatibility: Option<Value>,
    /// The tools the skill may use.
    pub allowed_tools: Option<Value>,
    /// The metadata; when it is a mapping, its values are text.
    pub metadata: Option<Value>,
}

impl Properties {
    /// Returns the properties as the JSON that `read-properties` prints, without the line break at its end.
    pub fn to_json(&self) -> Result<String, Crash> {
        let name = Value::Text(self.name.clone());
        let description = Value::Text(self.description.clone());
        let mut entries = vec![("name", &name), ("description", &description)];
        let optional = [
            ("license", &self.license),
            ("compatibility", &self.compatibility),
            ("allowed-tools", &self.allowed_tools),
        ];
        entries.extend(optional.into_iter().filter_map(|(key, value)| Some((key, value.as_ref()?))));
        entries.extend(
            self.metadata.as_ref().filter(|value| value.is_truthy()).map(|value| ("metadata", value)),
        );
        python::to_json(&entries)
    }
}

/// Reads the properties from the text of a `SKILL.md`.
///
/// ```
/// use repertoire_model::compat::skills_ref::read_properties;
/// let properties = read_properties("---\nname: pdf\ndescription: foo --- bar\n---\n").unwrap();
/// assert_eq!(properties.description, "foo");
/// ```
pub fn read_properties(content: &str) -> Result<Properties, Error> {
    let frontmatter = frontmatter::parse(content)?;
    let field = |name: &str| {
        let missing = || Error::Skill(format!("Missing required field in frontmatter: {name}"));
        frontmatter.get(name).ok_or_else(missing)
    };
    let (name, description) = (field("name")?, field("description")?);
    let text = |field: &str, value: &Value| match value.as_text().map(python::strip) {
        Some(text) if !text.is_empty() => Ok(text.to_owned()),
        _ => Err(Error::Skill(format!("Field '{field}' must be a non-empty string"))),
    };
    Ok(Properties {
        name: text("name", name)?,
        description: text("description", description)?,
        license: frontmatter.get("license").cloned(),
        compatibility: frontmatter.get("compatibility").cloned(),
        allowed_tools: frontmatter.get("allowed-tools").cloned(),
        metadata: frontmatter.get("metadata").cloned(),
    })
}
