//! Tasks of agents, and the skills that they need.

use std::sync::Arc;

use repertoire_model::SkillName;
use repertoire_model::catalog::Ranking;

use crate::library::Library;
use crate::registry::Snapshot;
use crate::searcher::{SearchRequest, Visibility};

/// The most skills that a task is taken to need.
pub const RANKED_SKILLS: usize = 100;

/// A task of an agent, as its host describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
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
#[non_exhaustive]
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
    /// Returns the skills of `snapshot` that `task` needs: the skills that a search for its text finds; none
    /// where the library has no searcher.
    pub async fn rank_for_task(
        &self,
        snapshot: &Arc<Snapshot>,
        task: &Task,
        visibility: Visibility<'_>,
    ) -> TaskRanking {
        let request = SearchRequest::new(&*task.text, RANKED_SKILLS).without_min_confidence();
        let hits = self.search(snapshot, &request, visibility).await;
        let skills = hits.into_iter().map(|hit| {
            let is_vague = hit.words.iter().all(|matched| matched.is_common);
            let words = hit.words.into_iter().filter(|matched| is_vague || !matched.is_common);
            let words = words.map(|matched| matched.word).collect();
            RankedSkill { name: hit.entry.name().clone(), score: hit.score, words }
        });
        TaskRanking { task: task.clone(), skills: skills.collect() }
    }
}
