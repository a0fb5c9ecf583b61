//! The searcher of a library.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, TryLockError};

use repertoire::change::{FileKind, remove_oldest, replace_file};
use repertoire::provider::Skill;
use repertoire::{
    BoxFuture, Entry, Registry, SearchHit, SearchRequest, Searcher, SkillView, Snapshot, regular_file,
};
use repertoire_model::answer::Section;
use repertoire_model::checksum;

use crate::index::{EDITION, SearchIndex, SlotSet};
use crate::meaning::{Embedder, embedded_table};
use crate::options::{SUFFIX, SearchOptions};
use crate::rank::{Query, best_section};
use crate::reader::read_records;
use crate::snapshot_index::{Reuse, SnapshotIndex};

/// The largest index file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 2 << 30;
/// The most index files in one directory; the most recent ones are kept.
const MAX_FILES: usize = 16;
/// The number of changed skills from which the index is stored at once, not only when the process ends.
const STORED_AT_ONCE: usize = 256;

/// The searcher of one library: an index of its skills, rebuilt for each new snapshot.
///
/// It is a cheap handle: clones share one index. Indices are immutable, so a search in the current one does
/// not wait for a rebuild. The first search of a library reads every skill that no earlier run indexed; later
/// ones read changed skills.
#[derive(Clone, Default)]
pub struct SkillSearch {
    shared: Arc<SearchState>,
}

/// The options and the index of a searcher, shared by its clones.
#[derive(Default)]
struct SearchState {
    options: SearchOptions,
    /// Held while the index is rebuilt.
    rebuild: Mutex<RebuildState>,
    current: RwLock<Arc<SnapshotIndex>>,
}

#[derive(Default)]
struct RebuildState {
    /// `true` once the index file was read, if there is one.
    is_loaded: bool,
    /// The number of skills that changed since the index was last stored.
    unsaved: usize,
    /// The number of embedding dimensions for which the index was last discarded.
    discarded_for: Option<usize>,
}

impl SkillSearch {
    /// Returns a searcher with these options. The index is read or built when it is first needed.
    pub fn new(options: SearchOptions) -> Self {
        let current = SnapshotIndex::without_snapshot(SearchIndex::new(options.weights.clone()));
        let current = RwLock::new(Arc::new(current));
        Self { shared: Arc::new(SearchState { options, current, ..SearchState::default() }) }
    }

    /// Updates the index to `snapshot`, which belongs to `registry`, so that searches need not. `progress`
    /// receives the number of skills read so far and the number of all that have to be read.
    pub fn prepare(&self, registry: &Registry, snapshot: &Arc<Snapshot>, progress: &dyn Fn(usize, usize)) {
        self.shared.update(registry, snapshot, progress);
    }

    /// Returns the path of the index file.
    pub fn index_file(&self) -> Option<&Path> {
        self.shared.options.file.as_deref()
    }

    /// Returns the number of skills in the index file; `None` if there is no valid one.
    pub fn stored_skills(&self) -> Option<usize> {
        Some(self.shared.read()?.skills())
    }

    /// Returns the index of `snapshot`, which belongs to `registry`.
    pub(crate) fn index(&self, registry: &Registry, snapshot: &Arc<Snapshot>) -> Arc<SnapshotIndex> {
        self.shared.update(registry, snapshot, &|_, _| ())
    }

    /// Returns the index of `snapshot`, of `registry`. If it is not ready, a thread that may block builds it.
    async fn index_in_background(&self, registry: &Registry, snapshot: &Arc<Snapshot>) -> Arc<SnapshotIndex> {
        if let Some(index) = self.shared.ready(snapshot) {
            return index;
        }
        let (search, registry, snapshot) = (self.clone(), registry.clone(), Arc::clone(snapshot));
        blocking::unblock(move || search.index(&registry, &snapshot)).await
    }

    /// Returns the query `text` for the skills of `index` at `slots`, embedded unless the embedder fails.
    pub(crate) async fn query(&self, text: &str, index: &SearchIndex, slots: &SlotSet) -> Query {
        let query = index.query(text, slots, embedded_table());
        let Some(embedder) = self.shared.embedder() else { return query };
        let vector = embedder.query(&query.embedded_text(text)).await.ok().flatten();
        query.with_vector(vector)
    }
}

