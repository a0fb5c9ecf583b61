//! The watch of granted directories without inotify: it does nothing, and files are renamed after the run.

use std::os::fd::BorrowedFd;
use std::path::PathBuf;

use crate::protect::after::RenamedFiles;
use crate::protect::writable::WritableGrant;

#[derive(Debug, Default)]
pub(crate) struct WatchFindings {
    pub(crate) renames: RenamedFiles,
    pub(crate) replaced: Vec<PathBuf>,
}

impl WatchFindings {
    pub(crate) fn is_alarm(&self) -> bool {
        false
    }
}

/// A watch that does not exist here.
#[derive(Debug)]
pub(crate) enum Watch<'a> {
    /// Never made.
    None(std::convert::Infallible, std::marker::PhantomData<&'a ()>),
}

impl Watch<'_> {
    pub(crate) fn start(_granted: &[WritableGrant], _reports_replaced: bool) -> Option<Self> {
        None
    }

    pub(crate) fn run(self, _end: BorrowedFd<'_>, _alarm: impl Fn()) -> WatchFindings {
        match self {
            Self::None(never, _) => match never {},
        }
    }
}
