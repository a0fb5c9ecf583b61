//! A role prompt divided into the role, which stays a prompt, and its knowledge, which becomes a skill.

use std::collections::BTreeMap;

use repertoire_model::frontmatter::{Division, divide};
use repertoire_model::outline::headings;
use repertoire_model::{repair, text};

use super::{Pack, RoleFiles};
use crate::prompt::{Jinja, Renderer as _};

/// Words in the headings of sections that belong to the role itself, in lower case.
const ROLE_WORDS: &[&str] = &[
    "role",
    "identity",
    "persona",
    "mission",
    "goal",
    "responsib",
    "working dir",
    "workflow",
    "process",
    "steps",
    "constraint",
    "rules",
    "boundar",
    "tone",
    "output",
];

/// The most headings that the description of the knowledge lists.
const MAX_TOPICS: usize = 5;

/// A proposal to divide a role: the prompt that stays, and the skill with the knowledge.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RoleSplit {
    /// The part of the prompt that says who the agent is and how it works.
    pub prompt: String,
    /// The skill with everything else.
    pub pack: Pack,
}

impl RoleSplit {
    /// Returns the proposal for `role`, or `None` if its prompt has no section of knowledge or gives no name.
    ///
    /// Sections about the role itself stay: its workflow, its constraints, its working directory. The files
    /// beside the prompt stay where they are.
    ///
    /// ```
    /// use repertoire::migrate::{RoleFiles, RoleSplit};
    /// let mut role = RoleFiles::default();
    /// role.name = "builder".to_owned();
    /// role.system_prompt = "You are a builder.\n\n## Workflow\n\n1. Build.\n\n## Event bus\n\nIt has topics.\n".to_owned();
    /// let split = RoleSplit::of(&role).unwrap();
    /// assert_eq!(split.prompt, "You are a builder.\n\n## Workflow\n\n1. Build.\n");
    /// assert_eq!(split.pack.name.as_str(), "builder-knowledge");
    /// assert!(split.pack.files[0].text.contains("## Event bus\n\nIt has topics.\n"));
    /// ```
    pub fn of(role: &RoleFiles) -> Option<Self> {
        let written = role.system_prompt.strip_prefix('\u{feff}').unwrap_or(&role.system_prompt);
        let body = match divide(written) {
            Division::Fenced(fenced) => &written[fenced.body..],
            _ => written,
        };
        let headings = headings(body);
        // A heading before all text is the title of the whole prompt, if there is no other of its level.
        let title = headings.first().filter(|first| {
            let is_alone = headings.iter().skip(1).all(|other| other.level > first.level);
            is_alone && body[..first.offset].trim().is_empty()
        });
        let rest = &headings[usize::from(title.is_some())..];
        let level = rest.iter().map(|heading| heading.level).min();
        let sections: Vec<_> = rest.iter().filter(|heading| Some(heading.level) == level).collect();
        let (mut prompt, mut knowledge, mut topics) = (String::new(), String::new(), Vec::new());
        prompt.push_str(&body[..sections.first().map_or(body.len(), |first| first.offset)]);
        for (index, section) in sections.iter().enumerate() {
            let end = sections.get(index + 1).map_or(body.len(), |next| next.offset);
            let folded = section.title.to_lowercase();
            if ROLE_WORDS.iter().any(|word| folded.contains(word)) {
                prompt.push_str(&body[section.offset..end]);
            } else {
                knowledge.push_str(&body[section.offset..end]);
                topics.push(text::visible_line(&section.title));
            }
        }
        if topics.is_empty() {
            return None;
        }
        let more = if topics.len() > MAX_TOPICS { " and more" } else { "" };
        topics.truncate(MAX_TOPICS);
        let role_name = text::visible_line(&role.name);
        let description = format!(
            "Knowledge of the {role_name} role: {}{more}. Use when working as {role_name}.",
            topics.join(", ")
        );
        let system_prompt = format!("---\ndescription: {}\n---\n{knowledge}", repair::quote(&description));
        let mut pack = Pack::of(&RoleFiles {
            name: format!("{}-knowledge", role.name),
            system_prompt,
            ..RoleFiles::default()
        })?;
        pack.notes.push(
            "name the skill after what it is about, and say in its description when to use it".to_owned(),
        );
        let prompt = format!("{}\n", prompt.trim_end());
        let is_template = |text: &str| Jinja.render(text, &BTreeMap::new()).is_ok();
        if !is_template(&prompt) && is_template(body) {
            pack.notes.push(
                "a block of the template spans sections that were divided; mend the prompt that stays"
                    .to_owned(),
            );
        }
        Some(Self { prompt, pack })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(system_prompt: &str) -> Option<RoleSplit> {
        let name = "builder".to_owned();
        RoleSplit::of(&RoleFiles { name, system_prompt: system_prompt.to_owned(), ..RoleFiles::default() })
    }

    #[test]
    fn y61_role_and_knowledge_are_divided_by_sections() {
        let prompt = "---\nmodel: x\n---\n# Builder\n\nYou are the builder.\n\n## Contract\n\nImplement it.\n\n### Details\n\nD.\n\n\
                      ## Constraints\n\nNever hardcode.\n\n## Manifest schema\n\nKeys.\n";
        let split = split(prompt).unwrap();
        assert_eq!(split.prompt, "# Builder\n\nYou are the builder.\n\n## Constraints\n\nNever hardcode.\n");
        let skill = &split.pack.files[0].text;
        assert!(
            skill.contains(
                "description: \"Knowledge of the builder role: Contract, Manifest schema. Use when"
            ),
            "{skill}"
        );
        assert!(
            skill.ends_with(
                "---\n## Contract\n\nImplement it.\n\n### Details\n\nD.\n\n## Manifest schema\n\nKeys.\n"
            ),
            "{skill}"
        );
    }

    #[test]
    fn y61_examples_go_to_references_and_divided_blocks_are_noted() {
        let examples = "x\n".repeat(30);
        let prompt = format!("You are the builder.\n\n## Contract\n\nKeep it.\n\n## Examples\n\n{examples}");
        let split = super::tests::split(&prompt).unwrap();
        let [skill, file] = split.pack.files.as_slice() else { panic!("{:?}", split.pack.files) };
        assert!(skill.text.contains("## Contract\n\nKeep it.\n"), "{}", skill.text);
        assert_eq!((file.path, file.text.lines().count()), ("references/examples.md", 32));
        let note = "a block of the template spans sections";
        let is_noted = |split: &RoleSplit| split.pack.notes.iter().any(|found| found.starts_with(note));
        assert!(!is_noted(&split));
        let spanning = "You are.\n{% if big %}\n\n## Contract\n\nKeep it.\n{% endif %}\n";
        assert!(is_noted(&super::tests::split(spanning).unwrap()));
    }

    #[test]
    fn y61_a_prompt_without_knowledge_is_not_divided() {
        assert_eq!(split("You are the builder.\n"), None);
        assert_eq!(split("# Builder\n\n## Workflow\n\n1. Build.\n"), None);
        assert_eq!(
            split("You are the builder.\n\n## Event bus\n\nTopics.\n").unwrap().prompt,
            "You are the builder.\n"
        );
    }
}
