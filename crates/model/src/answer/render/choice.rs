//! The choice of a rendering.

use serde_json::{Value, json};

use super::{json, markdown, sentence, text, xml};
use crate::answer::{Answer, Wording};

crate::words! {
    /// The rendering of an answer.
    #[derive(Default)]
    #[non_exhaustive]
    Render {
        /// Content in elements that it cannot close; the default for models.
        #[default]
        Xml "xml",
        /// One JSON object with every key present, in the shape of Bernstein's `load_skill`.
        Json "json",
        /// The sentences of the harness guide, word for word. Content stands in no element; the line before a
        /// file gives its length in bytes.
        Text "text",
        /// Headings, lists and fenced text.
        Markdown "markdown",
        /// The instructions of a skill and nothing else, and otherwise the sentences of [`Render::Text`].
        Body "body",
    }
}

impl Answer {
    /// Returns the answer as the model reads it; no line end is added to its end.
    ///
    /// ```
    /// use repertoire_model::SkillName;
    /// use repertoire_model::answer::{Answer, Render, Wording};
    /// let answer = Answer::Unloaded(SkillName::new("pdf").unwrap());
    /// assert_eq!(answer.render(Render::Text, &Wording::default()), "Unloaded skill 'pdf'.");
    /// ```
    pub fn render(&self, render: Render, wording: &Wording) -> String {
        match render {
            Render::Xml => xml::render(self, wording),
            Render::Json => json::shape(self, wording).to_string(),
            Render::Text => text::render(self, wording),
            Render::Markdown => markdown::render(self, wording),
            Render::Body => match self {
                Self::Loaded(loaded) if loaded.first.is_empty() => loaded.skill.body.to_string(),
                _ => text::render(self, wording),
            },
        }
    }

    /// Returns the answer as structured data, independent of the rendering: the object of [`Render::Json`], a
    /// word for its `kind`, for a fault a word for which `fault` it is, the `path` of every skill that a
    /// search found, and the [`metadata`](Self::metadata) if there is some.
    pub fn data(&self, wording: &Wording) -> Value {
        let mut data = json::shape(self, wording);
        data["kind"] = self.kind().into();
        if let Self::Fault(fault) = self {
            data["fault"] = fault.kind.as_str().into();
        }
        if let Self::Results(results) = self {
            for (index, result) in results.results.iter().enumerate() {
                data["results"][index]["path"] = result.path.as_str().into();
            }
        }
        if let Some(metadata) = self.metadata() {
            data["metadata"] = metadata;
        }
        data
    }

    /// Returns the metadata of a message that puts skills into the context: that it does, and which.
    pub fn metadata(&self) -> Option<Value> {
        let Self::Loaded(loaded) = self else { return None };
        let ids: Vec<String> = sentence::skills(loaded).map(sentence::address).collect();
        Some(json!({ "skillInjection": true, "skillIds": ids }))
    }

    /// Returns the word for what kind of answer this is.
    fn kind(&self) -> &'static str {
        match self {
            Self::Loaded(_) => "loaded",
            Self::Acknowledged(_) => "acknowledged",
            Self::Bucket(_) => "bucket",
            Self::Unloaded(_) => "unloaded",
            Self::NotLoaded(_) => "not_loaded",
            Self::File(_) => "file",
            Self::Files(_) => "files",
            Self::Skills(_) => "skills",
            Self::Results(_) => "results",
            Self::Tool(_) => "tool_result",
            Self::Custom { .. } => "custom",
            Self::Fault(_) => "error",
        }
    }
}
