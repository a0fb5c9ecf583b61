//! The element that a skill's instructions stand in when they are part of a prompt.

use repertoire_model::answer::{Answer, Loaded, LoadedSkill, Occasion, Render};

use super::BindingOptions;
use crate::provider::Skill;

/// Returns the instructions of `skill` in the element that `load_skill` answers with, which they cannot close.
///
/// One shape for both, so that whoever looks through a conversation for skills finds those of the prompt too.
pub(crate) fn element(skill: &Skill, options: &BindingOptions) -> String {
    let (body, document) = (skill.body(), &skill.document);
    let skill = LoadedSkill {
        tokens: options.tokenizer.count(body),
        version: document.manifest.version.clone(),
        license: document.manifest.license.clone(),
        compatibility: document.manifest.compatibility.clone(),
        allowed_tools: document.manifest.allowed_tools.clone(),
        ..LoadedSkill::new(document.name.clone(), body)
    };
    let loaded = Loaded { first: Vec::new(), skill, occasion: Occasion::First, notes: Vec::new() };
    Answer::Loaded(Box::new(loaded)).render(Render::Xml, &options.wording)
}
