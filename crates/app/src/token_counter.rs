//! The tokens of skills, as `rep list --tokens` and `rep stats` count them.

use repertoire::Entry;
use repertoire::registry::EntryTokens;
use repertoire_model::tokens::Tokenizer;

use crate::view::SkillTokensView;
use crate::workspace::{Library, Workspace};

/// Counts tokens by the settings.
pub struct TokenCounter<'a> {
    library: &'a Library,
    tokenizer: Tokenizer,
    entries: EntryTokens,
}

impl<'a> TokenCounter<'a> {
    /// Returns the counter of `library`.
    pub fn new(workspace: &Workspace, library: &'a Library) -> Self {
        let options = workspace.settings.session.catalog_options();
        Self { library, tokenizer: options.tokenizer, entries: EntryTokens::new(options) }
    }

    /// Returns the number of tokens of the catalog entry and of the instructions of `entry`.
    pub fn count(&self, entry: &Entry) -> SkillTokensView {
        let skill = pollster::block_on(self.library.registry.get(entry));
        let body = skill.map_or(0, |skill| self.tokenizer.count(skill.body()) as u64);
        SkillTokensView { catalog: self.entry(entry), body: Some(body) }
    }

    /// Returns the number of tokens that `entry` adds to a catalog that is not empty.
    pub fn entry(&self, entry: &Entry) -> u64 {
        self.entries.of(entry)
    }
}
