//! The parts of a system prompt and their order.
//!
//! Each contribution to a prompt is a [`Fragment`]; [`compose`] puts the fragments together. The order
//! depends on nothing but priorities and names, so that the same parts always give the same bytes: prompt
//! caches match on the prefix.

/// The agent's own prompt. Everything that describes the agent itself stands below zero.
pub const AGENT_PROMPT: i32 = -40;
/// Skills whose instructions are always in the prompt.
pub const BOUND_SKILLS: i32 = -30;
/// The additions of an agent's definition to its prompt and to the skills bound to it.
pub const INSTRUCTIONS: i32 = -20;
/// Lines that point at skills to load.
pub const HINTS: i32 = -10;
/// The origin of a message.
pub const CHANNEL_CONTEXT: i32 = 0;
/// The way in which the agent says that it is done.
pub const COMPLETION_INSTRUCTION: i32 = 20;
/// The workplace of the agent.
pub const WORKSPACE: i32 = 40;
/// The skill that is the agent's role.
pub const ROLE: i32 = 50;
/// The catalog of skills.
pub const SKILLS: i32 = 60;
/// The instructions of the skill that is the agent's role.
pub const ROLE_SKILL: i32 = 70;
/// Memories.
pub const MEMORY: i32 = 100;

/// A part of a system prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fragment {
    /// The name of the part, which orders parts of one priority.
    pub name: String,
    /// The priority of the part: lower ones come first.
    pub priority: i32,
    /// Its text; an empty part is left out.
    pub text: String,
}

impl Fragment {
    /// Returns the part `name` with the text `text`.
    pub fn new(name: impl Into<String>, priority: i32, text: impl Into<String>) -> Self {
        Self { name: name.into(), priority, text: text.into() }
    }

    /// Returns the text of the part without the line breaks around it.
    fn trimmed(&self) -> &str {
        // A blank part is empty; but blanks at the start of a first line may be part of a list or code.
        if self.text.trim().is_empty() { "" } else { self.text.trim_matches(['\n', '\r']) }
    }
}

/// Returns the parts that are not empty, in their order.
pub fn ordered(fragments: &[Fragment]) -> Vec<&Fragment> {
    let mut said: Vec<&Fragment> = fragments.iter().filter(|part| !part.trimmed().is_empty()).collect();
    said.sort_by(|a, b| (a.priority, &a.name, &a.text).cmp(&(b.priority, &b.name, &b.text)));
    said
}

/// Returns the parts as one text: by priority, then by name, with one blank line between them.
///
/// Like the catalog, the text does not end with a line break.
///
/// ```
/// use repertoire_model::prompt::{self, Fragment, compose};
/// let skills = Fragment::new("skills", prompt::SKILLS, "Skills:\n- git: Version control.\n");
/// let workspace = Fragment::new("workspace", prompt::WORKSPACE, "You work in /src.");
/// let done = Fragment::new("completion", prompt::COMPLETION_INSTRUCTION, "Say `done` at the end.");
/// let memory = Fragment::new("memory", prompt::MEMORY, "");
/// assert_eq!(
///     compose(&[memory, skills, workspace, done]),
///     "Say `done` at the end.\n\nYou work in /src.\n\nSkills:\n- git: Version control."
/// );
/// ```
pub fn compose(fragments: &[Fragment]) -> String {
    let texts: Vec<&str> = ordered(fragments).into_iter().map(Fragment::trimmed).collect();
    texts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_stand_by_priority_and_then_by_name() {
        let parts = [
            Fragment::new("b", 60, "three"),
            Fragment::new("a", 60, "two\n\n"),
            Fragment::new("z", i32::MIN, "\n  one"),
            Fragment::new("y", 0, " \n\t"),
            Fragment::new("x", i32::MAX, "four"),
        ];
        assert_eq!(compose(&parts), "  one\n\ntwo\n\nthree\n\nfour");
        assert_eq!(compose(&parts[3..4]), "");
        assert_eq!(compose(&[]), "");
    }

    #[test]
    fn the_order_of_the_founding_designs() {
        const {
            assert!(AGENT_PROMPT < BOUND_SKILLS && BOUND_SKILLS < INSTRUCTIONS && INSTRUCTIONS < HINTS);
            assert!(HINTS < CHANNEL_CONTEXT && CHANNEL_CONTEXT < COMPLETION_INSTRUCTION);
            assert!(COMPLETION_INSTRUCTION < WORKSPACE && WORKSPACE < SKILLS && SKILLS < MEMORY);
        }
        assert_eq!((CHANNEL_CONTEXT, SKILLS, MEMORY), (0, 60, 100));
    }
}
