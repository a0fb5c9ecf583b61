//! A role as a skill.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use repertoire_model::document::frontmatter_json;
use repertoire_model::fields::{CLIENT_FIELDS, FIELDS, METADATA_FIELDS};
use repertoire_model::frontmatter::{Division, divide};
use repertoire_model::outline::headings;
use repertoire_model::{Document, ManifestSource, Policy, Profile, Severity, SkillName, repair, text, yaml};
use serde_json::Value;

use super::RoleFiles;
use super::description::describe;

/// From this many lines on a section of examples gets a file of its own.
const MAX_EXAMPLE_LINES: usize = 20;
/// The version that a skill starts with, unless the role has one.
const FIRST_VERSION: &str = "1.0.0";
const MAX_PLACEHOLDERS_TOLD: usize = 10;

/// A skill that a role becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pack {
    /// Its name.
    pub name: SkillName,
    /// Its files, `SKILL.md` first.
    pub files: Vec<PackFile>,
    /// Notes for a person to review.
    pub notes: Vec<String>,
}

/// A file of a [`Pack`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PackFile {
    /// Its path in the skill.
    pub path: &'static str,
    /// Its content.
    pub text: String,
}

impl Pack {
    /// Returns the skill that `role` becomes, or `None` if no name can be made of its directory's.
    ///
    /// ```
    /// use repertoire::migrate::{Pack, RoleFiles};
    /// let mut role = RoleFiles::default();
    /// role.name = "Back_End".to_owned();
    /// role.system_prompt = "You are a backend engineer.\n".to_owned();
    /// let pack = Pack::of(&role).unwrap();
    /// assert_eq!(pack.name.as_str(), "back-end");
    /// assert!(pack.files[0].text.contains("description: \"Acts as a backend engineer. Use when"));
    /// assert!(pack.files[0].text.ends_with("---\nYou are a backend engineer.\n"));
    /// ```
    pub fn of(role: &RoleFiles) -> Option<Self> {
        let letters = role.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { ' ' });
        let name = SkillName::slug(&letters.collect::<String>())?;
        let mut notes = Vec::new();
        if name.as_str() != role.name {
            notes.push(format!(
                "the skill is called `{name}`, because `{}` is not a standard name",
                role.name
            ));
        }
        let config = role.config.as_deref().map(Config::of).unwrap_or_default();
        let own = PromptFields::of(
            role.system_prompt.strip_prefix('\u{feff}').unwrap_or(&role.system_prompt),
            &name,
        );
        let prompt = own.body;
        notes.extend(own.note);
        let configured = own.description.as_deref().or(config.description.as_deref());
        let (description, note) = describe(name.as_str(), prompt, configured);
        notes.extend(note);
        notes.extend(placeholders(&role.system_prompt));
        let (mut body, examples) = without_examples(prompt);
        let mut files = Vec::new();
        let mut links = String::new();
        if let Some(text) = examples {
            files.push(PackFile { path: "references/examples.md", text });
        }
        if let Some(text) = role.task_prompt.clone() {
            links.push_str(
                "- [The template of a task](references/task-prompt.md), for whoever hands one out.\n",
            );
            files.push(PackFile { path: "references/task-prompt.md", text });
        }
        if let Some(text) = role.config.clone() {
            links.push_str("- [The settings of the role](assets/config.yaml), for whoever starts it.\n");
            files.push(PackFile { path: "assets/config.yaml", text });
        }
        if !links.is_empty() {
            let _ = write!(body, "{}\n## Files\n\n{links}", if body.ends_with('\n') { "" } else { "\n" });
        }
        let version = own.version.or(config.version).unwrap_or_else(|| FIRST_VERSION.to_owned());
        let (quoted, version) = (repair::quote(&description), repair::quote(&version));
        let (fields, metadata) = (own.fields, own.metadata);
        let text = format!(
            "---\nname: {name}\ndescription: {quoted}\n{fields}metadata:\n  version: {version}\n{metadata}---\n{body}"
        );
        notes.extend(findings(&name, &text));
        files.insert(0, PackFile { path: "SKILL.md", text });
        Some(Self { name, files, notes })
    }
}

/// The frontmatter of a prompt, which becomes part of the skill's.
#[derive(Default)]
struct PromptFields<'a> {
    description: Option<String>,
    version: Option<String>,
    /// The other fields of the open standard, a line each.
    fields: String,
    /// Everything else, which belongs under `metadata`, a line each.
    metadata: String,
    /// The prompt without it.
    body: &'a str,
    note: Option<String>,
}

