//! Level 1 of a session: its pinned catalog, its tools, and the note about later changes.

use std::collections::BTreeSet;
use std::sync::{Arc, MutexGuard};

use repertoire_model::catalog::{Catalog, CatalogOptions, Format, OverBudget, Tier};
use repertoire_model::delta::{Delta, MAX_LISTED, for_files};
use repertoire_model::file_glob::FileMatcher;
use repertoire_model::{CatalogError, SkillName};

use super::open::Session;
use super::options::{Refresh, ToolExposure};
use super::state::SessionState;
use crate::event::{CallOrigin, EventKind};
use crate::registry::{Entry, Snapshot};
use crate::tool::{BUILTINS, Definition, DefinitionContext, OfferedTools};

/// The catalog of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PinnedCatalog {
    /// The text to put into the system prompt; empty where there are no skills.
    pub text: Arc<str>,
    /// The number of the snapshot that it was written from.
    pub snapshot: u64,
}

/// A note for the model about changes of the library.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Note {
    /// The text to append to the next user turn; empty where nothing changed.
    pub text: String,
    /// The number of the newest snapshot.
    pub snapshot: u64,
}

impl Session {
    /// Returns the catalog, the same bytes until a refresh or [for another task](Session::catalog_for_task).
    ///
    /// With `show_loaded` it is rendered each time, because it marks loaded skills.
    pub fn catalog(&self) -> PinnedCatalog {
        self.follow();
        let mut state = self.ranked_state();
        let mut options = self.own_catalog_options();
        options.ranking = state.ranking.as_ref().map(|ranking| ranking.to_catalog());
        let snapshot = state.pinned.number();
        if self.options().show_loaded {
            options.loaded = state.ledger.active().map(SkillName::to_string).collect();
            let pinned = Arc::clone(&state.pinned);
            drop(state);
            let text = self.written(&pinned, options);
            return PinnedCatalog { text: text.into(), snapshot };
        }
        let text = match &state.text {
            Some(text) => Arc::clone(text),
            None => {
                let text: Arc<str> = self.written(&state.pinned, options).into();
                state.text = Some(Arc::clone(&text));
                text
            }
        };
        PinnedCatalog { text, snapshot }
    }

