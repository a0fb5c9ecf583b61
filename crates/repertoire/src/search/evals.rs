//! Trigger evals: whether what people ask leads to the skill that is for it, in this library and with this ranker.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use rayon::prelude::*;
use repertoire_model::search::{MAX_EVAL_BYTES, Share, TriggerFile, TriggerQuery};
use repertoire_model::{FileEntry, LineRange};

use super::request::{SearchRequest, Seen};
use crate::library::Library;
use crate::registry::{Entry, Lookup, Snapshot};

/// The most files of evals that are read beside a skill.
pub const MAX_EVAL_FILES: usize = 64;
/// The most skills that an agent is taken to be shown.
pub const MAX_SHOWN: usize = 100;

/// What the files of evals beside a skill say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SkillEvals {
    /// The queries, each with the name of its skill.
    pub queries: Vec<TriggerQuery>,
    /// What was not understood, each with its file, relative to the skill.
    pub problems: Vec<(String, String)>,
}

/// How the skills of a library answer to what people ask.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TriggerReport {
    /// The skills that were asked for, by name.
    pub skills: Vec<SkillTriggers>,
    /// The names that no skill has which models are offered, each with how many queries were left out for it.
    pub unknown: BTreeMap<String, usize>,
}

/// How one skill answers to what people ask.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillTriggers {
    /// Its place among the entries of the snapshot.
    pub entry: usize,
    /// Of the queries that it should answer to, those that found it first.
    pub hits: Share,
    /// Of the queries that it should answer to, those that found it among the first so many.
    pub shown: Share,
    /// Of the queries that it should not answer to, those that found it first.
    pub false_triggers: Share,
    /// Of the queries that it should not answer to, those that found it among the first so many.
    pub false_shown: Share,
    /// Which other skills came first where this one should have, with how often; the most frequent ones first.
    pub confusions: Vec<(usize, usize)>,
    /// What became of each query, in order.
    pub outcomes: Vec<TriggerOutcome>,
}

/// What became of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriggerOutcome {
    /// What was asked.
    pub query: String,
    /// Whether the skill should answer to it.
    pub should_trigger: bool,
    /// The place at which the skill was found, counted from 1; `None` where it was not among those that are shown.
    pub rank: Option<usize>,
    /// The entry that was found first, if anything was.
    pub first: Option<usize>,
}

impl TriggerOutcome {
    /// Returns whether the query found the skill first, if it should, and another one or none, if it should not.
    pub fn is_right(&self) -> bool {
        (self.rank == Some(1)) == self.should_trigger
    }
}

impl TriggerReport {
    /// Returns the share that `pick` picks of each skill, of all of them together.
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

impl Library {
    /// Returns what the files of evals beside the skill say: `eval_queries.json`, and every JSON file in `evals/`.
    pub async fn skill_evals(&self, entry: &Entry) -> SkillEvals {
        let mut evals = SkillEvals::default();
        let Ok(listing) = self.registry().files(entry).await else { return evals };
        let files: Vec<&FileEntry> =
            listing.files.iter().filter(|file| is_eval(file.path.as_str())).collect();
        for file in files.iter().take(MAX_EVAL_FILES) {
            let path = file.path.as_str();
            if file.size > MAX_EVAL_BYTES {
                evals.problem(path, format!("it is larger than {MAX_EVAL_BYTES} bytes"));
                continue;
            }
            match self.registry().read(entry, &file.path, LineRange::default()).await {
                // Tools that make and run evals keep other things there too.
                Ok(content) if is_other(&content.bytes) => {}
                Ok(content) => evals.add(path, &content.bytes, Some(entry.name().as_str())),
                Err(error) => evals.problem(path, error.chain()),
            }
        }
        if files.len() > MAX_EVAL_FILES {
            evals.problem("evals", format!("files beyond the first {MAX_EVAL_FILES} are left out"));
        }
        evals
    }

    /// Asks every query and returns what was found, as an agent would find it that is shown `shown` skills: at least one,
    /// and at most [`MAX_SHOWN`].
    ///
    /// It works on all cores, and waits for them.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// use repertoire::{Library, MemoryProvider, SkillDefinition};
    /// let queries = r#"[{"query": "fill in this form", "should_trigger": true}]"#;
    /// let skills = vec![
    ///     SkillDefinition::new("pdf-forms", "Fills PDF forms.", "# Forms\n").with_resource("eval_queries.json", queries),
    ///     SkillDefinition::new("deploy", "Deploys services to Kubernetes.", "# Deploy\n"),
    /// ];
    /// let library = pollster::block_on(Library::builder().provider(Arc::new(MemoryProvider::new("builtin", skills))).open())?;
    /// let snapshot = library.snapshot();
    /// let evals = pollster::block_on(library.skill_evals(&snapshot.entries()[1]));
    /// let report = library.evaluate_triggers(&snapshot, &evals.queries, 5);
    /// assert_eq!(report.total(|skill| skill.hits).value(), Some(1.0));
    /// # Ok::<(), repertoire::Error>(())
    /// ```
    pub fn evaluate_triggers(
        &self,
        snapshot: &Arc<Snapshot>,
        queries: &[TriggerQuery],
        shown: usize,
    ) -> TriggerReport {
        let mut report = TriggerReport::default();
        let mut asked: Vec<(usize, &TriggerQuery)> = Vec::new();
        for query in queries {
            let name = query.skill.as_deref().unwrap_or_default();
            match snapshot.find(name) {
                Lookup::Found(entry) if entry.is_in_catalog() => {
                    asked.push((snapshot.index_of(entry), query))
                }
                _ => *report.unknown.entry(name.to_owned()).or_default() += 1,
            }
        }
        // One index for all queries, even if the library changes meanwhile.
        let index = self.shelf().update(self.registry(), snapshot, &|_, _| ());
        let ask = |(entry, query): &(usize, &TriggerQuery)| {
            let request = SearchRequest::new(&query.query, shown.clamp(1, MAX_SHOWN));
            let query_words = pollster::block_on(self.query(&query.query));
            let found = index.search(snapshot, &request, &query_words, Seen::Offered);
            let rank = found.iter().position(|found| found.entry == *entry).map(|index| index + 1);
            let first = found.first().map(|found| found.entry);
            let (query, should_trigger) = (query.query.clone(), query.should_trigger);
            (*entry, TriggerOutcome { query, should_trigger, rank, first })
        };
        let outcomes: Vec<(usize, TriggerOutcome)> = asked.par_iter().map(ask).collect();
        let mut skills: BTreeMap<usize, Vec<TriggerOutcome>> = BTreeMap::new();
        for (entry, outcome) in outcomes {
            skills.entry(entry).or_default().push(outcome);
        }
        report.skills =
            skills.into_iter().map(|(entry, outcomes)| SkillTriggers::of(entry, outcomes)).collect();
        report
    }
}

/// Returns whether `bytes` are JSON about something else than evals.
fn is_other(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| TriggerFile::parse(text).is_other)
}