impl<'a> PromptFields<'a> {
    fn of(prompt: &'a str, name: &SkillName) -> Self {
        let Division::Fenced(fenced) = divide(prompt) else {
            return Self { body: prompt, ..Self::default() };
        };
        let body = &prompt[fenced.body..];
        let Some(mut fields) = frontmatter_json(prompt) else {
            let note = "the frontmatter of the prompt cannot be read and was left out".to_owned();
            return Self { body, note: Some(note), ..Self::default() };
        };
        let mut string = |key: &str| match fields.remove(key) {
            Some(Value::String(text)) if !text.trim().is_empty() => Some(text.trim().to_owned()),
            Some(Value::Number(number)) => Some(number.to_string()),
            _ => None,
        };
        let (description, version) = (string("description"), string("version"));
        let other = string("name").filter(|other| other != name.as_str());
        let note = other.map(|other| {
            format!(
                "the prompt calls itself `{}`; the skill has the name of the role",
                text::visible_line(&other)
            )
        });
        let mut others = match fields.remove("metadata") {
            Some(Value::Object(metadata)) => metadata,
            _ => serde_json::Map::new(),
        };
        // Known fields keep their meaning at the top only.
        let is_kept = |key: &str| {
            !METADATA_FIELDS.contains(&key) && (FIELDS.contains(&key) || CLIENT_FIELDS.contains(&key))
        };
        let (kept, own): (Vec<_>, Vec<_>) = fields.into_iter().partition(|(key, _)| is_kept(key));
        others.extend(own);
        others.remove("version");
        // JSON is YAML too, so that every parsed value is written in a form that parses to the same value.
        let fields = kept.iter().map(|(key, value)| format!("{}: {value}\n", written_key(key))).collect();
        let metadata =
            others.iter().map(|(key, value)| format!("  {}: {}\n", written_key(key), metadata_value(value)));
        Self { description, version, fields, metadata: metadata.collect(), body, note }
    }
}

/// Returns `value` as `metadata` has it: a string, with commas between the words of a list; a list of words
/// with commas in them stays a list.
fn metadata_value(value: &Value) -> Value {
    match value {
        Value::String(_) => value.clone(),
        Value::Array(items) if items.iter().all(Value::is_string) => {
            let words: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            if words.iter().any(|word| word.contains(',')) { value.clone() } else { words.join(", ").into() }
        }
        other => other.to_string().into(),
    }
}

fn written_key(key: &str) -> String {
    let is_plain =
        !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    if is_plain { key.to_owned() } else { Value::from(key).to_string() }
}

/// The fields of a role's configuration that a skill can have too.
#[derive(Default)]
struct Config {
    description: Option<String>,
    version: Option<String>,
}

impl Config {
    fn of(text: &str) -> Self {
        let root = yaml::parse(text).ok().and_then(|parsed| parsed.root.map(|root| root.to_json()));
        let string = |key: &str| {
            let text = root.as_ref()?.get(key)?.as_str()?.trim();
            (!text.is_empty()).then(|| text.to_owned())
        };
        Self { description: string("description"), version: string("version") }
    }
}

/// Returns the findings of the strict profile in the new `SKILL.md`, so that they do not surprise later.
fn findings(name: &SkillName, skill: &str) -> Vec<String> {
    let source =
        ManifestSource { bytes: skill.as_bytes(), directory: Some(name.as_str()), file_name: "SKILL.md" };
    let document = Document::parse(source, &Policy::of(Profile::Strict));
    let told = document.diagnostics.iter().filter(|found| found.severity >= Severity::Warning);
    told.map(|found| format!("{} ({})", found.message, found.rule)).collect()
}

/// Returns the note about placeholders of a template.
fn placeholders(prompt: &str) -> Option<String> {
    let mut found = BTreeSet::new();
    for (open, close) in [("{{", "}}"), ("{%", "%}")] {
        let mut rest = prompt;
        while let Some(start) = rest.find(open) {
            rest = &rest[start..];
            let Some(end) = rest.find(close) else { break };
            found.insert(text::visible_line(&rest[..end + 2]));
            rest = &rest[end + 2..];
        }
    }
    if found.is_empty() {
        return None;
    }
    let told: Vec<&str> = found.iter().take(MAX_PLACEHOLDERS_TOLD).map(String::as_str).collect();
    let more = found.len().saturating_sub(MAX_PLACEHOLDERS_TOLD);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(format!("placeholders are kept as they are, and nothing fills them in: {}{more}", told.join(", ")))
}

