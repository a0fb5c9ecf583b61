//! The task of a session: what its catalog shows in full, and what loads are held against.

use std::sync::Arc;

use super::catalog::PinnedCatalog;
use super::open::Session;
use crate::registry::Snapshot;
use crate::task::{Task, TaskRanking};

impl Session {
    /// Returns the catalog for `task`: full descriptions for the skills it needs, if not all fit.
    ///
    /// It is pinned as [`Session::catalog`] is, which returns the same bytes from then on: until it is
    /// refreshed, or until this is called with another task. An earlier task gives the earlier bytes again,
    /// even if the library changed, until a refresh; that holds for the last
    /// [`REMEMBERED_TASKS`](super::REMEMBERED_TASKS). A blank task has the plain catalog.
    ///
    /// Another task means another text before everything else that the model reads, so a prompt cache has to
    /// start over. Only the host knows when that is worth it: at the start it costs nothing.
    pub async fn catalog_for_task(&self, task: &Task) -> PinnedCatalog {
        let task = Some(task).filter(|task| !task.is_blank());
        if self.state().task.as_ref() != task {
            match task {
                Some(task) => {
                    let (pinned, ranking) = self.rank_pinned(task).await;
                    let mut state = self.state();
                    state.take_task(Some(ranking));
                    if !Arc::ptr_eq(&state.pinned, &pinned) {
                        // The catalog was refreshed in the meantime.
                        state.ranking = None;
                    }
                }
                None => self.state().take_task(None),
            }
        }
        self.rank_catalog().await;
        self.catalog()
    }

    /// Records the current task of the agent; nothing that the model reads changes.
    ///
    /// Events of later loads record how well a ranking by this text would have predicted them. The text
    /// itself is in no event. A blank text means that there is no task.
    pub async fn working_on(&self, text: &str) {
        let task = Task::new(text);
        // Without sinks there is no use for a prediction.
        let is_of_use = !task.is_blank() && !self.library().resources().sinks.is_empty();
        let foreseen = if is_of_use {
            // Skills are loaded from the newest snapshot, whatever the catalog shows.
            Some(Arc::new(self.lookup().rank_for_task(&self.registry().snapshot(), &task).await))
        } else {
            None
        };
        self.state().foreseen = foreseen;
    }

    /// Ranks the skills for the catalog's task, unless that was done since the last check.
    pub(super) async fn rank_catalog(&self) {
        let task = {
            let state = self.state();
            match (&state.task, &state.ranking) {
                (Some(task), None) => task.clone(),
                _ => return,
            }
        };
        let (pinned, ranking) = self.rank_pinned(&task).await;
        let mut state = self.state();
        if state.task.as_ref() == Some(&task) && Arc::ptr_eq(&state.pinned, &pinned) {
            if state.foreseen.as_ref().is_some_and(|foreseen| *foreseen.task() == task) {
                state.foreseen = Some(Arc::clone(&ranking));
            }
            state.ranking = Some(ranking);
        }
    }

    /// Ranks the skills of the pinned snapshot for `task`, and returns that snapshot, too.
    async fn rank_pinned(&self, task: &Task) -> (Arc<Snapshot>, Arc<TaskRanking>) {
        let pinned = {
            let state = self.state();
            if let Some(ranking) = state.ranked_before(task) {
                return (Arc::clone(&state.pinned), ranking);
            }
            Arc::clone(&state.pinned)
        };
        let ranking = Arc::new(self.lookup().rank_for_task(&pinned, task).await);
        let mut state = self.state();
        let ranking = if Arc::ptr_eq(&state.pinned, &pinned) { state.remember(ranking) } else { ranking };
        (pinned, ranking)
    }
}
