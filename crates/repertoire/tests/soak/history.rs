//! The history of the states of a file on disk.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The state of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Absent,
    /// A whole version.
    Good(u64),
    /// Something that is not a skill.
    Broken,
}

/// The way in which a state was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// By a rename: there is nothing in between.
    AtOnce,
    /// By writing or removing it in place: for a moment it is something else.
    InSteps,
}

/// The state that an answer shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    Version(u64),
    /// That there is nothing to be had.
    Nothing,
    /// A skill without instructions, which is what an empty file is.
    Empty,
}

/// All that a file ever was.
#[derive(Debug)]
pub(crate) struct History {
    past: Mutex<Vec<(State, Step)>>,
    /// The number of finished changes.
    done: AtomicUsize,
}

/// The histories of the skills and of one more file of each.
#[derive(Debug)]
pub(crate) struct Histories {
    pub(crate) skills: Vec<History>,
    pub(crate) files: Vec<History>,
}

impl Histories {
    pub(crate) fn new(count: usize) -> Self {
        let histories = || (0..count).map(|_| History::new()).collect();
        Self { skills: histories(), files: histories() }
    }
}

impl History {
    fn new() -> Self {
        Self { past: Mutex::new(vec![(State::Absent, Step::AtOnce)]), done: AtomicUsize::new(0) }
    }

    /// Records that the file is about to become `state`.
    pub(crate) fn begin(&self, state: State, step: Step) {
        self.past.lock().unwrap().push((state, step));
    }

    /// Records that it has become so.
    pub(crate) fn end(&self) {
        let length = self.past.lock().unwrap().len();
        self.done.store(length - 1, Ordering::SeqCst);
    }

    /// Returns the index of the state that the file is certain to have reached.
    pub(crate) fn now(&self) -> usize {
        self.done.load(Ordering::SeqCst)
    }

    /// Returns `true` if `seen` was visible at some time between `since` and now.
    ///
    /// While a skill is broken, or written in place, the last version that a reader loaded stays in force.
    pub(crate) fn explains(&self, since: usize, seen: Seen, has_last_good: bool) -> bool {
        let past = self.past.lock().unwrap();
        let range = &past[since..];
        let is_in_steps = range[1..].iter().any(|(_, step)| *step == Step::InSteps);
        let is_broken = range.iter().any(|(state, _)| *state == State::Broken);
        let is_absent = range.iter().any(|(state, _)| *state == State::Absent);
        match seen {
            Seen::Empty => is_broken || is_absent,
            Seen::Nothing => is_in_steps || is_broken || is_absent,
            Seen::Version(version) => {
                let is_it = |(state, _): &(State, Step)| *state == State::Good(version);
                range.iter().any(is_it)
                    || (has_last_good && (is_in_steps || is_broken) && past.iter().any(is_it))
            }
        }
    }

    /// Returns the states since shortly before `since`, for a message.
    pub(crate) fn told(&self, since: usize) -> String {
        let past = self.past.lock().unwrap();
        format!("{:?}, and before {:?}", &past[since..], &past[since.saturating_sub(3)..since])
    }
}
