//! What `to-prompt` writes.

use super::properties::Properties;

/// One skill of the prompt.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// The skill's properties.
    pub properties: &'a Properties,
    /// The absolute path of its `SKILL.md`. It is not escaped.
    pub location: &'a str,
}

/// Returns the `<available_skills>` block for `entries`, without a line break at its end.
///
/// ```
/// use repertoire_model::compat::skills_ref::to_prompt;
/// assert_eq!(to_prompt(&[]), "<available_skills>\n</available_skills>");
/// ```
pub fn to_prompt(entries: &[Entry<'_>]) -> String {
    let mut prompt = String::from("<available_skills>\n");
    for Entry { properties, location } in entries {
        let (name, description) = (escape(&properties.name), escape(&properties.description));
        prompt.push_str(&format!(
            "<skill>\n<name>\n{name}\n</name>\n<description>\n{description}\n</description>\n\
             <location>\n{location}\n</location>\n</skill>\n"
        ));
    }
    prompt.push_str("</available_skills>");
    prompt
}

/// Python's `html.escape`, with quotes.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#x27;"),
            c => escaped.push(c),
        }
    }
    escaped
}
