//! The tokens that one skill takes in a catalog.

use std::sync::OnceLock;

use repertoire_model::catalog::{CatalogEntry, CatalogOptions, render};

use super::Entry;

/// A skill that sorts before all others, so that it, not the counted one, is the example in the frame.
const NEIGHBOUR: CatalogEntry<'static> =
    CatalogEntry { name: "0", description: "A skill.", location: Some("/0/SKILL.md") };

/// Counts the tokens that single skills take in a catalog.
///
/// ```
/// use std::sync::Arc;
/// use repertoire::registry::EntryTokens;
/// use repertoire::{CatalogOptions, MemoryProvider, Policy, Registry, SkillDefinition};
/// let skill = SkillDefinition::new("greet", "Greets people. Use when someone says hello.", "# Greet\n");
/// let provider = Arc::new(MemoryProvider::new("builtin", vec![skill]));
/// let registry = pollster::block_on(Registry::open(vec![provider], Policy::default()))?;
/// let tokens = EntryTokens::new(CatalogOptions::default());
/// assert!(tokens.of(&registry.snapshot().entries()[0]) > 10);
/// # Ok::<(), repertoire::Error>(())
/// ```
#[derive(Debug)]
pub struct EntryTokens {
    options: CatalogOptions,
    /// The tokens of a catalog with nothing but the neighbour, once they are needed.
    frame: OnceLock<usize>,
}

impl EntryTokens {
    /// Returns a counter for catalogs that are written with `options`. A budget is about the whole catalog,
    /// so an entry is counted as it is in full.
    pub fn new(mut options: CatalogOptions) -> Self {
        options.budget_tokens = None;
        options.highlight = None;
        options.ranking = None;
        // The guidance around the entries is the same with and without an entry, and would count for each.
        options.usage = false;
        Self { options, frame: OnceLock::new() }
    }

    /// Returns the number of tokens that `entry` adds to a catalog that is not empty.
    pub fn of(&self, entry: &Entry) -> u64 {
        let location = entry.location();
        let own = CatalogEntry {
            name: entry.name().as_str(),
            description: &entry.document.description,
            location: Some(&location),
        };
        let frame = *self.frame.get_or_init(|| self.rendered(&[NEIGHBOUR]));
        self.rendered(&[NEIGHBOUR, own]).saturating_sub(frame) as u64
    }

    fn rendered(&self, entries: &[CatalogEntry<'_>]) -> usize {
        render(entries, &self.options).map_or(0, |catalog| self.options.tokenizer.count(&catalog.text))
    }
}
