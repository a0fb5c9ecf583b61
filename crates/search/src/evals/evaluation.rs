//! Evaluation of trigger evals.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use rayon::prelude::*;
use repertoire::{Lookup, Registry, SearchRequest, SkillView, Snapshot, Visibility};

use super::confusion::{TriggerConfusion, confused};
use super::eval_file::TriggerQuery;
use super::share::Share;
use crate::skill_search::SkillSearch;

/// The most skills that one query shows.
pub const MAX_SHOWN: usize = 100;

/// The results of trigger evals of a library.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct TriggerReport {
    /// The results of each skill with evals, by name.
    pub skills: Vec<SkillTriggers>,
    /// The skills that lose queries to another one, the most first.
    pub confused: Vec<TriggerConfusion>,
    /// Names in evals that no offered skill has, with the number of queries left out for each.
    pub unknown: BTreeMap<String, usize>,
}

/// The results of trigger evals of one skill.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SkillTriggers {
    /// The index of the skill among the entries of the snapshot.
    pub entry: usize,
    /// The share of queries that ranked it first, of the queries that should trigger it.
    pub hits: Share,
    /// The share of queries that showed it, of the queries that should trigger it.
    pub shown: Share,
    /// The share of queries that ranked it first, of the queries that should not trigger it.
    pub false_triggers: Share,
    /// The share of queries that showed it, of the queries that should not trigger it.
    pub false_shown: Share,
    /// The entries that were ranked first instead of this one, with their counts, most frequent first.
    pub confusions: Vec<(usize, usize)>,
    /// The outcome of each query, in order.
    pub outcomes: Vec<TriggerOutcome>,
}

/// The outcome of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TriggerOutcome {
    /// The query.
    pub query: String,
    /// `true` if it should trigger the skill.
    pub should_trigger: bool,
    /// The rank of the skill, counted from 1; `None` if it was not shown.
    pub rank: Option<usize>,
    /// The entry that was ranked first, if any was found.
    pub first: Option<usize>,
}

impl TriggerOutcome {
    /// Returns whether the query ranked the skill first exactly if it should trigger it.
    pub fn is_right(&self) -> bool {
        (self.rank == Some(1)) == self.should_trigger
    }
}

impl TriggerReport {
    /// Returns the sum of the shares that `pick` returns for each skill.
    pub fn total(&self, pick: impl Fn(&SkillTriggers) -> Share) -> Share {
        self.skills.iter().map(pick).fold(Share::default(), Share::and)
    }
}

impl SkillTriggers {
    fn of(entry: usize, outcomes: Vec<TriggerOutcome>) -> Self {
        let (mut hits, mut shown) = (Share::default(), Share::default());
        let (mut false_triggers, mut false_shown) = (Share::default(), Share::default());
        let mut winners: HashMap<usize, usize> = HashMap::new();
        for outcome in &outcomes {
            let (is_first, is_shown) = (outcome.rank == Some(1), outcome.rank.is_some());
            if !outcome.should_trigger {
                false_triggers.count(is_first);
                false_shown.count(is_shown);
                continue;
            }
            hits.count(is_first);
            shown.count(is_shown);
            if let Some(winner) = outcome.first.filter(|_| !is_first) {
                *winners.entry(winner).or_default() += 1;
            }
        }
        let mut confusions: Vec<(usize, usize)> = winners.into_iter().collect();
        // Entries are in order of their names.
        confusions.sort_by_key(|(entry, count)| (std::cmp::Reverse(*count), *entry));
        Self { entry, hits, shown, false_triggers, false_shown, confusions, outcomes }
    }
}

