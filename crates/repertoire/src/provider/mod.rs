//! Sources of skills.
//!
//! A [`Provider`] lists skills and reads their files. It never decides which of two skills wins and never
//! renders. Implementors: return the skills, report broken ones as problems in the [`Listing`], and fail only
//! if nothing can be listed. The suite in [`crate::testing`] tests every implementation for this.

mod listing;
mod watch_point;
pub mod content;
pub mod limits;
mod shared;
#[cfg(feature = "fs")]
pub mod fs;
pub mod memory;
pub mod store;

use repertoire_model::{Bundle, BundleFile, Digest, FileEntry, LineRange, Policy, SkillPath};

use crate::ErrorKind;
pub(crate) use crate::future::{BoxFuture, ResultFuture};

pub use content::{FileContent, OpenedSkill, Skill};
pub use limits::FileCaps;
pub use listing::{FileListing, ListedSkill, Listing, Locator, Problem};
pub use watch_point::{WatchPoint, WatchScope};

/// A source of skills.
pub trait Provider: Send + Sync {
    /// Returns the name of the source, unique within a registry, as in `project:.agents/skills`.
    fn label(&self) -> &str;

    /// Returns every skill of the source, sound or not, judged by `policy`.
    ///
    /// It is called for every reload. A provider should keep what it parsed and read again only what changed
    /// since; skills that did not change should be the same `Arc`s as in the last listing.
    fn list<'a>(&'a self, policy: &'a Policy) -> ResultFuture<'a, Listing>;

    /// Returns `true` if the source certainly is as it was last listed, so that it need not be listed again.
    ///
    /// It is for sources that know this at a small cost, such as by the number of a release.
    fn is_unchanged<'a>(&'a self, policy: &'a Policy) -> BoxFuture<'a, bool> {
        let _ = policy;
        Box::pin(std::future::ready(false))
    }

    /// Returns `true` if [`Provider::is_unchanged`] can be. Requests during a reload then share the next one.
    fn tells_changes(&self) -> bool {
        false
    }

    /// Returns the directories whose events show changes since the last listing; `None` if polling is needed.
    fn watch_points(&self) -> Option<Vec<WatchPoint>> {
        None
    }

    /// Returns the skill at `locator` as it is now, judged by `policy`, or `None` if there is not one.
    fn get<'a>(&'a self, locator: &'a Locator, policy: &'a Policy) -> ResultFuture<'a, Option<Skill>>;

    /// Returns the files of the skill at `locator`.
    ///
    /// Fails with [`ErrorKind::SkillNotFound`] if there is not one.
    fn files<'a>(&'a self, locator: &'a Locator, policy: &'a Policy) -> ResultFuture<'a, FileListing>;

    /// Returns the skill at `locator` as it is now with its files, which a provider may find in one go.
    fn open<'a>(&'a self, locator: &'a Locator, policy: &'a Policy) -> ResultFuture<'a, Option<OpenedSkill>> {
        Box::pin(async move {
            let Some(skill) = self.get(locator, policy).await? else { return Ok(None) };
            let files = self.files(locator, policy).await?;
            Ok(Some(OpenedSkill { skill, files }))
        })
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
    ) -> ResultFuture<'a, FileContent>;

    /// Returns every file of the skill at `locator` with its digest.
    fn bundle<'a>(&'a self, locator: &'a Locator) -> ResultFuture<'a, Bundle> {
        Box::pin(async move {
            // The policy decides about problems alone, which a bundle does not have.
            let listing = self.files(locator, &Policy::default()).await?;
            let mut files = Vec::with_capacity(listing.files.len());
            for FileEntry { path, executable, .. } in listing.files {
                let content = match self.read(locator, &path, LineRange::default()).await {
                    Ok(content) => content,
                    // A file that vanished between listing and reading is no longer part of the bundle.
                    Err(error) if error.kind() == ErrorKind::FileNotFound => continue,
                    Err(error) => return Err(error),
                };
                let digest = Digest::of(&content.bytes);
                files.push(BundleFile { path, size: content.size, executable, digest });
            }
            Ok(Bundle::new(files))
        })
    }

    /// Returns the digest of the bundle; a provider may keep it and not read every file again.
    fn digest<'a>(&'a self, locator: &'a Locator) -> ResultFuture<'a, Digest> {
        Box::pin(async move { Ok(self.bundle(locator).await?.digest()) })
    }
}