impl Searcher for SkillSearch {
    fn search<'a>(
        &'a self,
        skills: SkillView<'a>,
        request: &'a SearchRequest,
    ) -> BoxFuture<'a, Vec<SearchHit>> {
        Box::pin(async move {
            if request.limit == 0 || Query::new(&request.query).is_empty() {
                return Vec::new();
            }
            let mut index = self.index_in_background(skills.registry, skills.snapshot).await;
            let slots = index.slots(skills, request);
            let query = self.query(&request.query, &index.index, &slots).await;
            if self.shared.discard_unless_comparable(&index, &query) {
                index = self.index_in_background(skills.registry, skills.snapshot).await;
            }
            index.search(skills.snapshot, &slots, &query, request.limit)
        })
    }

    fn best_section(
        &self,
        query: &str,
        skill: &Skill,
        price: &(dyn Fn(&str) -> usize + Sync),
    ) -> Option<Section> {
        best_section(&Query::new(query), &skill.text, skill.document.body.offset, price)
    }

    fn warm_up<'a>(&'a self, registry: &'a Registry, snapshot: &'a Arc<Snapshot>) -> BoxFuture<'a, ()> {
        let (search, registry, snapshot) = (self.clone(), registry.clone(), Arc::clone(snapshot));
        Box::pin(blocking::unblock(move || drop(search.index(&registry, &snapshot))))
    }

    fn save(&self) -> BoxFuture<'_, ()> {
        let search = self.clone();
        Box::pin(blocking::unblock(move || {
            let mut state = match search.shared.rebuild.try_lock() {
                Ok(state) => state,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                // A program that ends does not wait for an index that is being built.
                Err(TryLockError::WouldBlock) => return,
            };
            search.shared.store(&mut state, 1);
        }))
    }
}

impl fmt::Debug for SkillSearch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SkillSearch").field("options", &self.shared.options).finish_non_exhaustive()
    }
}

impl SearchState {
    fn embedder(&self) -> Option<&dyn Embedder> {
        self.options.embedder.as_deref()
    }

    fn current(&self) -> Arc<SnapshotIndex> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn set_current(&self, current: &Arc<SnapshotIndex>) {
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(current);
    }

    fn rebuild_state(&self) -> MutexGuard<'_, RebuildState> {
        self.rebuild.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the index of `snapshot`, if it is the current one.
    fn ready(&self, snapshot: &Snapshot) -> Option<Arc<SnapshotIndex>> {
        Some(self.current()).filter(|current| current.number == snapshot.number())
    }

    /// Returns the index of `snapshot`, which belongs to `registry`. Only changed skills are read; `progress`
    /// receives the number of skills read so far and the number of all that have to be read.
    fn update(
        &self,
        registry: &Registry,
        snapshot: &Arc<Snapshot>,
        progress: &dyn Fn(usize, usize),
    ) -> Arc<SnapshotIndex> {
        let mut state = self.rebuild_state();
        self.load(&mut state);
        if let Some(current) = self.ready(snapshot) {
            return current;
        }
        let current = self.current();
        let reuse = Reuse::of(&current.index, snapshot);
        let changed = reuse.changed();
        let read = |entries: &[&Entry]| read_records(registry, self.embedder(), entries);
        let rebuilt = reuse.rebuilt(&current.index, snapshot, &read, progress);
        let rebuilt = Arc::new(SnapshotIndex::of(snapshot, rebuilt));
        // An index of an earlier snapshot is returned, but does not become the current one.
        if rebuilt.number > current.number {
            self.set_current(&rebuilt);
            state.unsaved += changed;
            self.store(&mut state, STORED_AT_ONCE);
        }
        rebuilt
    }

    /// Reads the index of an earlier run, unless that was done.
    fn load(&self, state: &mut RebuildState) {
        if !std::mem::replace(&mut state.is_loaded, true)
            && let Some(index) = self.read()
        {
            self.set_current(&Arc::new(SnapshotIndex::without_snapshot(index)));
        }
    }

