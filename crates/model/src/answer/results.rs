//! Answers of `search_skills`.

use std::fmt;

use crate::outline::Section;
use crate::{SkillName, text};

/// The most characters of a description beside a result.
const MAX_SUMMARY_CHARS: usize = 240;
/// The most words that are given as the reason for a result.
const MAX_REASONS: usize = 8;
/// The most characters of one of them.
const MAX_WORD_CHARS: usize = 40;

/// The skills that a search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchResults {
    /// The query, shortened.
    pub query: String,
    /// The tag that the skills had to have.
    pub tag: Option<String>,
    /// The tag that was asked for and ignored, because no skill has it.
    pub ignored_tag: Option<String>,
    /// The skills, best first.
    pub results: Vec<SearchResult>,
    /// True if the model may know their paths; programs always do.
    pub shows_paths: bool,
}

/// A skill that a search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchResult {
    /// Its name.
    pub name: SkillName,
    /// Its description.
    pub description: String,
    /// Its location.
    pub path: String,
    /// The spelling of its `SKILL.md`.
    pub manifest_file: String,
    /// Its score.
    pub score: Score,
    /// The estimated probability that it fits.
    pub confidence: Score,
    /// The words that it was found by, the most significant first; empty if only the meaning is similar.
    pub why: Vec<MatchedWord>,
    /// The section of its instructions that the query is most about.
    pub section: Option<Section>,
    /// True if it is active.
    pub loaded: bool,
    /// Its source, if the results have several, or if it hides another of the same name.
    pub source: Option<String>,
}

/// The confidence below which a result is called weak.
const WEAK: f64 = 0.5;

impl SearchResult {
    /// Returns whether it is more likely not to fit.
    pub fn is_weak(&self) -> bool {
        self.confidence.value() < WEAK
    }

    /// Returns the description as one bounded line.
    pub fn summary(&self) -> String {
        text::shorten(&text::visible_line(&self.description), MAX_SUMMARY_CHARS)
    }

    /// Returns the reasons of the match as one bounded line, as in `name: pdf; description: fill, form`: each
    /// word with the field where it counts most. Insignificant words are left out if there are others.
    pub fn reasons(&self) -> String {
        let is_vague = self.why.iter().all(|matched| matched.is_common);
        let mut parts: Vec<String> = Vec::new();
        for field in Field::ALL {
            let matched = self.why.iter().filter(|matched| is_vague || !matched.is_common).take(MAX_REASONS);
            let words: Vec<String> = matched
                .filter(|matched| matched.fields.first() == Some(&field))
                .map(|matched| text::shorten(&text::visible_line(&matched.word), MAX_WORD_CHARS))
                .collect();
            if !words.is_empty() {
                parts.push(format!("{}: {}", field.as_str(), words.join(", ")));
            }
        }
        if parts.is_empty() { "meaning".to_owned() } else { parts.join("; ") }
    }
}

/// A word that a skill was found by, and the fields of the skill that have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchedWord {
    /// The word, as it was typed.
    pub word: String,
    /// The parts of the skill that have it, the most important first.
    pub fields: Vec<Field>,
    /// `true` for a stop word, such as `the`.
    pub is_common: bool,
}

/// The score of a skill for a query, from 0 to about 1, to the thousandth.
///
/// ```
/// use repertoire_model::answer::Score;
/// assert_eq!(Score::new(0.87249).to_string(), "0.872");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Score(u32);

impl Score {
    /// Returns `score`, rounded; a score that is not a number or negative is 0.
    pub fn new(score: f32) -> Self {
        // A cast of a number that is too large or too small saturates.
        Self((f64::from(score) * 1_000.0).round() as u32)
    }

    /// Returns it as a number.
    pub fn value(self) -> f64 {
        f64::from(self.0) / 1_000.0
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1_000, self.0 % 1_000)
    }
}

crate::words! {
    /// A part of a skill in which search finds words.
    #[derive(PartialOrd, Ord)]
    Field {
        /// The name, with its parts.
        Name "name",
        /// The description, without the clauses that say what the skill is not for.
        Description "description",
        /// Tags and trigger keywords.
        Keywords "keywords",
        /// The headings of the instructions.
        Headings "headings",
        /// The prose of the instructions.
        Prose "body",
        /// The code in the instructions.
        Code "code",
        /// The names and the beginnings of the files beside it.
        Files "files",
        /// The clauses of the description that say what the skill is not for.
        Excluded "excluded",
    }
}
