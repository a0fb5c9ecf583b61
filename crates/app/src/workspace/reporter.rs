//! The receiver of messages of a workspace.

use std::any::Any;
use std::fmt::Debug;

/// The receiver of messages of a workspace, which prints nothing itself. Those of `()` are dropped.
pub trait Reporter: Debug + Send + Sync {
    /// Receives a warning about what is being done.
    fn warn(&self, _text: &str) {}

    /// Receives a message of work in the background, such as the recording of events.
    fn note(&self, _text: &str) {}

    /// Shows that `what` goes on, until the value is dropped.
    fn progress(&self, _what: &'static str) -> Box<dyn Any> {
        Box::new(())
    }
}

impl Reporter for () {}