    /// Discards the current index if the embeddings of `index` have other dimensions than that of `query`,
    /// which happens when an embedder changes its model under the same id. Returns whether it did: once per
    /// number of dimensions, because an inconsistent embedder must not make every search read the library.
    fn discard_unless_comparable(&self, index: &SnapshotIndex, query: &Query) -> bool {
        let other = query.dimensions().filter(|dimensions| !index.index.has_dimensions(*dimensions));
        let Some(dimensions) = other else { return false };
        let mut state = self.rebuild_state();
        let is_new = state.discarded_for.replace(dimensions) != Some(dimensions);
        if is_new {
            let index = SearchIndex::new(self.options.weights.clone());
            self.set_current(&Arc::new(SnapshotIndex::without_snapshot(index)));
        }
        is_new
    }

    /// Reads the index of an earlier run, if there is a valid one.
    fn read(&self) -> Option<SearchIndex> {
        let bytes = regular_file::read(self.options.file.as_deref()?, MAX_FILE_BYTES).ok()?;
        SearchIndex::from_bytes(&bytes, self.stamp(), self.options.weights.clone())
    }

    /// Stores the index if at least `least` skills changed. If that fails, the next run builds it again.
    fn store(&self, state: &mut RebuildState, least: usize) {
        let Some(file) = self.options.file.as_deref().filter(|_| state.unsaved >= least) else { return };
        let Some(directory) = file.parent() else { return };
        let bytes = self.current().index.to_bytes(self.stamp());
        if replace_file(file, FileKind::Cache, Some(&bytes)).is_ok() {
            state.unsaved = 0;
        }
        remove_oldest(directory, SUFFIX, MAX_FILES);
    }

