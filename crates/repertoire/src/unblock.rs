//! Work that waits for files or for other threads, off the thread that waits for it.
//!
//! A pool of threads grows whenever none of them is idle, and one that has just given its answer is not idle yet. So whoever makes
//! one call after another soon has several threads, each of which keeps memory of its own for what it read. Here there is one
//! thread for each of the two that is free again before its answer is given; only what comes while it is busy goes to the pool.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};

use async_task::{Builder, Runnable};
use blocking::Task;

/// The thread for files; none where it cannot be started.
static FILES: LazyLock<Option<Lane>> = LazyLock::new(|| Lane::start("files"));

/// The thread that waits for others. What they do may need files, and would otherwise find that thread taken by who waits for it.
static OTHERS: LazyLock<Option<Lane>> = LazyLock::new(|| Lane::start("others"));

/// A thread that does one thing at a time.
struct Lane {
    is_taken: AtomicBool,
    work: Sender<Runnable>,
}

/// The right to use the lane. It ends with what it was taken for, also where that is given up or panics.
struct Turn(&'static Lane);

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.is_taken.store(false, Ordering::Release);
    }
}

impl Lane {
    fn start(awaited: &str) -> Option<Self> {
        let (work, incoming) = channel::<Runnable>();
        let run = move || {
            for runnable in incoming {
                runnable.run();
            }
        };
        std::thread::Builder::new().name(format!("wait-{awaited}")).spawn(run).ok()?;
        Some(Self { is_taken: AtomicBool::new(false), work })
    }

    /// Returns a turn if nobody has one.
    fn turn(&'static self) -> Option<Turn> {
        // Only then there is a turn that ends: the end of another one would free the lane.
        (!self.is_taken.swap(true, Ordering::Acquire)).then(|| Turn(self))
    }

    fn run<T: Send + 'static>(
        &'static self,
        turn: Turn,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Task<T> {
        let future = async move {
            let _turn = turn;
            work()
        };
        // The thread never ends, so there is always somebody to send it to.
        let schedule = |runnable| drop(self.work.send(runnable));
        let (runnable, task) = Builder::new().propagate_panic(true).spawn(|()| future, schedule);
        runnable.schedule();
        task
    }
}

/// Runs `work`, which waits for files though not for long, and returns what comes of it. What may take its time goes to
/// [`blocking::unblock`].
pub(crate) fn with_files<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Task<T> {
    unblock(&FILES, work)
}

/// Runs `work`, which waits for another thread though not for long, and returns what comes of it.
pub(crate) fn with_others<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Task<T> {
    unblock(&OTHERS, work)
}

fn unblock<T: Send + 'static>(
    lane: &'static Option<Lane>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Task<T> {
    match lane.as_ref().and_then(|lane| Some((lane, lane.turn()?))) {
        Some((lane, turn)) => lane.run(turn, work),
        None => blocking::unblock(work),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::mpsc::sync_channel;

    /// Returns a lane of the test's own.
    fn lane() -> &'static Lane {
        Box::leak(Box::new(Lane::start("test").unwrap()))
    }

    fn done_by(lane: &'static Lane) -> std::thread::ThreadId {
        let turn = lane.turn().expect("the lane is free");
        pollster::block_on(lane.run(turn, || std::thread::current().id()))
    }

    #[test]
    fn one_call_after_another_is_done_by_one_thread() {
        let lane = lane();
        let first = done_by(lane);
        assert!((0..1_000).all(|_| done_by(lane) == first));
    }

    #[test]
    fn nobody_waits_for_what_is_under_way() {
        let lane = lane();
        let (end, ended) = sync_channel::<()>(0);
        let long = lane.run(lane.turn().unwrap(), move || ended.recv());
        assert!((0..3).all(|_| lane.turn().is_none()), "however often it is asked for");
        end.send(()).unwrap();
        pollster::block_on(long).unwrap();
        assert!(lane.turn().is_some());
    }

    #[test]
    fn a_panic_is_the_callers_and_the_thread_goes_on() {
        let lane = lane();
        let task = lane.run(lane.turn().unwrap(), || panic!("as told"));
        assert!(catch_unwind(AssertUnwindSafe(|| pollster::block_on(task))).is_err());
        done_by(lane);
    }

    #[test]
    fn what_is_given_up_leaves_the_lane_to_others() {
        let lane = lane();
        drop(lane.run(lane.turn().unwrap(), || ()));
        // It is cancelled by the thread itself, which may take a moment.
        while lane.turn().is_none() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn work_is_done_whoever_else_works() {
        let tasks: Vec<_> = (0..50).map(|number| with_files(move || number * 2)).collect();
        let done: Vec<_> = tasks.into_iter().map(pollster::block_on).collect();
        assert_eq!(done, (0..50).map(|number| number * 2).collect::<Vec<_>>());
    }
}
