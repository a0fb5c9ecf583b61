//! The element that a skill's instructions stand in when they are part of a prompt.

use repertoire_model::Digest;
use repertoire_model::answer::{Answer, Loaded, LoadedSkill, Occasion, Render};

use super::BindingOptions;
use crate::provider::Skill;

/// Returns the instructions of `skill` in the element that `load_skill` answers with, which they cannot close.
///
/// One shape for both, so that whoever looks through a conversation for skills finds those of the prompt too.
pub(crate) fn element(skill: &Skill, options: &BindingOptions) -> String {
    let (body, document) = (skill.body(), &skill.document);
    let skill = LoadedSkill {
        name: document.name.clone(),
        body: body.to_owned(),
        digest: Digest::of(body.as_bytes()),
        tokens: options.tokenizer.count(body),
        version: document.manifest.version.clone(),
        license: document.manifest.license.clone(),
        compatibility: document.manifest.compatibility.clone(),
        allowed_tools: document.manifest.allowed_tools.clone(),
        files: Vec::new(),
        more_files: 0,
        references: Vec::new(),
        scripts: Vec::new(),
        assets: Vec::new(),
        tools: Vec::new(),
        outline: Vec::new(),
        soft_limit: None,
    };
    let loaded = Loaded { first: Vec::new(), skill, occasion: Occasion::First, notes: Vec::new() };
    Answer::Loaded(Box::new(loaded)).render(Render::Xml, &options.wording)
}
