//! Which of the ways.

use crate::answer::{Answer, Wording};

/// How an answer is written down.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Render {
    /// Content in elements that it cannot close; the default for models.
    #[default]
    Xml,
    /// One JSON object with every key present, in the shape of Bernstein's `load_skill`.
    Json,
    /// The sentences of the harness guide, word for word.
    Text,
    /// Headings, lists and fenced text.
    Markdown,
}

impl Render {
    /// Every way.
    pub const ALL: [Self; 4] = [Self::Xml, Self::Json, Self::Text, Self::Markdown];

    /// Returns the word used on every surface.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Xml => "xml",
            Self::Json => "json",
            Self::Text => "text",
            Self::Markdown => "markdown",
        }
    }

    /// Returns the way that goes by `word`.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|render| render.as_str() == word)
    }
}

impl Answer {
    /// Returns the answer as the model reads it.
    pub fn render(&self, render: Render, wording: &Wording) -> String {
        let _ = (render, wording);
        String::new()
    }

    /// Returns the answer as a program reads it, whatever the model reads.
    pub fn data(&self, wording: &Wording) -> serde_json::Value {
        let _ = wording;
        serde_json::Value::Null
    }
}
