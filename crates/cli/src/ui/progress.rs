//! The progress indicator of long operations, on terminals.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::env::{self, Env};

/// The delay before progress is shown.
const DELAY: Duration = Duration::from_millis(300);
/// The interval of updates.
const BEAT: Duration = Duration::from_millis(100);
/// The width of the bar.
const WIDTH: usize = 12;

/// Shows that something goes on, on standard error where that is a terminal, until it is dropped.
pub(crate) struct Progress {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    amount: Arc<Amount>,
}

/// The amount of finished work, if it is known.
#[derive(Default)]
struct Amount {
    done: AtomicUsize,
    /// 0 where it is unknown.
    of: AtomicUsize,
}

impl Progress {
    /// Starts the indicator; nothing is shown before a moment has passed, and nothing at all in pipes.
    pub(crate) fn start(env: &Env, what: &'static str) -> Self {
        if Self::is_shown(env) {
            Self::show(what)
        } else {
            Self { end: None, thread: None, amount: Arc::default() }
        }
    }

    /// Returns `true` if standard error is a terminal that can show it.
    pub(super) fn is_shown(env: &Env) -> bool {
        let is_dumb = env.get(env::TERM).is_some_and(|term| term == "dumb");
        // A shell that asks for completions has the terminal to itself.
        !is_dumb && env.get(env::COMPLETE).is_none() && io::stderr().is_terminal()
    }

    pub(super) fn show(what: &'static str) -> Self {
        let (end, ended) = mpsc::channel();
        let amount = Arc::new(Amount::default());
        let known = Arc::clone(&amount);
        let thread = std::thread::Builder::new().spawn(move || {
            let started = Instant::now();
            let mut wait = DELAY;
            while ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                // A terminal that cannot be written to shows nothing, and that is all.
                let _ = write!(io::stderr(), "\r{}", known.frame(what, started.elapsed()));
                wait = BEAT;
            }
            if wait == BEAT {
                let _ = write!(io::stderr(), "\r\x1b[K");
            }
        });
        Self { end: Some(end), thread: thread.ok(), amount }
    }

    /// Notes that `done` of `of` are done.
    pub(crate) fn advance(&self, done: usize, of: usize) {
        self.amount.done.store(done, Ordering::Relaxed);
        self.amount.of.store(of, Ordering::Relaxed);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Amount {
    /// Returns the text after `elapsed`: a bar that fills, if the total is known.
    fn frame(&self, what: &str, elapsed: Duration) -> String {
        let (done, of) = (self.done.load(Ordering::Relaxed), self.of.load(Ordering::Relaxed));
        if of == 0 {
            return frame(what, elapsed);
        }
        let full = WIDTH * done.min(of) / of;
        let bar: String = (0..WIDTH).map(|cell| if cell < full { '#' } else { '.' }).collect();
        format!("[{bar}] {what}, {done} of {of}, {:.1} s", elapsed.as_secs_f64())
    }
}

/// Returns the bar after `elapsed`; its block moves to and fro, because the total is unknown.
fn frame(what: &str, elapsed: Duration) -> String {
    let beat = (elapsed.as_millis() / BEAT.as_millis()) as usize % (2 * WIDTH - 2);
    let position = if beat < WIDTH { beat } else { 2 * WIDTH - 2 - beat };
    let bar: String = (0..WIDTH).map(|cell| if cell == position { '#' } else { '.' }).collect();
    format!("[{bar}] {what}, {:.1} s", elapsed.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_goes_to_and_fro() {
        let shown = |beats: u32| frame("reading skills", BEAT * beats);
        assert_eq!(shown(0), "[#...........] reading skills, 0.0 s");
        assert_eq!(shown(11), "[...........#] reading skills, 1.1 s");
        assert_eq!(shown(12), "[..........#.] reading skills, 1.2 s");
        let amount = Amount { done: 512.into(), of: 1024.into() };
        let shown_half = amount.frame("indexing skills", BEAT * 5);
        assert_eq!(shown_half, "[######......] indexing skills, 512 of 1024, 0.5 s");
        assert_eq!(shown(22), "[#...........] reading skills, 2.2 s");
    }
}
