//! The rules of the Python reference `skills-ref` 0.1.1, faults included.
//!
//! Frontmatter ends at the first `---` anywhere, flow style, tags, anchors and repeated keys are refused,
//! block lists are taken for `allowed-tools`, and empty `compatibility` is valid, unlike in `rep check`.

#[cfg(test)]
mod tests;

use repertoire_model::yaml::{self, MappingEntry, Node};
use serde_json::{Map, Value};
use unicode_normalization::UnicodeNormalization as _;

const FENCE: &str = "---";
const MAX_NAME_CHARS: usize = 64;
const MAX_DESCRIPTION_CHARS: usize = 1024;
const MAX_COMPATIBILITY_CHARS: usize = 500;

/// The fields of the standard, sorted.
const KNOWN_FIELDS: [&str; 6] =
    ["allowed-tools", "compatibility", "description", "license", "metadata", "name"];

/// The properties of a skill, not validated.
pub(super) struct Properties {
    name: String,
    description: String,
    /// The optional fields, in the order of the output.
    others: Vec<(&'static str, Value)>,
}

impl Properties {
    pub(super) fn to_json(&self) -> String {
        let mut fields = Map::new();
        fields.insert("name".to_owned(), self.name.clone().into());
        fields.insert("description".to_owned(), self.description.clone().into());
        fields.extend(self.others.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        format!("{:#}", Value::Object(fields))
    }
}

/// Returns the errors of a manifest that lies in a directory called `directory_name`.
pub(super) fn validate(content: &str, directory_name: &str) -> Vec<String> {
    let fields = match frontmatter(content) {
        Ok(fields) => fields,
        Err(error) => return vec![error],
    };
    let mut errors = Vec::new();
    check_known(&fields, &mut errors);
    match fields.get("name") {
        Some(name) => check_name(name, directory_name, &mut errors),
        None => errors.push(missing("name")),
    }
    match fields.get("description") {
        Some(description) => check_description(description, &mut errors),
        None => errors.push(missing("description")),
    }
    match fields.get("compatibility") {
        Some(Value::String(text)) => {
            check_length("Compatibility", text, MAX_COMPATIBILITY_CHARS, &mut errors);
        }
        Some(_) => errors.push("Field 'compatibility' must be a string".to_owned()),
        None => {}
    }
    errors
}

/// Returns the properties of a manifest, or what keeps it from having any.
pub(super) fn read_properties(content: &str) -> Result<Properties, String> {
    let mut fields = frontmatter(content)?;
    for name in ["name", "description"] {
        if !fields.contains_key(name) {
            return Err(missing(name));
        }
    }
    let (name, description) = (stripped(&fields, "name")?, stripped(&fields, "description")?);
    let mut others = Vec::new();
    for name in ["license", "compatibility", "allowed-tools", "metadata"] {
        let is_empty =
            |value: &Value| name == "metadata" && matches!(value, Value::String(text) if text.is_empty());
        others.extend(fields.remove(name).filter(|value| !is_empty(value)).map(|value| (name, value)));
    }
    Ok(Properties { name, description, others })
}

/// Returns the `<available_skills>` block of `skills`, each with the path of its manifest.
pub(super) fn to_prompt(skills: &[(Properties, String)]) -> String {
    let mut prompt = String::from("<available_skills>\n");
    for (properties, location) in skills {
        let (name, description) = (escape(&properties.name), escape(&properties.description));
        prompt.push_str(&format!(
            "<skill>\n<name>\n{name}\n</name>\n<description>\n{description}\n</description>\n\
             <location>\n{location}\n</location>\n</skill>\n"
        ));
    }
    prompt + "</available_skills>"
}

/// Returns the fields of the frontmatter; every scalar is text.
fn frontmatter(content: &str) -> Result<Map<String, Value>, String> {
    let Some(rest) = content.strip_prefix(FENCE) else {
        return Err("SKILL.md must start with YAML frontmatter (---)".to_owned());
    };
    let Some((text, _body)) = rest.split_once(FENCE) else {
        return Err("SKILL.md frontmatter not properly closed with ---".to_owned());
    };
    let parsed = yaml::parse(text).map_err(|fault| invalid(&fault.message))?;
    let Some(Node::Mapping(entries, _)) = &parsed.root else {
        return match parsed.root {
            Some(node) => plain(text, &node).and(Err(not_a_mapping())),
            None => Err(not_a_mapping()),
        };
    };
    let mut fields = plain_entries(text, entries)?;
    if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
        for value in metadata.values_mut().filter(|value| !value.is_string()) {
            *value = Value::String(value.to_string());
        }
    }
    Ok(fields)
}

/// Returns `node` as JSON whose scalars are all text, or why the reference refuses it.
fn plain(text: &str, node: &Node) -> Result<Value, String> {
    let first = text.as_bytes().get(node.range().start);
    match node {
        Node::Scalar(scalar) => Ok(Value::String(scalar.text.clone())),
        _ if matches!(first, Some(b'[' | b'{')) => Err(invalid("flow style is not allowed")),
        Node::Sequence(items, _) => {
            items.iter().map(|item| plain(text, item)).collect::<Result<_, _>>().map(Value::Array)
        }
        Node::Mapping(entries, _) => plain_entries(text, entries).map(Value::Object),
    }
}

fn plain_entries(text: &str, entries: &[MappingEntry]) -> Result<Map<String, Value>, String> {
    let mut fields = Map::new();
    for MappingEntry { key, value } in entries {
        if fields.insert(key.text.clone(), plain(text, value)?).is_some() {
            return Err(invalid(&format!("duplicate key '{}'", key.text)));
        }
    }
    Ok(fields)
}

fn invalid(message: &str) -> String {
    format!("Invalid YAML in frontmatter: {message}")
}

fn not_a_mapping() -> String {
    "SKILL.md frontmatter must be a YAML mapping".to_owned()
}

fn missing(field: &str) -> String {
    format!("Missing required field in frontmatter: {field}")
}

/// Returns the text of the field `name` without the whitespace around it; empty text is an error.
fn stripped(fields: &Map<String, Value>, name: &str) -> Result<String, String> {
    let text = fields.get(name).and_then(Value::as_str).unwrap_or_default().trim();
    if text.is_empty() {
        Err(format!("Field '{name}' must be a non-empty string"))
    } else {
        Ok(text.to_owned())
    }
}

fn check_known(fields: &Map<String, Value>, errors: &mut Vec<String>) {
    let mut unknown: Vec<&str> =
        fields.keys().map(String::as_str).filter(|name| !KNOWN_FIELDS.contains(name)).collect();
    unknown.sort_unstable();
    if !unknown.is_empty() {
        let known = KNOWN_FIELDS.map(|field| format!("'{field}'")).join(", ");
        let unknown = unknown.join(", ");
        errors.push(format!("Unexpected fields in frontmatter: {unknown}. Only [{known}] are allowed."));
    }
}

fn check_name(name: &Value, directory_name: &str, errors: &mut Vec<String>) {
    let stripped = name.as_str().unwrap_or_default().trim();
    if stripped.is_empty() {
        errors.push("Field 'name' must be a non-empty string".to_owned());
        return;
    }
    let name: String = stripped.nfkc().collect();
    check_length(&format!("Skill name '{name}'"), &name, MAX_NAME_CHARS, errors);
    if name != name.to_lowercase() {
        errors.push(format!("Skill name '{name}' must be lowercase"));
    }
    if name.starts_with('-') || name.ends_with('-') {
        errors.push("Skill name cannot start or end with a hyphen".to_owned());
    }
    if name.contains("--") {
        errors.push("Skill name cannot contain consecutive hyphens".to_owned());
    }
    if !name.chars().all(|c| c.is_alphanumeric() || c == '-') {
        errors.push(format!(
            "Skill name '{name}' contains invalid characters. Only letters, digits, and hyphens are allowed."
        ));
    }
    if directory_name.nfkc().ne(name.chars()) {
        errors.push(format!("Directory name '{directory_name}' must match skill name '{name}'"));
    }
}

fn check_description(description: &Value, errors: &mut Vec<String>) {
    let text = description.as_str().unwrap_or_default();
    if text.trim().is_empty() {
        errors.push("Field 'description' must be a non-empty string".to_owned());
        return;
    }
    check_length("Description", text, MAX_DESCRIPTION_CHARS, errors);
}

fn check_length(subject: &str, text: &str, most: usize, errors: &mut Vec<String>) {
    let length = text.chars().count();
    if length > most {
        errors.push(format!("{subject} exceeds {most} character limit ({length} chars)"));
    }
}

/// Returns `text` as Python's `html.escape` writes it.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#x27;")
}