impl SkillEvals {
    /// Adds what the file at `path` says in `bytes`; where it does not say about which skill, it is about `skill`.
    pub fn add(&mut self, path: &str, bytes: &[u8], skill: Option<&str>) {
        let Ok(text) = std::str::from_utf8(bytes) else {
            return self.problem(path, "it is not UTF-8".to_owned());
        };
        let TriggerFile { queries, problems, .. } = TriggerFile::parse(text);
        self.queries.extend(
            queries.into_iter().map(|query| TriggerQuery {
                skill: query.skill.or_else(|| skill.map(str::to_owned)),
                ..query
            }),
        );
        self.problems.extend(problems.into_iter().map(|problem| (path.to_owned(), problem)));
    }

    fn problem(&mut self, path: &str, message: String) {
        self.problems.push((path.to_owned(), message));
    }
}

/// Returns whether the file at `path` of a skill is one of evals.
fn is_eval(path: &str) -> bool {
    path == "eval_queries.json" || (path.starts_with("evals/") && path.ends_with(".json"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FsOptions, FsProvider, MemoryProvider, SkillDefinition};

    fn library(skills: Vec<SkillDefinition>) -> Library {
        pollster::block_on(Library::builder().provider(Arc::new(MemoryProvider::new("test", skills))).open())
            .unwrap()
    }

    fn query(skill: &str, query: &str, should_trigger: bool) -> TriggerQuery {
        TriggerQuery { skill: Some(skill.to_owned()), query: query.to_owned(), should_trigger }
    }

    #[test]
    fn queries_are_counted_by_what_they_find() {
        let library = library(vec![
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
        let report = library.evaluate_triggers(&snapshot, &queries, 3);
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
        let narrow = library.evaluate_triggers(&snapshot, &queries, 0);
        assert_eq!(narrow.total(|skill| skill.shown), Share { part: 1, whole: 2 }, "at least one is shown");
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
        let library = pollster::block_on(Library::builder().provider(provider).open()).unwrap();
        let snapshot = library.snapshot();
        let queries: Vec<TriggerQuery> = (0..300)
            .map(|number| query(&format!("skill-{number}"), &format!("task{number}x"), true))
            .collect();
        std::thread::scope(|scope| {
            let changes = scope.spawn(|| {
                for round in 0..20 {
                    (0..300).step_by(3).for_each(|number| write(number, &format!("better{round}")));
                    library.prepare_search(&pollster::block_on(library.reload()), &|_, _| ());
                }
            });
            while !changes.is_finished() {
                let report = library.evaluate_triggers(&snapshot, &queries, 3);
                assert_eq!(report.total(|skill| skill.hits).whole, 300);
            }
        });
        let report = library.evaluate_triggers(&library.snapshot(), &queries, usize::MAX);
        assert_eq!(report.total(|skill| skill.hits), Share { part: 300, whole: 300 });
    }

    #[test]
    fn skills_that_models_are_not_offered_are_told() {
        let library = library(vec![]);
        let report = library.evaluate_triggers(&library.snapshot(), &[query("a", "b", true)], 1);
        assert_eq!((report.skills.len(), report.unknown.len()), (0, 1));
    }

    #[test]
    fn evals_are_found_beside_a_skill() {
        let large = vec![b' '; MAX_EVAL_BYTES as usize + 1];
        let library = library(vec![
            SkillDefinition::new("a", "Does a.", "x")
                .with_resource("eval_queries.json", r#"[{"query": "one", "should_trigger": false}]"#)
                .with_resource(
                    "evals/deep/evals.json",
                    r#"{"skill_name": "b", "evals": [{"prompt": "two"}]}"#,
                )
                .with_resource("evals/config.json", r#"{"agents": []}"#)
                .with_resource("evals/bytes.json", &b"\xff"[..])
                .with_resource("evals/large.json", large)
                .with_resource("evals/notes.md", "[]")
                .with_resource("other.json", "[]"),
        ]);
        let snapshot = library.snapshot();
        let evals = pollster::block_on(library.skill_evals(&snapshot.entries()[0]));
        assert_eq!(evals.queries, [query("a", "one", false), query("b", "two", true)]);
        let files: Vec<&str> = evals.problems.iter().map(|(file, _)| file.as_str()).collect();
        assert_eq!(files, ["evals/bytes.json", "evals/large.json"]);
    }
}