    /// Returns the stamp of index files that this version and embedder can use.
    fn stamp(&self) -> u64 {
        let id = self.embedder().map(Embedder::id).unwrap_or_default();
        checksum(format!("{EDITION} {} {id}", env!("CARGO_PKG_VERSION")).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use pollster::block_on;
    use repertoire::{
        FsOptions, FsProvider, Library, LibraryBuilder, MemoryProvider, SkillDefinition, Visibility,
    };

    use super::*;

    /// Opens a library with a searcher, and returns both.
    fn open(builder: LibraryBuilder) -> (Library, SkillSearch) {
        let search = SkillSearch::default();
        (block_on(builder.searcher(search.clone()).open()).unwrap(), search)
    }

    fn search(library: &Library, snapshot: &Arc<Snapshot>, request: &SearchRequest) -> Vec<SearchHit> {
        block_on(library.search(snapshot, request, Visibility::All))
    }

    #[test]
    fn the_searcher_suite_holds() {
        block_on(crate::searcher_suite::searcher_suite(SkillSearch::default()));
    }

    fn found(query: &str) -> Vec<String> {
        let skills = vec![
            SkillDefinition::new(
                "pdf-forms",
                "Fills PDF forms. Use when a form must be filled.",
                "# Forms\n",
            ),
            SkillDefinition::new("deploy", "Deploys services to Kubernetes clusters.", "# Deploy\n"),
        ];
        found_in(skills, query)
    }

    fn found_in(skills: Vec<SkillDefinition>, query: &str) -> Vec<String> {
        let (library, _) = open(Library::builder().provider(MemoryProvider::new("builtin", skills)));
        let snapshot = library.snapshot();
        let hits = search(&library, &snapshot, &SearchRequest::new(query, 5));
        hits.iter().map(|hit| hit.entry.name().to_string()).collect()
    }

    #[test]
    fn a_warm_searcher_has_the_index_before_somebody_searches() {
        let skills =
            vec![SkillDefinition::new("deploy", "Deploys services. Use when one is released.", "# Deploy\n")];
        let (library, search) = open(Library::builder().provider(MemoryProvider::new("builtin", skills)));
        let snapshot = library.snapshot();
        assert!(search.shared.ready(&snapshot).is_none());
        block_on(library.warm_up_search());
        assert!(search.shared.ready(&snapshot).is_some());
    }

    #[test]
    fn skills_are_found_by_words_and_by_meaning() {
        assert_eq!(found("fill in a form"), ["pdf-forms"]);
        assert_eq!(found("roll out helm charts on k8s"), ["deploy"]);
    }

    #[test]
    fn misspelled_words_and_other_languages_are_understood() {
        for query in [
            "fil in this form",
            "dpeloy the servics",
            "Bitte fülle das Formular aus",
            "Rellena este formulario, por favor",
            "Remplis ce formulaire pour moi",
            "Preencha este formulário para mim",
            "帮我填写这个表单",
            "このフォームに入力してください",
            "formulario",
            "remplir un formulaire de contact",
        ] {
            assert_eq!(found(query).len(), 1, "{query}: {:?}", found(query));
        }
    }

    #[test]
    fn everyday_words_are_those_that_skills_use() {
        let skills = vec![
            SkillDefinition::new("cytometry", "Normalizes beads.", "Compare the CV of both runs.\n"),
            SkillDefinition::new("resumes", "Tailors a resume to a job offer.", "# Resumes\n"),
        ];
        assert_eq!(found_in(skills, "fix my cv")[0], "resumes");
    }

    #[test]
    fn common_words_alone_find_nothing() {
        let nothing: [String; 0] = [];
        assert_eq!(found("how do I make it work for me"), nothing);
        assert_eq!(found("what is the use of all that"), nothing);
    }

    #[test]
    fn the_request_may_come_before_or_after_a_pasted_text() {
        let pasted: String = (0..9_000).map(|number| format!("x{number} ")).collect();
        assert_eq!(found(&format!("{pasted}\nfill in a form")), ["pdf-forms"]);
        assert_eq!(found(&format!("fill in a form\n{pasted}")), ["pdf-forms"]);
    }

    #[test]
    fn an_unrelated_query_finds_nothing() {
        let nothing: [String; 0] = [];
        assert_eq!(found("cook pasta"), nothing);
        assert_eq!(found("翻译"), nothing);
        assert_eq!(found(""), nothing);
    }

    #[test]
    fn a_skill_that_could_not_be_read_is_read_again() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, body: &str| {
            let skill = directory.path().join(name);
            fs::create_dir_all(&skill).unwrap();
            let text = format!("---\nname: {name}\ndescription: Does {name}.\n---\n{body}\n");
            fs::write(skill.join("SKILL.md"), text).unwrap();
        };
        write("alpha", "Mind the marmalade.");
        let provider = Arc::new(FsProvider::new(FsOptions::new("test", directory.path())));
        let (library, searcher) = open(Library::builder().provider(provider));
        let (file, aside) = (directory.path().join("alpha/SKILL.md"), directory.path().join("aside"));
        fs::rename(&file, &aside).unwrap();
        searcher.prepare(library.registry(), &library.snapshot(), &|_, _| ());
        fs::rename(&aside, &file).unwrap();
        write("beta", "");
        let snapshot = block_on(library.reload());
        let request = SearchRequest::new("marmalade".to_owned(), 1);
        assert_eq!(search(&library, &snapshot, &request).len(), 1);
    }

    #[test]
    fn thousands_of_changes_at_once_lose_no_skill() {
        const COUNT: usize = 5_000;
        let directory = tempfile::tempdir().unwrap();
        let write = |number: usize, text: &str| {
            let skill = directory.path().join(format!("skill-{number}"));
            fs::create_dir_all(&skill).unwrap();
            let text = format!("---\nname: skill-{number}\ndescription: Does {text}{number}x.\n---\n");
            fs::write(skill.join("SKILL.md"), text).unwrap();
        };
        (0..COUNT).for_each(|number| write(number, "old"));
        let provider = Arc::new(FsProvider::new(FsOptions::new("test", directory.path())));
        let (library, searcher) = open(Library::builder().provider(provider));
        searcher.prepare(library.registry(), &library.snapshot(), &|_, _| ());
        (0..COUNT).for_each(|number| write(number, "young"));
        let snapshot = block_on(library.reload());
        searcher.prepare(library.registry(), &snapshot, &|_, _| ());
        assert_eq!(searcher.shared.current().index.skills(), COUNT);
        for number in (0..COUNT).step_by(499) {
            let request = SearchRequest::new(format!("young{number}x"), 1);
            let found = search(&library, &snapshot, &request);
            let names = found.iter().map(|found| found.entry.name().to_string());
            assert_eq!(names.collect::<Vec<_>>(), [format!("skill-{number}")]);
        }
    }

    const WORDS: &[&str] = &["forms", "invoices", "clusters", "images", "releases", "tests"];

    /// A step with a library of two sources that compete for names.
    #[derive(Debug, Clone)]
    enum Step {
        /// Adds or changes a skill.
        Write {
            source: usize,
            name: usize,
            word: usize,
            body: usize,
            is_broken: bool,
        },
        Remove {
            source: usize,
            name: usize,
        },
        Reload,
        /// Searches the newest snapshot, so that the index is rebuilt.
        Search(usize),
        /// Searches the previous snapshot.
        SearchEarlier(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            8 => (0..2usize, 0..5usize, 0..WORDS.len(), 0..WORDS.len(), prop::bool::weighted(0.1)).prop_map(
                |(source, name, word, body, is_broken)| Step::Write { source, name, word, body, is_broken }
            ),
            3 => (0..2usize, 0..5usize).prop_map(|(source, name)| Step::Remove { source, name }),
            5 => Just(Step::Reload),
            3 => (0..WORDS.len()).prop_map(Step::Search),
            1 => (0..WORDS.len()).prop_map(Step::SearchEarlier),
        ]
    }

    fn library_of(directory: &Path) -> Library {
        let provider = |source: &str| {
            let root = directory.join(source);
            fs::create_dir_all(&root).unwrap();
            Arc::new(FsProvider::new(FsOptions::new(source, root)))
        };
        open(Library::builder().provider(provider("0")).provider(provider("1"))).0
    }

    fn answers(library: &Library, word: usize) -> Vec<(String, u32, String)> {
        let snapshot = library.snapshot();
        let request = SearchRequest::new(format!("the {} of skill {}", WORDS[word], WORDS[0]), 20);
        let found = search(library, &snapshot, &request);
        found
            .into_iter()
            .map(|found| (found.entry.qualified_name(), found.score.to_bits(), format!("{:?}", found.words)))
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn an_index_rebuilt_step_by_step_ranks_like_one_built_at_once(steps in vec(step(), 0..30)) {
            let directory = tempfile::tempdir().unwrap();
            let library = library_of(directory.path());
            let mut earlier = library.snapshot();
            for step in steps {
                match step {
                    Step::Write { source, name, word, body, is_broken } => {
                        let skill = directory.path().join(source.to_string()).join(format!("skill-{name}"));
                        fs::create_dir_all(&skill).unwrap();
                        let description = format!("description: Does {}.\n", WORDS[word]);
                        let description = if is_broken { "" } else { &description };
                        let text = format!("---\nname: skill-{name}\n{description}---\n{}\n", WORDS[body]);
                        fs::write(skill.join("SKILL.md"), text).unwrap();
                    }
                    Step::Remove { source, name } => {
                        let skill = directory.path().join(source.to_string()).join(format!("skill-{name}"));
                        let _ = fs::remove_dir_all(skill);
                    }
                    Step::Reload => {
                        earlier = library.snapshot();
                        block_on(library.reload());
                    }
                    Step::Search(word) => {
                        answers(&library, word);
                    }
                    Step::SearchEarlier(word) => {
                        let request = SearchRequest::new(WORDS[word], 20);
                        for found in search(&library, &earlier, &request) {
                            prop_assert!(found.entry.is_offered());
                        }
                    }
                }
            }
            // A skill edited while indexed is read again with the next snapshot, which a new skill makes.
            let last = directory.path().join("0/last");
            fs::create_dir_all(&last).unwrap();
            fs::write(last.join("SKILL.md"), "---\nname: last\ndescription: Ends.\n---\n").unwrap();
            block_on(library.reload());
            let fresh = library_of(directory.path());
            for word in 0..WORDS.len() {
                prop_assert_eq!(answers(&library, word), answers(&fresh, word));
            }
        }
    }
}