    /// Returns the state with the ranking for the catalog's task, if it has one.
    fn ranked_state(&self) -> MutexGuard<'_, SessionState> {
        loop {
            let state = self.state();
            if state.task.is_none() || state.ranking.is_some() {
                return state;
            }
            drop(state);
            pollster::block_on(self.rank_catalog());
        }
    }

    /// Returns the number of the snapshot that catalog and tools are written from.
    pub fn snapshot_number(&self) -> u64 {
        self.state().pinned.number()
    }

    /// Follows the library at once, where the host chose so.
    fn follow(&self) {
        if self.options().refresh == Refresh::Immediate {
            let newest = self.registry().reload_if_due_blocking();
            let mut state = self.state();
            let before = Arc::clone(&state.pinned);
            if newest.number() > before.number() {
                state.pin(&newest);
                drop(state);
                self.account(&before, &newest);
            }
        }
    }

    /// Records the tokens of tools and catalog, in this order, that a prompt cache loses when the session
    /// goes on from `before` to `after`.
    fn account(&self, before: &Snapshot, after: &Snapshot) {
        if before.number() == after.number() || self.library().resources().sinks.is_empty() {
            return;
        }
        let prefix = |snapshot: &Snapshot| {
            let tools = self.defined(snapshot, self.catalog_is_cut);
            let tools =
                tools.iter().map(|tool| format!("{}{}{}", tool.name, tool.description, tool.input_schema));
            tools.collect::<String>() + &self.written(snapshot, self.own_catalog_options())
        };
        let (old, new) = (prefix(before), prefix(after));
        if old != new {
            let kept = old.char_indices().zip(new.chars()).find(|((_, old), new)| old != new);
            let kept = kept.map_or(old.len().min(new.len()), |((kept, _), _)| kept);
            let mut event = self.record().event(EventKind::CatalogChanged, "refresh", &CallOrigin::default());
            event.tokens = self.loads().price(&old[kept..]) as u64;
            self.library().emit(&event);
        }
    }

    /// Returns how the catalog is written; a tool that is not offered is not named.
    pub fn catalog_options(&self) -> CatalogOptions {
        let mut options = self.options().catalog_options();
        options.bound.clone_from(&self.bound);
        if self.library().searcher().is_none() {
            options.search_tool = None;
        }
        options
    }

    /// Returns how the session's own catalog is written.
    fn own_catalog_options(&self) -> CatalogOptions {
        let mut options = self.catalog_options();
        if !self.catalog_is_cut && self.options().tools.offered.are_by_need() {
            (options.search_tool, options.list_tool) = (None, None);
        }
        options
    }

    /// Returns `true` if the catalog of a session that opens leaves out descriptions or names.
    pub(super) fn cuts_catalog(&self) -> bool {
        let mut options = self.catalog_options();
        let Some(budget) = options.budget_tokens else { return false };
        let pinned = Arc::clone(&self.state().pinned);
        // A skill is at least a token.
        if self.lookup().offered(&pinned).nth(budget).is_some() {
            return true;
        }
        options.over_budget = OverBudget::Verbatim;
        self.rendered(&pinned, options).is_some_and(|catalog| catalog.report.over_budget)
    }

    fn written(&self, snapshot: &Snapshot, options: CatalogOptions) -> String {
        self.rendered(snapshot, options).map(|catalog| catalog.text).unwrap_or_default()
    }

    fn rendered(&self, snapshot: &Snapshot, mut options: CatalogOptions) -> Option<Catalog> {
        let visible = self.lookup().visible_skills(snapshot);
        let lookup = self.lookup();
        let sees = |entry: &Entry| visible.contains(entry) && lookup.is_listed(entry);
        match snapshot.catalog_of(&options, sees) {
            Ok(catalog) => Some(catalog),
            // A highlighted skill that does not exist (any more) is ignored.
            Err(CatalogError::UnknownHighlight { .. }) => {
                options.highlight = None;
                snapshot.catalog_of(&options, sees).ok()
            }
            // Skills defined in code have no location, so a format that lists locations cannot list them.
            Err(_) => {
                options.format = Format::default();
                snapshot.catalog_of(&options, sees).ok()
            }
        }
    }

    /// Returns the definitions of the tools, sorted by name and as stable as the catalog.
    ///
    /// Without skills there are no built-in tools, only those of the host. Tools of loaded skills are listed
    /// only with another [exposure](ToolExposure) than the default.
    ///
    /// Tools that are [offered by need](OfferedTools::Needed) are settled when the session opens.
    pub fn tools(&self) -> Arc<[Definition]> {
        self.tools_beside(self.catalog_is_cut)
    }

    /// Returns the definitions of the tools, for a host that writes the catalog itself and leaves
    /// descriptions or names out of it if `catalog_is_cut`.
    pub fn tools_beside(&self, catalog_is_cut: bool) -> Arc<[Definition]> {
        self.follow();
        let pinned = Arc::clone(&self.state().pinned);
        let mut definitions = self.defined(&pinned, catalog_is_cut);
        definitions.extend(self.exposed());
        if self.options().running.exposure == ToolExposure::Dynamic {
            definitions.sort_by(|a, b| a.name.cmp(&b.name));
        }
        definitions.into()
    }

    /// Returns the definitions of the tools of loaded skills, in the order in which models see them.
    fn exposed(&self) -> Vec<Definition> {
        let context = DefinitionContext { options: self.options(), skills: None };
        let gateway = || {
            let tool = BUILTINS.iter().find(|tool| tool.canonical == "call_skill_tool");
            tool.map(|tool| tool.definition(&context))
        };
        match self.options().running.exposure {
            ToolExposure::Stable => Vec::new(),
            ToolExposure::Append => self.state().exposed.appended(&gateway),
            ToolExposure::Dynamic => self.state().exposed.definitions(&gateway),
        }
    }

    /// Returns the names that the catalog lists, sorted.
    fn listed(&self, snapshot: &Snapshot) -> Vec<String> {
        let mut options = self.catalog_options();
        options.ranking = self.ranked_state().ranking.as_ref().map(|ranking| ranking.to_catalog());
        // Only catalogs for a task, and catalogs that send to search, leave names out.
        if options.ranking.is_none() && options.over_budget != OverBudget::SearchOnly {
            let lookup = self.lookup();
            let listed = lookup.offered(snapshot).filter(|entry| lookup.is_listed(entry));
            return listed.map(|entry| entry.name().to_string()).collect();
        }
        let catalog = self.rendered(snapshot, options);
        let tiers = catalog.into_iter().flat_map(|catalog| catalog.report.tiers);
        let listed = tiers.filter(|skill| skill.tier != Tier::Omitted).map(|skill| skill.name);
        listed.collect::<BTreeSet<String>>().into_iter().collect()
    }

    /// Returns the definitions of the tools that do not depend on loaded skills, sorted by name.
    fn defined(&self, snapshot: &Snapshot, catalog_is_cut: bool) -> Vec<Definition> {
        let options = self.options();
        let mut definitions: Vec<Definition> = Vec::new();
        if self.lookup().offered(snapshot).next().is_some() {
            let names = self.listed(snapshot);
            let lists = (1..=options.tools.enum_limit).contains(&names.len())
                && options.tools.offered != OfferedTools::Minimal;
            let skills = lists.then_some(names.as_slice());
            let context = DefinitionContext { options, skills };
            let is_told = |canonical: &str| {
                self.is_shown(canonical, catalog_is_cut)
                    && (canonical != "call_skill_tool" || options.running.exposure == ToolExposure::Stable)
            };
            let tools = BUILTINS.iter().filter(|tool| is_told(tool.canonical));
            definitions.extend(tools.map(|tool| tool.definition(&context)));
        }
        definitions.extend(self.library().resources().tools.iter().map(|tool| Definition {
            name: tool.name().to_owned(),
            description: tool.description(),
            input_schema: tool.input_schema(),
        }));
        definitions.sort_by(|a, b| a.name.cmp(&b.name));
        definitions
    }

    /// Checks the library for changes and returns the note to append to the next user turn, once per change.
    ///
    /// It reports skills that were added, removed or described differently, and skills in the context whose
    /// instructions changed on disk.
    pub async fn delta(&self) -> Note {
        let newest = self.registry().newest().await;
        self.context().look().await;
        let told = self.state().announce(&newest);
        let delta = match &told {
            Some(told) => Delta::between(&self.lookup().described(told), &self.lookup().described(&newest)),
            None => Delta::default(),
        };
        let text = delta.edited(self.context().edited()).render(&self.options().tools.names.load);
        Note { text, snapshot: newest.number() }
    }

    /// Returns the note to append to the next user turn that offers the skills whose `paths` match one of
    /// `files`, the files that the model works on, once for each skill; empty where there are no others.
    ///
    /// The catalog stays as it is. Skills that are loaded are not offered again.
    pub fn focus<T: AsRef<str>>(&self, files: &[T]) -> Note {
        let snapshot = self.registry().snapshot();
        let active = self.context().loaded();
        let known = self.state().offered_or_given.clone();
        let is_new = |entry: &&Entry| !active.contains(entry.name()) && !known.contains(entry.name());
        let files = FileMatcher::new(files);
        let about = self.lookup().offered(&snapshot).filter(is_new).filter(|entry| entry.is_about(&files));
        // Skills that do not fit are offered by the next note.
        let mut skills: Vec<&Entry> = about.take(MAX_LISTED).collect();
        let mut state = self.state();
        // Another call may have offered some meanwhile.
        skills.retain(|entry| !state.offered_or_given.contains(entry.name()));
        state.offered_or_given.extend(skills.iter().map(|entry| entry.name().clone()));
        drop(state);
        let described: Vec<(&str, &str)> =
            skills.iter().map(|entry| (entry.name().as_str(), &*entry.document.description)).collect();
        Note { text: for_files(&described, &self.options().tools.names.load), snapshot: snapshot.number() }
    }

    /// Reloads the library, in every [`ReloadMode`](crate::ReloadMode), renders catalog and tools again, and
    /// returns the catalog.
    pub async fn refresh(&self) -> PinnedCatalog {
        let newest = self.registry().reload().await;
        self.context().look().await;
        let before = Arc::clone(&self.state().pinned);
        self.state().pin(&newest);
        self.rank_catalog().await;
        self.account(&before, &newest);
        self.catalog()
    }

    /// Checks the library for changes, so that later tools and catalogs are those of the newest snapshot.
    ///
    /// It is for hosts that do not show the catalog: that of a large library is a large text.
    pub async fn renew(&self) {
        let newest = self.registry().newest().await;
        self.context().look().await;
        self.state().pin(&newest);
    }
}
