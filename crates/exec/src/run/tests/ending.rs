//! Tests of calls that end early: the created files are checked all the same, and callers can wait for that.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::task::{Context, Poll, Waker};

use super::*;

/// A sandbox that runs until it is cancelled, and then takes a while to clean up.
#[derive(Debug)]
struct Slow {
    begun: SyncSender<()>,
    cleaned_up: AtomicUsize,
}

impl Sandbox for Slow {
    fn name(&self) -> &'static str {
        "none"
    }

    fn run(&self, job: &Job) -> Result<RunOutcome, ExecError> {
        self.begun.send(()).unwrap();
        while !job.cancel.as_ref().unwrap().is_cancelled() {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(50));
        self.cleaned_up.fetch_add(1, Ordering::SeqCst);
        Ok(RunOutcome {
            ending: RunEnding::Cancelled,
            stdout: Output::default(),
            stderr: Output::default(),
            refused: Vec::new(),
            cleanup_problems: Vec::new(),
        })
    }
}

/// Returns a session with a tool that runs in a [`Slow`] sandbox.
fn slow() -> (World, Session, Arc<Slow>, Receiver<()>) {
    let world = World::with_maths();
    let (begun, begins) = mpsc::sync_channel(1);
    let sandbox = Arc::new(Slow { begun, cleaned_up: AtomicUsize::new(0) });
    let provider = FsProvider::new(FsOptions::new("test", world.skills.path()));
    let executor = Arc::new(Executor::new(sandbox.clone(), world.options()));
    let library =
        pollster::block_on(Library::builder().provider(Arc::new(provider)).runner(executor).open()).unwrap();
    let session = pollster::block_on(library.session()).unwrap();
    load(&session, "maths");
    (world, session, sandbox, begins)
}

#[test]
fn a_call_that_is_dropped_is_cancelled_and_can_be_waited_for() {
    let (_world, session, sandbox, begins) = slow();
    let arguments = json!({"skill": "maths", "tool": "fail", "arguments": {}});
    {
        let mut calling = pin!(session.call("call_skill_tool", &arguments));
        let mut context = Context::from_waker(Waker::noop());
        while begins.try_recv().is_err() {
            assert_eq!(calling.as_mut().poll(&mut context), Poll::Pending);
            std::thread::yield_now();
        }
    }
    let executor = session.library().runner().unwrap();
    pollster::block_on(executor.settled());
    assert_eq!(sandbox.cleaned_up.load(Ordering::SeqCst), 1);
}

#[test]
fn an_executor_that_ends_cancels_what_runs_and_runs_nothing_more() {
    let (_world, session, sandbox, begins) = slow();
    let executor = session.library().runner().unwrap();
    std::thread::scope(|scope| {
        let calling = scope.spawn(|| call(&session, "maths", "fail", json!({})));
        begins.recv().unwrap();
        executor.end();
        pollster::block_on(executor.settled());
        assert_eq!(sandbox.cleaned_up.load(Ordering::SeqCst), 1);
        assert!(calling.join().unwrap().contains("cancelled"));
    });
    assert!(call(&session, "maths", "fail", json!({})).contains("shutting down"));
    pollster::block_on(executor.settled());
    assert_eq!(sandbox.cleaned_up.load(Ordering::SeqCst), 1);
}
