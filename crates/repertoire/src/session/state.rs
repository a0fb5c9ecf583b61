//! The mutable state of a session.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use repertoire_model::answer::RunRefusal;
use repertoire_model::ledger::Ledger;
use repertoire_model::{Digest, SkillName};

use super::exposed_tools::ExposedTools;
use crate::registry::Snapshot;
use crate::task::{Task, TaskRanking};

/// The most tasks whose rankings a session remembers.
pub const REMEMBERED_TASKS: usize = 16;

pub(super) struct SessionState {
    /// The snapshot that the catalog is written from.
    pub(super) pinned: Arc<Snapshot>,
    /// The catalog, once it was requested.
    pub(super) text: Option<Arc<str>>,
    /// The snapshot that was last announced to the model, in the catalog or in a note.
    pub(super) announced: Arc<Snapshot>,
    /// Records which skills are in the context.
    pub(super) ledger: Ledger,
    /// The digests on disk last seen of skills in the context, and whether the model was notified of them.
    pub(super) on_disk: HashMap<SkillName, (Digest, bool)>,
    /// The skills that were offered for the files that the model works on, or given without being tracked: no
    /// note offers them again.
    pub(super) offered_or_given: BTreeSet<SkillName>,
    /// The system prompt, once it was requested.
    pub(super) prompt: Option<Arc<str>>,
    /// The digests of the skills whose text a prompt was recorded to hold.
    pub(super) shown: BTreeMap<SkillName, Digest>,
    pub(super) invoked: BTreeSet<SkillName>,
    /// The task that the catalog is written for.
    pub(super) task: Option<Task>,
    /// The ranking of the pinned snapshot for that task, once it is known.
    pub(super) ranking: Option<Arc<TaskRanking>>,
    /// The rankings of the pinned snapshot for earlier tasks, the latest last. The index moves on with the
    /// library, so an earlier ranking could not always be computed again.
    rankings: VecDeque<Arc<TaskRanking>>,
    /// The ranking for the task that [`Session::working_on`](super::Session::working_on) was last given.
    pub(super) foreseen: Option<Arc<TaskRanking>>,
    /// The tools of loaded skills, in the order in which these were loaded.
    pub(super) exposed: ExposedTools,
    /// The tools of skills that were loaded but may not run, by skill and tool.
    pub(super) refused: BTreeMap<(String, String), RunRefusal>,
}

impl SessionState {
    pub(super) fn new(snapshot: Arc<Snapshot>, ledger: Ledger) -> Self {
        Self {
            announced: Arc::clone(&snapshot),
            pinned: snapshot,
            text: None,
            ledger,
            on_disk: HashMap::new(),
            offered_or_given: BTreeSet::new(),
            prompt: None,
            shown: BTreeMap::new(),
            invoked: BTreeSet::new(),
            task: None,
            ranking: None,
            rankings: VecDeque::new(),
            foreseen: None,
            exposed: ExposedTools::default(),
            refused: BTreeMap::new(),
        }
    }

    /// Makes the task of `ranking` the one that the catalog is written for.
    pub(super) fn take_task(&mut self, ranking: Option<Arc<TaskRanking>>) {
        self.task = ranking.as_ref().map(|ranking| ranking.task().clone());
        self.foreseen.clone_from(&ranking);
        self.ranking = ranking;
        self.text = None;
        self.prompt = None;
    }

    /// Returns the ranking of the pinned snapshot for `task`, if it was computed before.
    pub(super) fn ranked_before(&self, task: &Task) -> Option<Arc<TaskRanking>> {
        self.rankings.iter().find(|ranking| ranking.task() == task).cloned()
    }

    /// Remembers `ranking` as that of the pinned snapshot, and returns it, or an earlier one for that task.
    pub(super) fn remember(&mut self, ranking: Arc<TaskRanking>) -> Arc<TaskRanking> {
        if let Some(before) = self.ranked_before(ranking.task()) {
            return before;
        }
        if self.rankings.len() == REMEMBERED_TASKS {
            self.rankings.pop_front();
        }
        self.rankings.push_back(Arc::clone(&ranking));
        ranking
    }

    /// Makes `snapshot` the one that catalog, tools and prompt are written from, unless a newer one is.
    pub(super) fn pin(&mut self, snapshot: &Arc<Snapshot>) {
        if snapshot.number() >= self.pinned.number() {
            if snapshot.number() > self.pinned.number() {
                self.rankings.clear();
            }
            self.announced = Arc::clone(snapshot);
            self.pinned = Arc::clone(snapshot);
            self.text = None;
            self.ranking = None;
            self.exposed.tidy();
            self.prompt = None;
        }
    }

    /// Makes `snapshot` the one last announced to the model, and returns the one before, if it is newer.
    pub(super) fn announce(&mut self, snapshot: &Arc<Snapshot>) -> Option<Arc<Snapshot>> {
        let is_newer = snapshot.number() > self.announced.number();
        is_newer.then(|| std::mem::replace(&mut self.announced, Arc::clone(snapshot)))
    }
}
