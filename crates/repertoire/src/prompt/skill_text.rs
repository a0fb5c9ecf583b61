//! The text of a skill as models read it, in answers of `load_skill` and in prompts.

use repertoire_model::answer::LoadedSkill;
use repertoire_model::document::frontmatter_json;
use repertoire_model::policy::{Policy, ResourceListing};
use repertoire_model::{FileKind, State};

use crate::provider::OpenedSkill;
use crate::registry::{Entry, available_files};

/// Returns the skill as it is given to a model: its instructions, or the whole file with
/// `include_frontmatter`, and its files.
///
/// `price` estimates the number of tokens of a text.
pub(crate) fn skill_text(
    entry: &Entry,
    opened: &OpenedSkill,
    policy: &Policy,
    include_frontmatter: bool,
    price: &dyn Fn(&str) -> usize,
) -> LoadedSkill {
    let manifest = &opened.skill.document.manifest;
    let body = instructions(opened, include_frontmatter);
    let (files, more_files) = listed_files(opened, policy.resource_listing, policy.max_listed);
    let allowed_tools = (!manifest.allowed_tools.is_empty())
        .then(|| frontmatter_json(&opened.skill.text)?.remove("allowed-tools"))
        .flatten();
    LoadedSkill {
        address: qualified_address(entry),
        source: entry.told_source(),
        manifest_file: entry.manifest_file.to_string(),
        tokens: price(body),
        version: manifest.version.clone(),
        author: manifest.author.clone(),
        license: manifest.license.clone(),
        compatibility: manifest.compatibility.clone(),
        allowed_tools,
        files,
        more_files,
        available: available_files(manifest, &opened.files.files, policy),
        ..LoadedSkill::new(entry.name().clone(), body)
    }
}

/// Returns the text of the skill that is given: its instructions, or the whole file with
/// `include_frontmatter`.
pub(crate) fn instructions(opened: &OpenedSkill, include_frontmatter: bool) -> &str {
    if include_frontmatter { &opened.skill.text } else { opened.skill.body() }
}

/// Returns the address of the skill: its name, or `source:name` if another skill holds the name.
pub(crate) fn qualified_address(entry: &Entry) -> String {
    if entry.state == State::Active { entry.name().to_string() } else { entry.qualified_name() }
}

/// Returns the files that the skill is reported to have, up to the limit, and the number of the rest.
fn listed_files(opened: &OpenedSkill, listing: ResourceListing, most: usize) -> (Vec<String>, usize) {
    let manifest = &opened.skill.document.manifest;
    let found = opened.files.files.iter().filter(|file| file.kind != FileKind::Manifest);
    let found = found.map(|file| file.path.to_string());
    let kinds = [FileKind::Reference, FileKind::Script, FileKind::Asset];
    let declared = kinds.into_iter().flat_map(|kind| manifest.declared(kind));
    let mut files: Vec<String> = match listing {
        ResourceListing::Walk => found.collect(),
        ResourceListing::Declared => declared.collect(),
        ResourceListing::Both => found.chain(declared).collect(),
    };
    files.sort_unstable();
    files.dedup();
    let more = files.len().saturating_sub(most);
    files.truncate(most);
    (files, more)
}
