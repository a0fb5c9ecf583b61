//! What `validate` complains about, in its order.

use unicode_normalization::UnicodeNormalization;

use super::error::{Crash, Error};
use super::frontmatter;
use super::python;
use super::value::Value;

const MAX_NAME_CHARS: usize = 64;
const MAX_DESCRIPTION_CHARS: usize = 1024;
const MAX_COMPATIBILITY_CHARS: usize = 500;

/// The fields that the standard knows, sorted.
const KNOWN_FIELDS: [&str; 6] =
    ["allowed-tools", "compatibility", "description", "license", "metadata", "name"];

/// Returns every complaint about the text of a `SKILL.md` that lies in a directory called `directory_name`.
///
/// ```
/// use repertoire_model::compat::skills_ref::validate;
/// let content = "---\nname: Pdf\ndescription: Reads PDF files.\n---\n";
/// assert_eq!(validate(content, "Pdf").unwrap(), ["Skill name 'Pdf' must be lowercase"]);
/// ```
pub fn validate(content: &str, directory_name: &str) -> Result<Vec<String>, Crash> {
    let frontmatter = match frontmatter::parse(content) {
        Ok(frontmatter) => frontmatter,
        Err(Error::Skill(message)) => return Ok(vec![message]),
        Err(Error::Crash(crash)) => return Err(crash),
    };
    let mut errors = Vec::new();
    check_known(frontmatter.names(), &mut errors);
    match frontmatter.get("name") {
        Some(name) => check_name(name, directory_name, &mut errors),
        None => errors.push("Missing required field in frontmatter: name".to_owned()),
    }
    match frontmatter.get("description") {
        Some(description) => check_description(description, &mut errors),
        None => errors.push("Missing required field in frontmatter: description".to_owned()),
    }
    if let Some(compatibility) = frontmatter.get("compatibility") {
        check_compatibility(compatibility, &mut errors);
    }
    Ok(errors)
}

fn check_known<'a>(names: impl Iterator<Item = &'a str>, errors: &mut Vec<String>) {
    let mut unknown: Vec<&str> = names.filter(|name| !KNOWN_FIELDS.contains(name)).collect();
    unknown.sort_unstable();
    if !unknown.is_empty() {
        let known = KNOWN_FIELDS.map(|field| format!("'{field}'")).join(", ");
        let unknown = unknown.join(", ");
        errors.push(format!("Unexpected fields in frontmatter: {unknown}. Only [{known}] are allowed."));
    }
}

fn check_name(name: &Value, directory_name: &str, errors: &mut Vec<String>) {
    let stripped = name.as_text().map(python::strip).unwrap_or_default();
    if stripped.is_empty() {
        errors.push("Field 'name' must be a non-empty string".to_owned());
        return;
    }
    let name: String = stripped.nfkc().collect();
    let length = name.chars().count();
    if length > MAX_NAME_CHARS {
        errors.push(format!("Skill name '{name}' exceeds {MAX_NAME_CHARS} character limit ({length} chars)"));
    }
    if name != name.to_lowercase() {
        errors.push(format!("Skill name '{name}' must be lowercase"));
    }
    if name.starts_with('-') || name.ends_with('-') {
        errors.push("Skill name cannot start or end with a hyphen".to_owned());
    }
    if name.contains("--") {
        errors.push("Skill name cannot contain consecutive hyphens".to_owned());
    }
    if !name.chars().all(|c| python::is_alnum(c) || c == '-') {
        errors.push(format!(
            "Skill name '{name}' contains invalid characters. Only letters, digits, and hyphens are allowed."
        ));
    }
    if directory_name.nfkc().ne(name.chars()) {
        errors.push(format!("Directory name '{directory_name}' must match skill name '{name}'"));
    }
}

fn check_description(description: &Value, errors: &mut Vec<String>) {
    let text = description.as_text().unwrap_or_default();
    if python::strip(text).is_empty() {
        errors.push("Field 'description' must be a non-empty string".to_owned());
        return;
    }
    let length = text.chars().count();
    if length > MAX_DESCRIPTION_CHARS {
        errors.push(format!("Description exceeds {MAX_DESCRIPTION_CHARS} character limit ({length} chars)"));
    }
}

fn check_compatibility(compatibility: &Value, errors: &mut Vec<String>) {
    let Some(text) = compatibility.as_text() else {
        errors.push("Field 'compatibility' must be a string".to_owned());
        return;
    };
    let length = text.chars().count();
    if length > MAX_COMPATIBILITY_CHARS {
        errors.push(format!(
            "Compatibility exceeds {MAX_COMPATIBILITY_CHARS} character limit ({length} chars)"
        ));
    }
}
