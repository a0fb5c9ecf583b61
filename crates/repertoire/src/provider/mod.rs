//! Where skills come from.
//!
//! A [`Provider`] lists skills and reads their files. It never decides which of two skills wins and never renders
//! anything. Implementors: return what is there, report what is broken as problems in the [`Listing`], and fail only
//! when nothing at all can be said. The suite in [`crate::testing`] holds every implementation to this page.

mod listing;
mod change;
mod differences;
pub mod content;
mod memo;
pub mod limits;
mod shared;
#[cfg(feature = "fs")]
pub mod fs;
pub mod memory;

use repertoire_model::{Bundle, Digest, LineRange, SkillPath};

use crate::Error;
#[cfg(doc)]
use crate::ErrorKind;
pub(crate) use crate::future::BoxFuture;

pub use change::{Changes, Subject, WatchPoint};
pub use content::{FileContent, Mark, OpenedSkill, Skill};
pub(crate) use differences::{Located, differences};
pub use limits::FileCaps;
pub use listing::{FileListing, Listed, Listing, Locator, Problem};
pub use memo::{Memo, TokenCounts};

/// A source of skills.
pub trait Provider: Send + Sync {
    /// Returns the name of the source, unique within a registry, as in `project:.agents/skills`.
    fn label(&self) -> &str;

    /// Returns every skill of the source, sound or not.
    fn list(&self) -> BoxFuture<'_, Result<Listing, Error>>;

    /// Returns what [`Provider::list`] would, where nothing but `changes` may have changed since the last listing.
    ///
    /// A provider that cannot tell one skill's change from another's lists everything again.
    fn relist<'a>(&'a self, changes: &'a Changes) -> BoxFuture<'a, Result<Listing, Error>> {
        let _ = changes;
        self.list()
    }

    /// Returns the directories whose entries tell of changes since the last listing; `None` where the source must be polled.
    fn watch_points(&self) -> Option<Vec<WatchPoint>> {
        None
    }

    /// Returns a number that is another whenever [`Provider::watch_points`] may be others; `None` where nobody keeps count.
    fn watch_epoch(&self) -> Option<u64> {
        None
    }

    /// Returns the skill at `locator` as it is now, or `None` if there is none (any more).
    fn get<'a>(&'a self, locator: &'a Locator) -> BoxFuture<'a, Result<Option<Skill>, Error>>;

    /// Returns the files of the skill at `locator`.
    ///
    /// Fails with [`ErrorKind::SkillNotFound`] if there is none.
    fn files<'a>(&'a self, locator: &'a Locator) -> BoxFuture<'a, Result<FileListing, Error>>;

    /// Returns the skill at `locator` as it is now with its files, which a provider may find in one go.
    fn open<'a>(&'a self, locator: &'a Locator) -> BoxFuture<'a, Result<Option<OpenedSkill>, Error>> {
        content::open(self, locator)
    }

    /// Returns the lines `lines` of the file `path` of the skill at `locator`.
    ///
    /// Fails with [`ErrorKind::SkillNotFound`], [`ErrorKind::FileNotFound`], [`ErrorKind::IsDirectory`],
    /// [`ErrorKind::Forbidden`] (hidden files, links, special files) or [`ErrorKind::TooLarge`].
    fn read<'a>(
        &'a self,
        locator: &'a Locator,
        path: &'a SkillPath,
        lines: LineRange,
    ) -> BoxFuture<'a, Result<FileContent, Error>>;

    /// Returns every file of the skill at `locator` with its digest.
    fn bundle<'a>(&'a self, locator: &'a Locator) -> BoxFuture<'a, Result<Bundle, Error>> {
        content::bundle(self, locator)
    }

    /// Returns the digest of the bundle, which a provider may know without reading every file.
    fn digest<'a>(&'a self, locator: &'a Locator) -> BoxFuture<'a, Result<Digest, Error>> {
        Box::pin(async move { Ok(self.bundle(locator).await?.digest()) })
    }

    /// Returns what the provider can remember about its skills from one run to the next, if it can.
    fn memo(&self) -> Option<&dyn Memo> {
        None
    }
}
