//! Events that wait for the thread that follows a library: a checkout of five thousand skills is one change.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// The longest time from the first event to the reload, however many follow.
const MAX_DELAY: Duration = Duration::from_secs(2);

/// A message to the thread that follows a library.
#[derive(Debug)]
pub(super) enum Message {
    /// Something changed. Holds the watched directory that was removed, renamed or replaced, if one was.
    Event(Option<PathBuf>),
    /// The watcher was dropped.
    Close,
}

/// The reason why a wait ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wake {
    /// There were events; the watches on these directories ended.
    Events(Vec<PathBuf>),
    /// The time is up.
    Timeout,
    /// The watcher was dropped.
    Over,
}

/// Waits until there were events and then none for `debounce`; without events, until `deadline`.
pub(super) fn wait(inbox: &Receiver<Message>, debounce: Duration, deadline: Instant) -> Wake {
    let mut ended = Vec::new();
    // The time at which the batch of events is complete at the latest.
    let mut last: Option<Instant> = None;
    let mut until = deadline;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() && last.is_some() {
            // Changes that wait already are part of the batch.
            for message in inbox.try_iter() {
                match message {
                    Message::Event(directory) => ended.extend(directory),
                    Message::Close => return Wake::Over,
                }
            }
            return Wake::Events(ended);
        }
        match inbox.recv_timeout(left) {
            Ok(Message::Event(directory)) => {
                ended.extend(directory);
                let now = Instant::now();
                until = (now + debounce).min(*last.get_or_insert(now + MAX_DELAY.max(debounce)));
            }
            Ok(Message::Close) | Err(RecvTimeoutError::Disconnected) => return Wake::Over,
            Err(RecvTimeoutError::Timeout) if last.is_some() => {}
            Err(RecvTimeoutError::Timeout) => return Wake::Timeout,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_wait_ends_with_events_a_timeout_or_the_end() {
        let (sender, inbox) = channel();
        let deadline = Instant::now() + Duration::from_secs(60);
        let debounce = Duration::from_millis(1);
        sender.send(Message::Event(Some(PathBuf::from("/a")))).unwrap();
        sender.send(Message::Event(None)).unwrap();
        assert_eq!(wait(&inbox, debounce, deadline), Wake::Events(vec![PathBuf::from("/a")]));
        assert_eq!(wait(&inbox, debounce, Instant::now()), Wake::Timeout);
        sender.send(Message::Close).unwrap();
        assert_eq!(wait(&inbox, debounce, deadline), Wake::Over);
    }
}
