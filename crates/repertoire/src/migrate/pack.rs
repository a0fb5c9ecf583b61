//! A role as a skill.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use repertoire_model::{Document, Policy, Profile, Severity, SkillName, Source, repair, text, yaml};

use super::RoleFiles;
use super::description::describe;

/// From this many lines on a section of examples gets a file of its own.
const MAX_EXAMPLE_LINES: usize = 20;
/// The version that a skill starts with, unless the role has one.
const FIRST_VERSION: &str = "1.0.0";
/// The most placeholders that are told.
const MAX_PLACEHOLDERS_TOLD: usize = 10;

/// A skill that a role becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pack {
    /// Its name.
    pub name: SkillName,
    /// Its files, `SKILL.md` first.
    pub files: Vec<PackFile>,
    /// What a person should look at.
    pub notes: Vec<String>,
}

/// A file of a [`Pack`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackFile {
    /// Its path in the skill.
    pub path: &'static str,
    /// What it holds.
    pub text: String,
}

impl Pack {
    /// Returns the skill that `role` becomes, or `None` if no name can be made of its directory's.
    ///
    /// ```
    /// use repertoire::migrate::{Pack, RoleFiles};
    /// let role = RoleFiles {
    ///     name: "Back_End".to_owned(),
    ///     system_prompt: "You are a backend engineer.\n".to_owned(),
    ///     ..RoleFiles::default()
    /// };
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
            notes.push(format!("the skill is called `{name}`, because `{}` is no standard name", role.name));
        }
        let config = role.config.as_deref().map(Config::of).unwrap_or_default();
        let prompt = role.system_prompt.strip_prefix('\u{feff}').unwrap_or(&role.system_prompt);
        let (description, note) = describe(name.as_str(), prompt, config.description.as_deref());
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
        let version = config.version.as_deref().unwrap_or(FIRST_VERSION);
        let (quoted, version) = (repair::quote(&description), repair::quote(version));
        let text = format!("---\nname: {name}\ndescription: {quoted}\nversion: {version}\n---\n{body}");
        notes.extend(findings(&name, &text));
        files.insert(0, PackFile { path: "SKILL.md", text });
        Some(Self { name, files, notes })
    }
}

/// What a role's configuration says that a skill can say too.
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

/// Returns what the strict profile finds in the new `SKILL.md`, so that nobody is surprised later.
fn findings(name: &SkillName, skill: &str) -> Vec<String> {
    let source = Source { bytes: skill.as_bytes(), directory: Some(name.as_str()), file_name: "SKILL.md" };
    let document = Document::parse(source, &Policy::of(Profile::Strict));
    let told = document.diagnostics.iter().filter(|found| found.severity >= Severity::Warning);
    told.map(|found| format!("{} ({})", found.message, found.rule)).collect()
}

/// Returns the note about what a template would have filled in.
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
    let lines: Vec<&str> = prompt.split_inclusive('\n').collect();
    let headings = headings(&lines);
    let (mut body, mut examples) = (String::with_capacity(prompt.len()), String::new());
    let mut next = 0;
    for (position, (line, level, title)) in headings.iter().enumerate() {
        if *line < next || !title.to_lowercase().starts_with("example") {
            continue;
        }
        let end = headings[position + 1..].iter().find(|(_, other, _)| other <= level);
        let end = end.map_or(lines.len(), |(line, ..)| *line);
        if end - line <= MAX_EXAMPLE_LINES {
            continue;
        }
        body.extend(lines[next..*line].iter().copied());
        let _ = write!(
            body,
            "{} {title}\n\nRead [the examples](references/examples.md) before the first piece of work.\n{}",
            "#".repeat(*level),
            if end < lines.len() { "\n" } else { "" }
        );
        examples.extend(lines[*line..end].iter().copied());
        next = end;
    }
    body.extend(lines[next..].iter().copied());
    (body, (!examples.is_empty()).then_some(examples))
}

/// Returns the line, level and title of every heading outside code.
fn headings(lines: &[&str]) -> Vec<(usize, usize, String)> {
    let mut found = Vec::new();
    let mut is_code = false;
    for (number, line) in lines.iter().enumerate() {
        let trimmed = line.trim();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            is_code = !is_code;
        }
        let level = line.bytes().take_while(|byte| *byte == b'#').count();
        if !is_code && (1..=6).contains(&level) && line[level..].starts_with(' ') {
            found.push((number, level, line[level..].trim().trim_end_matches('#').trim_end().to_owned()));
        }
    }
    found
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
            "---\nname: qa\ndescription: \"Tests releases. Use when one is near.\"\nversion: \"2.1\"\n---\n\
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
