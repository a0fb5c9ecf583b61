//! Running jobs, so that all of them can be cancelled and waited for.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::Cancel;

/// The jobs of one executor.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    state: Mutex<JobsState>,
    /// Is notified whenever a job is over.
    over: Condvar,
}

#[derive(Debug, Default)]
struct JobsState {
    /// `true` once no more are begun.
    is_ended: bool,
    next: u64,
    running: BTreeMap<u64, Cancel>,
}

/// A job that is under way. It is over when this is dropped, and not before: what it made is looked at after it ended.
#[derive(Debug)]
pub(super) struct JobGuard {
    jobs: Arc<Jobs>,
    number: u64,
}

impl Jobs {
    /// Notes that a job begins which `cancel` ends, unless none may begin any more.
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

    /// Cancels all that run, and lets no more begin.
    pub(super) fn end(&self) {
        let mut state = self.state();
        state.is_ended = true;
        state.running.values().for_each(Cancel::cancel);
    }

    /// Waits until everything is over that was cancelled.
    pub(super) fn wait(&self) {
        let is_left = |state: &mut JobsState| state.running.values().any(Cancel::is_cancelled);
        drop(self.over.wait_while(self.state(), is_left).unwrap_or_else(PoisonError::into_inner));
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
    fn whatever_was_cancelled_is_waited_for_and_nothing_else() {
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
