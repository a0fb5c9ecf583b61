//! The weights of the ranking, chosen by measurement (`bench/README.md`).

use repertoire_model::answer::Field;

/// The weights of the ranking.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights {
    /// A word in the name.
    pub name: f32,
    /// A word in the description.
    pub description: f32,
    /// A word among tags and trigger keywords.
    pub keywords: f32,
    /// A word in a heading.
    pub headings: f32,
    /// A word in the prose of the body.
    pub prose: f32,
    /// A word in the code of the body.
    pub code: f32,
    /// A word in a file of the skill or its name.
    pub files: f32,
    /// The influence of the length of the body on its words, from 0 to 1.
    pub length: f32,
    /// The weight at which a word adds half of its maximum.
    pub saturation: f32,
    /// The exponent of the inverse document frequency: 1 as in BM25, less for a smaller difference between
    /// rare and frequent words.
    pub rarity: f32,
    /// The weight of a stop word relative to other words.
    pub common: f32,
    /// The exponent of the importance of words; 0 ignores it.
    pub importance: f32,
    /// Two adjacent words of the query that are adjacent in the skill.
    pub pair: f32,
    /// The share of the name that is in the query.
    pub name_share: f32,
    /// The penalty of a word that the description excludes.
    pub excluded: f32,
    /// The cosine of the embeddings.
    pub meaning: f32,
    /// The reduction of `meaning` as the words put one skill ahead of all others.
    pub lead: f32,
    /// A long description, whose author says much about what the skill is for. It counts less in long
    /// queries, whose scores are low.
    pub described: f32,
    /// The increase of `rarity` in long queries.
    pub long_rarity: f32,
    /// The exponent of the number of times that a word is in the query.
    pub repeated: f32,
    /// The share of the query that a skill has at all, by the rarity of its words. It counts less in small
    /// libraries, where rarity says little.
    pub coverage: f32,
    /// The increase of the weight of the first words of a query, where most people say what they want.
    pub beginning: f32,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            name: 7.4,
            description: 3.95,
            keywords: 1.6,
            headings: 3.51,
            prose: 1.42,
            code: 0.7,
            files: 0.5,
            length: 0.528,
            saturation: 5.6,
            rarity: 0.2,
            common: 0.35,
            importance: 0.7,
            pair: 0.36,
            name_share: 0.255,
            excluded: 1.0,
            meaning: 3.4,
            lead: 4.2,
            described: 0.055,
            long_rarity: 0.6,
            repeated: 0.15,
            coverage: 0.35,
            beginning: 0.3,
        }
    }
}

impl Weights {
    /// Returns the weight of a word in `field`. The penalty of an excluded word is applied elsewhere.
    pub(crate) fn of(&self, field: Field) -> f32 {
        match field {
            Field::Name => self.name,
            Field::Description => self.description,
            Field::Keywords => self.keywords,
            Field::Headings => self.headings,
            Field::Prose => self.prose,
            Field::Code => self.code,
            Field::Files => self.files,
            Field::Excluded => 0.0,
        }
    }
}
