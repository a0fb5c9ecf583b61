//! The catalog of a snapshot.

use std::collections::HashMap;

use repertoire_model::catalog::{self, Catalog, CatalogEntry, CatalogError, CatalogOptions};

use super::{Entry, Snapshot};

impl Snapshot {
    /// Renders the catalog of the skills that agents are offered.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// use repertoire::{CatalogOptions, Policy};
    /// use repertoire::provider::memory::{MemoryProvider, SkillDefinition};
    /// use repertoire::{Provider, Registry};
    /// let skill = SkillDefinition::new("greet", "Greets people. Use when someone says hello.", "# Greet\n");
    /// let provider: Arc<dyn Provider> = Arc::new(MemoryProvider::new("builtin", vec![skill]));
    /// let registry = pollster::block_on(Registry::open(vec![provider], Policy::default()))?;
    /// let catalog = registry.snapshot().catalog(&CatalogOptions::default())?;
    /// assert!(catalog.text.contains("<name>greet</name>"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn catalog(&self, options: &CatalogOptions) -> Result<Catalog, CatalogError> {
        self.catalog_of(options, |_| true)
    }

    /// Renders the catalog of the skills that agents are offered and that `is_seen` picks.
    ///
    /// [`CatalogOptions::priority`] may have identities of skills in place of names.
    pub fn catalog_of(
        &self,
        options: &CatalogOptions,
        is_seen: impl Fn(&Entry) -> bool,
    ) -> Result<Catalog, CatalogError> {
        let offered: Vec<&Entry> = self.held(is_seen).filter(|entry| entry.allows_models()).collect();
        if options.priority.is_empty() {
            return render(&offered, options);
        }
        let names: HashMap<String, &str> =
            offered.iter().map(|entry| (entry.record_identity(), entry.name().as_str())).collect();
        let name = |key: &String| names.get(key).map_or_else(|| key.clone(), |name| (*name).to_owned());
        let mut options = options.clone();
        options.priority = options.priority.iter().map(name).collect();
        render(&offered, &options)
    }
}

impl Entry {
    /// Renders the catalog of this skill alone.
    pub fn catalog(&self, options: &CatalogOptions) -> Result<Catalog, CatalogError> {
        render(&[self], options)
    }
}

fn render(offered: &[&Entry], options: &CatalogOptions) -> Result<Catalog, CatalogError> {
    let locations: Vec<String> = offered.iter().map(|entry| entry.location()).collect();
    let entries = offered.iter().zip(&locations).map(|(entry, location)| CatalogEntry {
        name: entry.name().as_str(),
        description: &entry.document.description,
        location: Some(location),
    });
    catalog::render(&entries.collect::<Vec<CatalogEntry<'_>>>(), options)
}
