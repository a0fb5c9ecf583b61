//! The results of a search.

use repertoire_model::answer::SearchResult;
use schemars::JsonSchema;
use serde::Serialize;

/// The skills that a search found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SearchView {
    /// The query.
    pub query: String,
    /// The skills, best first; empty if none was found.
    pub results: Vec<FoundSkillView>,
}

/// A skill that a search found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct FoundSkillView {
    /// The name.
    pub name: String,
    /// The source.
    pub source: String,
    /// The location of the skill.
    pub path: String,
    /// The description.
    pub description: String,
    /// The score, from 0 to about 1, which compares the results of one query.
    pub score: f64,
    /// The estimated probability that the skill fits, from 0 to 1; below 0.5 the result is weak.
    pub confidence: f64,
    /// The words of the query that the skill has, most significant first; empty if only the meaning is near.
    pub why: Vec<MatchedWordView>,
    /// The section of the instructions that the query is most about; `null` if none has a word of the query.
    pub section: Option<SectionView>,
}

impl FoundSkillView {
    /// Returns the view of `result`, a skill of `source`.
    pub fn new(result: &SearchResult, source: &str) -> Self {
        let why = result.why.iter().map(|matched| MatchedWordView {
            word: matched.word.clone(),
            fields: matched.fields.iter().map(|field| field.as_str()).collect(),
        });
        Self {
            name: result.name.to_string(),
            source: source.to_owned(),
            path: result.path.clone(),
            description: result.description.clone(),
            score: result.score.value(),
            confidence: result.confidence.value(),
            why: why.collect(),
            section: result.section.as_ref().map(|section| SectionView {
                title: section.title.to_string(),
                lines: [section.first_line, section.last_line],
                tokens: section.tokens,
            }),
        }
    }
}

/// A word of a query that a skill has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct MatchedWordView {
    /// The word.
    pub word: String,
    /// The places that have it: `name`, `description`, `keywords`, `headings`, `body`, `code`, `files`, or
    /// `excluded` for the part of the description that says what the skill is not for.
    pub fields: Vec<&'static str>,
}

/// A section of the instructions of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct SectionView {
    /// The title.
    pub title: String,
    /// The first and the last line in `SKILL.md`.
    pub lines: [usize; 2],
    /// The tokens, counted approximately.
    pub tokens: usize,
}
