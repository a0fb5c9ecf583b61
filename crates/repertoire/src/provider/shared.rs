//! Shared providers are providers.

use std::sync::Arc;

use repertoire_model::{Bundle, Digest, LineRange, Policy, SkillPath};

use super::{FileContent, FileListing, Listing, Locator, OpenedSkill, Provider, Skill, WatchPoint};
use crate::future::{BoxFuture, ResultFuture};

impl<T: Provider + ?Sized> Provider for Arc<T> {
    fn label(&self) -> &str {
        (**self).label()
    }

    fn list<'a>(&'a self, policy: &'a Policy) -> ResultFuture<'a, Listing> {
        (**self).list(policy)
    }

    fn watch_points(&self) -> Option<Vec<WatchPoint>> {
        (**self).watch_points()
    }

    fn get<'a>(&'a self, locator: &'a Locator, policy: &'a Policy) -> ResultFuture<'a, Option<Skill>> {
        (**self).get(locator, policy)
    }

    fn files<'a>(&'a self, locator: &'a Locator, policy: &'a Policy) -> ResultFuture<'a, FileListing> {
        (**self).files(locator, policy)
    }

    fn tells_changes(&self) -> bool {
        (**self).tells_changes()
    }

    fn is_unchanged<'a>(&'a self, policy: &'a Policy) -> BoxFuture<'a, bool> {
        (**self).is_unchanged(policy)
    }

    fn open<'a>(&'a self, locator: &'a Locator, policy: &'a Policy) -> ResultFuture<'a, Option<OpenedSkill>> {
        (**self).open(locator, policy)
    }

    fn read<'a>(
        &'a self,
        locator: &'a Locator,
        path: &'a SkillPath,
        lines: LineRange,
    ) -> ResultFuture<'a, FileContent> {
        (**self).read(locator, path, lines)
    }

    fn bundle<'a>(&'a self, locator: &'a Locator) -> ResultFuture<'a, Bundle> {
        (**self).bundle(locator)
    }

    fn digest<'a>(&'a self, locator: &'a Locator) -> ResultFuture<'a, Digest> {
        (**self).digest(locator)
    }
}
