//! Tasks of agents, and the skills that they need.

use std::sync::Arc;

use repertoire_model::SkillName;
use repertoire_model::catalog::Ranking;
use repertoire_model::search::Query;

use crate::library::Library;
use crate::registry::Snapshot;
use crate::search::{SearchRequest, Seen};

/// The most skills that a task is taken to need.
pub const RANKED_SKILLS: usize = 100;

/// A task of an agent, as its host describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Task {
    /// The user's request or the host's summary of it: any text. Blank if there is no task.
    pub text: String,
    /// The turn among the skills that the task does not need; see [`Ranking::epoch`].
    pub epoch: u64,
}

impl Task {
    /// Returns the task with the text `text`.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), epoch: 0 }
    }

    /// Returns `true` if the text is blank.
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }
}

/// The skills that a task needs, best first.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskRanking {
    task: Task,
    skills: Vec<RankedSkill>,
}

/// A skill that a task needs.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedSkill {
    /// The skill.
    pub name: SkillName,
    /// Its score, from 0 to about 1.
    pub score: f32,
    /// The words of the task that the skill was found by, the most significant first, and without
    /// insignificant ones if there are others; empty if only the meaning is similar.
    pub words: Vec<String>,
}

impl TaskRanking {
    /// Returns the task.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// Returns the skills, best first, at most [`RANKED_SKILLS`].
    pub fn skills(&self) -> &[RankedSkill] {
        &self.skills
    }

    /// Returns the place of the skill called `name`, from 1.
    pub fn rank(&self, name: &str) -> Option<usize> {
        self.skills.iter().position(|skill| skill.name.as_str() == name).map(|place| place + 1)
    }

    /// Returns the ranking for a catalog.
    pub fn to_catalog(&self) -> Ranking {
        let names = self.skills.iter().map(|skill| skill.name.to_string()).collect();
        Ranking { names, epoch: self.task.epoch }
    }
}

impl Library {
    /// Returns the skills of `snapshot` that `task` needs: those that a search for its text finds.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// use repertoire::search::Seen;
    /// use repertoire::{CatalogOptions, MemoryProvider, Library, SkillDefinition, Task};
    /// let skills = vec![
    ///     SkillDefinition::new("pdf-forms", "Fills PDF forms.", "# Forms\nFill every field.\n"),
    ///     SkillDefinition::new("deploy", "Deploys services to Kubernetes.", "# Deploy\n"),
    /// ];
    /// let library = pollster::block_on(Library::builder().provider(Arc::new(MemoryProvider::new("builtin", skills))).open())?;
    /// let snapshot = library.snapshot();
    /// let task = Task::new("fill in this form");
    /// let ranking = pollster::block_on(library.rank_for_task(&snapshot, &task, Seen::Offered));
    /// assert_eq!(ranking.rank("pdf-forms"), Some(1));
    /// let options = CatalogOptions { ranking: Some(ranking.to_catalog()), ..CatalogOptions::default() };
    /// assert!(snapshot.catalog(&options).unwrap().text.contains("pdf-forms"));
    /// # Ok::<(), repertoire::Error>(())
    /// ```
    pub async fn rank_for_task(&self, snapshot: &Arc<Snapshot>, task: &Task, seen: Seen<'_>) -> TaskRanking {
        let request = SearchRequest::new(&*task.text, RANKED_SKILLS);
        let found = self.search(snapshot, &request, seen).await;
        let skills = found.into_iter().filter_map(|found| {
            let entry = snapshot.entries().get(found.entry)?;
            let mut words: Vec<String> = found.why.into_iter().map(|matched| matched.word).collect();
            if words.iter().any(|word| !Query::is_common(word)) {
                words.retain(|word| !Query::is_common(word));
            }
            Some(RankedSkill { name: entry.name().clone(), score: found.score, words })
        });
        TaskRanking { task: task.clone(), skills: skills.collect() }
    }
}