/// Returns `prompt` without long sections of examples, and these.
fn without_examples(prompt: &str) -> (String, Option<String>) {
    let headings = headings(prompt);
    let (mut body, mut examples) = (String::with_capacity(prompt.len()), String::new());
    let mut next = 0;
    for (position, heading) in headings.iter().enumerate() {
        if heading.offset < next || !heading.title.to_lowercase().starts_with("example") {
            continue;
        }
        let end = headings[position + 1..].iter().find(|other| other.level <= heading.level);
        let end = end.map_or(prompt.len(), |other| other.offset);
        let section = &prompt[heading.offset..end];
        if section.lines().count() <= MAX_EXAMPLE_LINES {
            continue;
        }
        body.push_str(&prompt[next..heading.offset]);
        let _ = write!(
            body,
            "{} {}\n\nRead [the examples](references/examples.md) before the first piece of work.\n{}",
            "#".repeat(usize::from(heading.level)),
            heading.title,
            if end < prompt.len() { "\n" } else { "" }
        );
        examples.push_str(section);
        next = end;
    }
    body.push_str(&prompt[next..]);
    (body, (!examples.is_empty()).then_some(examples))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pack(role: RoleFiles) -> Pack {
        Pack::of(&RoleFiles { name: "qa".to_owned(), ..role }).unwrap()
    }

    #[test]
    fn every_file_finds_its_place() {
        let pack = pack(RoleFiles {
            system_prompt: "# QA\n\nYou are a tester for {{ team }}. Test {{TEAM}}.".to_owned(),
            task_prompt: Some("Do {{ task }}.\n".to_owned()),
            config: Some("description: Tests releases. Use when one is near.\nversion: \"2.1\"\n".to_owned()),
            ..RoleFiles::default()
        });
        let paths: Vec<&str> = pack.files.iter().map(|file| file.path).collect();
        assert_eq!(paths, ["SKILL.md", "references/task-prompt.md", "assets/config.yaml"]);
        assert_eq!(
            pack.files[0].text,
            "---\nname: qa\ndescription: \"Tests releases. Use when one is near.\"\nmetadata:\n  version: \"2.1\"\n---\n\
             # QA\n\nYou are a tester for {{ team }}. Test {{TEAM}}.\n\n## Files\n\n\
             - [The template of a task](references/task-prompt.md), for whoever hands one out.\n\
             - [The settings of the role](assets/config.yaml), for whoever starts it.\n"
        );
        let [note] = pack.notes.as_slice() else { panic!("{:?}", pack.notes) };
        assert!(note.ends_with("{{ team }}, {{TEAM}}"), "{note}");
    }

    #[test]
    fn long_examples_get_a_file_of_their_own() {
        let section = |lines: usize| format!("## Examples\n{}", "x\n".repeat(lines));
        let prompt = |lines| format!("# QA\n\n{}## Rules\n\nBe kind.\n", section(lines));
        let role = |prompt: String| RoleFiles { system_prompt: prompt, ..RoleFiles::default() };
        assert_eq!(pack(role(prompt(5))).files.len(), 1);
        let pack = pack(role(prompt(30)));
        assert_eq!(pack.files[1], PackFile { path: "references/examples.md", text: section(30) });
        let body = "# QA\n\n## Examples\n\nRead [the examples](references/examples.md) before the first piece of \
                    work.\n\n## Rules\n\nBe kind.\n";
        assert!(pack.files[0].text.ends_with(body), "{}", pack.files[0].text);
    }

    #[test]
    fn a_frontmatter_of_its_own_becomes_part_of_the_skills() {
        let prompt = "---\nname: tester\ndescription: Tests. Use when asked.\nversion: 2\ntags: [a, \"b: c\"]\n\
                      odd key: {x: 1}\n---\n# QA\n";
        let role = |prompt: &str| RoleFiles { system_prompt: prompt.to_owned(), ..RoleFiles::default() };
        let pack = pack(role(prompt));
        assert_eq!(
            pack.files[0].text,
            "---\nname: qa\ndescription: \"Tests. Use when asked.\"\nmetadata:\n  version: \"2\"\n  tags: \"a, b: c\"\n  \
             \"odd key\": \"{\\\"x\\\":1}\"\n---\n# QA\n"
        );
        let source = ManifestSource {
            bytes: pack.files[0].text.as_bytes(),
            directory: Some("qa"),
            file_name: "SKILL.md",
        };
        assert_eq!(Document::parse(source, &Policy::default()).manifest.tags, ["a", "b: c"]);
        assert!(pack.notes[0].contains("`tester`"), "{:?}", pack.notes);
        // A field that clients obey keeps its place.
        let hidden = super::tests::pack(role("---\ndisable-model-invocation: true\n---\n# QA\n"));
        assert!(
            hidden.files[0].text.contains("\ndisable-model-invocation: true\n"),
            "{}",
            hidden.files[0].text
        );
        let unreadable = Pack::of(&RoleFiles { name: "qa".to_owned(), ..role("---\n- a\n- b\n---\n# QA\n") });
        let unreadable = unreadable.unwrap();
        assert!(unreadable.files[0].text.ends_with("---\n# QA\n"), "{}", unreadable.files[0].text);
        assert!(unreadable.notes[0].contains("cannot be read"), "{:?}", unreadable.notes);
    }

    #[test]
    fn a_fence_ends_where_it_ends() {
        let long = "x\n".repeat(30);
        let prompt = format!("~~~\n```\n## Examples\n{long}~~~\n## Examples\n{long}");
        let (body, examples) = without_examples(&prompt);
        assert!(body.starts_with("~~~\n```\n## Examples\nx"), "{body}");
        assert_eq!(examples, Some(format!("## Examples\n{long}")));
    }

    #[test]
    fn code_is_no_heading_and_odd_names_are_made_standard() {
        let prompt = format!("```\n## Examples\n{}```\n", "x\n".repeat(50));
        assert_eq!(without_examples(&prompt), (prompt.clone(), None));
        let role = |name: &str| Pack::of(&RoleFiles { name: name.to_owned(), ..RoleFiles::default() });
        let pack = role("ML_Engineer (new)").unwrap();
        assert_eq!(pack.name.as_str(), "ml-engineer-new");
        assert!(pack.notes[0].contains("ML_Engineer"), "{:?}", pack.notes);
        assert_eq!(role("技能"), None);
    }
}
