//! Running jobs, so that all of them can be cancelled and waited for.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use repertoire_model::answer::FaultKind;

use crate::Cancel;

#[derive(Debug, Default)]
pub(super) struct Jobs {
    state: Mutex<JobsState>,
    /// Notified whenever a job has ended.
    over: Condvar,
}

#[derive(Debug, Default)]
struct JobsState {
    /// `true` once no more jobs may start.
    is_ended: bool,
    next: u64,
    running: BTreeMap<u64, Cancel>,
}

/// A running job. It counts as running until this is dropped, after the files that it created were checked.
#[derive(Debug)]
pub(super) struct JobGuard {
    jobs: Arc<Jobs>,
    number: u64,
}

/// Returns the fault of a call that comes when no more jobs may begin.
pub(super) fn is_ending() -> FaultKind {
    FaultKind::Failed { reason: "the program that runs tools is shutting down".to_owned() }
}

/// Cancels a job when it is dropped, with the future that waits for the job.
#[derive(Debug)]
pub(super) struct CancelOnDrop(pub(super) Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl Jobs {
    /// Registers a job that `cancel` cancels; returns `None` if no more jobs may start.
    pub(super) fn begin(self: &Arc<Self>, cancel: &Cancel) -> Option<JobGuard> {
        let mut state = self.state();
        if state.is_ended {
            return None;
        }
        let number = state.next;
        state.next += 1;
        state.running.insert(number, cancel.clone());
        Some(JobGuard { jobs: Arc::clone(self), number })
    }

    /// Cancels all running jobs, and lets no more start.
    pub(super) fn end(&self) {
        let mut state = self.state();
        state.is_ended = true;
        state.running.values().for_each(Cancel::cancel);
    }

    /// Waits until all cancelled jobs have ended.
    pub(super) fn wait(&self) {
        let is_pending = |state: &mut JobsState| state.running.values().any(Cancel::is_cancelled);
        drop(self.over.wait_while(self.state(), is_pending).unwrap_or_else(PoisonError::into_inner));
    }

    fn state(&self) -> MutexGuard<'_, JobsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for JobGuard {
    fn drop(&mut self) {
        self.jobs.state().running.remove(&self.number);
        self.jobs.over.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_cancelled_jobs_are_waited_for() {
        let jobs = Arc::new(Jobs::default());
        let (first, second) = (Cancel::new(), Cancel::new());
        let running = jobs.begin(&first).unwrap();
        let other = jobs.begin(&second).unwrap();
        jobs.wait();
        first.cancel();
        let ending = std::thread::spawn(move || drop(running));
        jobs.wait();
        ending.join().unwrap();
        jobs.end();
        assert!(second.is_cancelled());
        assert!(jobs.begin(&Cancel::new()).is_none());
        drop(other);
        jobs.wait();
    }
}