impl SkillSearch {
    /// Searches `snapshot`, which belongs to `registry`, for every query. Each search shows `shown` skills:
    /// at least one, and at most [`MAX_SHOWN`]. The function uses all cores, and blocks until it is done.
    ///
    /// ```
    /// use repertoire::{Library, MemoryProvider, SkillDefinition};
    /// use repertoire_search::SkillSearch;
    /// use repertoire_search::evals::SkillEvals;
    /// let queries = r#"[{"query": "fill in this form", "should_trigger": true}]"#;
    /// let skills = vec![
    ///     SkillDefinition::new("pdf-forms", "Fills PDF forms.", "# Forms\n").with_resource("eval_queries.json", queries),
    ///     SkillDefinition::new("deploy", "Deploys services to Kubernetes.", "# Deploy\n"),
    /// ];
    /// let search = SkillSearch::default();
    /// let provider = MemoryProvider::new("builtin", skills);
    /// let builder = Library::builder().provider(provider).searcher(search.clone());
    /// let library = pollster::block_on(builder.open())?;
    /// let (registry, snapshot) = (library.registry(), library.snapshot());
    /// let evals = pollster::block_on(SkillEvals::read(registry, &snapshot.entries()[1]));
    /// let report = search.evaluate_triggers(registry, &snapshot, &evals.queries, 5);
    /// assert_eq!(report.total(|skill| skill.hits).value(), Some(1.0));
    /// # Ok::<(), repertoire::Error>(())
    /// ```
    pub fn evaluate_triggers(
        &self,
        registry: &Registry,
        snapshot: &Arc<Snapshot>,
        queries: &[TriggerQuery],
        shown: usize,
    ) -> TriggerReport {
        let mut report = TriggerReport::default();
        let mut known: Vec<(usize, &TriggerQuery)> = Vec::new();
        for query in queries {
            let name = query.skill.as_deref().unwrap_or_default();
            match snapshot.find(name) {
                Lookup::Found(entry) if entry.is_offered() => {
                    known.extend(snapshot.index_of(entry).map(|entry| (entry, query)));
                }
                _ => *report.unknown.entry(name.to_owned()).or_default() += 1,
            }
        }
        // One index for all queries, even if the library changes meanwhile.
        let index = self.index(registry, snapshot);
        let skills = SkillView::new(registry, snapshot, Visibility::All);
        let outcome = |(entry, query): &(usize, &TriggerQuery)| {
            let shown = shown.clamp(1, MAX_SHOWN);
            let slots = index.slots(skills, &SearchRequest::new(&query.query, shown));
            let asked = pollster::block_on(self.query(&query.query, &index.index, &slots));
            let hits = index.search(snapshot, &slots, &asked, shown);
            let rank = hits.iter().position(|hit| hit.entry.index() == *entry).map(|index| index + 1);
            let first = hits.first().map(|hit| hit.entry.index());
            let (query, should_trigger) = (query.query.clone(), query.should_trigger);
            (*entry, TriggerOutcome { query, should_trigger, rank, first })
        };
        let outcomes: Vec<(usize, TriggerOutcome)> = known.par_iter().map(outcome).collect();
        let mut skills: BTreeMap<usize, Vec<TriggerOutcome>> = BTreeMap::new();
        for (entry, outcome) in outcomes {
            skills.entry(entry).or_default().push(outcome);
        }
        report.skills =
            skills.into_iter().map(|(entry, outcomes)| SkillTriggers::of(entry, outcomes)).collect();
        let mut lost: BTreeMap<(usize, usize), Vec<&str>> = BTreeMap::new();
        for skill in &report.skills {
            for outcome in skill.outcomes.iter().filter(|outcome| outcome.should_trigger) {
                if let Some(first) = outcome.first.filter(|first| *first != skill.entry) {
                    lost.entry((skill.entry, first)).or_default().push(&outcome.query);
                }
            }
        }
        report.confused = confused(snapshot, &lost);
        report
    }
}

#[cfg(test)]
mod tests {
    use repertoire::{FsOptions, FsProvider, Library, LibraryBuilder, MemoryProvider, SkillDefinition};

    use super::*;

    fn open(builder: LibraryBuilder) -> (Library, SkillSearch) {
        let search = SkillSearch::default();
        (pollster::block_on(builder.searcher(search.clone()).open()).unwrap(), search)
    }

    fn library(skills: Vec<SkillDefinition>) -> (Library, SkillSearch) {
        open(Library::builder().provider(MemoryProvider::new("test", skills)))
    }

    fn query(skill: &str, query: &str, should_trigger: bool) -> TriggerQuery {
        TriggerQuery { skill: Some(skill.to_owned()), query: query.to_owned(), should_trigger }
    }

