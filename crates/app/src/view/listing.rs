//! The listing of skills that a client shows its model.

use schemars::JsonSchema;
use serde::Serialize;

use super::AdviceView;

/// The listing of the skills that a client reads from files, as its model gets it by the client's rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct ListingView {
    /// The name by which commands know the client.
    pub client: &'static str,
    /// The name that people know.
    pub title: &'static str,
    /// The version of the client that the rule is of.
    pub version: &'static str,
    /// The address that the rule was read at; `null` if it was compared with requests of the client.
    pub source: Option<&'static str>,
    /// The settings of the client that change its rule, each with its value and its place.
    pub settings: Vec<String>,
    /// The tokens of the context window.
    pub window: usize,
    /// The room for all skills; `null` without a limit.
    pub budget: Option<usize>,
    /// The unit of the room: `characters` or `tokens`; `null` without a limit.
    pub unit: Option<&'static str>,
    /// The part of the room that the client's own skills take.
    pub own: usize,
    /// The tokens that the listing of these skills adds to every session.
    pub tokens: usize,
    /// The number of skills that the model gets whole.
    pub whole: usize,
    /// The number of skills with a description that is cut.
    pub cut: usize,
    /// The number of skills whose name alone the model gets.
    pub name_only: usize,
    /// The number of skills that the model gets nothing of.
    pub gone: usize,
    /// The skills, in the order of the listing.
    pub skills: Vec<ListedSkillView>,
    /// The changes that bring most, the best first; empty if nothing is lost.
    pub advice: Vec<AdviceView>,
}

impl ListingView {
    /// Returns the losses in words, such as `12 cut, 3 gone`; empty if the model gets everything.
    pub fn losses(&self) -> String {
        let counts = [(self.cut, "cut"), (self.name_only, "by name only"), (self.gone, "gone")];
        let words =
            counts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}"));
        words.collect::<Vec<_>>().join(", ")
    }
}

/// A skill in the listing of a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct ListedSkillView {
    /// The name by which the client knows it.
    pub name: String,
    /// The path of its `SKILL.md`.
    pub path: String,
    /// The part that the model gets: `whole`, `cut`, `name_only` or `gone`.
    pub shown: &'static str,
    /// The characters of the description that the model gets.
    pub characters: usize,
    /// The description, as written.
    pub description: String,
    /// The text that the model gets of the skill.
    pub text: String,
}
