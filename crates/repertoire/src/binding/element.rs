//! The element that a skill's instructions stand in when they are part of a prompt.

use repertoire_model::Policy;
use repertoire_model::answer::{Answer, Loaded, LoadedSkill, Occasion, Render, Wording};
use repertoire_model::catalog::Tokenizer;
use repertoire_model::tokens::approximate;

use super::BindingOptions;
use crate::provider::OpenedSkill;
use crate::registry::Entry;
use crate::tool::loaded;

/// Returns the skill as a prompt holds it: what `load_skill` would give of it.
pub(crate) fn bindable(
    entry: &Entry,
    opened: &OpenedSkill,
    policy: &Policy,
    options: &BindingOptions,
) -> LoadedSkill {
    // The same figure as in the answers of tools, where an exact count takes too long.
    let price = |text: &str| match options.tokenizer {
        Tokenizer::Chars4 => Tokenizer::Chars4.count(text),
        _ => approximate(text),
    };
    let skill = loaded(entry, opened, policy, options.include_frontmatter, &price);
    LoadedSkill { location: options.show_location.then(|| entry.directory().to_owned()), ..skill }
}

/// Returns the instructions of `skill` in the element that `load_skill` answers with, which they cannot close, and what
/// there is of files.
///
/// One shape for both, so that whoever looks through a conversation for skills finds those of the prompt too.
pub(crate) fn element(skill: LoadedSkill, wording: &Wording) -> String {
    let loaded = Loaded { first: Vec::new(), skill, occasion: Occasion::First, notes: Vec::new() };
    Answer::Loaded(Box::new(loaded)).render(Render::Xml, wording)
}