    #[test]
    fn queries_are_counted_by_their_results() {
        let (library, search) = library(vec![
            SkillDefinition::new("deploy", "Deploys services to Kubernetes clusters.", "# Deploy\n"),
            SkillDefinition::new("pdf-forms", "Fills forms in PDF files.", "# Forms\n"),
            SkillDefinition::new("pdf-merge", "Merges PDF files into one.", "# Merge\n"),
        ]);
        let snapshot = library.snapshot();
        let queries = [
            query("pdf-forms", "fill forms in this PDF", true),
            query("pdf-forms", "merge PDF files into one", true),
            query("pdf-forms", "deploy services to the kubernetes cluster", false),
            query("pdf-forms", "fill the forms", false),
            query("nobody", "anything", true),
        ];
        let report = search.evaluate_triggers(library.registry(), &snapshot, &queries, 3);
        assert_eq!(report.unknown, BTreeMap::from([("nobody".to_owned(), 1)]));
        let [forms] = &report.skills[..] else { panic!("{report:?}") };
        assert_eq!(snapshot.entries()[forms.entry].name().as_str(), "pdf-forms");
        assert_eq!(forms.hits, Share { part: 1, whole: 2 });
        assert_eq!(forms.shown, Share { part: 2, whole: 2 });
        assert_eq!(forms.false_triggers, Share { part: 1, whole: 2 });
        assert_eq!(forms.confusions, [(2, 1)]);
        let right: Vec<bool> = forms.outcomes.iter().map(TriggerOutcome::is_right).collect();
        assert_eq!(right, [true, false, true, false]);
        assert_eq!(forms.outcomes[1].rank, Some(2));
        let narrow = search.evaluate_triggers(library.registry(), &snapshot, &queries, 0);
        assert_eq!(narrow.total(|skill| skill.shown), Share { part: 1, whole: 2 }, "at least one is shown");
    }

    #[test]
    fn confused_skills_are_reported_with_the_words_that_tell_them_apart() {
        let (library, search) = library(vec![
            SkillDefinition::new("deploy", "Deploys services to Kubernetes clusters.", "# Deploy\n"),
            SkillDefinition::new("pdf-forms", "Fills forms in PDF files.", "# Forms\n"),
            SkillDefinition::new("pdf-merge", "Merges PDF files into one.", "# Merge\n"),
        ]);
        let queries = [
            query("pdf-forms", "merge signed PDF files", true),
            query("pdf-forms", "merge PDF files into one signed contract", true),
            query("pdf-forms", "fill forms in PDF files", true),
            query("pdf-forms", "deploy services to the cluster", false),
            query("pdf-merge", "fill the forms in PDF files", true),
        ];
        let report = search.evaluate_triggers(library.registry(), &library.snapshot(), &queries, 3);
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let expected = [
            TriggerConfusion {
                skill: 1,
                other: 2,
                queries: 2,
                of_other: 1,
                say: words(&["signed", "merge", "contract"]),
                own: words(&["forms", "fills"]),
            },
            TriggerConfusion {
                skill: 2,
                other: 1,
                queries: 1,
                of_other: 2,
                say: words(&["fill", "forms"]),
                own: words(&["merge"]),
            },
        ];
        assert_eq!(report.confused, expected);
    }

    #[test]
    fn evals_end_while_the_library_changes() {
        let directory = tempfile::tempdir().unwrap();
        let write = |number: usize, text: &str| {
            let skill = directory.path().join(format!("skill-{number}"));
            std::fs::create_dir_all(&skill).unwrap();
            let text = format!("---\nname: skill-{number}\ndescription: Does task{number}x {text}.\n---\n");
            std::fs::write(skill.join("SKILL.md"), text).unwrap();
        };
        (0..300).for_each(|number| write(number, "well"));
        let provider = Arc::new(FsProvider::new(FsOptions::new("test", directory.path())));
        let (library, search) = open(Library::builder().provider(provider));
        let snapshot = library.snapshot();
        let queries: Vec<TriggerQuery> = (0..300)
            .map(|number| query(&format!("skill-{number}"), &format!("task{number}x"), true))
            .collect();
        std::thread::scope(|scope| {
            let changes = scope.spawn(|| {
                for round in 0..20 {
                    (0..300).step_by(3).for_each(|number| write(number, &format!("better{round}")));
                    search.prepare(library.registry(), &pollster::block_on(library.reload()), &|_, _| ());
                }
            });
            while !changes.is_finished() {
                let report = search.evaluate_triggers(library.registry(), &snapshot, &queries, 3);
                assert_eq!(report.total(|skill| skill.hits).whole, 300);
            }
        });
        let report = search.evaluate_triggers(library.registry(), &library.snapshot(), &queries, usize::MAX);
        assert_eq!(report.total(|skill| skill.hits), Share { part: 300, whole: 300 });
    }

    #[test]
    fn skills_that_are_not_offered_are_reported() {
        let (library, search) = library(vec![]);
        let report =
            search.evaluate_triggers(library.registry(), &library.snapshot(), &[query("a", "b", true)], 1);
        assert_eq!((report.skills.len(), report.unknown.len()), (0, 1));
    }
}
