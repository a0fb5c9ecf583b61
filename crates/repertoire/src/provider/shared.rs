//! Shared providers are providers.

use std::sync::Arc;

use repertoire_model::{Bundle, Digest, LineRange, Policy, SkillPath};

use super::{FileContent, FileListing, Listing, Locator, OpenedSkill, Provider, Skill, WatchPoint};
use crate::Error;
use crate::future::BoxFuture;

impl<T: Provider + ?Sized> Provider for Arc<T> {
    fn label(&self) -> &str {
        (**self).label()
    }

    fn list<'a>(&'a self, policy: &'a Policy) -> BoxFuture<'a, Result<Listing, Error>> {
        (**self).list(policy)
    }

    fn watch_points(&self) -> Option<Vec<WatchPoint>> {
        (**self).watch_points()
    }

    fn get<'a>(
        &'a self,
        locator: &'a Locator,
        policy: &'a Policy,
    ) -> BoxFuture<'a, Result<Option<Skill>, Error>> {
        (**self).get(locator, policy)
    }

    fn files<'a>(
        &'a self,
        locator: &'a Locator,
        policy: &'a Policy,
    ) -> BoxFuture<'a, Result<FileListing, Error>> {
        (**self).files(locator, policy)
    }

    fn tells_changes(&self) -> bool {
        (**self).tells_changes()
    }

    fn is_unchanged<'a>(&'a self, policy: &'a Policy) -> BoxFuture<'a, bool> {
        (**self).is_unchanged(policy)
    }

    fn open<'a>(
        &'a self,
        locator: &'a Locator,
        policy: &'a Policy,
    ) -> BoxFuture<'a, Result<Option<OpenedSkill>, Error>> {
        (**self).open(locator, policy)
    }

    fn read<'a>(
        &'a self,
        locator: &'a Locator,
        path: &'a SkillPath,
        lines: LineRange,
    ) -> BoxFuture<'a, Result<FileContent, Error>> {
        (**self).read(locator, path, lines)
    }

    fn bundle<'a>(&'a self, locator: &'a Locator) -> BoxFuture<'a, Result<Bundle, Error>> {
        (**self).bundle(locator)
    }

    fn digest<'a>(&'a self, locator: &'a Locator) -> BoxFuture<'a, Result<Digest, Error>> {
        (**self).digest(locator)
    }
}
